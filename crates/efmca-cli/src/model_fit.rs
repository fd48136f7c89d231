//! `efmca fit`: learns a model of a table.

use std::path::Path;

use efmca::em::StopReason;
use efmca::family::{SharedFamily, check};
use efmca::tasks::noise::{ColumnTypes, Mixed, NoiseType, Source};
use efmca::tasks::select::{Choice, Select};
use efmca::{Em, Error, Fit, Init, Truncation};
use efmca_io::table_file::{Table, read_table};
use efmca_io::{ModelFile, check_place, write_model_file};
use efmca_view::Report;

use crate::clean::set_threads;
use crate::failure::Failure;
use crate::model_args::FitArgs;
use crate::model_causes::{described, picture};
use crate::model_families::Plan;
use crate::model_table::{Place, labels_of};
use crate::progress::Watch;
use crate::show::Screen;

/// Causes with which families are sought where their number is not known yet.
const FIRST_CAUSES: usize = 8;
/// Rows for each of those causes, at the least.
const ROWS: usize = 20;
/// Iterations of the trainings that choose, at the most.
const SHORT: usize = 60;
/// Rows of average data in each entry of the dictionaries: no value of a later table is impossible then, and no cause
/// shrinks to a single value.
const PSEUDO_COUNT: f64 = 1.0;
/// States of a row where all of them would take too long.
const STATES: usize = 60;
/// Work of one iteration with all states, above which some have to do.
const MOST_WORK: usize = 1 << 30;
/// Causes that are shown.
const SHOWN: usize = 5;

/// What was learned.
struct Learned {
    fit: Fit,
    families: Vec<SharedFamily>,
    /// Where each family comes from.
    origins: Vec<String>,
    /// Where the number of causes comes from.
    causes: String,
}

pub(crate) fn run(args: &FitArgs) -> Result<(), Failure> {
    let components = match args.components.as_str() {
        "auto" => None,
        text => match text.parse::<usize>() {
            Ok(number) if number > 0 => Some(number),
            _ => return Err(Failure::input(format!("--components {text}: give a number of causes, or auto"))),
        },
    };
    for (option, value) in
        [("iterations", args.iterations), ("starts", args.starts), ("states", args.states.unwrap_or(1))]
    {
        if value == 0 {
            return Err(Failure::input(format!("--{option} 0: give 1 or more")));
        }
    }
    set_threads(args.threads)?;
    check_outputs(args)?;
    let table = read_table(&args.input, &args.table.options()).map_err(Failure::input)?;
    let plan = Plan::new(&args.family, &table)?;
    let labels = labels_of(&table);
    let place = Place { path: &args.input, names: &table.names, labels: &labels, learning: true };
    let mut watch = Watch::new(args.log_format);
    let learned =
        learn(args, components, &table, &plan, &mut watch).map_err(|error| place.describe(&as_written(error, &plan)));
    watch.finish();
    let learned = learned?;
    finish(args, &table, learned, &watch)
}

/// Finds out before the work starts whether its results can be written.
fn check_outputs(args: &FitArgs) -> Result<(), Failure> {
    let same = |path: &Path| Failure::input(format!("{}: two files cannot be the same", path.display()));
    check_place(&args.output, args.force).map_err(Failure::input)?;
    if args.output == args.input {
        return Err(same(&args.output));
    }
    let Some(report) = &args.report else { return Ok(()) };
    if *report == args.output || *report == args.input {
        return Err(same(report));
    }
    check_place(report, args.force).map_err(Failure::input)
}

/// An error about a family as the user wrote it: what was to be found in it was not found yet.
fn as_written(mut error: Error, plan: &Plan) -> Error {
    if let Error::OutsideSupport { family, column, .. } = &mut error
        && let Some(Some(spec)) = plan.specs.get(*column)
    {
        family.clone_from(spec);
    }
    error
}

