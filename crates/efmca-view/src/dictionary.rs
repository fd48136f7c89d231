//! The learned causes of a model as tiles of one picture, with labels or without.

mod layout;
mod tiles;

use crate::colours::ValueRange;
use crate::field::{FieldSize, numbered, range_labels, range_of, short_probability, size_of_all};
use crate::{Colours, Drawing, Field, Picture, Rgb, Scale, ViewError};
use layout::Layout;

/// The colour that marks the background; no map of colours has it.
const MARK: Rgb = Rgb([240, 128, 0]);

/// All causes of a model as tiles, readable for a thousand of them and more.
///
/// Fields come in the order in which they are drawn, usually the most active first. The number and the activation
/// probability π of the first cause in a row stand beside it. Causes are counted from 1; a background is not counted:
/// it comes first and has a frame.
///
/// ```
/// use efmca_view::{Dictionary, Field, Scale};
/// use ndarray::Array2;
///
/// let fields: Vec<Array2<f64>> =
///     (0..30).map(|h| Array2::from_shape_fn((8, 8), |(y, x)| (0.1 * (h * x) as f64 + y as f64).sin())).collect();
/// let drawing = Dictionary::means("Means", fields.iter().map(|field| Field::from(field.view())))
///     .priors((0..30).map(|h| 0.5 / f64::from(h + 1)))
///     .scale(Scale::Each)
///     .draw()?;
/// assert!(drawing.to_svg()?.contains("30 causes of 8 \u{d7} 8 pixels"));
/// let png = drawing.to_png(1)?;
/// # Ok::<(), efmca_view::ViewError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Dictionary<'a> {
    title: String,
    fields: Vec<Field<'a>>,
    priors: Option<Vec<f64>>,
    background: bool,
    colours: Option<Colours>,
    scale: Scale,
    columns: Option<usize>,
}

/// Sizes and colours, settled before anything is drawn.
struct Plan {
    size: FieldSize,
    layout: Layout,
    colours: Colours,
    /// The range of all fields, unless each has its own.
    shared: Option<ValueRange>,
}

impl<'a> Dictionary<'a> {
    /// Mean fields: in colours with white at zero if there are negative values, in grey if not. Each has its own scale
    /// unless another one is set.
    pub fn means(title: impl Into<String>, fields: impl IntoIterator<Item = Field<'a>>) -> Self {
        Self {
            title: title.into(),
            fields: fields.into_iter().collect(),
            priors: None,
            background: false,
            colours: None,
            scale: Scale::Each,
            columns: None,
        }
    }

    /// Fields of standard deviations: from pale to dark, on one scale for all unless another one is set.
    pub fn deviations(title: impl Into<String>, fields: impl IntoIterator<Item = Field<'a>>) -> Self {
        Self { colours: Some(Colours::Sequential), scale: Scale::Shared, ..Self::means(title, fields) }
    }

    /// Sets the activation probabilities, one for every field; that of a background does not matter.
    #[must_use]
    pub fn priors(mut self, priors: impl IntoIterator<Item = f64>) -> Self {
        self.priors = Some(priors.into_iter().collect());
        self
    }

    /// Says that the first field is the background.
    #[must_use]
    pub fn background_first(mut self) -> Self {
        self.background = true;
        self
    }

    /// Sets which values get the colours at the ends.
    #[must_use]
    pub fn scale(mut self, scale: Scale) -> Self {
        self.scale = scale;
        self
    }

    /// Sets the map of colours. Fields with three channels are in their own colours, with zero in the middle of each
    /// channel for [`Colours::Diverging`].
    #[must_use]
    pub fn colours(mut self, colours: Colours) -> Self {
        self.colours = Some(colours);
        self
    }

    /// Sets the number of tiles in a row, instead of one that makes the page wider than high. There are never more
    /// columns than fields, and at least one.
    #[must_use]
    pub fn columns(mut self, columns: usize) -> Self {
        self.columns = Some(columns);
        self
    }

