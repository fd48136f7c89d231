//! `efmca select`: the number of causes behind data.

use std::path::PathBuf;

use efmca::family::{SharedFamily, family};
use efmca::model::Resolution;
use efmca::tasks::noise::{NoiseType, TableNoise};
use efmca::tasks::select::{CauseChoice, CauseSearch};
use efmca_io::write_atomically;
use efmca_view::{Figure, Line, Points, Report, ReportTable, ViewError};
use serde_json::json;

use super::noise_type::ComparisonArgs;
use crate::cluster;
use crate::columns::{ColumnFamilies, steps};
use crate::errors::refused;
use crate::failure::Failure;
use crate::input::{Content, Input, InputArgs};
use crate::progress::Watch;
use crate::rescue::Rescue;
use crate::show::{TextTable, file_name};

/// The options of `efmca select`.
#[derive(Debug, clap::Args)]
pub(crate) struct SelectArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Numbers of causes to try, such as 10,20,40,80; powers of two without it.
    #[arg(long, visible_alias = "components", value_name = "NUMBERS", value_delimiter = ',')]
    causes: Vec<usize>,
    /// The family of all values, such as poisson, or of one column of a table, such as age=poisson. Can be given
    /// several times; families that are not given are found first.
    #[arg(long, value_name = "[COLUMN=]FAMILY")]
    family: Vec<String>,
    /// How finely the values of a column of a table were written down, such as age=1, price=0.01, or weight=continuous.
    /// Without it the step is found. Can be given several times.
    #[arg(long, value_name = "COLUMN=STEP")]
    step: Vec<String>,
    /// Number of trainings for each number of causes.
    #[arg(long, default_value_t = 1, value_name = "N")]
    restarts: usize,
    #[command(flatten)]
    comparison: ComparisonArgs,
    /// Writes the curve of the held-out values as a picture.
    #[arg(long, value_name = "FILE.svg")]
    curve: Option<PathBuf>,
}

impl SelectArgs {
    /// The settings of the library.
    fn search(&self, families: &[SharedFamily]) -> CauseSearch {
        let ComparisonArgs { iterations, held_out, seed, .. } = &self.comparison;
        let search = CauseSearch::with_families(families).causes(self.causes.iter().copied());
        search.iterations(*iterations).held_out(*held_out).seed(seed.seed).restarts(self.restarts)
    }
}

/// Finds the number of causes, and shows the numbers that were tried.
pub(crate) fn run(args: &SelectArgs) -> Result<(), Failure> {
    let comparison = &args.comparison;
    comparison.checkpoint.around(comparison.work.log_format, || search(args))
}

fn search(args: &SelectArgs) -> Result<(), Failure> {
    args.search(&[]).check().map_err(|error| refused(&error))?;
    let comparison = &args.comparison;
    comparison.prepare(args.curve.as_deref(), &args.input.input)?;
    let input = Input::read(&args.input)?;
    let mut watch = Watch::new(comparison.work.log_format);
    let found = families(args, &input, &mut watch).and_then(|families| {
        let mut search = args.search(&families);
        if let Content::Table(content) = &input.content {
            let (table, steps) = (&content.table, steps(&args.step, &content.table)?);
            search = search.resolutions(&Resolution::of_columns(table.values.view(), &steps));
        }
        let choice = search.run_observed(input.source(), &mut |step| watch.see(step));
        Ok((families, choice.map_err(|error| input.origin().describe(&error))?))
    });
    watch.finish();
    let (families, choice) = found?;
    if cluster::follows() {
        return Ok(());
    }
    let specs: Vec<String> = families.iter().map(|family| family.spec()).collect();
    let svg = curve(&choice).map_err(Failure::work)?;
    let mut rescue = Rescue::default();
    let table = table(&choice);
    if let Some(path) = &comparison.outputs.report {
        let TextTable { head, rows } = table.clone();
        let page = Report {
            title: format!("Causes of {}", file_name(&args.input.input)),
            summary: vec![
                ("data".into(), input.words()),
                ("families".into(), specs.join(", ")),
                ("result".into(), sentence(&choice)),
            ],
            tables: vec![ReportTable { title: "Numbers of causes".into(), head, rows }],
            figures: vec![("Held-out values and BIC".into(), svg.clone())],
            ..Report::default()
        };
        rescue.write(path, |path| page.write(path, comparison.outputs.force.force));
    }
    if let Some(path) = &args.curve {
        rescue.write(path, |path| write_atomically(path, svg.as_bytes()));
    }
    let heading = format!("{}, {} held-out values", input.words(), choice.entries);
    let text = format!("{heading}\n\n{}\n\n{}", table.aligned(&[5]), sentence(&choice));
    comparison.show(&input, &text, &as_json(&choice, &specs), watch.stopped(), rescue)
}

/// The families of the columns: given, or found.
fn families(args: &SelectArgs, input: &Input<'_>, watch: &mut Watch) -> Result<Vec<SharedFamily>, Failure> {
    let seed = args.comparison.seed.seed;
    let one = |spec: &str| match family(spec) {
        Ok(family) => Ok(vec![family]),
        Err(error) => Err(Failure::input(format!("--family {spec}: {error}"))),
    };
    let own_families = match (&input.content, &args.family[..]) {
        (Content::Table(content), _) => {
            let given = ColumnFamilies::resolve(&args.family, &content.table)?;
            if let (Some(spec), 1) = (given.all, args.family.len()) {
                return one(spec);
            }
            let found = content.is_text || !args.family.is_empty();
            let noise = steps(&args.step, &content.table)?
                .into_iter()
                .fold(TableNoise::new().seed(seed), |noise, (d, step)| noise.resolution(d, step));
            let noise = given.of_labels().fold(noise, |noise, (d, count)| noise.labels(d, count));
            found.then(|| given.of_columns().fold(noise, |noise, (d, spec)| noise.fix(d, spec)))
        }
        (_, []) => None,
        (_, [spec]) => return one(spec),
        _ => return Err(Failure::input("give one --family for an image or a sound")),
    };
    let found = match (own_families, &input.content) {
        (Some(noise), Content::Table(content)) => {
            noise.run_observed(content.table.values.view(), &mut |step| watch.see(step)).map(|found| found.families())
        }
        _ => {
            let ranking = NoiseType::new().seed(seed).run_observed(input.source(), &mut |step| watch.see(step));
            ranking.map(|ranking| vec![ranking.best().family.clone()])
        }
    };
    found.map_err(|error| input.origin().describe(&error))
}

fn table(choice: &CauseChoice) -> TextTable {
    let head =
        ["causes", "held-out value", "behind ± error", "bound per row", "BIC per row", ""].map(str::to_owned).to_vec();
    let by_bic = choice.best_by_bic();
    let rows = choice.trials.iter().enumerate().map(|(index, one)| {
        let marks = [(index == choice.chosen, "chosen"), (one.h == by_bic, "best BIC")];
        let marks: Vec<&str> = marks.into_iter().filter(|(marked, _)| *marked).map(|(_, mark)| mark).collect();
        vec![
            one.h.to_string(),
            format!("{:.4}", one.held_out),
            format!("{:.4} ± {:.4}", one.behind.mean, one.behind.error),
            format!("{:.3}", one.bound),
            format!("{:.3}", one.bic),
            marks.join(", "),
        ]
    });
    TextTable { head, rows: rows.collect() }
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
