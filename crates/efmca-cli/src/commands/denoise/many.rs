//! Many images, one after the other: what fails does not end the others, and what was stopped can be resumed.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use efmca::Model;
use efmca::tasks::denoise::Denoised;
use efmca_io::image_file::Format;

use super::apply::clean_with;
use super::args::{FileArgs, LearningArgs};
use super::noisy::Noisy;
use super::places::{Batch, Item, result_name};
use super::{After, Prepare, learn_and_clean, size_of};
use crate::args::common::PatchSize;
use crate::failure::Failure;
use crate::outputs::{self, Output, place};
use crate::progress::Watch;
use crate::show::Screen;

/// Bytes of a file that say whether it is an image.
const HEAD: u64 = 64;

/// Settings for cleaning many images.
pub(super) struct Many<'a> {
    pub(super) files: &'a FileArgs,
    pub(super) learning: &'a LearningArgs,
    pub(super) prepare: Prepare<'a>,
}

/// A model for all images.
struct SharedModel {
    /// Where it comes from.
    name: String,
    model: Model,
    patch: PatchSize,
}

/// What became of the images.
#[derive(Default)]
struct Tally {
    cleaned: usize,
    /// The reasons.
    failed: Vec<String>,
    /// A result that would have become better.
    unfinished: Option<PathBuf>,
}

