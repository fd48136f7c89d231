//! The fields themselves, as one picture.

use super::MARK;
use super::layout::{GAP, Layout};
use crate::colours::ValueRange;
use crate::field::range_of;
use crate::{Colours, Field, Picture, Rgb, ViewError};

/// The colour between the tiles, weaker than those of values.
const BETWEEN: [u8; 3] = [190; 3];
const WHITE: [u8; 3] = [255; 3];

/// All tiles, with lines between and around them. Places without a field are white.
pub(super) fn tiles(
    fields: &[Field],
    layout: &Layout,
    colours: Colours,
    shared: Option<ValueRange>,
    background: bool,
) -> Result<Picture, ViewError> {
    let mut all = Picture::filled(layout.tiles_width(), layout.tiles_height(), WHITE)?;
    let framed = |width: usize, height: usize, colour: [u8; 3]| {
        Picture::filled(width.saturating_add(2 * GAP), height.saturating_add(2 * GAP), colour)
    };
    let line = framed(layout.tile.0, layout.tile.1, BETWEEN)?;
    for index in 0..fields.len() {
        let (left, top) = layout.place(index);
        all.paste(&line, left - GAP, top - GAP);
    }
    if background {
        let Rgb(mark) = MARK;
        all.paste(&framed(layout.tile.0, layout.tile.1, mark)?, 0, 0);
    }
    for (index, &field) in fields.iter().enumerate() {
        let range = shared.unwrap_or_else(|| range_of([field]));
        let tile = Picture::painted(field, colours, range)?.scaled(layout.zoom)?;
        let (left, top) = layout.place(index);
        all.paste(&tile, left, top);
    }
    Ok(all)
}
