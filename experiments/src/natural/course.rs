//! What each EM step took, also those before the training was left.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use efmca_io::write_atomically;

use crate::output::{Done, say};

/// CPU and wall seconds of each EM step, in a file beside the kept training if there is one.
pub(super) struct Course {
    file: Option<PathBuf>,
    steps: RefCell<Vec<(f64, f64)>>,
}

impl Course {
    /// The course of the training that is kept in `folder`, or of a new one.
    pub(super) fn new(folder: Option<&Path>) -> Done<Course> {
        let file = folder.map(|folder| folder.join("course.json"));
        let left = file.as_ref().filter(|file| file.is_file());
        let steps = left.map(|file| Done::Ok(serde_json::from_slice(&std::fs::read(file)?)?)).transpose()?;
        Ok(Course { file, steps: RefCell::new(steps.unwrap_or_default()) })
    }

    /// The training goes on after so many steps; those that come are done once more.
    pub(super) fn goes_on_after(&self, steps: usize) {
        say(&format!("going on after {steps} EM steps"));
        self.steps.borrow_mut().truncate(steps);
    }

    /// Step number `done`, counted from one, took so long.
    pub(super) fn note(&self, done: usize, took: (f64, f64)) {
        let mut steps = self.steps.borrow_mut();
        // a training that begins anew, because nothing was kept or other settings were given
        steps.truncate(done - 1);
        steps.push(took);
        if let Some(file) = &self.file {
            let written = serde_json::to_vec(&*steps).map(|text| write_atomically(file, &text));
            if !matches!(written, Ok(Ok(()))) {
                say(&format!("{} could not be written", file.display()));
            }
        }
    }

    /// CPU seconds of the first step, and CPU and wall seconds of all others.
    pub(super) fn times(&self) -> (f64, Vec<f64>, Vec<f64>) {
        let steps = self.steps.borrow();
        let (cpu, wall): (Vec<f64>, Vec<f64>) = steps.iter().skip(1).copied().unzip();
        (steps.first().map_or(f64::NAN, |first| first.0), cpu, wall)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_counted_once_over_several_runs() -> Done<()> {
        let folder = tempfile::tempdir()?;
        let first = Course::new(Some(folder.path()))?;
        (1..=4).for_each(|step| first.note(step, (step as f64, 0.5)));
        let second = Course::new(Some(folder.path()))?;
        second.goes_on_after(2);
        second.note(3, (30.0, 0.5));
        assert_eq!(second.times(), (1.0, vec![2.0, 30.0], vec![0.5, 0.5]));
        assert_eq!(Course::new(Some(folder.path()))?.times(), second.times());
        Ok(())
    }
}
