//! `efmca fit`: learns a model of a table.

mod args;
pub(crate) mod causes;
mod known;

use std::path::Path;

use efmca::Fingerprint;
use efmca::em::{Progress, StopReason};
use efmca::model::Resolution;
use efmca::ranks::alone;
use efmca::tasks::select::CauseChoice;
use efmca::tasks::table::{CauseOrigin, FamilyOrigin, LearnedTable};
use efmca_io::table_file::{KeptRows, Table, TableOptions, read_table};
use efmca_io::{ModelFile, write_model_file};
use efmca_view::Report;

use crate::cluster;
use crate::columns::{ColumnFamilies, steps};
use crate::commands::report::{Groups, TableReport};
use crate::commands::views;
use crate::errors::{Origin, TableOrigin};
use crate::failure::Failure;
use crate::outputs::{self, Output};
use crate::progress::Watch;
use crate::rescue::Rescue;
use crate::show::{Screen, file_name, width_of};
pub(crate) use args::FitArgs;
use causes::{Description, described, picture};

/// Causes that are shown.
const SHOWN: usize = 5;
/// Columns whose families are listed one by one even if all are the same.
const MOST_COLUMNS: usize = 100;

/// Learns a model, writes it, and shows it.
pub(crate) fn run(args: &FitArgs) -> Result<(), Failure> {
    args.checkpoint.around(args.work.log_format, || learn(args))
}

fn learn(args: &FitArgs) -> Result<(), Failure> {
    let learner = args.learner()?;
    args.work.set_threads()?;
    let numbers = args.numbers.files();
    let results = [Some(Output::File(&args.output)), args.outputs.report.as_deref().map(Output::File)];
    let results = results.into_iter().chain(numbers.iter().map(|path| Some(Output::File(path))));
    let inputs = [Some(&args.input), args.signs.as_ref(), args.hold.as_ref(), args.views.as_ref()];
    let inputs: Vec<&Path> = inputs.into_iter().flatten().map(|path| path.as_path()).collect();
    outputs::check(results, &inputs, args.outputs.force.force)?;
    // the numbers of a report need all rows
    let wanted = args.outputs.report.is_some() || args.numbers.wanted();
    let options = TableOptions { keep_rows: !wanted, ..args.table.options() };
    let mut table = read_table(&args.input, &options).map_err(Failure::input)?;
    let by = args.numbers.by.as_deref().map(|by| Groups::take(by, &mut table)).transpose()?;
    let given = ColumnFamilies::resolve(&args.family, &table)?;
    let learner = given.of_columns().fold(learner, |learner, (d, spec)| learner.column(d, spec));
    let learner = match args.hold {
        // the families are those of the model
        Some(_) => learner,
        None => given.of_labels().fold(learner, |learner, (d, count)| learner.labels(d, count)),
    };
    let learner =
        steps(&args.step, &table)?.into_iter().fold(learner, |learner, (d, step)| learner.resolution(d, step));
    let (learner, known) = known::with_known(args, learner, &table)?;
    let labels = table.labels();
    let origin = TableOrigin { path: &args.input, names: &table.names, labels: &labels, step: 1, learning: true };
    // all ranks read the table
    Fingerprint::over_ranks(table.data()).map_err(Failure::input)?;
    let mut watch = Watch::new(args.work.log_format);
    let observer = &mut |progress: &Progress<'_>| watch.see(progress);
    let learned = match &table.rows {
        Some(rows) => learner.run_data(rows.data(), observer),
        None => learner.run_observed(table.values.view(), observer),
    };
    watch.finish();
    let learned = learned.map_err(|error| Origin::Table(origin).describe(&error))?;
    if cluster::follows() {
        return Ok(());
    }
    let origins = (0..learned.families.len()).map(|d| family_origin(&given, &learned, d)).collect();
    let file =
        ModelFile { names: table.names.clone(), labels: labels.clone(), ..ModelFile::from(learned.fit.model.clone()) };
    let mut rescue = Rescue::default();
    // what was found is shown, and its report written, also where the model is not where it should be
    rescue.write(&args.output, |path| write_model_file(path, &file));
    let summary = Summary {
        settings: summary(&table, &learned),
        specs: learned.families.iter().map(|family| family.spec()).collect(),
        origins,
        causes: described(&file, &table, SHOWN),
    };
    let mut screen = Screen::beside_files();
    screen.notes(&args.input, &table.remarks)?;
    if watch.stopped() {
        screen.say("stopped early: this is the result so far")?;
    }
    summary.show(&table.names, &mut screen)?;
    for (one, other) in learned.duplicates() {
        screen.say(&format!(
            "causes {} and {} do the same in every column: fewer causes may do (--causes)",
            one + 1,
            other + 1
        ))?;
    }
    for (cause, name) in known.iter().enumerate() {
        screen.say(&format!("cause {} is {name}, of which something was known", cause + 1))?;
    }
    if args.outputs.report.is_some() || args.numbers.wanted() {
        let mut watch = Watch::new(args.work.log_format);
        let observer = &mut |progress: &Progress<'_>| watch.see(progress);
        // by rank 0 alone: the others have done their part
        let report =
            alone(|| TableReport::new(&file, table.values.view(), by, args.seed.seed, learned.choice(), observer));
        watch.finish();
        let report = report.map_err(|error| Origin::Table(origin).describe(&error))?;
        if let Some(path) = &args.outputs.report {
            let page = report.on(summary.page(args, &file, &learned)?)?;
            rescue.write(path, |path| page.write(path, args.outputs.force.force));
        }
        report.write_numbers(&args.numbers, rescue)?;
        report.differences().iter().try_for_each(|line| screen.say(line))?;
    } else {
        rescue.finish()?;
    }
    let others = args.outputs.report.iter().chain(&numbers).map(|path| format!(", {}", path.display()));
    screen.say(&format!("wrote {}{}", args.output.display(), others.collect::<String>()))?;
    watch.event(
        "fitted",
        &[
            ("causes", learned.fit.model.h().into()),
            ("log_likelihood", learned.fit.bound.into()),
            ("is_bound", (!learned.fit.is_exact()).into()),
            ("bic", learned.fit.bic().into()),
            ("families", summary.specs.into()),
            ("path", args.output.display().to_string().into()),
        ],
    );
    Ok(())
}

