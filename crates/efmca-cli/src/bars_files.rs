//! What `efmca bars` leaves behind: a picture, a figure and a model.

use std::path::{Path, PathBuf};

use efmca::em::Fit;
use efmca_io::{Colours, Figure, IoError, Line, Picture, Reference, Scale, mosaic, write_atomically, write_model};
use ndarray::{Array2, ArrayView2};

use crate::bars::{Task, causes, causes_by_activation, examples};
use crate::failure::Failure;

/// Ten pictures of five pixels with a line between them are 854 pixels wide at this zoom.
const ZOOM: usize = 14;

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
fn png(task: &Task, fit: &Fit) -> Result<Vec<u8>, IoError> {
    let rows = [examples(task), causes(&task.truth, 0..task.truth.h()), causes_by_activation(&fit.model)];
    let rows: Vec<Picture> = rows.iter().map(|row| row_of(row)).collect::<Result<_, _>>()?;
    Picture::stack(&rows, 2 * ZOOM)?.to_png()
}

fn row_of(pictures: &[Array2<f64>]) -> Result<Picture, IoError> {
    let views: Vec<ArrayView2<'_, f64>> = pictures.iter().map(|picture| picture.view()).collect();
    mosaic(&views, views.len(), Colours::Grey, Scale::Shared, ZOOM)
}

/// The log-likelihood over the iterations, and where the model that made the data has it.
fn svg(task: &Task, fit: &Fit) -> Result<String, IoError> {
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