impl Many<'_> {
    /// Cleans all images; `read` are other files that are read, and must not be overwritten.
    pub(super) fn run(&self, batch: &Batch, read: &[Option<&Path>]) -> Result<(), Failure> {
        self.refuse_options_for_one()?;
        self.learning.denoiser(&self.learning.noise()?.for_reading(self.files)?)?;
        let (mut pending, mut blocked): (Vec<&Item>, Vec<(&Item, Failure)>) = (Vec::new(), Vec::new());
        for item in &batch.items {
            match if batch.resume { is_cleaned(&item.output) } else { Ok(false) } {
                Ok(true) => {}
                Ok(false) => pending.push(item),
                Err(failure) => blocked.push((item, failure)),
            }
        }
        self.check_places(batch, &pending, read)?;
        self.files.work.set_threads()?;

        let watch = Watch::new(self.files.work.log_format);
        let mut shared = None;
        if let (Some(source), false) = (&batch.source, pending.is_empty()) {
            let of_source = place(source);
            // the file to learn from comes first
            pending.sort_by_cached_key(|item| place(&item.input) != of_source);
            if pending.first().is_some_and(|item| place(&item.input) != of_source) {
                shared = Some(self.learn(source, batch, &watch)?);
            }
        }
        let mut tally = Tally::default();
        for (item, failure) in &blocked {
            tally.fail(item, failure, &watch)?;
        }
        for (before, item) in pending.iter().enumerate() {
            if watch.stopped() {
                break;
            }
            self.announce(item, before + 1, pending.len(), &watch)?;
            let files = self.files.of(&item.input, &item.output);
            let own_watch = || watch.for_file(&format!("file {} of {}", before + 1, pending.len()));
            let cleaned = match &shared {
                Some(SharedModel { name, model, patch }) => {
                    let image = Noisy::read(&files);
                    image.and_then(|image| {
                        clean_with(model, name, Some(*patch), (&files, image), &own_watch(), self.prepare)
                    })
                }
                None => {
                    let after = if batch.source.is_some() { After::WriteAndKeep } else { After::Write };
                    let denoised = learn_and_clean(&files, self.learning, after, own_watch, self.prepare);
                    if let (Some(source), Err(failure), false) = (&batch.source, &denoised, watch.stopped()) {
                        return Err(no_model(source, failure));
                    }
                    denoised.map(|denoised| {
                        tally.unfinished = denoised.interrupted.then(|| item.output.clone());
                        shared = batch.source.as_ref().and_then(|source| SharedModel::of(source, &denoised));
                    })
                }
            };
            match cleaned {
                Ok(()) => tally.cleaned += 1,
                Err(Failure::OutputClosed) => return Err(Failure::OutputClosed),
                // nothing is wrong with an image that there was no time for
                Err(failure) if watch.stopped() => watch.warn(&failure.to_string()),
                Err(failure) => tally.fail(item, &failure, &watch)?,
            }
        }
        self.conclude(&tally, batch, pending.len() + blocked.len(), &watch)
    }

    /// Options that name one file have no meaning for many.
    fn refuse_options_for_one(&self) -> Result<(), Failure> {
        for (option, given, what) in [
            ("--report", self.files.outputs.report.is_some(), "one page"),
            ("--uncertainty", self.files.uncertainty.is_some(), "one image"),
            ("--reference", self.files.reference.is_some(), "one image"),
            ("--save-model", self.learning.save_model.is_some(), "one model"),
        ] {
            if given {
                let problem = format!("{option} names {what}; use it with one file and --output, without --out-dir");
                return Err(Failure::input(problem));
            }
        }
        Ok(())
    }

    /// Finds out before the work whether all results can be written, and replace nothing that is needed.
    fn check_places(&self, batch: &Batch, pending: &[&Item], read: &[Option<&Path>]) -> Result<(), Failure> {
        let inputs: Vec<&Path> = batch.items.iter().map(|item| item.input.as_path()).collect();
        let places: Vec<PathBuf> = inputs.iter().map(|input| place(input)).collect();
        if let Some(item) = batch.items.iter().find(|item| places.contains(&place(&item.output))) {
            return Err(Failure::input(format!(
                "--out-dir {}: the input {} would be overwritten; give another folder",
                batch.folder.display(),
                item.output.display()
            )));
        }
        let force = self.files.outputs.force.force;
        let there: Vec<&&Item> = pending.iter().filter(|item| item.output.symlink_metadata().is_ok()).collect();
        if let (Some(first), false) = (there.first(), force) {
            let others = match there.len() {
                1 => " exists already; --resume keeps it and cleans the other files, --force replaces it".to_owned(),
                results => format!(
                    " and {} more results exist already; --resume keeps them and cleans the other files, --force \
                     replaces them",
                    results - 1
                ),
            };
            return Err(Failure::input(format!("{}{others}", first.output.display())));
        }
        let inputs: Vec<&Path> = inputs.into_iter().chain(read.iter().flatten().copied()).collect();
        outputs::check_all(pending.iter().map(|item| Some(Output::Image(&item.output))), &inputs, force)?;
        // one lock for all of them: there may be more results than files that can be open
        outputs::take_folder(&batch.folder)
    }

    /// Learns a model from a file that is not cleaned.
    fn learn(&self, source: &Path, batch: &Batch, watch: &Watch) -> Result<SharedModel, Failure> {
        Screen::beside_files().say(&format!("learning from {}, for all files", source.display()))?;
        let files = self.files.of(source, &batch.folder.join(result_name(source)?));
        let denoised =
            learn_and_clean(&files, self.learning, After::Nothing, || watch.for_file("for all files"), self.prepare);
        let denoised = denoised.map_err(|failure| no_model(source, &failure))?;
        SharedModel::of(source, &denoised).ok_or_else(|| Failure::work("no model was learned"))
    }

    /// Says which file comes next.
    fn announce(&self, item: &Item, number: usize, of: usize, watch: &Watch) -> Result<(), Failure> {
        let Item { input, output } = item;
        let path = input.display().to_string();
        watch.event("file", &[("file", number.into()), ("of", of.into()), ("path", path.as_str().into())]);
        let mut screen = Screen::beside_files();
        screen.say(&format!("file {number} of {of}: {path}"))?;
        if output.extension() != efmca_io::image_file::file_of(input).extension() {
            let remark = format!("files with this ending cannot be written: the result is {}", output.display());
            screen.notes(input, [remark])?;
        }
        Ok(())
    }

    /// The last lines.
    fn conclude(&self, tally: &Tally, batch: &Batch, pending: usize, watch: &Watch) -> Result<(), Failure> {
        let (all, failed) = (batch.items.len(), tally.failed.len());
        let left = pending - tally.cleaned - failed;
        let kept = all - pending;
        let counts = [
            ("failed", failed, "failed"),
            ("left", left, "left"),
            ("kept", kept, "had a result already"),
            ("skipped", batch.skipped, "skipped (hidden, or not the ending of an image)"),
        ];
        let others: Vec<String> =
            counts.iter().filter(|count| count.1 > 0).map(|(_, number, words)| format!("{number} {words}")).collect();
        let others = if others.is_empty() { String::new() } else { format!("; {}", others.join(", ")) };
        Screen::beside_files().say(&format!("cleaned {} of {all} files{others}", tally.cleaned))?;
        let mut fields = vec![("cleaned", tally.cleaned.into()), ("of", all.into())];
        fields.extend(counts.iter().map(|(name, number, _)| (*name, (*number).into())));
        watch.event("files", &fields);

        let mut problems = Vec::new();
        if failed > 0 {
            problems.push(format!("{failed} of {all} files could not be cleaned"));
            problems.extend(tally.failed.iter().map(|reason| format!("  {reason}")));
        }
        if left > 0 {
            let how = if self.files.outputs.force.force {
                "results of theirs that were there before are the old ones, which --resume would keep"
            } else {
                "the same command with --resume goes on"
            };
            problems.push(format!("stopped with {left} of {all} files left; {how}"));
        }
        if let Some(path) = &tally.unfinished {
            let path = path.display();
            let line = format!("{path} is the result so far; delete it, and --resume cleans that file completely");
            if problems.is_empty() {
                Screen::beside_files().say(&line)?;
            } else {
                problems.push(line);
            }
        }
        // something was done, so that this is not the code of a command that was refused
        if problems.is_empty() { Ok(()) } else { Err(Failure::work(problems.join("\n"))) }
    }
}

