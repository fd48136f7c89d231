//! A table of numbers as colours, with a name for each row and column.

use ndarray::ArrayView2;

use crate::colours::ValueRange;
use crate::drawing::{Across, ColourBar, Ink, Shape, TextLook, Upright, text_width};
use crate::{Colours, Drawing, Rgb, ViewError};

/// The width of a page of pictures, and the sides of cells at the least and at the most.
const WIDTH: f64 = 900.0;
const CELL: (f64, f64) = (4.0, 30.0);
/// Names longer than this are cut.
const LONGEST: usize = 28;
const TEXT: f64 = 12.0;
const GAP: f64 = 8.0;
const BAR: (u32, u32) = (14, 120);
const INK: Rgb = Rgb([40; 3]);

/// A table of numbers as colours.
///
/// ```
/// use efmca_view::{Colours, Matrix};
/// use ndarray::arr2;
///
/// let effects = arr2(&[[2.0, 0.0], [0.0, -1.0]]);
/// let names = |names: [&str; 2]| names.map(str::to_owned).to_vec();
/// let drawing = Matrix::new(effects.view(), names(["cause 1", "cause 2"]), names(["age", "visits"])).draw()?;
/// assert!(drawing.to_svg()?.contains("visits"));
/// # Ok::<(), efmca_view::ViewError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Matrix<'a> {
    values: ArrayView2<'a, f64>,
    rows: Vec<String>,
    columns: Vec<String>,
    colours: Colours,
    unit: String,
    largest: Option<f64>,
}

impl<'a> Matrix<'a> {
    /// A matrix with names of its rows and columns; zero is white, negative numbers are blue and positive ones red.
    pub fn new(values: ArrayView2<'a, f64>, rows: Vec<String>, columns: Vec<String>) -> Self {
        Self { values, rows, columns, colours: Colours::Diverging, unit: String::new(), largest: None }
    }

    /// Other colours.
    #[must_use]
    pub fn colours(mut self, colours: Colours) -> Self {
        self.colours = colours;
        self
    }

    /// What the numbers are, for the bar of colours.
    #[must_use]
    pub fn unit(mut self, unit: impl Into<String>) -> Self {
        self.unit = unit.into();
        self
    }

    /// Numbers of this magnitude and above have the strongest colour; without it the largest one has.
    #[must_use]
    pub fn largest(mut self, largest: f64) -> Self {
        self.largest = Some(largest);
        self
    }

    /// The drawing.
    ///
    /// # Errors
    ///
    /// [`ViewError::Nothing`] if there is no number or not a name for each row and column.
    pub fn draw(&self) -> Result<Drawing, ViewError> {
        let (height, width) = self.values.dim();
        if height == 0 || width == 0 || self.rows.len() != height || self.columns.len() != width {
            return Err(ViewError::Nothing { what: "row and column with a name" });
        }
        let range = self.range();
        let (rows, columns) = (short(&self.rows), short(&self.columns));
        let left = widest(&rows) + 2.0 * GAP;
        let side = ((WIDTH - left - 90.0) / width as f64).clamp(CELL.0, CELL.1);
        // names of columns that are too narrow for them are left out, all but every so many-th
        let every = (TEXT / side).ceil().max(1.0) as usize;
        let tall = side.clamp(14.0, CELL.1);
        let top = widest(&columns) + 2.0 * GAP;
        let (right, foot) = (left + side * width as f64, top + tall * height as f64);
        let bar_left = (right + 2.0 * GAP).ceil();
        let page = (bar_left + 100.0, (foot + GAP).max(top + f64::from(BAR.1) + 3.0 * GAP + TEXT));
        let mut drawing = Drawing::new(page.0.ceil() as u32, page.1.ceil() as u32);
        let look = |across, upwards| TextLook { size: TEXT, colour: INK, across, upright: Upright::Centre, upwards };
        for (row, name) in rows.iter().enumerate() {
            let y = top + tall * (row as f64 + 0.5);
            drawing.text(name.clone(), (left - GAP, y), look(Across::Right, false));
        }
        for (column, name) in columns.iter().enumerate().step_by(every) {
            let x = left + side * (column as f64 + 0.5);
            drawing.text(name.clone(), (x, top - GAP), look(Across::Left, true));
        }
        for ((row, column), value) in self.values.indexed_iter() {
            let from = (left + side * column as f64, top + tall * row as f64);
            let ink = Ink(Rgb(self.colours.colour(*value, range)), 1.0);
            drawing.add(Shape::Rectangle { from, to: (from.0 + side, from.1 + tall), ink });
        }
        drawing.outline((left, top), (right, foot), 1.0, Rgb([150; 3]));
        let (low, high) = range.ends();
        let labels = [low, 0.5 * (low + high), high].map(number);
        let bar = ColourBar {
            colours: self.colours,
            labels: [labels[0].as_str(), labels[1].as_str(), labels[2].as_str()],
            text_size: TEXT,
        };
        let bar_top = top.ceil() + TEXT + GAP;
        drawing.text(self.unit.clone(), (bar_left, top + 0.5 * TEXT), look(Across::Left, false));
        bar.upright(&mut drawing, (bar_left as u32, bar_top as u32), BAR)?;
        Ok(drawing)
    }

    fn range(&self) -> ValueRange {
        let found = ValueRange::of(self.values.iter().copied().filter(|value| value.is_finite()));
        let largest = self.largest.filter(|largest| largest.is_finite() && *largest > 0.0);
        match (self.colours, largest) {
            (Colours::Diverging, Some(largest)) => ValueRange::of([-largest, largest].into_iter()),
            (Colours::Diverging, None) => found.around_zero(),
            (_, Some(largest)) => ValueRange::of([0.0, largest].into_iter()),
            _ => ValueRange::of([0.0, found.ends().1].into_iter()),
        }
    }
}

fn number(value: f64) -> String {
    let text = if value.abs() >= 10.0 { format!("{value:.0}") } else { format!("{value:.2}") };
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn short(names: &[String]) -> Vec<String> {
    let cut = |name: &String| match name.chars().count() > LONGEST {
        true => name.chars().take(LONGEST - 1).chain(['…']).collect(),
        false => name.clone(),
    };
    names.iter().map(cut).collect()
}

fn widest(names: &[String]) -> f64 {
    names.iter().map(|name| text_width(name, TEXT)).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, arr2};

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|number| format!("name {number}")).collect()
    }

    #[test]
    fn names_and_cells_are_drawn() {
        let values = arr2(&[[1.0, -2.0, f64::NAN], [0.0, 0.5, 2.0]]);
        let svg = Matrix::new(values.view(), names(2), names(3)).unit("sd").draw().unwrap().to_svg().unwrap();
        assert!(["name 0", "name 2", "\nsd\n", "\n-2\n", "\n2\n"].iter().all(|text| svg.contains(text)), "{svg}");
        // positive is red, negative is blue
        assert!(svg.contains("#B2182B") && svg.contains("#2152A3"), "{svg}");
    }

    #[test]
    fn many_columns_fit_on_the_page() {
        let values = Array2::<f64>::zeros((3, 150));
        let drawing = Matrix::new(values.view(), names(3), names(150)).draw().unwrap();
        assert!(drawing.width() < 1000, "{}", drawing.width());
        assert!(Matrix::new(values.view(), names(2), names(150)).draw().is_err());
    }
}
