//! Where tiles and texts stand on the page.

use crate::drawing::{Across, ColourBar, Shape, TextLook, Upright, text_width};
use crate::field::FieldSize;
use crate::{Colours, Drawing, Picture, Rgb, ViewError};

/// Pixels between tiles.
pub(super) const GAP: usize = 4;

/// More tiles in a row than this are hard to count.
const MOST_COLUMNS: usize = 40;

/// The tiles of many causes are together at most this wide.
const WIDEST: usize = 2400;

/// Tiles are not shown larger than this, even if there is room.
const LARGEST_TILE: usize = 128;

/// Fields up to this many pixels wide are shown twice as large at least, with fewer of them in a row.
const SMALL: usize = 48;

const MARGIN: f64 = 36.0;
const TITLE: f64 = 40.0;
const LABEL: f64 = 26.0;
const BAR: (u32, u32) = (420, 26);
const TEXT: Rgb = Rgb([40; 3]);
const FAINT: Rgb = Rgb([95; 3]);

/// How tiles are arranged.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub(super) columns: usize,
    pub(super) rows: usize,
    /// Pixels for a value, in both directions.
    pub(super) zoom: usize,
    /// Width and height of a tile.
    pub(super) tile: (usize, usize),
}

impl Layout {
    /// An arrangement of `count` fields in the given number of columns, or else wider than high, like a screen.
    pub(super) fn new(size: FieldSize, count: usize, columns: Option<usize>) -> Self {
        let columns = columns.unwrap_or_else(|| columns_for(size, count)).clamp(1, count.max(1));
        let rows = count.div_ceil(columns).max(1);
        let room = (WIDEST / columns).saturating_sub(GAP).min(LARGEST_TILE);
        let zoom = (room / size.width).min(2 * LARGEST_TILE / size.height.min(2 * LARGEST_TILE)).max(1);
        let tile = (size.width.saturating_mul(zoom), size.height.saturating_mul(zoom));
        Self { columns, rows, zoom, tile }
    }

    /// The upper left corner of a tile in the picture of all.
    pub(super) fn place(&self, index: usize) -> (usize, usize) {
        let (row, column) = (index / self.columns, index % self.columns);
        (GAP + column * (self.tile.0 + GAP), GAP + row * (self.tile.1 + GAP))
    }

    pub(super) fn tiles_width(&self) -> usize {
        self.tile.0.saturating_add(GAP).saturating_mul(self.columns).saturating_add(GAP)
    }

    pub(super) fn tiles_height(&self) -> usize {
        self.tile.1.saturating_add(GAP).saturating_mul(self.rows).saturating_add(GAP)
    }
}

/// The number of columns for `count` fields on a page that is wider than high.
fn columns_for(size: FieldSize, count: usize) -> usize {
    let least_zoom = if size.width <= SMALL { 2 } else { 1 };
    let narrowest = size.width.saturating_mul(least_zoom).saturating_add(GAP);
    let most = (WIDEST / narrowest).clamp(1, MOST_COLUMNS).min(count.max(1));
    let ideal = (1.6 * count as f64 * size.height as f64 / size.width as f64).sqrt();
    let rows = count.div_ceil((ideal.ceil() as usize).clamp(1, most)).max(1);
    // No more columns than these rows need, so that the last one is not nearly empty.
    count.div_ceil(rows).max(1)
}

/// The texts around the tiles.
pub(super) struct Page<'a> {
    pub(super) title: &'a str,
    pub(super) subtitle: String,
    /// Number and probability of the first cause of every row.
    pub(super) rows: Vec<(String, String)>,
    pub(super) has_priors: bool,
    pub(super) colours: Colours,
    pub(super) bar: [String; 3],
    pub(super) note: String,
}

fn look(size: f64, colour: Rgb, across: Across, upright: Upright) -> TextLook {
    TextLook { size, colour, across, upright, upwards: false }
}

impl Page<'_> {
    /// Draws the page.
    pub(super) fn draw(&self, layout: &Layout, tiles: Picture) -> Result<Drawing, ViewError> {
        let widest =
            |texts: &mut dyn Iterator<Item = &str>| texts.map(|text| text_width(text, LABEL)).fold(0.0, f64::max);
        let number_width = widest(&mut self.rows.iter().map(|row| row.0.as_str()).chain(["cause"]));
        let prior_width = widest(&mut self.rows.iter().map(|row| row.1.as_str()));
        let numbers_end = MARGIN + number_width;
        let priors_end = if self.has_priors { numbers_end + 28.0 + prior_width } else { numbers_end };
        let left = (priors_end + 16.0).ceil();
        let title_height = if self.title.trim().is_empty() { 0.0 } else { TITLE + 14.0 };
        let header = MARGIN + title_height + LABEL + 26.0;
        let top = header + LABEL + 10.0;
        let (tiles_width, tiles_height) = (tiles.width() as f64, tiles.height() as f64);
        let bar_top = top + tiles_height + 32.0;
        let note_left = left + f64::from(BAR.0) + 48.0;
        let needed = [
            left + tiles_width,
            MARGIN + text_width(self.title, TITLE),
            MARGIN + text_width(&self.subtitle, LABEL),
            note_left + text_width(&self.note, LABEL),
        ];
        let width = needed.into_iter().fold(0.0, f64::max) + MARGIN;
        let height = bar_top + f64::from(BAR.1) + LABEL + 12.0 + MARGIN;

        let mut drawing = Drawing::new(width.ceil() as u32, height.ceil() as u32);
        drawing.text(self.title, (MARGIN, MARGIN), look(TITLE, Rgb::BLACK, Across::Left, Upright::Top));
        let at = (MARGIN, MARGIN + title_height);
        drawing.text(self.subtitle.as_str(), at, look(LABEL, TEXT, Across::Left, Upright::Top));
        let at_end = look(LABEL, FAINT, Across::Right, Upright::Centre);
        let above = top - 10.0 - LABEL / 2.0;
        drawing.text("cause", (numbers_end, above), at_end);
        if self.has_priors {
            drawing.text("\u{3c0}", (priors_end, above), at_end);
        }
        drawing.add(Shape::Image { left: left as u32, top: top as u32, picture: tiles });
        // Rows that are lower than a line of text have no room for a label each.
        let step = layout.tile.1 + GAP;
        let every = ((1.25 * LABEL) / step as f64).ceil().max(1.0) as usize;
        for (row, (number, prior)) in self.rows.iter().enumerate().step_by(every) {
            let (_, tile_top) = layout.place(row * layout.columns);
            let y = top + tile_top as f64 + layout.tile.1 as f64 / 2.0;
            let colour = if number == "BG" { super::MARK } else { TEXT };
            drawing.text(number.as_str(), (numbers_end, y), TextLook { colour, ..at_end });
            drawing.text(prior.as_str(), (priors_end, y), TextLook { colour: TEXT, ..at_end });
        }
        let labels = self.bar.each_ref().map(String::as_str);
        let bar = ColourBar { colours: self.colours, labels, text_size: LABEL };
        bar.level(&mut drawing, (left as u32, bar_top as u32), BAR)?;
        let at = (note_left, bar_top + f64::from(BAR.1) / 2.0);
        drawing.text(self.note.as_str(), at, look(LABEL, TEXT, Across::Left, Upright::Centre));
        Ok(drawing)
    }
}
