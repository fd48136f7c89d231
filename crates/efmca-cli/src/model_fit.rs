//! `efmca fit`: learns a model of a table.

use std::path::Path;

use efmca::Error;
use efmca::em::StopReason;
use efmca::tasks::select::CauseChoice;
use efmca::tasks::table::{CauseOrigin, FamilyOrigin, LearnedTable, TableLearner};
use efmca_io::table_file::{Table, read_table};
use efmca_io::{ModelFile, check_place, write_model_file};
use efmca_view::Report;

use crate::clean::set_threads;
use crate::failure::Failure;
use crate::model_args::FitArgs;
use crate::model_causes::{described, picture};
use crate::model_families::Plan;
use crate::model_table::{Place, labels_of};
use crate::noise_type::causes_of;
use crate::progress::Watch;
use crate::show::Screen;

/// Causes that are shown.
const SHOWN: usize = 5;

pub(crate) fn run(args: &FitArgs) -> Result<(), Failure> {
    let learner = TableLearner::new().causes(causes_of(&args.components)?).iterations(args.iterations);
    let learner = learner.starts(args.starts).states(args.states).seed(args.seed);
    learner.check().map_err(|error| match error {
        Error::Setting { name, value, requirement } => Failure::input(format!("--{name} {value}: {requirement}")),
        other => Failure::input(other),
    })?;
    set_threads(args.threads)?;
    check_outputs(args)?;
    let table = read_table(&args.input, &args.table.options()).map_err(Failure::input)?;
    let plan = Plan::new(&args.family, &table)?;
    let given = plan.specs.iter().enumerate().filter_map(|(d, spec)| Some((d, spec.as_ref()?)));
    let learner = given.fold(learner, |learner, (d, spec)| learner.column(d, spec));
    let labels = labels_of(&table);
    let place = Place { path: &args.input, names: &table.names, labels: &labels, learning: true };
    let mut watch = Watch::new(args.log_format);
    let learned = learner.run_observed(table.values.view(), &mut |progress| watch.see(progress));
    watch.finish();
    let learned = learned.map_err(|error| place.describe(&error))?;
    finish(args, &table, &plan, learned, &watch)
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

/// Why this number of causes.
fn causes(origin: &CauseOrigin) -> String {
    match origin {
        CauseOrigin::Given => "as given".to_owned(),
        CauseOrigin::Suitable => "for a table of this size".to_owned(),
        CauseOrigin::Stopped => "not chosen, as it was stopped early".to_owned(),
        CauseOrigin::Chosen(choice) => reason(choice),
    }
}

/// Why this number of causes was chosen.
fn reason(choice: &CauseChoice) -> String {
    let numbers: Vec<String> = choice.trials.iter().map(|trial| trial.h.to_string()).collect();
    let (chosen, first, held_out) = (choice.best().h, choice.best_by_held_out(), choice.entries);
    if numbers.len() == 1 {
        return "the table is too small to try more".to_owned();
    }
    let numbers = numbers.join(", ");
    let mut text = if first == chosen {
        format!("of {numbers} it predicts {held_out} held-out values best")
    } else {
        format!(
            "of {numbers} the smallest that predicts {held_out} held-out values as well as {first}, within the error"
        )
    };
    text += &match choice.best_by_bic() {
        bic if bic == chosen => "; best BIC, too".to_owned(),
        bic => format!("; by BIC it would be {bic}"),
    };
    if choice.is_at_the_end() {
        text += "; more were not tried: see --components";
    }
    text
}

/// Where the family of a column comes from.
fn origin(plan: &Plan, learned: &LearnedTable, d: usize) -> String {
    let column = match &learned.origins[d] {
        FamilyOrigin::Given => return plan.origins[d].to_owned(),
        FamilyOrigin::OneValue => return "has one value only".to_owned(),
        FamilyOrigin::Found(column) => column,
    };
    let chosen = column.family.spec();
    let others = column.trials.iter().filter(|trial| trial.tied && trial.family.spec() != chosen);
    let others: Vec<String> = others.take(3).map(|trial| trial.family.spec()).collect();
    let tied = if others.is_empty() { String::new() } else { format!("; as good: {}", others.join(", ")) };
    format!("found for {}{tied}", column.kind.words())
}

/// Writes all that was asked for, and shows the result.
fn finish(args: &FitArgs, table: &Table, plan: &Plan, learned: LearnedTable, watch: &Watch) -> Result<(), Failure> {
    let origins: Vec<String> = (0..learned.families.len()).map(|d| origin(plan, &learned, d)).collect();
    let causes = causes(&learned.causes);
    let LearnedTable { fit, families, .. } = learned;
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
