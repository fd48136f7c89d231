//! What `efmca bars` leaves behind: a picture, a figure and a model.

use std::path::{Path, PathBuf};

use efmca::em::Fit;
use efmca_io::{IoError, write_atomically, write_model};
use efmca_view::{Dictionary, Field, Figure, Line, Picture, Reference, Scale, ViewError};
use ndarray::Array2;

use crate::bars::{Task, causes, causes_by_activation, examples};
use crate::failure::Failure;

/// Pixels between the rows of the picture.
const GAP: usize = 40;

/// A folder that can be written.
pub(crate) struct BarsFiles {
    folder: PathBuf,
}

impl BarsFiles {
    /// Makes the folder and sees that files can be written there, so that a mistyped path is known before the
    /// training and not after it.
    pub(crate) fn prepare(folder: &Path) -> Result<Self, Failure> {
        let refused = |error: IoError| Failure::input(format!("--out {}: {error}", folder.display()));
        // The name differs from run to run of the program, so that two at a time do not meet.
        let probe = folder.join(format!(".efmca-{}", std::process::id()));
        write_atomically(&probe, b"").map_err(refused)?;
        // If it cannot be taken away again an empty hidden file stays, which does no harm.
        let _ = std::fs::remove_file(&probe);
        Ok(Self { folder: folder.to_path_buf() })
    }

    /// Writes all files; gives their paths and what is in them.
    pub(crate) fn write(&self, task: &Task, fit: &Fit) -> Result<Vec<(PathBuf, &'static str)>, Failure> {
        let [picture, figure, model] =
            ["bars.png", "bars-log-likelihood.svg", "bars-model.safetensors"].map(|name| self.folder.join(name));
        write_atomically(&picture, &png(task, fit).map_err(Failure::work)?).map_err(Failure::work)?;
        write_atomically(&figure, svg(task, fit).map_err(Failure::work)?.as_bytes()).map_err(Failure::work)?;
        write_model(&model, &fit.model).map_err(Failure::work)?;
        Ok(vec![
            (picture, "pictures learned from, true bars, learned causes"),
            (figure, "how the log-likelihood rose"),
            (model, "the learned model"),
        ])
    }
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

/// The log-likelihood over the iterations, and where the model that made the data has it.
fn svg(task: &Task, fit: &Fit) -> Result<String, ViewError> {
    // Every iteration tells the value before its M-step: after as many M-steps as came before it.
    let values = fit.history.iter().map(|iteration| iteration.bound).chain([fit.bound]);
    let curve = values.enumerate().map(|(steps, value)| (steps as f64, value));
    Figure::new("Learning the bars")
        .x_label("EM iterations")
        .y_label("log-likelihood")
        .line(Line::new(curve))
        .reference(Reference::dashed(task.log_likelihood).label("model that made the pictures"))
        .to_svg(720, 420)
}
