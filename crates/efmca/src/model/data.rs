//! Where rows of data come from.

use ndarray::{Array2, ArrayBase, Ix2};

use super::{Columns, Statistics};
use crate::error::{Error, Result};
use crate::family::check;

/// Rows of observables. Implemented for arrays of `f64` and `f32`, and for the [`Patches`] of an image.
pub trait Data: Sync {
    /// $N$, the number of rows.
    fn n(&self) -> usize;
    /// $D$, the number of columns.
    fn d(&self) -> usize;
    /// Row `n`, $D$ values, NaN where missing.
    fn read_row(&self, n: usize, y: &mut [f64]);
    /// How the rows lie in an image, if they do.
    fn geometry(&self) -> Option<Geometry> {
        None
    }
}

impl<A, S> Data for ArrayBase<S, Ix2>
where
    A: Copy + Into<f64> + Sync,
    S: ndarray::Data<Elem = A> + Sync,
{
    fn n(&self) -> usize {
        self.nrows()
    }

    fn d(&self) -> usize {
        self.ncols()
    }

    fn read_row(&self, n: usize, y: &mut [f64]) {
        for (y, value) in y.iter_mut().zip(self.row(n)) {
            *y = (*value).into();
        }
    }
}

/// All patches of an image, one for each position, read from the image and not copied.
#[derive(Debug, Clone)]
pub struct Patches {
    image: Array2<f64>,
    geometry: Geometry,
}

/// Where the patches of an image lie: row $n$ of the data is the patch whose upper left pixel is the $n$-th position,
/// counted along the image's rows, and column $d$ its $d$-th pixel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    image: (usize, usize),
    patch: (usize, usize),
}

impl Patches {
    /// The patches of `patch` (rows, columns) pixels of `image`, NaN where a pixel is missing.
    pub fn new(image: Array2<f64>, patch: (usize, usize)) -> Result<Patches> {
        if image.is_empty() {
            return Err(Error::EmptyData { rows: image.nrows(), columns: image.ncols() });
        }
        let fits = |patch: usize, image: usize| patch > 0 && patch <= image;
        if !fits(patch.0, image.nrows()) || !fits(patch.1, image.ncols()) {
            return Err(Error::shape(
                "patch size",
                format!("1 x 1 to {} x {} pixels, the size of the image", image.nrows(), image.ncols()),
                format!("{} x {}", patch.0, patch.1),
            ));
        }
        let geometry = Geometry { image: image.dim(), patch };
        Ok(Patches { image: image.as_standard_layout().to_owned(), geometry })
    }

    /// The image.
    pub fn image(&self) -> &Array2<f64> {
        &self.image
    }
}

impl Data for Patches {
    fn n(&self) -> usize {
        self.geometry.down() * self.geometry.across()
    }

    fn d(&self) -> usize {
        self.geometry.patch.0 * self.geometry.patch.1
    }

    fn read_row(&self, n: usize, y: &mut [f64]) {
        if let Some(pixels) = self.image.as_slice() {
            self.geometry.cut(n, pixels, y);
        }
    }

    fn geometry(&self) -> Option<Geometry> {
        Some(self.geometry)
    }
}

impl Geometry {
    /// Positions along an image row.
    pub fn across(&self) -> usize {
        self.image.1 - self.patch.1 + 1
    }

    /// Positions along an image column.
    pub fn down(&self) -> usize {
        self.image.0 - self.patch.0 + 1
    }

    /// The size of the image in rows and columns.
    pub fn image(&self) -> (usize, usize) {
        self.image
    }

    /// The size of a patch in rows and columns.
    pub fn patch(&self) -> (usize, usize) {
        self.patch
    }

    pub(crate) fn pixels(&self) -> usize {
        self.image.0 * self.image.1
    }

    /// The pixel of column `d` in patch `n`, counted along the image's rows.
    pub fn pixel(&self, n: usize, d: usize) -> usize {
        let (y, x) = (n / self.across() + d / self.patch.1, n % self.across() + d % self.patch.1);
        y * self.image.1 + x
    }

    /// Copies the pixels of patch `n` out of a plane.
    #[inline(always)]
    pub(crate) fn cut<T: Copy>(&self, n: usize, plane: &[T], patch: &mut [T]) {
        let first = n / self.across() * self.image.1 + n % self.across();
        for (line, to) in patch.chunks_exact_mut(self.patch.1).enumerate() {
            // a loop, because lines are short and a call for each would cost more than the copy
            let from = &plane[first + line * self.image.1..][..to.len()];
            to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        }
    }

    /// Patches that cover every pixel, without more overlap than is needed.
    pub(crate) fn covering_rows(&self) -> impl Iterator<Item = usize> {
        let steps = |positions: usize, patch: usize| {
            (0..positions).filter(move |at| at % patch == 0 || at + 1 == positions).collect::<Vec<_>>()
        };
        let (down, across) = (steps(self.down(), self.patch.0), steps(self.across(), self.patch.1));
        let width = self.across();
        down.into_iter().flat_map(move |y| across.clone().into_iter().map(move |x| y * width + x))
    }
}

/// Reads rows of data as sufficient statistics, and checks them.
pub(crate) struct RowReader<'a> {
    columns: &'a Columns,
    data: &'a dyn Data,
}

impl<'a> RowReader<'a> {
    pub(crate) fn new(columns: &'a Columns, data: &'a dyn Data) -> Result<RowReader<'a>> {
        let (rows, d) = (data.n(), data.d());
        if rows == 0 || d == 0 {
            return Err(Error::EmptyData { rows, columns: d });
        }
        if d != columns.d() {
            return Err(Error::shape("columns of the data", columns.d(), d));
        }
        Ok(RowReader { columns, data })
    }

    /// Takes the statistics of row `n` ($K$ values, zero where missing), says which columns are there, and returns
    /// $\sum_d\log h(y_d)$.
    pub(crate) fn read(&self, n: usize, t: &mut [f64], there: &mut [bool]) -> Result<f64> {
        let mut y = vec![0.0; self.columns.d()];
        self.data.read_row(n, &mut y);
        let mut log_h = 0.0;
        for (column, family, span) in self.columns.iter() {
            let value = y[column];
            let t = &mut t[span];
            there[column] = !value.is_nan();
            if !there[column] {
                t.fill(0.0);
                continue;
            }
            if value.is_infinite() {
                return Err(Error::NotFinite { row: n, column, value });
            }
            check(&**family, value, n, column)?;
            family.t(value, t);
            if t.iter().any(|t| t.is_nan() || t.abs() > Statistics::LARGEST) {
                return Err(Error::TooExtreme { row: n, column, value, family: family.spec() });
            }
            log_h += family.log_h(value);
        }
        Ok(log_h)
    }

    /// $\log h$ of one value, zero where it is missing.
    pub(crate) fn log_h(&self, n: usize, column: usize) -> f64 {
        let mut y = vec![0.0; self.columns.d()];
        self.data.read_row(n, &mut y);
        if y[column].is_nan() { 0.0 } else { self.columns.family(column).log_h(y[column]) }
    }
}
