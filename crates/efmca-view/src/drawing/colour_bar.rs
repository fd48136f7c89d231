//! The bar that says which colour stands for which value.

use super::{Across, Drawing, Ink, Shape, TextLook, Upright};
use crate::colours::ValueRange;
use crate::{Colours, Field, Picture, Rgb, ViewError};

const OUTLINE: Rgb = Rgb([110; 3]);
const TEXT: Rgb = Rgb([40; 3]);
const TICK: f64 = 5.0;
const STEPS: usize = 256;

/// A bar of colours with labels at places from 0 (the low end) to 1.
#[derive(Debug, Clone)]
pub(crate) struct ColourBar<'a> {
    pub(crate) colours: Colours,
    /// The labels of the low end, the middle and the high end.
    pub(crate) labels: [&'a str; 3],
    pub(crate) text_size: f64,
}

impl ColourBar<'_> {
    /// Draws a level bar with its labels under it; `from` is the upper left corner.
    pub(crate) fn level(&self, drawing: &mut Drawing, from: (u32, u32), size: (u32, u32)) -> Result<(), ViewError> {
        self.colours(drawing, from, size, false)?;
        let (left, top) = (f64::from(from.0), f64::from(from.1));
        let (width, height) = (f64::from(size.0), f64::from(size.1));
        for (index, label) in self.labels.iter().enumerate() {
            let x = left + width * index as f64 / 2.0;
            let points = vec![(x, top + height), (x, top + height + TICK)];
            drawing.add(Shape::Path { points, width: 2.0, ink: Ink(OUTLINE, 1.0) });
            let look = TextLook {
                size: self.text_size,
                colour: TEXT,
                across: Across::Centre,
                upright: Upright::Top,
                upwards: false,
            };
            drawing.text(*label, (x, top + height + TICK + 4.0), look);
        }
        Ok(())
    }

    /// Draws an upright bar, low values at its foot, with its labels on the right.
    pub(crate) fn upright(&self, drawing: &mut Drawing, from: (u32, u32), size: (u32, u32)) -> Result<(), ViewError> {
        self.colours(drawing, from, size, true)?;
        let (left, top) = (f64::from(from.0), f64::from(from.1));
        let (width, height) = (f64::from(size.0), f64::from(size.1));
        for (index, label) in self.labels.iter().enumerate() {
            let y = top + height * (1.0 - index as f64 / 2.0);
            let points = vec![(left + width, y), (left + width + TICK, y)];
            drawing.add(Shape::Path { points, width: 2.0, ink: Ink(OUTLINE, 1.0) });
            let look = TextLook {
                size: self.text_size,
                colour: TEXT,
                across: Across::Left,
                upright: Upright::Centre,
                upwards: false,
            };
            // The labels of the ends stay within the bar, for another one can be close to it.
            let inwards = 0.3 * self.text_size * (index as f64 - 1.0);
            drawing.text(*label, (left + width + TICK + 5.0, y + inwards), look);
        }
        Ok(())
    }

    fn colours(
        &self,
        drawing: &mut Drawing,
        from: (u32, u32),
        size: (u32, u32),
        upright: bool,
    ) -> Result<(), ViewError> {
        let (width, height) = (size.0 as usize, size.1 as usize);
        let length = if upright { height } else { width };
        // Values from -1 to 1 show every map of colours from its one end to the other.
        let ramp = ndarray::Array2::from_shape_fn((height, width), |(y, x)| {
            let step = if upright { height - 1 - y } else { x };
            let step = step * STEPS / length.max(1);
            2.0 * step as f64 / (STEPS - 1) as f64 - 1.0
        });
        let range = ValueRange::fixed(-1.0, 1.0)?;
        let picture = Picture::painted(Field::from(ramp.view()), self.colours, range)?;
        drawing.add(Shape::Image { left: from.0, top: from.1, picture });
        let (left, top) = (f64::from(from.0), f64::from(from.1));
        let (right, bottom) = (left + f64::from(size.0), top + f64::from(size.1));
        drawing.outline((left, top), (right, bottom), 2.0, OUTLINE);
        Ok(())
    }
}