/// Finds what was not given, and trains.
fn learn(
    args: &FitArgs,
    components: Option<usize>,
    table: &Table,
    plan: &Plan,
    watch: &mut Watch,
) -> Result<Learned, Error> {
    let values = table.values.view();
    let (rows, columns) = values.dim();
    let short = args.iterations.min(SHORT);
    let mut mixed = None;
    let families = match plan.known() {
        Some(families) => {
            for ((row, d), value) in values.indexed_iter().filter(|(_, value)| !value.is_nan()) {
                check(&*families[d], *value, row, d)?;
            }
            families
        }
        None => {
            let first = (rows / ROWS).min(2 * columns).clamp(1, FIRST_CAUSES);
            let settings = NoiseType::new(components.unwrap_or(first)).iterations(short).seed(args.seed);
            let fixed = plan.specs.iter().enumerate().filter_map(|(d, spec)| Some((d, spec.clone()?)));
            let search = fixed.fold(Mixed::new(settings), |search, (d, spec)| search.fix(d, spec));
            let found = search.run_observed(values, &mut |step| watch.see(step))?;
            let families = found.columns.iter().map(|column| column.family.clone()).collect();
            mixed = Some(found);
            families
        }
    };
    // where nobody wants to wait any longer, the families were found with a number that will do
    let enough = mixed.as_ref().map(|found| found.fit.model.h()).filter(|_| watch.stopped());
    let (h, causes, choice) = match (components, enough) {
        (Some(h), _) => (h, "as given".to_owned(), None),
        (None, Some(h)) => (h, "not chosen, as it was stopped early".to_owned(), None),
        (None, None) => {
            let select = Select::with_families(families.clone()).iterations(short).seed(args.seed);
            let choice = select.run_observed(Source::Table(values), &mut |step| watch.see(step))?;
            (choice.best().h, reason(&choice), Some(choice))
        }
    };
    let mut em = Em::new(h).families(families.clone()).iterations(args.iterations).seed(args.seed);
    em = em.pseudo_count(PSEUDO_COUNT).starts(args.starts);
    let too_much = h < 64 && rows.saturating_mul(columns) > MOST_WORK >> h;
    em = match args.states {
        Some(states) => em.truncated(Truncation::new(states)),
        None if too_much => em.truncated(Truncation::new(STATES)),
        None => em,
    };
    let before = mixed.as_ref().map(|found| &found.fit).filter(|fit| fit.model.h() == h);
    if watch.stopped() {
        let model = before.map(|fit| &fit.model).or(choice.as_ref().map(|choice| &choice.best().model));
        if let Some(model) = model {
            em = em.init(Init::Model(Box::new(model.clone()))).starts(1);
        }
    }
    let mut fit = em.run_observed(&table.values, &mut |progress| watch.see(progress))?;
    // the search for families had starts of its own
    if let Some(before) = before.filter(|before| before.bound > fit.bound) {
        fit = before.clone();
    }
    let origins = (0..columns).map(|d| origin(plan, mixed.as_ref(), d)).collect();
    Ok(Learned { fit, families, origins, causes })
}

/// Why this number of causes.
fn reason(choice: &Choice) -> String {
    let tried: Vec<String> = choice.tried.iter().map(|tried| tried.h.to_string()).collect();
    let chosen = choice.best().h;
    let first = choice.tried.iter().max_by(|a, b| a.held_out.total_cmp(&b.held_out)).map_or(chosen, |tried| tried.h);
    let hidden = choice.entries;
    let mut text = match (tried.len(), first == chosen) {
        (1, _) => "the table is too small to try more".to_owned(),
        (_, true) => format!("of {} it foretells {hidden} hidden values best", tried.join(", ")),
        (_, false) => format!(
            "of {} the smallest that foretells {hidden} hidden values as well as {first}, within the error",
            tried.join(", ")
        ),
    };
    if tried.len() > 1 {
        text += &match choice.best_by_bic() {
            bic if bic == chosen => "; best BIC, too".to_owned(),
            bic => format!("; by BIC it would be {bic}"),
        };
        if choice.tried.last().is_some_and(|last| last.h == chosen) {
            text += "; more were not tried: see --components";
        }
    }
    text
}

/// Where the family of a column comes from.
fn origin(plan: &Plan, mixed: Option<&ColumnTypes>, d: usize) -> String {
    if plan.specs[d].is_some() {
        return plan.origins[d].to_owned();
    }
    let Some(column) = mixed.and_then(|found| found.columns.get(d)) else { return "found".to_owned() };
    let chosen = column.family.spec();
    let others = column.tried.iter().filter(|tried| tried.tied && tried.family.spec() != chosen);
    let others: Vec<String> = others.take(3).map(|tried| tried.family.spec()).collect();
    let tied = if others.is_empty() { String::new() } else { format!("; as good: {}", others.join(", ")) };
    format!("found for {}{tied}", column.kind.words())
}