impl SharedModel {
    /// The model to keep of those of a file.
    fn of(source: &Path, denoised: &Denoised) -> Option<Self> {
        let member = denoised.kept()?;
        let name = format!("learned from {}", source.display());
        Some(Self { name, model: member.model.clone(), patch: size_of(&member.settings) })
    }
}

impl Tally {
    /// Says what is wrong with a file, and keeps it for the end: a long run scrolls away.
    fn fail(&mut self, item: &Item, failure: &Failure, watch: &Watch) -> Result<(), Failure> {
        let (path, reason) = (item.input.display().to_string(), failure.to_string());
        watch.event("failed", &[("path", path.as_str().into()), ("reason", reason.as_str().into())]);
        Screen::beside_files().say(&format!("failed: {reason}"))?;
        // most reasons name the file
        self.failed.push(if reason.contains(&path) { reason } else { format!("{path}: {reason}") });
        Ok(())
    }
}

/// Whether a file was cleaned by an earlier run: then an image has the name of its result.
fn is_cleaned(output: &Path) -> Result<bool, Failure> {
    if output.symlink_metadata().is_err() {
        return Ok(false);
    }
    let mut head = Vec::new();
    // nothing but a file is opened: a pipe would wait for its writer
    let is_image = output.metadata().is_ok_and(|found| found.is_file())
        && File::open(output).and_then(|file| file.take(HEAD).read_to_end(&mut head)).is_ok()
        && Format::of_bytes(&head).is_some();
    match is_image {
        true => Ok(true),
        false => Err(Failure::input(format!(
            "{}: this is no image that --resume could keep; move it away, and the file is cleaned",
            output.display()
        ))),
    }
}

/// Without a model there is nothing to clean the other files with.
fn no_model(source: &Path, failure: &Failure) -> Failure {
    let message = format!(
        "{failure}\nno file was cleaned, because the model for all is learned from {}; --learn-from FILE chooses another",
        source.display()
    );
    match failure {
        Failure::Input(_) => Failure::Input(message),
        Failure::Work(_) => Failure::Work(message),
        Failure::OutputClosed => Failure::OutputClosed,
    }
}