/// Why this number of causes was taken.
fn cause_origin(origin: &CauseOrigin) -> String {
    match origin {
        CauseOrigin::Given => "as given".to_owned(),
        CauseOrigin::Suitable => "for a table of this size".to_owned(),
        CauseOrigin::Stopped => "not chosen, because the work was stopped early".to_owned(),
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
        text += "; more were not tried: see --causes";
    }
    text
}

/// The origin of the family of column `d`.
fn family_origin(given: &ColumnFamilies<'_>, learned: &LearnedTable, d: usize) -> String {
    let column = match &learned.origins[d] {
        FamilyOrigin::Given if given.has(d) => return given_for(&learned.resolutions[d]),
        FamilyOrigin::Given => return "for labels".to_owned(),
        FamilyOrigin::OneValue => return "has one value only".to_owned(),
        FamilyOrigin::Found(column) => column,
    };
    let chosen = column.family.spec();
    let others = column.trials.iter().filter(|trial| trial.tied && trial.family.spec() != chosen);
    let others: Vec<String> = others.take(3).map(|trial| trial.family.spec()).collect();
    let tied = if others.is_empty() { String::new() } else { format!("; as good: {}", others.join(", ")) };
    let verdict = column.verdict.as_ref().filter(|verdict| !verdict.fits());
    let verdict = verdict.map_or(String::new(), |verdict| format!("; {}", verdict.sentence()));
    let remark = column.remark().map_or(String::new(), |remark| format!("; {remark}"));
    format!("found for {}{tied}{verdict}{remark}", column.values())
}

/// A family that was given, and what was assumed of the values.
fn given_for(resolution: &Resolution) -> String {
    match resolution {
        Resolution::Continuous => "given".to_owned(),
        rounded => format!("given, for {}", rounded.words()),
    }
}

