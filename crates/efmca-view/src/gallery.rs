//! Pictures of a training run: the dictionaries, how data points are encoded, and the curve of the bound.

use std::path::{Path, PathBuf};

use efmca::family::{Family, checked_phi};
use efmca::model::Data;
use efmca::{Fit, Model};
use efmca_io::write_atomically;
use ndarray::{Array2, Array3};

use crate::{
    ActiveCause, CaptionedPicture, Dictionary, Drawing, Encoding, Field, Figure, Line, ReportSection, ViewError,
    encodings,
};

/// Data points whose encoding is shown.
const SHOWN: usize = 4;
/// A cause that is in use is active in more data points than this. Priors have a smallest value, which is one data point of 100,000.
const IN_USE: f64 = 1.5;
/// Active causes of a data point that can be shown well.
const ACTIVE: std::ops::RangeInclusive<usize> = 2..=8;
/// The file of the curve.
const BOUND: &str = "bound";
/// The files of standard deviations, and of the causes of some data points.
const DEVIATIONS: &str = "deviations";
const ENCODING: &str = "encoding";
/// The bound is drawn in this size.
const CURVE: (u32, u32) = (720, 420);

/// One parameter of all causes, in the order in which they are shown: the background, then the most active first.
struct Parameter {
    /// In file names.
    file: String,
    title: String,
    /// One row for each cause.
    fields: Array2<f64>,
    deviations: bool,
}

/// All pictures of a run.
pub struct Gallery<'a> {
    fit: &'a Fit,
    data: &'a dyn Data,
    /// Rows, columns and channels of a patch.
    patch: Option<[usize; 3]>,
    /// Causes that some data point uses, the most active first.
    order: Vec<usize>,
    parameters: Vec<Parameter>,
}

impl<'a> Gallery<'a> {
    /// The pictures of a run on `data`, whose columns are the pixels of patches of `patch` rows, columns and channels (channel
    /// by channel). Without patches there is only the curve of the bound.
    pub fn new(fit: &'a Fit, data: &'a dyn Data, patch: Option<[usize; 3]>) -> Self {
        let pi = fit.model.pi();
        let mut order: Vec<usize> = (0..pi.len()).collect();
        order.sort_by(|a, b| pi[*b].total_cmp(&pi[*a]));
        // a field that no data point uses is as it started, or rounding, and would be shown as large as the others
        let used = order.iter().take_while(|h| pi[**h] * fit.weight > IN_USE).count().max(1);
        let unused = order.split_off(used).len();
        let parameters = parameters(&fit.model, &order, unused);
        let patch = patch.filter(|patch| patch.iter().product::<usize>() == fit.model.d());
        Self { fit, data, patch, order, parameters }
    }

    /// The names, without ending, of all files that [`Gallery::write`] can write for a model of this family.
    pub fn names(family: &dyn Family) -> Vec<String> {
        let usual = ["means", DEVIATIONS, ENCODING, BOUND].map(str::to_owned);
        usual.into_iter().chain(family.parameters().iter().map(|parameter| file_of(&parameter.name))).collect()
    }

    /// Causes that are used, the most active first: the order in which they are numbered.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// Draws everything: names of files without ending, titles and drawings. Pictures that would be too large (ten
    /// thousands of causes) are reported to `warn` and left out: they must not cost the model of a long run.
    ///
    /// # Errors
    ///
    /// As [`Dictionary::draw`], [`encodings`] and [`Figure::draw`].
    pub fn drawings(&self, warn: &mut dyn FnMut(&str)) -> Result<Vec<(String, String, Drawing)>, ViewError> {
        let mut all = Vec::new();
        if let Some(patch) = self.patch {
            let pi = || std::iter::once(1.0).chain(self.order.iter().map(|h| self.fit.model.pi()[*h]));
            for parameter in &self.parameters {
                let shaped: Vec<PatchField> =
                    parameter.fields.rows().into_iter().map(|row| PatchField::new(&row.to_vec(), patch)).collect();
                let fields = shaped.iter().map(PatchField::field);
                let dictionary = if parameter.deviations {
                    Dictionary::deviations(&parameter.title, fields)
                } else {
                    Dictionary::means(&parameter.title, fields)
                };
                match dictionary.priors(pi()).background_first().draw() {
                    Ok(drawing) => all.push((parameter.file.clone(), parameter.title.clone(), drawing)),
                    Err(ViewError::PictureTooLarge { width, height, .. }) => warn(&format!(
                        "{}.png and {0}.svg are left out, since they would have {width} x {height} pixels",
                        parameter.file
                    )),
                    Err(other) => return Err(other),
                }
            }
            if let Some(drawing) = self.encoding(patch)? {
                all.push((ENCODING.into(), "How data points are encoded".into(), drawing));
            }
        }
        let curve = self.curve();
        if curve.len() > 1 {
            let points: Vec<(f64, f64)> = curve.iter().enumerate().map(|(at, y)| (at as f64 + 1.0, *y)).collect();
            let figure = Figure::new("Bound of the log-likelihood, a data point")
                .x_label("iteration")
                .y_label("bound")
                .line(Line::new(points));
            all.push((BOUND.into(), "Training".into(), figure.draw(CURVE.0, CURVE.1)?));
        }
        Ok(all)
    }