    /// The drawing with title, numbers, probabilities and colour bar, 1500 to 2600 pixels wide if there are many causes.
    ///
    /// # Errors
    ///
    /// [`ViewError::Nothing`] without fields, [`ViewError::EmptyField`] and [`ViewError::FieldSize`] for fields that cannot
    /// be tiles, [`ViewError::Setting`] for another number of probabilities than fields, for channels that are not three
    /// or a fixed scale that is not a range, [`ViewError::PictureTooLarge`] for more than 100 million pixels.
    pub fn draw(&self) -> Result<Drawing, ViewError> {
        let plan = self.plan()?;
        let Plan { size, colours, shared, .. } = plan;
        let page = layout::Page {
            title: &self.title,
            subtitle: self.subtitle(size.height, size.width),
            rows: self.row_labels(&plan.layout),
            has_priors: self.priors.is_some(),
            colours: if size.channels == 3 { Colours::Grey } else { colours },
            bar: bar_labels(colours, shared),
            note: note(colours, size.channels, shared.is_none()),
        };
        page.draw(&plan.layout, self.paint(&plan)?)
    }

    /// The tiles alone, with lines between and around them: a picture to be put together with others, as with
    /// [`Picture::stack`].
    ///
    /// # Errors
    ///
    /// As [`Dictionary::draw`].
    pub fn tiles(&self) -> Result<Picture, ViewError> {
        self.paint(&self.plan()?)
    }

    fn paint(&self, plan: &Plan) -> Result<Picture, ViewError> {
        tiles::tiles(&self.fields, &plan.layout, plan.colours, plan.shared, self.background)
    }

    /// Checks the fields and settings and decides on the arrangement and the colours.
    fn plan(&self) -> Result<Plan, ViewError> {
        let size = size_of_all(self.fields.iter().copied(), numbered)?;
        if let Some(priors) = &self.priors
            && priors.len() != self.fields.len()
        {
            return Err(ViewError::Setting {
                what: "the number of activation probabilities",
                value: format!("{} for {} fields", priors.len(), self.fields.len()),
                hint: "give one for every field, in the same order",
            });
        }
        let all = range_of(self.fields.iter().copied());
        let shared = match self.scale {
            Scale::Each => None,
            Scale::Shared => Some(all),
            Scale::Fixed { lo, hi } => Some(ValueRange::fixed(lo, hi)?),
        };
        let colours = self.colours.unwrap_or_else(|| Colours::of_means(shared.unwrap_or(all)));
        Ok(Plan { size, layout: Layout::new(size, self.fields.len(), self.columns), colours, shared })
    }

    /// The number of causes without the background, their size and their order.
    fn subtitle(&self, height: usize, width: usize) -> String {
        let count = self.fields.len() - usize::from(self.background);
        let causes = if count == 1 { "cause" } else { "causes" };
        let mut text = format!("{count} {causes} of {height} \u{d7} {width} pixels");
        let learned = self.priors.as_deref().map(|priors| &priors[usize::from(self.background)..]);
        // It is said only where it is true.
        if count > 1 && learned.is_some_and(|priors| priors.windows(2).all(|pair| pair[0] >= pair[1])) {
            text.push_str(", the most active first");
        }
        if self.background {
            text.push_str("; the background is framed");
        }
        text
    }

    /// Number and probability of the first cause of every row.
    fn row_labels(&self, layout: &Layout) -> Vec<(String, String)> {
        let label = |row: usize| {
            let first = row * layout.columns;
            let background = self.background && first == 0;
            let number = if background { "BG".to_owned() } else { (first + usize::from(!self.background)).to_string() };
            let prior = self.priors.as_ref().and_then(|priors| priors.get(first));
            let prior = match prior {
                Some(_) if background => "\u{2013}".to_owned(),
                Some(pi) => short_probability(*pi),
                None => String::new(),
            };
            (number, prior)
        };
        (0..layout.rows).map(label).collect()
    }
}

/// The labels of the ends and the middle of the colour bar.
fn bar_labels(colours: Colours, shared: Option<ValueRange>) -> [String; 3] {
    let range = match (colours, shared) {
        (Colours::Diverging, Some(range)) => range.around_zero(),
        (Colours::Diverging, None) => return ["\u{2212}max", "0", "max"].map(str::to_owned),
        (_, Some(range)) => range,
        (_, None) => return ["min", "", "max"].map(str::to_owned),
    };
    range_labels(range)
}

/// The meaning of the colour bar.
fn note(colours: Colours, channels: usize, each: bool) -> String {
    let mut parts = Vec::new();
    if channels == 3 {
        parts.push("red, green and blue alike");
    }
    match (each, colours) {
        (true, Colours::Diverging) => parts.push("max: the largest magnitude of each field"),
        (true, _) => parts.push("min, max: those of each field"),
        (false, _) => parts.push("the same scale for all fields"),
    }
    parts.join("; ")
}

#[cfg(test)]
mod tests;
