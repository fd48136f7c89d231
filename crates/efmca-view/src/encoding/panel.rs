//! Where the parts of encodings stand, and how they are drawn.

use super::Encoding;
use crate::colours::ValueRange;
use crate::drawing::{Across, ColourBar, Ink, Shape, TextLook, Upright, text_width};
use crate::field::{FieldSize, range_labels, short_probability};
use crate::{Colours, Drawing, Field, Picture, Rgb, ViewError};

/// Causes in a row; more go on in the next one.
const IN_A_ROW: usize = 12;

/// About how many pixels wide a field is drawn.
const TILE: usize = 128;

const MARGIN: f64 = 32.0;
const TITLE: f64 = 30.0;
const HEAD: f64 = 22.0;
const LABEL: f64 = 20.0;
/// Room for a line of labels.
const LINE: f64 = 26.0;
const GAP: f64 = 16.0;
/// Room for an arrow.
const ARROW: f64 = 84.0;
/// Room for the names of the rows.
const NAMES: f64 = 34.0;
const BAR: f64 = 16.0;
const BETWEEN: f64 = 40.0;
const TEXT: Rgb = Rgb([40; 3]);
const FAINT: Rgb = Rgb([95; 3]);
const OUTLINE: Rgb = Rgb([150; 3]);

/// An encoding with the ranges of its colours.
pub(super) struct Panel<'a, 'f> {
    pub(super) encoding: &'a Encoding<'f>,
    pub(super) means: ValueRange,
    pub(super) deviations: ValueRange,
    pub(super) has_deviations: bool,
}

/// The places of the columns, the same for all encodings, in pixels.
pub(super) struct Layout<'a> {
    title: &'a str,
    zoom: usize,
    tile: (f64, f64),
    /// The width of a column of causes.
    cell: f64,
    patch_left: f64,
    causes_left: f64,
    causes_width: f64,
    combined_left: f64,
    bar_left: f64,
    width: f64,
}

fn look(size: f64, colour: Rgb, across: Across, upright: Upright) -> TextLook {
    TextLook { size, colour, across, upright, upwards: false }
}

fn prior_text(prior: f64) -> String {
    format!("\u{3c0} = {}", short_probability(prior))
}

impl Panel<'_, '_> {
    /// Rows of causes, at least one.
    fn rows(&self) -> usize {
        self.encoding.causes.len().div_ceil(IN_A_ROW).max(1)
    }

    /// Lines of labels under the causes.
    fn label_lines(&self) -> usize {
        let causes = &self.encoding.causes;
        let label = !self.encoding.label.is_empty() || causes.iter().any(|cause| !cause.label.is_empty());
        usize::from(label) + usize::from(causes.iter().any(|cause| cause.prior.is_some()))
    }
}

impl<'a> Layout<'a> {
    pub(super) fn new(title: &'a str, size: FieldSize, panels: &[Panel]) -> Self {
        let zoom = ((TILE + size.width / 2) / size.width).min(2 * TILE / size.height.min(2 * TILE)).max(1);
        let tile = ((size.width * zoom) as f64, (size.height * zoom) as f64);
        let causes = || panels.iter().flat_map(|panel| &panel.encoding.causes);
        let labels = causes().map(|cause| text_width(&cause.label, LABEL));
        let priors = causes().filter_map(|cause| cause.prior).map(|prior| text_width(&prior_text(prior), LABEL));
        let cell = labels.chain(priors).fold(tile.0, f64::max).ceil();
        let most = panels.iter().map(|panel| panel.encoding.causes.len().clamp(1, IN_A_ROW)).max().unwrap_or(1);
        let widest_label = |texts: &mut dyn Iterator<Item = f64>| texts.fold(tile.0, f64::max).ceil();
        let patch_texts = panels.iter().map(|panel| text_width(&panel.encoding.label, LABEL));
        let patch = widest_label(&mut patch_texts.chain([text_width("data point", HEAD)]));
        let combined = widest_label(&mut [text_width("combined", HEAD)].into_iter());
        let causes_left = MARGIN + patch + ARROW + NAMES;
        let causes_width = ((cell + GAP) * most as f64 - GAP).max(text_width("active causes", HEAD));
        let combined_left = (causes_left + causes_width + ARROW).ceil();
        let bar_left = combined_left + combined + GAP;
        let numbers = panels.iter().flat_map(|panel| {
            let ranges = [panel.means, panel.means.around_zero(), panel.deviations];
            ranges.into_iter().flat_map(range_labels)
        });
        let numbers = numbers.map(|number| text_width(&number, LABEL)).fold(0.0, f64::max);
        let width = (bar_left + BAR + 10.0 + numbers + MARGIN).max(text_width(title, TITLE) + 2.0 * MARGIN);
        let patch_left = MARGIN + ((patch - tile.0) / 2.0).floor();
        let combined_left = combined_left + ((combined - tile.0) / 2.0).floor();
        Self { title, zoom, tile, cell, patch_left, causes_left, causes_width, combined_left, bar_left, width }
    }

