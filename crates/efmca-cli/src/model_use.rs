//! `efmca encode`, `efmca score` and `efmca sample`: what a model of a table is good for.

use std::path::Path;

use efmca::posterior::LARGEST_EXACT_H;
use efmca_io::table_file::{
    Kind, Table, check_table_place, csv_text_of, read_table, write_labelled_table, write_table,
};
use efmca_io::{ModelFile, read_model_file};
use ndarray::{Array1, Axis};

use crate::clean::set_threads;
use crate::failure::Failure;
use crate::model_args::{EncodeArgs, SampleArgs, ScoreArgs, UseArgs};
use crate::model_table::{Matched, Place, matched, names_of, quoted};
use crate::show::{Screen, largest_first};

/// Rows that are shown.
const SHOWN: usize = 5;
/// Bytes of the rows that are drawn, at the most.
const MOST_BYTES: usize = 4 << 30;

/// A model, and a table in its columns.
struct Both {
    file: ModelFile,
    names: Vec<String>,
    table: Table,
    matched: Matched,
}

impl Both {
    /// Reads both after all is checked that can be checked before.
    fn read(args: &UseArgs, output: Option<&Path>) -> Result<Self, Failure> {
        set_threads(args.threads)?;
        if let Some(output) = output {
            check_output(output, &[&args.model, &args.input], args.force)?;
        }
        let file = read_model_file(&args.model).map_err(Failure::input)?;
        let table = read_table(&args.input, &args.table.options()).map_err(Failure::input)?;
        let mut matched = matched(&file, &table, &args.input)?;
        matched.values = file
            .prepared(matched.values)
            .map_err(|problem| Failure::input(format!("{}: {problem}", args.input.display())))?;
        if let Some(changes) = file.changes() {
            matched.remarks.push(format!("its rows are changed as those that the model was learned from: {changes}"));
        }
        Ok(Self { names: names_of(&file), file, table, matched })
    }

    /// What is wrong with the values.
    fn failed(&self, args: &UseArgs, error: &efmca::Error) -> Failure {
        let labels = &self.file.labels;
        Place { path: &args.input, names: &self.names, labels, learning: false }.describe(error)
    }

    fn say_remarks(&self, args: &UseArgs, screen: &mut Screen) -> Result<(), Failure> {
        // labels have the codes of the model, not those that the reader says
        let coded: Vec<String> = (self.table.names.iter().zip(&self.table.kinds))
            .filter_map(|(name, kind)| match kind {
                Kind::Labels(labels) => Some(format!("column {} holds {} labels, coded", quoted(name), labels.len())),
                _ => None,
            })
            .collect();
        let of_reader = self.table.remarks.iter().filter(|remark| !coded.iter().any(|text| remark.starts_with(text)));
        for remark in of_reader.chain(&self.matched.remarks) {
            screen.say(&format!("note: {}: {remark}", args.input.display()))?;
        }
        Ok(())
    }

    fn exact(&self) -> bool {
        self.file.model.h() <= LARGEST_EXACT_H
    }
}

/// Finds out whether a table can be written there, and whether it would replace what it is made of.
fn check_output(output: &Path, others: &[&Path], force: bool) -> Result<(), Failure> {
    if others.contains(&output) {
        return Err(Failure::input(format!("{}: two files cannot be the same", output.display())));
    }
    check_table_place(output, force).map_err(Failure::input)
}

fn cause_names(h: usize) -> Vec<String> {
    (1..=h).map(|cause| format!("cause {cause}")).collect()
}

