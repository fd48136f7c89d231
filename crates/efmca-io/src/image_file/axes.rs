//! The axes of an array in a file, and the four that the program works with.

use std::fmt;
use std::str::FromStr;

use ndarray::{Array3, Array4, ArrayD, ArrayView4, Axis as NdAxis, IxDyn};

use super::fault::Fault;
use crate::IoError;

/// The direction that an axis of an array counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Axis {
    Page,
    Row,
    Column,
    Channel,
    /// Channels, the last of which is alpha.
    ChannelAlpha,
}

/// The meaning of the axes of an array, slowest first.
///
/// Written as letters: `p` pages, `y` rows, `x` columns, `c` channels, and `a` channels of which the
/// last is alpha. `yx` is one grey picture, `pyx` a stack, `cyx` an array with its channels first.
/// Several axes `p` are counted through as one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Axes(Vec<Axis>);

impl FromStr for Axes {
    type Err = IoError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || IoError::Setting {
            what: "the order of the axes",
            value: format!("`{text}`"),
            hint: "use the letters y (rows) and x (columns) once, and where there are such axes p (pages) and c (channels) \
                   or a (channels with alpha last), slowest first: yx, pyx, yxc, cyx, pyxc",
        };
        let axis = |letter: char| match letter.to_ascii_lowercase() {
            'p' => Some(Axis::Page),
            'y' => Some(Axis::Row),
            'x' => Some(Axis::Column),
            'c' => Some(Axis::Channel),
            'a' => Some(Axis::ChannelAlpha),
            _ => None,
        };
        let axes: Vec<Axis> = text.trim().chars().map(axis).collect::<Option<_>>().ok_or_else(wrong)?;
        let count = |wanted: &[Axis]| axes.iter().filter(|axis| wanted.contains(axis)).count();
        let channels = count(&[Axis::Channel, Axis::ChannelAlpha]);
        if count(&[Axis::Row]) != 1 || count(&[Axis::Column]) != 1 || channels > 1 {
            return Err(wrong());
        }
        Ok(Self(axes))
    }
}

impl fmt::Display for Axes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for axis in &self.0 {
            out.write_str(match axis {
                Axis::Page => "p",
                Axis::Row => "y",
                Axis::Column => "x",
                Axis::Channel => "c",
                Axis::ChannelAlpha => "a",
            })?;
        }
        Ok(())
    }
}

impl Axes {
    /// The rule for arrays that do not say what their axes are: two axes are rows and columns; a
    /// last axis of 3 is colour and of 4 colour with alpha; all others before rows and columns are
    /// pages.
    pub(crate) fn guess(shape: &[usize]) -> Result<Self, Fault> {
        let (pages, inner) = match (shape.len(), shape.last()) {
            (0 | 1, _) => {
                return Err(Fault::new(
                    format!("it is of shape {shape:?}, and an image has at least rows and columns"),
                    "give an array of two or more axes",
                ));
            }
            (2, _) => (0, "yx"),
            (axes, Some(3)) => (axes - 3, "yxc"),
            (axes, Some(4)) => (axes - 3, "yxa"),
            (3, _) => (1, "yx"),
            (4, Some(1)) => (1, "yxc"),
            _ => {
                return Err(Fault::new(
                    format!(
                        "it is of shape {shape:?}, which does not say which axes are pages, rows, columns and channels"
                    ),
                    "say it, for example with the axes pyxc or pcyx",
                ));
            }
        };
        Ok(Self::with_pages(pages, inner))
    }

    /// Axes of pages before the axes in `inner`, which are ours and right.
    pub(crate) fn with_pages(pages: usize, inner: &str) -> Self {
        format!("{}{inner}", "p".repeat(pages)).parse().unwrap_or(Self(vec![Axis::Row, Axis::Column]))
    }

    /// The number of axes.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the last channel is alpha.
    pub(crate) fn has_alpha(&self) -> bool {
        self.0.contains(&Axis::ChannelAlpha)
    }

    /// Whether rows and columns are the two fastest axes.
    pub(crate) fn ends_in_rows_and_columns(&self) -> bool {
        self.0.ends_with(&[Axis::Row, Axis::Column])
    }

    fn positions(&self, wanted: &[Axis]) -> Vec<usize> {
        (0..self.0.len()).filter(|index| wanted.contains(&self.0[*index])).collect()
    }

    /// The positions of pages, rows, columns and channels, in this order.
    fn order(&self) -> Vec<usize> {
        [&[Axis::Page][..], &[Axis::Row], &[Axis::Column], &[Axis::Channel, Axis::ChannelAlpha]]
            .iter()
            .flat_map(|wanted| self.positions(wanted))
            .collect()
    }