    /// The height of a row of causes with its labels.
    fn row_height(&self, panel: &Panel) -> f64 {
        let fields = if panel.has_deviations { 2.0 * self.tile.1 + GAP } else { self.tile.1 };
        let lines = panel.label_lines() as f64;
        fields + if lines > 0.0 { 6.0 + LINE * lines } else { 0.0 }
    }

    fn panel_height(&self, panel: &Panel) -> f64 {
        let rows = panel.rows() as f64;
        self.row_height(panel) * rows + GAP * (rows - 1.0)
    }

    /// Draws all panels.
    pub(super) fn draw(&self, panels: &[Panel]) -> Result<Drawing, ViewError> {
        let title_height = if self.title.trim().is_empty() { 0.0 } else { TITLE + 18.0 };
        let first = MARGIN + title_height + HEAD + 14.0;
        let panels_height: f64 = panels.iter().map(|panel| self.panel_height(panel) + BETWEEN).sum();
        let height = first + panels_height - BETWEEN + MARGIN;
        let mut drawing = Drawing::new(self.width.ceil() as u32, height.ceil() as u32);
        drawing.text(self.title, (MARGIN, MARGIN), look(TITLE, Rgb::BLACK, Across::Left, Upright::Top));
        let head = look(HEAD, TEXT, Across::Centre, Upright::Top);
        let y = MARGIN + title_height;
        drawing.text("data point", (self.patch_left + self.tile.0 / 2.0, y), head);
        drawing.text("active causes", (self.causes_left + self.causes_width / 2.0, y), head);
        drawing.text("combined", (self.combined_left + self.tile.0 / 2.0, y), head);
        let mut top = first;
        for (index, panel) in panels.iter().enumerate() {
            if index > 0 {
                let y = top - BETWEEN / 2.0;
                let points = vec![(MARGIN, y), (self.width - MARGIN, y)];
                drawing.add(Shape::Path { points, width: 1.0, ink: Ink(Rgb([205; 3]), 1.0) });
            }
            self.panel(&mut drawing, panel, top)?;
            top += self.panel_height(panel) + BETWEEN;
        }
        Ok(drawing)
    }