pub(crate) fn encode(args: &EncodeArgs) -> Result<(), Failure> {
    let both = Both::read(&args.with, Some(&args.output))?;
    let mut codes = both.file.model.encode(&both.matched.values).map_err(|error| both.failed(&args.with, &error))?;
    // sums of probabilities can round to a little more than 1
    codes.mapv_inplace(|probability| probability.clamp(0.0, 1.0));
    write_table(&args.output, &cause_names(both.file.model.h()), codes.view(), args.with.force)
        .map_err(Failure::work)?;
    let mut screen = Screen::new();
    both.say_remarks(&args.with, &mut screen)?;
    let active = codes.sum() / codes.nrows().max(1) as f64;
    screen.say(&format!(
        "{} rows, {active:.2} of {} causes active in a row on average",
        codes.nrows(),
        codes.ncols()
    ))?;
    if !both.exact() {
        screen.say(&format!("the probabilities are approximate: there are more than {LARGEST_EXACT_H} causes"))?;
    }
    Ok(screen.say(&format!("wrote {}", args.output.display()))?)
}

pub(crate) fn score(args: &ScoreArgs) -> Result<(), Failure> {
    let both = Both::read(&args.with, args.output.as_deref())?;
    let scores =
        both.file.model.log_likelihoods(&both.matched.values).map_err(|error| both.failed(&args.with, &error))?;
    if let Some(output) = &args.output {
        let column = scores.view().insert_axis(Axis(1));
        write_table(output, &["log-likelihood".to_owned()], column, args.with.force).map_err(Failure::work)?;
    }
    let mut screen = Screen::new();
    both.say_remarks(&args.with, &mut screen)?;
    let how = match both.exact() {
        true => "exact".to_owned(),
        false => format!("lower bounds, as there are more than {LARGEST_EXACT_H} causes"),
    };
    let how =
        both.file.changes().map_or(how.clone(), |changes| format!("{how}; of rows as the model sees them: {changes}"));
    screen.say(&format!("log-likelihood of {} rows ({how})", scores.len()))?;
    screen.say(&format!("  mean   {:.4}", scores.sum() / scores.len().max(1) as f64))?;
    screen.say(&format!("  total  {:.4}", scores.sum()))?;
    screen.say("least likely rows (look there for errors in the data)")?;
    let unlikely: Array1<f64> = -&scores;
    for row in largest_first(&unlikely).into_iter().take(SHOWN) {
        screen.say(&format!("  row {}  {:.4}", row + 1, scores[row]))?;
    }
    if let Some(output) = &args.output {
        screen.say(&format!("wrote {}", output.display()))?;
    }
    Ok(())
}

pub(crate) fn sample(args: &SampleArgs) -> Result<(), Failure> {
    if args.rows == 0 {
        return Err(Failure::input("-n 0: give 1 row or more"));
    }
    let mut taken = vec![args.model.as_path()];
    for path in [args.output.as_deref(), args.causes.as_deref()].into_iter().flatten() {
        check_output(path, &taken, args.force)?;
        taken.push(path);
    }
    let file = read_model_file(&args.model).map_err(Failure::input)?;
    let width = (file.model.d() + file.model.h()) * size_of::<f64>();
    if args.rows > MOST_BYTES / width {
        return Err(Failure::input(format!(
            "-n {}: that needs too much memory; draw at most {} rows at once, and more with another --seed",
            args.rows,
            MOST_BYTES / width
        )));
    }
    let mut drawn = file.model.sample(args.rows, args.seed);
    drawn.y = file.restored(drawn.y);
    let names = names_of(&file);
    if let Some(path) = &args.causes {
        write_table(path, &cause_names(file.model.h()), drawn.s.view(), args.force).map_err(Failure::work)?;
    }
    let mut screen = Screen::new();
    let Some(output) = &args.output else {
        let text = csv_text_of(&names, &file.labels, drawn.y.view())?;
        return Ok(screen.say(text.trim_end_matches('\n'))?);
    };
    write_labelled_table(output, &names, &file.labels, drawn.y.view(), args.force).map_err(Failure::work)?;
    let text_file = output
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("csv") || extension.eq_ignore_ascii_case("tsv"));
    if !text_file && file.labels.iter().any(Option::is_some) {
        screen.say(&format!("note: {}: labels are written as their numbers, from 0", output.display()))?;
    }
    let causes = args.causes.as_ref().map_or(String::new(), |path| format!(", {}", path.display()));
    Ok(screen.say(&format!("wrote {} ({} rows, {} columns){causes}", output.display(), args.rows, names.len()))?)
}
