//! `efmca select`: how many causes data have.

use efmca::Error;
use efmca::family::{SharedFamily, family};
use efmca::tasks::noise::{NoiseType, TableNoise};
use efmca::tasks::select::{CauseChoice, CauseSearch};
use efmca_io::write_atomically;
use efmca_view::{Figure, Line, Points, Report, ReportTable, ViewError};
use serde_json::json;

use crate::clean::set_threads;
use crate::failure::Failure;
use crate::input::{Content, Input};
use crate::noise_args::SelectArgs;
use crate::noise_report::{aligned, name};
use crate::noise_type::{check_outputs, fixed, located, remarks};
use crate::progress::Watch;
use crate::show::Screen;

pub(crate) fn run(args: &SelectArgs) -> Result<(), Failure> {
    set_threads(args.work.threads)?;
    check_outputs(&[args.work.report.as_deref(), args.curve.as_deref()], args.work.force)?;
    let input = Input::read(&args.input)?;
    let mut watch = Watch::new(args.work.log_format);
    let choice = families(args, &input, &mut watch).and_then(|families| {
        let search = CauseSearch::with_families(&families).causes(args.components.iter().copied());
        let search = search.iterations(args.work.iterations).held_out(args.work.hidden);
        let search = search.seed(args.work.seed).restarts(args.restarts);
        let choice = search.run_observed(input.source(), &mut |step| watch.see(step));
        Ok((families, choice.map_err(|error| located(error, &input, &args.input.input))?))
    });
    watch.finish();
    let (families, choice) = choice?;
    let specs: Vec<String> = families.iter().map(|family| family.spec()).collect();
    let svg = curve(&choice).map_err(Failure::work)?;
    if let Some(path) = &args.curve {
        write_atomically(path, svg.as_bytes()).map_err(Failure::work)?;
    }
    let (head, rows) = table(&choice);
    if let Some(path) = &args.work.report {
        let page = Report {
            title: format!("Causes of {}", name(&args.input.input)),
            summary: vec![
                ("data".into(), input.words()),
                ("families".into(), specs.join(", ")),
                ("result".into(), sentence(&choice)),
            ],
            tables: vec![ReportTable { title: "Numbers of causes".into(), head: head.clone(), rows: rows.clone() }],
            figures: vec![("Held-out values and BIC".into(), svg)],
            ..Report::default()
        };
        page.write(path, args.work.force).map_err(Failure::work)?;
    }
    let mut screen = Screen::new();
    if args.work.json {
        return Ok(screen.say(&as_json(&choice, &specs).to_string())?);
    }
    remarks(&mut screen, &input, &args.input.input)?;
    screen.say(&format!(
        "{}, {} held-out values\n\n{}\n",
        input.words(),
        choice.entries,
        aligned(&head, &rows, &[5])
    ))?;
    screen.say(&sentence(&choice))?;
    if watch.stopped() {
        screen.say("stopped early: this is the result so far")?;
    }
    for path in [&args.work.report, &args.curve].into_iter().flatten() {
        screen.say(&format!("wrote {}", path.display()))?;
    }
    Ok(())
}

/// The families of the columns: given, or found.
fn families(args: &SelectArgs, input: &Input, watch: &mut Watch) -> Result<Vec<SharedFamily>, Failure> {
    let located = |error: Error| located(error, input, &args.input.input);
    let named = |text: &str| match &input.content {
        Content::Table { names, .. } => text.split_once('=').is_some_and(|(column, _)| {
            let column = column.trim();
            names.iter().any(|name| name == column) || column.parse::<usize>().is_ok()
        }),
        _ => false,
    };
    let noise = NoiseType::new().seed(args.work.seed);
    if let [spec] = &args.family[..]
        && !named(spec)
    {
        return Ok(vec![family(spec).map_err(|error| Failure::input(format!("--family {spec}: {error}")))?]);
    }
    let Content::Table { values, names, text } = &input.content else {
        if !args.family.is_empty() {
            return Err(Failure::input("give one --family for an image or a sound"));
        }
        let ranking = noise.run_observed(input.source(), &mut |step| watch.see(step)).map_err(located)?;
        return Ok(vec![ranking.best().family.clone()]);
    };
    if args.family.is_empty() && !text {
        let ranking = noise.run_observed(input.source(), &mut |step| watch.see(step)).map_err(located)?;
        return Ok(vec![ranking.best().family.clone()]);
    }
    let mut noise = TableNoise::new().seed(args.work.seed);
    for text in &args.family {
        let (column, spec) = fixed(text, names)?;
        noise = noise.fix(column, spec);
    }
    let found = noise.run_observed(values.view(), &mut |step| watch.see(step)).map_err(located)?;
    Ok(found.families())
}

fn table(choice: &CauseChoice) -> (Vec<String>, Vec<Vec<String>>) {
    let head =
        ["causes", "held-out value", "behind ± error", "bound a row", "BIC a row", ""].map(str::to_owned).to_vec();
    let by_bic = choice.best_by_bic();
    let rows = choice.trials.iter().enumerate().map(|(index, one)| {
        let mut marks = Vec::new();
        if index == choice.chosen {
            marks.push("chosen");
        }
        if one.h == by_bic {
            marks.push("best BIC");
        }
        vec![
            one.h.to_string(),
            format!("{:.4}", one.held_out),
            format!("{:.4} ± {:.4}", one.behind.mean, one.behind.error),
            format!("{:.3}", one.bound),
            format!("{:.3}", one.bic),
            marks.join(", "),
        ]
    });
    (head, rows.collect())
}

fn sentence(choice: &CauseChoice) -> String {
    let (best, by_bic) = (choice.best().h, choice.best_by_bic());
    let others = if by_bic == best {
        "the Bayesian information criterion agrees".to_owned()
    } else {
        format!("the Bayesian information criterion would take {by_bic}")
    };
    let more = if choice.is_at_the_end() { "; it is the largest that was tried, so try more" } else { "" };
    format!("{best} causes: the fewest that predict held-out values as well as any; {others}{more}.")
}

/// Scores of held-out values over the number of causes.
fn curve(choice: &CauseChoice) -> Result<String, ViewError> {
    let points = || choice.trials.iter().map(|one| (one.h as f64, one.held_out));
    let best = choice.best();
    Figure::new("")
        .x_label("causes")
        .y_label("log-probability of a held-out value")
        .line(Line::new(points()))
        .points(Points::new(points()))
        .points(Points::new([(best.h as f64, best.held_out)]).radius(6.0).label("chosen"))
        .to_svg(720, 380)
}

fn as_json(choice: &CauseChoice, families: &[String]) -> serde_json::Value {
    let tried: Vec<serde_json::Value> = choice
        .trials
        .iter()
        .map(|one| {
            json!({
                "components": one.h,
                "held_out": one.held_out,
                "behind": one.behind.mean,
                "standard_error": one.behind.error,
                "bound_per_row": one.bound,
                "bic_per_row": one.bic,
                "parameters": one.parameters,
            })
        })
        .collect();
    json!({
        "components": choice.best().h,
        "components_by_bic": choice.best_by_bic(),
        "families": families,
        "hidden_entries": choice.entries,
        "tried": tried,
    })
}
