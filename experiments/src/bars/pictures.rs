//! The figures of the bars test.

use std::ops::ControlFlow;

use efmca::Model;
use efmca_view::{
    Annotation, Dictionary, Field, Figure, Line as Curve, Picture, Points, Reference, Rgb, Scale, panels,
};
use ndarray::Array2;

use super::Line;
use super::runs::{Case, Outcome, Recipe};
use crate::output::Done;

/// Log-likelihood against iteration for all runs of the paper's settings (the paper's Fig. 3).
pub(super) fn curves(table: &[Line]) -> Done<String> {
    let figures: Vec<Figure> = table
        .iter()
        .filter(|line| line.recipe.is_paper && line.recipe.rho.is_none())
        .map(|line| {
            let reached = line.count(|outcome| outcome.reached());
            let title = format!("{}: {reached} of {} reach the ground truth", line.case.name, line.outcomes.len());
            // every run has its own data, so its ground truth is where the axis starts
            let curve = |(i, outcome): (usize, &Outcome)| {
                let above = |(x, y): (usize, &f64)| (x as f64, y - outcome.ground_truth);
                Curve::new(outcome.curve.iter().enumerate().map(above)).colour(Rgb::palette(i))
            };
            Figure::new(title)
                .x_label("EM iteration")
                .y_label("log-likelihood minus that of the ground truth")
                .lines(line.outcomes.iter().take(100).enumerate().map(curve))
                .reference(Reference::thick_red(0.0).label("ground truth"))
        })
        .collect();
    Ok(panels(&figures, 480, 400)?)
}

/// The difference to the ground truth of every run, against pi (the paper's reliability figure).
pub(super) fn reliability(lines: &[Line]) -> Done<String> {
    let mut figure = Figure::new("Reliability of B-MCA")
        .x_label("π, the probability of each of the ten bars")
        .y_label("log-likelihood of the learned model minus that of the generating one");
    for (i, line) in lines.iter().enumerate() {
        let count = line.outcomes.len().max(1) as f64;
        // a small offset for each run, so that they do not hide each other
        let place = |(j, difference): (usize, f64)| (line.case.pi + 0.03 * (j as f64 / count - 0.5), difference);
        let differences = line.outcomes.iter().map(|outcome| outcome.log_likelihood - outcome.ground_truth);
        let share = 100.0 * line.count(|outcome| outcome.reached()) as f64 / count;
        figure = figure
            .points(Points::new(differences.enumerate().map(place)).colour(Rgb::palette(i)).radius(2.0).opacity(0.6))
            .annotation(Annotation::above(line.case.pi, format!("{share:.1} %")));
    }
    Ok(figure.reference(Reference::thick_red(0.0).label("ground truth")).to_svg(900, 480)?)
}

/// Data, the learned fields as they come about, and the generating ones, for one run that finds them (Fig. 4).
pub(super) fn fields(case: &Case, seed: u64) -> Done<Vec<u8>> {
    let truth = case.truth(true)?;
    let data = truth.sample(case.n, seed).y;
    let recipe = Recipe::paper();
    let shown = [1, 5, 10, 15, 20, 30, 50];
    for start in 0..100 {
        let mut models: Vec<Model> = Vec::new();
        let fit = recipe.em(case, &truth, 1_000_000 * seed + start)?.run_observed(&data, &mut |progress| {
            if let Some(training) = progress.training.filter(|training| shown.contains(&training.iteration)) {
                models.push(training.model.clone());
            }
            ControlFlow::Continue(())
        })?;
        if fit.bound < truth.log_likelihood(&data)? {
            continue;
        }
        let row = |values: &Array2<f64>, scale: Scale| -> Done<Picture> {
            let fields = squares(values, case.b)?;
            let tiles = Dictionary::means("", fields.iter().map(|field| Field::from(field.view())));
            Ok(tiles.scale(scale).columns(fields.len()).tiles()?)
        };
        let bright = Scale::Fixed { lo: 0.0, hi: 10.0 };
        let mut rows = vec![row(&data.slice(ndarray::s![..10, ..]).to_owned(), Scale::Fixed { lo: 0.0, hi: 20.0 })?];
        for model in &models {
            rows.push(row(&model.means(), bright)?);
        }
        rows.push(row(&truth.means(), bright)?);
        return Ok(Picture::stack(&rows, 16)?.to_png()?);
    }
    Err("none of 100 starts reached the ground truth".into())
}

fn squares(values: &Array2<f64>, b: usize) -> Done<Vec<Array2<f64>>> {
    values.outer_iter().map(|row| Ok(Array2::from_shape_vec((b, b), row.to_vec())?)).collect()
}