/// Writes all that was asked for, and says what came out.
fn finish(args: &FitArgs, table: &Table, learned: Learned, watch: &Watch) -> Result<(), Failure> {
    let Learned { fit, families, origins, causes } = learned;
    let (rows, columns) = table.values.dim();
    let missing = table.values.iter().filter(|value| value.is_nan()).count();
    let file = ModelFile { names: table.names.clone(), labels: labels_of(table), ..ModelFile::from(fit.model.clone()) };
    write_model_file(&args.output, &file).map_err(Failure::work)?;
    let iterations = fit.history.len();
    let training = match fit.stop {
        StopReason::Converged => format!("converged after iteration {iterations}"),
        StopReason::Interrupted => format!("stopped after iteration {iterations}"),
        _ => format!("all {iterations} iterations done; --iterations allows more"),
    };
    let bound = fit.sets.is_some();
    let per_row = fit.bound / fit.weight;
    let mut summary: Vec<(String, String)> = [
        ("rows", rows.to_string()),
        ("columns", columns.to_string()),
        ("missing values", missing.to_string()),
        ("causes", format!("{} ({causes})", fit.model.h())),
        ("training", training),
        ("log-likelihood", format!("{per_row:.4} a row ({})", if bound { "a lower bound" } else { "exact" })),
        ("BIC", format!("{:.1} (smaller is better)", fit.bic())),
    ]
    .map(|(what, value)| (what.to_owned(), value))
    .to_vec();
    summary.retain(|(what, value)| what != "missing values" || value != "0");
    let shown = described(&file, table.values.view(), SHOWN);

    let mut screen = Screen::new();
    for remark in &table.remarks {
        screen.say(&format!("note: {}: {remark}", args.input.display()))?;
    }
    if watch.stopped() {
        screen.say("stopped early: this is the result so far")?;
    }
    for (what, value) in &summary {
        screen.say(&format!("{what:<16}{value}"))?;
    }
    screen.say("families")?;
    let specs: Vec<String> = families.iter().map(|family| family.spec()).collect();
    let width = |texts: &[String]| texts.iter().map(|text| text.chars().count()).max().unwrap_or(0).min(40);
    let (first, second) = (width(&table.names), width(&specs));
    for ((name, spec), origin) in table.names.iter().zip(&specs).zip(&origins) {
        screen.say(&format!("  {name:<first$}  {spec:<second$}  {origin}"))?;
    }
    screen.say("most active causes")?;
    for line in &shown {
        screen.say(&format!("  {line}"))?;
    }
    if let Some(path) = &args.report {
        let families = table.names.iter().zip(&specs).zip(&origins);
        summary
            .extend(families.map(|((name, spec), origin)| (format!("family of {name}"), format!("{spec} ({origin})"))));
        summary.extend(shown.into_iter().filter_map(|line| {
            let (what, value) = line.split_once(", ")?;
            Some((what.to_owned(), value.to_owned()))
        }));
        summary.insert(0, ("table".to_owned(), args.input.display().to_string()));
        summary.push(("seed".to_owned(), args.seed.to_string()));
        let title = args.output.file_name().map_or("efmca".into(), |name| name.to_string_lossy().into_owned());
        let curve = fit.history.iter().map(|step| step.bound).collect();
        let page = Report { title, summary, causes: Some(picture(&file)?), curve, ..Report::default() };
        page.write(path, args.force).map_err(Failure::work)?;
    }
    let report = args.report.as_ref().map_or(String::new(), |path| format!(", {}", path.display()));
    screen.say(&format!("wrote {}{report}", args.output.display()))?;
    watch.event(
        "fitted",
        &[
            ("causes", fit.model.h().into()),
            ("log_likelihood", fit.bound.into()),
            ("is_bound", bound.into()),
            ("bic", fit.bic().into()),
            ("families", specs.into()),
            ("path", args.output.display().to_string().into()),
        ],
    );
    Ok(())
}