    /// The array of a file as (page, row, column, channel), and its alpha as (page, row, column).
    pub(crate) fn arrange(&self, array: ArrayD<f64>) -> Result<(Array4<f64>, Option<Array3<f64>>), Fault> {
        let shape = array.shape().to_vec();
        if shape.len() != self.0.len() {
            return Err(Fault::new(
                format!("its shape {shape:?} has {} axes, but the axes `{self}` are {}", shape.len(), self.0.len()),
                "give one letter for each axis",
            ));
        }
        let extent = |wanted: &[Axis]| self.positions(wanted).iter().map(|index| shape[*index]).product::<usize>();
        let channels = extent(&[Axis::Channel, Axis::ChannelAlpha]);
        let whole = (extent(&[Axis::Page]), extent(&[Axis::Row]), extent(&[Axis::Column]), channels);
        let contradiction = || Fault::damaged(format!("its values do not fill the shape {shape:?}"));
        let ordered = array.permuted_axes(IxDyn(&self.order()));
        let ordered = if ordered.is_standard_layout() { ordered } else { ordered.as_standard_layout().into_owned() };
        let mut values = ordered.into_shape_with_order(whole).map_err(|_| contradiction())?;
        if !self.has_alpha() {
            return Ok((values, None));
        }
        if channels < 2 {
            return Err(Fault::new(
                format!("its shape {shape:?} has {channels} channel, which cannot be a picture and its alpha"),
                "use the letter c instead of a for the channels",
            ));
        }
        let alpha = values.index_axis(NdAxis(3), channels - 1).to_owned();
        values.slice_axis_inplace(NdAxis(3), ndarray::Slice::from(..channels - 1));
        Ok((values.as_standard_layout().into_owned(), Some(alpha)))
    }

    /// An array with these axes from (page, row, column, channel), alpha included among the
    /// channels. Several axes of pages get the extents of `like` if these fit. `None` if an axis
    /// with more than one entry has no letter.
    pub(crate) fn spread(&self, values: ArrayView4<f64>, like: &[usize]) -> Option<ArrayD<f64>> {
        let (pages, rows, columns, channels) = values.dim();
        let page_axes = self.positions(&[Axis::Page]);
        let channel_axes = self.positions(&[Axis::Channel, Axis::ChannelAlpha]);
        if (page_axes.is_empty() && pages != 1) || (channel_axes.is_empty() && channels != 1) {
            return None;
        }
        let old: Option<Vec<usize>> = page_axes.iter().map(|index| like.get(*index).copied()).collect();
        let mut extents = match old {
            Some(old) if old.iter().product::<usize>() == pages => old,
            _ if page_axes.len() <= 1 => vec![pages; page_axes.len()],
            _ => return None,
        };
        extents.extend([rows, columns]);
        if !channel_axes.is_empty() {
            extents.push(channels);
        }
        let mut inverse = vec![0; self.len()];
        for (from, to) in self.order().into_iter().enumerate() {
            inverse[to] = from;
        }
        let ordered = values.as_standard_layout().into_owned().into_shape_with_order(IxDyn(&extents)).ok()?;
        Some(ordered.permuted_axes(IxDyn(&inverse)).as_standard_layout().into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_is_undone() {
        for text in ["yx", "xy", "pyx", "yxp", "cyx", "xcy", "pyxc", "pcyx", "ppyx", "pypxc", "yxa", "apyx"] {
            let axes: Axes = text.parse().unwrap();
            assert_eq!(axes.to_string(), text);
            let shape: Vec<usize> = (0..text.len()).map(|index| index + 2).collect();
            let count = shape.iter().product::<usize>();
            let array = ArrayD::from_shape_vec(IxDyn(&shape), (0..count).map(|n| n as f64).collect()).unwrap();
            let (values, alpha) = axes.arrange(array.clone()).unwrap();
            let whole = match alpha {
                Some(alpha) => ndarray::concatenate![NdAxis(3), values, alpha.insert_axis(NdAxis(3))],
                None => values,
            };
            assert_eq!(axes.spread(whole.view(), &shape).unwrap(), array, "{text}");
        }
    }

    #[test]
    fn the_rule_is_the_stated_one() {
        let guess = |shape: &[usize]| Axes::guess(shape).map(|axes| axes.to_string()).unwrap_or_default();
        assert_eq!(guess(&[5, 7]), "yx");
        assert_eq!(guess(&[5, 7, 3]), "yxc");
        assert_eq!(guess(&[5, 7, 4]), "yxa");
        assert_eq!(guess(&[3, 5, 7]), "pyx");
        assert_eq!(guess(&[2, 5, 7, 3]), "pyxc");
        assert_eq!(guess(&[2, 5, 7, 1]), "pyxc");
        assert_eq!(guess(&[2, 3, 5, 7]), "");
        assert_eq!(guess(&[9]), "");
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "y", "yxx", "yxca", "yxz", "pyxcc"] {
            assert!(text.parse::<Axes>().unwrap_err().to_string().contains("slowest first"), "{text}");
        }
    }
}