    fn panel(&self, drawing: &mut Drawing, panel: &Panel, top: f64) -> Result<(), ViewError> {
        let encoding = panel.encoding;
        let colours = Colours::of_means(panel.means);
        let mean =
            |drawing: &mut Drawing, field, left, top| self.field(drawing, field, colours, panel.means, (left, top));
        let deviation = |drawing: &mut Drawing, field, left, top| {
            self.field(drawing, field, Colours::Sequential, panel.deviations, (left, top))
        };
        let lower = self.tile.1 + GAP;
        let label = look(LABEL, TEXT, Across::Centre, Upright::Top);

        mean(drawing, encoding.patch, self.patch_left, top)?;
        let under = top + self.tile.1 + 10.0;
        drawing.text(encoding.label.as_str(), (self.patch_left + self.tile.0 / 2.0, under), label);
        mean(drawing, encoding.combined_mean, self.combined_left, top)?;
        if let Some(field) = encoding.combined_deviation {
            deviation(drawing, field, self.combined_left, top + lower)?;
        }
        let middle = top + self.tile.1 / 2.0;
        arrow(drawing, self.causes_left - NAMES - ARROW + 18.0, self.causes_left - NAMES - 18.0, middle);
        // From the last cause of the first row: with few causes it is long.
        let causes_end = match encoding.causes.len() {
            0 => self.causes_left + text_width("none", LABEL),
            count => self.cause_left(count.min(IN_A_ROW) - 1) + self.tile.0,
        };
        arrow(drawing, causes_end + 18.0, self.combined_left - 18.0, middle);

        for (index, cause) in encoding.causes.iter().enumerate() {
            let (row, column) = (index / IN_A_ROW, index % IN_A_ROW);
            let left = self.cause_left(column);
            let top = top + row as f64 * (self.row_height(panel) + GAP);
            mean(drawing, cause.mean, left, top)?;
            let mut under = top + self.tile.1 + 10.0;
            if panel.has_deviations {
                under += lower;
                match cause.deviation {
                    Some(field) => deviation(drawing, field, left, top + lower)?,
                    None => {
                        drawing.text("\u{2013}", (left + self.tile.0 / 2.0, top + lower + self.tile.1 / 2.0), label)
                    }
                }
            }
            let x = left + self.tile.0 / 2.0;
            drawing.text(cause.label.as_str(), (x, under), label);
            if let Some(prior) = cause.prior {
                let line = if panel.label_lines() > 1 { LINE } else { 0.0 };
                drawing.text(prior_text(prior), (x, under + line), TextLook { colour: FAINT, ..label });
            }
        }
        if encoding.causes.is_empty() {
            let none = look(LABEL, FAINT, Across::Left, Upright::Centre);
            drawing.text("none", (self.causes_left, middle), none);
        }
        self.row_names(drawing, panel, middle);
        self.bars(drawing, panel, colours, top)
    }

    /// Where the field of a cause begins.
    fn cause_left(&self, column: usize) -> f64 {
        (self.causes_left + column as f64 * (self.cell + GAP) + (self.cell - self.tile.0) / 2.0).floor()
    }

    /// Says which fields are means and which are standard deviations; `middle` is that of the first row.
    fn row_names(&self, drawing: &mut Drawing, panel: &Panel, middle: f64) {
        if panel.encoding.causes.is_empty() {
            return;
        }
        let name = TextLook { upwards: true, ..look(LABEL, FAINT, Across::Centre, Upright::Baseline) };
        let x = self.cause_left(0) - 10.0;
        for row in 0..panel.rows() {
            let y = middle + row as f64 * (self.row_height(panel) + GAP);
            drawing.text("mean", (x, y), name);
            if panel.has_deviations {
                drawing.text("std. dev.", (x, y + self.tile.1 + GAP), name);
            }
        }
    }

    fn field(
        &self,
        drawing: &mut Drawing,
        field: Field,
        colours: Colours,
        range: ValueRange,
        (left, top): (f64, f64),
    ) -> Result<(), ViewError> {
        let picture = Picture::painted(field, colours, range)?.scaled(self.zoom)?;
        drawing.add(Shape::Image { left: left as u32, top: top as u32, picture });
        drawing.outline((left, top), (left + self.tile.0, top + self.tile.1), 1.0, OUTLINE);
        Ok(())
    }

    /// The colours of means and of standard deviations.
    fn bars(&self, drawing: &mut Drawing, panel: &Panel, colours: Colours, top: f64) -> Result<(), ViewError> {
        let channels = panel.encoding.patch.size().channels;
        let means = if colours == Colours::Diverging { panel.means.around_zero() } else { panel.means };
        let mut bar = |colours, range: ValueRange, top: f64| {
            let labels = range_labels(range);
            let labels = labels.each_ref().map(String::as_str);
            let colours = if channels == 3 { Colours::Grey } else { colours };
            let bar = ColourBar { colours, labels, text_size: LABEL };
            bar.upright(drawing, (self.bar_left as u32, top as u32), (BAR as u32, self.tile.1 as u32))
        };
        bar(colours, means, top)?;
        if panel.has_deviations {
            bar(Colours::Sequential, panel.deviations, top + self.tile.1 + GAP)?;
        }
        Ok(())
    }
}

/// An arrow to the right.
fn arrow(drawing: &mut Drawing, from: f64, to: f64, y: f64) {
    let ink = Ink(FAINT, 1.0);
    drawing.add(Shape::Path { points: vec![(from, y), (to, y)], width: 2.5, ink });
    let head = vec![(to - 9.0, y - 7.0), (to, y), (to - 9.0, y + 7.0)];
    drawing.add(Shape::Path { points: head, width: 2.5, ink });
}