    /// The bound a data point, by iteration.
    pub fn curve(&self) -> Vec<f64> {
        self.fit.history.iter().map(|step| step.bound / self.fit.weight).collect()
    }

    /// Writes each picture as PNG and SVG, replacing files of these names; returns the PNG files.
    ///
    /// # Errors
    ///
    /// As [`Gallery::drawings`] and [`Drawing::to_png`], and [`ViewError::File`] if a file cannot be written.
    pub fn write(&self, folder: &Path, warn: &mut dyn FnMut(&str)) -> Result<Vec<PathBuf>, ViewError> {
        let mut written = Vec::new();
        for (name, _, drawing) in self.drawings(warn)? {
            let zoom = if name == BOUND { 2 } else { 1 };
            let path = folder.join(format!("{name}.png"));
            write_atomically(&path, &drawing.to_png(zoom)?)?;
            let svg = drawing.to_svg()?;
            write_atomically(&folder.join(format!("{name}.svg")), svg.as_bytes())?;
            written.push(path);
        }
        Ok(written)
    }

    /// The pictures for a report, but for the curve, which it draws itself.
    ///
    /// # Errors
    ///
    /// As [`Gallery::drawings`] and [`Drawing::to_picture`].
    pub fn sections(&self) -> Result<Vec<ReportSection>, ViewError> {
        let mut sections = Vec::new();
        for (name, title, drawing) in self.drawings(&mut |_| ())?.into_iter().filter(|(name, ..)| name != BOUND) {
            let caption = format!("{name}.png, {name}.svg");
            let pictures = vec![CaptionedPicture::new(caption, drawing.to_picture(1)?)];
            sections.push(ReportSection { heading: title, pictures, ..ReportSection::default() });
        }
        Ok(sections)
    }

    /// The paper's figure: data points, the causes in their best state, and the combination of these.
    fn encoding(&self, patch: [usize; 3]) -> Result<Option<Drawing>, ViewError> {
        let Some(sets) = &self.fit.sets else { return Ok(None) };
        let model = &self.fit.model;
        let active_in = |n: usize| -> Vec<usize> {
            self.order.iter().copied().filter(|h| sets.state(n, 0).is_active(*h)).collect()
        };
        let chosen: Vec<(usize, Vec<usize>)> = (0..sets.n())
            .map(|n| (n, active_in(n)))
            .filter(|(_, active)| ACTIVE.contains(&active.len()))
            .take(SHOWN)
            .collect();
        if chosen.is_empty() {
            return Ok(None);
        }
        // the first two parameters are the mean and, if there is one, its deviation
        let place = |h: usize| 1 + self.order.iter().position(|other| *other == h).unwrap_or(0);
        let deviations = self.parameters.iter().find(|parameter| parameter.deviations);
        let shaped = |parameter: &Parameter, h: usize| PatchField::new(&parameter.fields.row(place(h)).to_vec(), patch);
        struct Panel {
            n: usize,
            patch: PatchField,
            causes: Vec<(usize, PatchField, Option<PatchField>)>,
            mean: PatchField,
            deviation: Option<PatchField>,
        }
        let mut panels = Vec::new();
        for (n, active) in chosen {
            let mut y = vec![0.0; model.d()];
            self.data.read_row(n, &mut y);
            let combined = model.combined(&active);
            let causes = active
                .iter()
                .map(|h| (*h, shaped(&self.parameters[0], *h), deviations.map(|parameter| shaped(parameter, *h))))
                .collect();
            panels.push(Panel {
                n,
                patch: PatchField::new(&y, patch),
                causes,
                mean: PatchField::new(&combined.mean, patch),
                deviation: combined.spread.map(|spread| PatchField::new(&spread, patch)),
            });
        }
        let views: Vec<Encoding<'_>> = panels
            .iter()
            .map(|panel| Encoding {
                label: format!("data point {}", panel.n + 1),
                patch: panel.patch.field(),
                causes: panel
                    .causes
                    .iter()
                    .map(|(h, mean, deviation)| ActiveCause {
                        label: place(*h).to_string(),
                        prior: Some(model.pi()[*h]),
                        mean: mean.field(),
                        deviation: deviation.as_ref().map(PatchField::field),
                    })
                    .collect(),
                combined_mean: panel.mean.field(),
                combined_deviation: panel.deviation.as_ref().map(PatchField::field),
            })
            .collect();
        encodings("How data points are encoded", &views).map(Some)
    }
}

