//! Values that pass between the formats and the rest.

use ndarray::{Array4, ArrayD, ArrayView4};

use super::axes::Axes;
use super::metadata::{Colour, Metadata};
use super::quantize::ValueScale;
use super::sample_type::SampleType;

/// The content of a file, as a format's reader found it.
pub(crate) struct Decoded {
    /// The numbers, with the axes of the file.
    pub(crate) array: ArrayD<f64>,
    /// The axes, if the format names them.
    pub(crate) axes: Option<Axes>,
    /// The channels, if the format names them.
    pub(crate) colour: Option<Colour>,
    /// The rest; axes, shape, colour and alpha are still to be filled in.
    pub(crate) metadata: Metadata,
    /// Notes for the user.
    pub(crate) remarks: Vec<String>,
}

/// The content of a file, as a format's writer stores it.
pub(crate) struct Content<'a> {
    /// The numbers as they are to stand in the file, alpha as last channel.
    pub(crate) stored: Array4<f64>,
    pub(crate) has_alpha: bool,
    pub(crate) sample: SampleType,
    pub(crate) colour: Colour,
    pub(crate) scale: Option<ValueScale>,
    pub(crate) notes: Vec<(String, String)>,
    /// The file to look like.
    pub(crate) like: Option<&'a Metadata>,
    /// Whether pages, rows and columns are those of `like`.
    pub(crate) same_size: bool,
    /// The name of the array in an NPZ file.
    pub(crate) array: Option<String>,
}

impl Content<'_> {
    /// An array with the axes of `like` if these have room for all values, else as [`Self::usual`].
    pub(crate) fn array(&self, inner: &str) -> ArrayD<f64> {
        let like = self.like.map(|like| (&like.axes, like.shape.as_slice()));
        like.and_then(|(axes, shape)| axes.spread(self.stored.view(), shape)).unwrap_or_else(|| self.usual(inner))
    }

    /// An array with an axis for pages only where there are several, and with the channels where
    /// `inner` has them, if there are several.
    pub(crate) fn usual(&self, inner: &str) -> ArrayD<f64> {
        let (pages, _, _, channels) = self.stored.dim();
        let inner = if channels == 1 { "yx" } else { inner };
        spread(&Axes::with_pages(usize::from(pages > 1), inner), self.stored.view())
    }
}

/// The values with axes that are known to have room for them.
fn spread(axes: &Axes, values: ArrayView4<f64>) -> ArrayD<f64> {
    axes.spread(values, &[]).unwrap_or_else(|| values.to_owned().into_dyn())
}
