//! The results of `efmca bars`: a picture, a figure and a model.

use std::path::PathBuf;

use efmca::em::Fit;
use efmca_io::{write_atomically, write_model};
use efmca_view::{Dictionary, Field, Figure, Line, Picture, Reference, Scale, ViewError};
use ndarray::Array2;

use super::{Task, causes, causes_by_activation, examples};
use crate::failure::Failure;

/// Pixels between the rows of the picture.
const GAP: usize = 40;

/// The files in the folder, and what is in each.
pub(super) const NAMES: [&str; 3] = ["bars.png", "bars-log-likelihood.svg", "bars-model.safetensors"];
pub(super) const CONTENTS: [&str; 3] =
    ["pictures learned from, true bars, learned causes", "how the log-likelihood rose", "the learned model"];

/// Writes all files.
pub(super) fn write([picture, figure, model]: &[PathBuf; 3], task: &Task, fit: &Fit) -> Result<(), Failure> {
    write_atomically(picture, &png(task, fit).map_err(Failure::work)?).map_err(Failure::work)?;
    write_atomically(figure, svg(task, fit).map_err(Failure::work)?.as_bytes()).map_err(Failure::work)?;
    write_model(model, &fit.model).map_err(Failure::work)
}

/// Three rows: examples of the data, the bars they were made of, and the causes found in them.
fn png(task: &Task, fit: &Fit) -> Result<Vec<u8>, ViewError> {
    let rows = [examples(task), causes(&task.truth, 0..task.truth.h()), causes_by_activation(&fit.model)];
    let rows: Vec<Picture> = rows.iter().map(|row| row_of(row)).collect::<Result<_, _>>()?;
    Picture::stack(&rows, GAP)?.to_png()
}

fn row_of(pictures: &[Array2<f64>]) -> Result<Picture, ViewError> {
    let fields = pictures.iter().map(|picture| Field::from(picture.view()));
    Dictionary::means("", fields).scale(Scale::Shared).columns(pictures.len()).tiles()
}

/// The log-likelihood over the iterations, and that of the model that made the data.
fn svg(task: &Task, fit: &Fit) -> Result<String, ViewError> {
    // Every iteration has the value before its M-step, after as many M-steps as came before it.
    let values = fit.history.iter().map(|iteration| iteration.bound).chain([fit.bound]);
    let curve = values.enumerate().map(|(steps, value)| (steps as f64, value));
    Figure::new("Learning the bars")
        .x_label("EM iterations")
        .y_label("log-likelihood")
        .line(Line::new(curve))
        .reference(Reference::dashed(task.log_likelihood).label("model that made the pictures"))
        .to_svg(720, 420)
}