/// The means, and the other conventional parameters of the family.
fn parameters(model: &Model, order: &[usize], unused: usize) -> Vec<Parameter> {
    let rows = order.len() + 1;
    let columns = model.columns();
    // the background is the last of the model's profiles and the first that is shown
    let w = |row: usize, d: usize| -> Vec<f64> {
        let span = columns.span(d);
        match row {
            0 => span.map(|k| model.background()[k]).collect(),
            _ => span.map(|k| model.w_flat()[[order[row - 1], k]]).collect(),
        }
    };
    let field =
        |of: &dyn Fn(usize, &[f64]) -> f64| Array2::from_shape_fn((rows, model.d()), |(row, d)| of(d, &w(row, d)));
    let titled = |name: &str| match unused {
        0 => name.to_owned(),
        1 => format!("{name} (one cause is not used and left out)"),
        more => format!("{name} ({more} causes are not used and left out)"),
    };
    let means = field(&|d, w| columns.family(d).f(w));
    let mut found = vec![Parameter { file: "means".into(), title: titled("Means"), fields: means, deviations: false }];
    if model.spreads().is_some() {
        let fields = field(&|d, w| columns.family(d).spread(w).unwrap_or(f64::NAN));
        let title = titled("Standard deviations");
        found.push(Parameter { file: DEVIATIONS.into(), title, fields, deviations: true });
        return found;
    }
    // all columns have one family here
    let names = columns.family(0).parameters();
    for (index, name) in names.iter().enumerate().filter(|(_, name)| names.len() > 1 && name.name != "mean") {
        let fields = field(&|d, w| {
            let family = columns.family(d);
            checked_phi(&**family, w)
                .ok()
                .and_then(|eta| family.conventional(&eta).get(index).copied())
                .unwrap_or(f64::NAN)
        });
        let file = file_of(&name.name);
        let title = titled(&format!("Parameter: {}", name.name));
        found.push(Parameter { file, title, fields, deviations: true });
    }
    found
}

/// The name of a parameter in file names.
fn file_of(parameter: &str) -> String {
    parameter.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-")
}

/// The values of a cause or a data point in the form of a patch.
enum PatchField {
    Plain(Array2<f64>),
    Colour(Array3<f64>),
}

impl PatchField {
    /// Three channels are colours; other numbers of channels stand one under the other.
    fn new(values: &[f64], [rows, columns, channels]: [usize; 3]) -> PatchField {
        let at = |channel: usize, y: usize, x: usize| values[(channel * rows + y) * columns + x];
        match channels {
            3 => PatchField::Colour(Array3::from_shape_fn((rows, columns, 3), |(y, x, c)| at(c, y, x))),
            _ => PatchField::Plain(Array2::from_shape_fn((rows * channels, columns), |(y, x)| at(0, y, x))),
        }
    }

    fn field(&self) -> Field<'_> {
        match self {
            PatchField::Plain(field) => Field::Plain(field.view()),
            PatchField::Colour(field) => Field::Colour(field.view()),
        }
    }
}
