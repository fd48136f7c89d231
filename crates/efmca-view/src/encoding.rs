//! How data points are encoded: the patch, its active causes, and their combination.

mod panel;

use crate::field::{FieldSize, range_of, size_of_all};
use crate::{Drawing, Field, ViewError};
use panel::{Layout, Panel};

/// A cause that is active in a data point.
#[derive(Debug, Clone)]
pub struct ActiveCause<'a> {
    /// Its number, or another short text.
    pub label: String,
    /// Its activation probability π.
    pub prior: Option<f64>,
    /// Its means.
    pub mean: Field<'a>,
    /// Its standard deviations, for families that have them as a parameter of their own.
    pub deviation: Option<Field<'a>>,
}

/// How one data point is encoded.
#[derive(Debug, Clone)]
pub struct Encoding<'a> {
    /// The text under the patch, such as its number; it may be empty.
    pub label: String,
    /// The data point.
    pub patch: Field<'a>,
    /// The causes that are active in its most probable state; there may be none.
    pub causes: Vec<ActiveCause<'a>>,
    /// The mean of every observable, from the cause that wins it.
    pub combined_mean: Field<'a>,
    /// The standard deviation of every observable, from the cause that wins it.
    pub combined_deviation: Option<Field<'a>>,
}

impl<'a> Encoding<'a> {
    /// All fields with their names.
    fn parts(&self) -> impl Iterator<Item = (String, Field<'a>)> {
        let causes = self.causes.iter().flat_map(|cause| {
            let mean = (format!("the mean of {:?}", cause.label), cause.mean);
            let deviation =
                cause.deviation.map(|field| (format!("the standard deviation of {:?}", cause.label), field));
            [Some(mean), deviation].into_iter().flatten()
        });
        let combined = self.combined_deviation;
        [("the patch".to_owned(), self.patch), ("the combined mean".to_owned(), self.combined_mean)]
            .into_iter()
            .chain(combined.map(|field| ("the combined standard deviation".to_owned(), field)))
            .chain(causes)
    }

    /// The fields that share the colours of means.
    fn means(&self) -> impl Iterator<Item = Field<'a>> {
        [self.patch, self.combined_mean].into_iter().chain(self.causes.iter().map(|cause| cause.mean))
    }

    /// The fields that share the colours of standard deviations.
    fn deviations(&self) -> impl Iterator<Item = Field<'a>> {
        let causes = self.causes.iter().filter_map(|cause| cause.deviation);
        self.combined_deviation.into_iter().chain(causes)
    }
}

/// A figure of encodings, one under another: the data point on the left, its active causes in the middle with their
/// means above their standard deviations, and on the right their combination.
///
/// In one encoding the patch and all means have the same colours, and so have all standard deviations: they can be
/// compared. Zero is white if there are negative values. More than 12 causes go on in further rows.
///
/// ```
/// use efmca_view::{ActiveCause, Encoding, encodings};
/// use ndarray::arr2;
///
/// let (patch, cause) = (arr2(&[[0.9, -0.2], [0.1, -1.1]]), arr2(&[[1.0, 0.0], [0.0, -1.0]]));
/// let encoding = Encoding {
///     label: "patch 17".into(),
///     patch: patch.view().into(),
///     causes: vec![ActiveCause { label: "4".into(), prior: Some(0.02), mean: cause.view().into(), deviation: None }],
///     combined_mean: cause.view().into(),
///     combined_deviation: None,
/// };
/// let drawing = encodings("Encoding", &[encoding])?;
/// assert!(drawing.to_svg()?.contains("patch 17"));
/// # Ok::<(), efmca_view::ViewError>(())
/// ```
///
/// # Errors
///
/// [`ViewError::Nothing`] without encodings, [`ViewError::EmptyField`] for fields without pixels, [`ViewError::FieldSize`] for
/// fields of different sizes, [`ViewError::Setting`] for channels that are not three.
pub fn encodings(title: &str, encodings: &[Encoding]) -> Result<Drawing, ViewError> {
    let size = size_of(encodings)?;
    let panels: Vec<Panel> = (encodings.iter())
        .map(|encoding| Panel {
            encoding,
            means: range_of(encoding.means()),
            deviations: range_of(encoding.deviations()),
            has_deviations: encoding.deviations().next().is_some(),
        })
        .collect();
    Layout::new(title, size, &panels).draw(&panels)
}

/// The size of all fields of all encodings.
fn size_of(encodings: &[Encoding]) -> Result<FieldSize, ViewError> {
    if encodings.is_empty() {
        return Err(ViewError::Nothing { what: "encoding" });
    }
    let parts: Vec<(usize, (String, Field))> = (encodings.iter().enumerate())
        .flat_map(|(index, encoding)| encoding.parts().map(move |part| (index, part)))
        .collect();
    size_of_all(parts.iter().map(|(_, (_, field))| *field), |at| match parts.get(at) {
        Some((index, (name, _))) => format!("{name} in encoding {}", index + 1),
        None => "a field".to_owned(),
    })
}

#[cfg(test)]
mod tests;
