//! Figures of curves and points.

mod axis;
mod canvas;
mod content;
mod draw;
mod layout;
mod legend;
mod marks;

use canvas::Canvas;
pub use legend::LegendPlace;
pub use marks::{Annotation, Disc, Line, Marks, Points, Reference, Stroke};

use crate::{Drawing, ViewError};

/// A smaller figure has no room for its labels.
const SMALLEST_SIDE: u32 = 60;

/// A larger figure is a mistake.
const LARGEST_SIDE: u32 = 50_000;

/// A figure: curves, points and reference lines over one pair of axes.
///
/// Values that are not finite are skipped: a curve has a gap there. The axes cover all that is
/// drawn unless a range is given.
///
/// ```
/// use efmca_view::{Figure, Line, Reference};
///
/// let curve = (0..50).map(|step| (f64::from(step), -1000.0 / f64::from(step + 1)));
/// let svg = Figure::new("Learning")
///     .x_label("iteration")
///     .y_label("log-likelihood")
///     .line(Line::new(curve))
///     .reference(Reference::thick_red(-10.0).label("ground truth"))
///     .to_svg(640, 400)?;
/// assert!(svg.starts_with("<svg"));
/// # Ok::<(), efmca_view::ViewError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Figure {
    title: String,
    x_label: String,
    y_label: String,
    lines: Vec<Line>,
    points: Vec<Points>,
    references: Vec<Reference>,
    annotations: Vec<Annotation>,
    legend: LegendPlace,
    x_range: Option<(f64, f64)>,
    y_range: Option<(f64, f64)>,
}

impl Figure {
    /// A figure with a title (which may be empty) and nothing in it.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// Sets the text under the horizontal axis.
    #[must_use]
    pub fn x_label(mut self, text: impl Into<String>) -> Self {
        self.x_label = text.into();
        self
    }

    /// Sets the text beside the vertical axis.
    #[must_use]
    pub fn y_label(mut self, text: impl Into<String>) -> Self {
        self.y_label = text.into();
        self
    }

    /// Adds a curve.
    #[must_use]
    pub fn line(mut self, line: Line) -> Self {
        self.lines.push(line);
        self
    }

    /// Adds many curves.
    #[must_use]
    pub fn lines(mut self, lines: impl IntoIterator<Item = Line>) -> Self {
        self.lines.extend(lines);
        self
    }

    /// Adds scattered points.
    #[must_use]
    pub fn points(mut self, points: Points) -> Self {
        self.points.push(points);
        self
    }

    /// Adds a horizontal reference line.
    #[must_use]
    pub fn reference(mut self, reference: Reference) -> Self {
        self.references.push(reference);
        self
    }

    /// Adds a text at a place of the horizontal axis.
    #[must_use]
    pub fn annotation(mut self, annotation: Annotation) -> Self {
        self.annotations.push(annotation);
        self
    }

    /// Sets where the legend of labelled curves and points stands.
    #[must_use]
    pub fn legend(mut self, place: LegendPlace) -> Self {
        self.legend = place;
        self
    }

    /// Sets the ends of the horizontal axis; what lies outside is cut off.
    #[must_use]
    pub fn x_range(mut self, lo: f64, hi: f64) -> Self {
        self.x_range = Some((lo, hi));
        self
    }

    /// Sets the ends of the vertical axis; what lies outside is cut off.
    #[must_use]
    pub fn y_range(mut self, lo: f64, hi: f64) -> Self {
        self.y_range = Some((lo, hi));
        self
    }

    /// The text of an SVG file with this figure, `width` by `height` pixels.
    ///
    /// # Errors
    ///
    /// [`ViewError::Setting`] for a side outside 60 to 50000 pixels or a range whose ends are not
    /// finite and in order.
    pub fn to_svg(&self, width: u32, height: u32) -> Result<String, ViewError> {
        self.draw(width, height)?.to_svg()
    }

    /// The figure as a drawing of `width` by `height` pixels, which can be a file of PNG as well.
    ///
    /// # Errors
    ///
    /// [`ViewError::Setting`] as [`Figure::to_svg`].
    pub fn draw(&self, width: u32, height: u32) -> Result<Drawing, ViewError> {
        draw_panels(std::slice::from_ref(self), width, height)
    }

    /// Refuses ranges that cannot be an axis.
    fn check_ranges(&self) -> Result<(), ViewError> {
        let ranges = [("the x range of the figure", self.x_range), ("the y range of the figure", self.y_range)];
        for (what, range) in ranges {
            if let Some((lo, hi)) = range
                && !(axis::is_drawable(lo) && axis::is_drawable(hi) && lo < hi)
            {
                return Err(ViewError::Setting {
                    what,
                    value: format!("{lo} to {hi}"),
                    hint: "give two finite numbers, the lower one first",
                });
            }
        }
        Ok(())
    }
}

/// The text of an SVG file with figures side by side, each `width_each` by `height` pixels.
///
/// # Errors
///
/// [`ViewError::Nothing`] without figures; otherwise as [`Figure::to_svg`], with the limit of the
/// width for all of them together.
pub fn panels(figures: &[Figure], width_each: u32, height: u32) -> Result<String, ViewError> {
    draw_panels(figures, width_each, height)?.to_svg()
}

/// A drawing of figures side by side, each `width_each` by `height` pixels.
///
/// # Errors
///
/// As [`panels`].
pub fn draw_panels(figures: &[Figure], width_each: u32, height: u32) -> Result<Drawing, ViewError> {
    if figures.is_empty() {
        return Err(ViewError::Nothing { what: "figure" });
    }
    for figure in figures {
        figure.check_ranges()?;
    }
    let count = u32::try_from(figures.len()).unwrap_or(u32::MAX);
    let width = width_each.saturating_mul(count);
    if width_each.min(height) < SMALLEST_SIDE || width.max(height) > LARGEST_SIDE {
        return Err(ViewError::Setting {
            what: "the size of the figure",
            value: format!("{width} x {height} pixels"),
            hint: "both sides have to be from 60 (for every panel) to 50000 (in all)",
        });
    }
    let mut drawing = Drawing::new(width, height);
    for (index, figure) in figures.iter().enumerate() {
        let left = f64::from(width_each) * index as f64;
        draw::figure(figure, &mut Canvas::part(&mut drawing, left, f64::from(width_each)));
    }
    Ok(drawing)
}

#[cfg(test)]
mod tests;