/// The results in words.
struct Summary {
    settings: Vec<(String, String)>,
    /// The families of the columns, and their origins.
    specs: Vec<String>,
    origins: Vec<String>,
    causes: Vec<Description>,
}

/// The size of the table, and the numbers of the training.
fn summary(table: &Table, learned: &LearnedTable) -> Vec<(String, String)> {
    let fit = &learned.fit;
    let columns = table.names.len();
    let rows = table.data().n();
    let missing = match &table.rows {
        Some(KeptRows::Sparse(rows)) => rows.missing(),
        _ => table.values.iter().filter(|value| value.is_nan()).count(),
    };
    let iterations = fit.history.len();
    let training = match fit.stop {
        StopReason::Converged => format!("converged after iteration {iterations}"),
        StopReason::Interrupted => format!("stopped after iteration {iterations}"),
        _ => format!("all {iterations} iterations done; --iterations allows more"),
    };
    let exact = if fit.is_exact() { "exact" } else { "a lower bound" };
    // columns that count less than once make another number of it, which no criterion is for
    let weighted = fit.model.columns().views().is_some();
    let likelihood = if weighted { "weighted log-likelihood" } else { "log-likelihood" };
    let lines = [
        ("rows", Some(rows.to_string())),
        ("columns", Some(columns.to_string())),
        ("missing values", (missing > 0).then(|| missing.to_string())),
        ("causes", Some(format!("{} ({})", fit.model.h(), cause_origin(&learned.causes)))),
        ("training", Some(training)),
        ("views", views::words(&fit.model)),
        (likelihood, Some(format!("{:.4} per row ({exact})", fit.bound / fit.weight))),
        ("BIC", (!weighted).then(|| format!("{:.1} (smaller is better)", fit.bic()))),
    ];
    lines.into_iter().filter_map(|(what, value)| Some((what.to_owned(), value?))).collect()
}

impl Summary {
    fn show(&self, names: &[String], screen: &mut Screen) -> Result<(), Failure> {
        for (what, value) in &self.settings {
            screen.say(&format!("{what:<15} {value}"))?;
        }
        if names.len() > MOST_COLUMNS && self.same_family() {
            screen.say(&format!("families        {} in all {} columns", self.specs[0], names.len()))?;
            return self.show_causes(screen);
        }
        screen.say("families")?;
        let (first, second) = (width_of(names), width_of(&self.specs));
        for ((name, spec), origin) in names.iter().zip(&self.specs).zip(&self.origins) {
            screen.say(&format!("  {name:<first$}  {spec:<second$}  {origin}"))?;
        }
        self.show_causes(screen)
    }

    /// Whether all columns have one family, which came about in one way.
    fn same_family(&self) -> bool {
        self.specs.iter().all(|spec| *spec == self.specs[0])
            && self.origins.iter().all(|origin| *origin == self.origins[0])
    }

    fn show_causes(&self, screen: &mut Screen) -> Result<(), Failure> {
        screen.say("most active causes")?;
        for Description { cause, effect } in &self.causes {
            screen.say(&format!("  {cause}, {effect}"))?;
        }
        Ok(())
    }

    /// The results as a page.
    fn page(&self, args: &FitArgs, file: &ModelFile, learned: &LearnedTable) -> Result<Report, Failure> {
        let table = [("table".to_owned(), args.input.display().to_string())];
        let families = file.names.iter().zip(&self.specs).zip(&self.origins);
        let families =
            families.map(|((name, spec), origin)| (format!("family of {name}"), format!("{spec} ({origin})")));
        let causes = self.causes.iter().map(|Description { cause, effect }| (cause.clone(), effect.clone()));
        let seed = [("seed".to_owned(), args.seed.seed.to_string())];
        Ok(Report {
            title: file_name(&args.output),
            summary: table.into_iter().chain(self.settings.clone()).chain(families).chain(causes).chain(seed).collect(),
            causes: Some(picture(file)?),
            curve: learned.fit.history.iter().map(|step| step.bound).collect(),
            ..Report::default()
        })
    }
}
