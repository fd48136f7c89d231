//! Where rows of data come from.

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use ndarray::{Array1, Array2, ArrayBase, ArrayView4, Axis, Ix2};

use super::{Columns, Statistics};
use crate::error::{Error, Result};
use crate::family::cell::{mean_statistics, reaches};
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
    /// How much each row counts, if rows count differently: see [`Weighted`](super::Weighted).
    fn weights(&self) -> Option<&Array1<f64>> {
        None
    }
    /// The same rows as something that is read again in each E-step of truncated posteriors, if they are not to be copied
    /// into memory: then the number of rows is limited by the sets of states and not by the data. The values must not
    /// change while they are used.
    fn outside(&self) -> Option<Arc<dyn Data + Send>> {
        None
    }
    /// Whether all rows that were read so far are those of the data, for rows that are kept outside of memory: a disk can fail,
    /// and another program can write to a file. Rows that could not be read are missing ones until this is asked, which is
    /// done after every pass over the data.
    ///
    /// # Errors
    ///
    /// [`Error::Changed`].
    fn check_unchanged(&self) -> Result<()> {
        Ok(())
    }
    /// The columns of row `n` whose value is not zero, in ascending order, and these values, NaN where missing; `None` if
    /// rows are not kept in this form. All rows are, or none. See [`SparseRows`](super::SparseRows).
    fn non_zeros(&self, n: usize) -> Option<(&[u32], &[f64])> {
        let _ = n;
        None
    }
}

/// Whether only the values other than zero are kept.
pub(crate) fn is_sparse(data: &dyn Data) -> bool {
    data.n() > 0 && data.non_zeros(0).is_some()
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

/// The patches of an image, one for each position, read from the image and not copied. Those of a volume or a movie can go over
/// several pages: see [`Patches::of_volume`].
#[derive(Debug, Clone)]
pub struct Patches {
    /// Pages, channels, rows and columns, in this order.
    pixels: Vec<f64>,
    geometry: Geometry,
}

/// Where the patches of an image lie: row $n$ of the data is the patch whose first pixel is the $n$-th position, counted along
/// the image's rows and then page by page. Column $d$ is its $d$-th pixel: page by page of the patch, in a page channel by channel,
/// in a channel row by row. Patches of one page are the usual ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    pages: usize,
    channels: usize,
    image: (usize, usize),
    patch: (usize, usize),
    /// Pages of a patch.
    depth: usize,
    stride: usize,
    /// The distance of positions along the pages.
    page_stride: usize,
}

impl Patches {
    /// The patches of `patch` (rows, columns) pixels of `image`, NaN where a pixel is missing.
    ///
    /// # Errors
    ///
    /// [`Error::EmptyData`] for an image without pixels, [`Error::Shape`] if the patch does not fit into it.
    pub fn new(image: Array2<f64>, patch: (usize, usize)) -> Result<Patches> {
        let stack = image.view().insert_axis(Axis(0)).insert_axis(Axis(3));
        Patches::of_stack(stack, patch)
    }

    /// The patches of all pages of a stack (pages, rows, columns, channels), with all channels in each patch.
    ///
    /// # Errors
    ///
    /// [`Error::EmptyData`] for a stack without pixels, [`Error::Shape`] if the patch does not fit into a page.
    pub fn of_stack(stack: ArrayView4<'_, f64>, patch: (usize, usize)) -> Result<Patches> {
        Patches::of_volume(stack, patch, 1)
    }

    /// The patches of `depth` pages that follow each other, `patch` rows and columns in each, of a volume or a movie (pages, rows,
    /// columns, channels).
    ///
    /// ```
    /// use efmca::{Data, Patches};
    /// use ndarray::Array4;
    ///
    /// let movie = Array4::from_shape_fn((4, 2, 3, 1), |(page, y, x, _)| (100 * page + 10 * y + x) as f64);
    /// let patches = Patches::of_volume(movie.view(), (1, 2), 3)?;
    /// let mut second = [0.0; 6];
    /// patches.read_row(1, &mut second);
    /// assert_eq!(second, [1.0, 2.0, 101.0, 102.0, 201.0, 202.0]);
    /// // two positions along the columns, the rows and the pages
    /// assert_eq!(patches.n(), 2 * 2 * 2);
    /// # Ok::<(), efmca::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::EmptyData`] for a stack without pixels, [`Error::Shape`] if the patch does not fit into it.
    pub fn of_volume(stack: ArrayView4<'_, f64>, patch: (usize, usize), depth: usize) -> Result<Patches> {
        let geometry = Geometry::of_volume(stack.dim(), patch, depth)?;
        let pixels = stack.permuted_axes([0, 3, 1, 2]).iter().copied().collect();
        Ok(Patches { pixels, geometry })
    }

    /// All pixels: pages, channels, rows and columns, in this order.
    pub fn pixels(&self) -> &[f64] {
        &self.pixels
    }

    /// Only every `stride`-th position in each direction, and the last one. Along the pages positions are no more than half a
    /// patch apart, so that patches of one page are on every page.
    pub fn stride(mut self, stride: usize) -> Patches {
        self.geometry = self.geometry.with_stride(stride);
        self
    }
}

impl Data for Patches {
    fn n(&self) -> usize {
        self.geometry.n()
    }

    fn d(&self) -> usize {
        self.geometry.d()
    }

    fn read_row(&self, n: usize, y: &mut [f64]) {
        self.geometry.cut(n, &self.pixels, y);
    }

    fn geometry(&self) -> Option<Geometry> {
        Some(self.geometry)
    }
}

impl Geometry {
    /// Where patches of `depth` pages lie in a stack of this size (pages, rows, columns, channels).
    pub(crate) fn of_volume(
        (pages, rows, columns, channels): (usize, usize, usize, usize),
        patch: (usize, usize),
        depth: usize,
    ) -> Result<Geometry> {
        if pages * rows * columns * channels == 0 {
            return Err(Error::EmptyData { rows, columns });
        }
        let fits = |patch: usize, image: usize| patch > 0 && patch <= image;
        if !fits(patch.0, rows) || !fits(patch.1, columns) {
            return Err(Error::shape(
                "patch size",
                format!("1 x 1 to {rows} x {columns} pixels, the size of the image"),
                format!("{} x {}", patch.0, patch.1),
            ));
        }
        if !fits(depth, pages) {
            let expected = match pages {
                1 => "1 page, all that the image has".to_owned(),
                _ => format!("1 to {pages} pages, as many as the stack has"),
            };
            return Err(Error::shape("depth of a patch", expected, format!("{depth} pages")));
        }
        Ok(Geometry { pages, channels, image: (rows, columns), patch, depth, stride: 1, page_stride: 1 })
    }

    /// The same patches, only every `stride`-th: see [`Patches::stride`].
    pub(crate) fn with_stride(mut self, stride: usize) -> Geometry {
        self.stride = stride.max(1);
        self.page_stride = self.stride.min(self.depth.div_ceil(2));
        self
    }

    /// Positions along the pages.
    pub fn along(&self) -> usize {
        (self.pages - self.depth).div_ceil(self.page_stride) + 1
    }

    /// Positions along an image row.
    pub fn across(&self) -> usize {
        (self.image.1 - self.patch.1).div_ceil(self.stride) + 1
    }

    /// Positions along an image column.
    pub fn down(&self) -> usize {
        (self.image.0 - self.patch.0).div_ceil(self.stride) + 1
    }

    /// $N$, the number of patches.
    pub fn n(&self) -> usize {
        self.along() * self.down() * self.across()
    }

    /// $D$, the number of pixels of a patch, in all its pages and channels.
    pub fn d(&self) -> usize {
        self.depth * self.channels * self.patch.0 * self.patch.1
    }

    /// The size of the image in rows and columns.
    pub fn image(&self) -> (usize, usize) {
        self.image
    }

    /// The size of a patch in rows and columns.
    pub fn patch(&self) -> (usize, usize) {
        self.patch
    }

    /// The number of pages of a patch.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// How far apart positions are along rows and columns, and along the pages.
    pub(crate) fn strides(&self) -> (usize, usize) {
        (self.stride, self.page_stride)
    }

    /// The number of pages and of channels.
    pub fn pages_and_channels(&self) -> (usize, usize) {
        (self.pages, self.channels)
    }

    /// The number of pixels in all pages and channels.
    pub fn pixels(&self) -> usize {
        self.pages * self.channels * self.image.0 * self.image.1
    }

    /// The first pixel of patch `n` in its first page and channel.
    #[inline(always)]
    fn first(&self, n: usize) -> usize {
        let (line, x) = (n / self.across(), n % self.across());
        let (page, y) = (line / self.down(), line % self.down());
        let page = (page * self.page_stride).min(self.pages - self.depth);
        let y = (y * self.stride).min(self.image.0 - self.patch.0);
        let x = (x * self.stride).min(self.image.1 - self.patch.1);
        (page * self.channels * self.image.0 + y) * self.image.1 + x
    }

    /// The pixel of column `d` in patch `n`, counted by page, channel, row and column.
    pub fn pixel(&self, n: usize, d: usize) -> usize {
        let size = self.patch.0 * self.patch.1;
        // pixels lie page by page, and in a page channel by channel, in the image as in a patch
        let (plane, inside) = (d / size, d % size);
        self.first(n) + (plane * self.image.0 + inside / self.patch.1) * self.image.1 + inside % self.patch.1
    }

    /// Calls `see` with each line of patch `n`: the columns that it is, and the pixels.
    #[inline(always)]
    pub(crate) fn each_line(&self, n: usize, mut see: impl FnMut(Range<usize>, Range<usize>)) {
        let first = self.first(n);
        for line in 0..self.depth * self.channels * self.patch.0 {
            let (plane, y) = (line / self.patch.0, line % self.patch.0);
            let (column, pixel) = (line * self.patch.1, first + (plane * self.image.0 + y) * self.image.1);
            see(column..column + self.patch.1, pixel..pixel + self.patch.1);
        }
    }

    /// Copies the pixels of patch `n` out of a plane.
    #[inline(always)]
    pub(crate) fn cut<T: Copy>(&self, n: usize, plane: &[T], patch: &mut [T]) {
        self.each_line(n, |columns, pixels| copy_short(&plane[pixels], &mut patch[columns]));
    }

    /// Patches that cover every pixel that is in any, without more overlap than is needed.
    pub(crate) fn covering_rows(&self) -> impl Iterator<Item = usize> {
        let steps = |positions: usize, patch: usize, stride: usize| {
            let every = (patch / stride).max(1);
            (0..positions).filter(move |at| at % every == 0 || at + 1 == positions).collect::<Vec<_>>()
        };
        let along = steps(self.along(), self.depth, self.page_stride);
        let down = steps(self.down(), self.patch.0, self.stride);
        let across = steps(self.across(), self.patch.1, self.stride);
        let (width, height) = (self.across(), self.down());
        along.into_iter().flat_map(move |page| {
            let across = across.clone();
            let lines = down.clone().into_iter().map(move |y| (page * height + y) * width);
            lines.flat_map(move |line| across.clone().into_iter().map(move |x| line + x))
        })
    }
}

/// Copies a few values, eight at a time and then the last eight: the compiler would make a call of a plain loop, which costs more than
/// to copy the short lines of a patch.
#[inline(always)]
fn copy_short<T: Copy>(from: &[T], to: &mut [T]) {
    let to = &mut to[..from.len()];
    let (groups, _) = from.as_chunks::<8>();
    to.as_chunks_mut::<8>().0.iter_mut().zip(groups).for_each(|(to, from)| *to = *from);
    match (from.last_chunk::<8>(), to.last_chunk_mut::<8>()) {
        (Some(from), Some(to)) => *to = *from,
        _ => to.iter_mut().zip(from).for_each(|(to, from)| *to = *from),
    }
}

/// Some rows of a data set that follow each other.
pub(crate) struct RowRange<'a> {
    data: &'a dyn Data,
    rows: Range<usize>,
}

impl<'a> RowRange<'a> {
    pub(crate) fn new(data: &'a dyn Data, rows: Range<usize>) -> RowRange<'a> {
        RowRange { data, rows }
    }
}

impl Data for RowRange<'_> {
    fn n(&self) -> usize {
        self.rows.len()
    }

    fn d(&self) -> usize {
        self.data.d()
    }

    fn read_row(&self, n: usize, y: &mut [f64]) {
        self.data.read_row(self.rows.start + n, y);
    }

    fn check_unchanged(&self) -> Result<()> {
        self.data.check_unchanged()
    }

    fn non_zeros(&self, n: usize) -> Option<(&[u32], &[f64])> {
        self.data.non_zeros(self.rows.start + n)
    }
}

/// Reads rows of data as sufficient statistics, and checks them.
pub(crate) struct RowReader<'a> {
    columns: &'a Columns,
    data: &'a dyn Data,
    /// $\log h$ of counts that were seen, NaN for others; columns of the same family share it. A logarithm of a factorial takes longer
    /// than all else that is done with a value.
    known: Vec<[Cell<f64>; COUNTS]>,
    /// Which of these belongs to a column.
    known_of: Vec<usize>,
}

/// Whole numbers from zero to below this are remembered.
const COUNTS: usize = 256;

impl<'a> RowReader<'a> {
    pub(crate) fn new(columns: &'a Columns, data: &'a dyn Data) -> Result<RowReader<'a>> {
        let (rows, d) = (data.n(), data.d());
        if rows == 0 || d == 0 {
            return Err(Error::EmptyData { rows, columns: d });
        }
        if d != columns.d() {
            return Err(Error::shape("columns of the data", columns.d(), d));
        }
        let mut families: HashMap<*const (), usize> = HashMap::new();
        let mut family_of = |column: usize| {
            let next = families.len();
            *families.entry(Arc::as_ptr(columns.family(column)).cast()).or_insert(next)
        };
        let known_of = (0..d).map(&mut family_of).collect();
        let known = (0..families.len()).map(|_| std::array::from_fn(|_| Cell::new(f64::NAN))).collect();
        Ok(RowReader { columns, data, known, known_of })
    }

    /// $\log h(y)$ of a value of a column.
    pub(crate) fn log_h(&self, column: usize, y: f64) -> f64 {
        let family = self.columns.family(column);
        let place = y as usize;
        // what is no count below the largest one is not the number that its place stands for
        if place >= COUNTS || place as f64 != y {
            return family.log_h(y);
        }
        let known = &self.known[self.known_of[column]][place];
        if known.get().is_nan() {
            known.set(family.log_h(y));
        }
        known.get()
    }

    /// The values of row `n`, NaN where missing.
    pub(crate) fn values(&self, n: usize) -> Vec<f64> {
        let mut y = vec![0.0; self.columns.d()];
        self.data.read_row(n, &mut y);
        y
    }

    /// Takes the statistics of row `n` ($K$ values, zero where missing), says which columns are present, and returns
    /// $\sum_d\omega_d\log h(y_d)$, with $\omega_d$ as much as column $d$ counts.
    pub(crate) fn read(&self, n: usize, t: &mut [f64], present: &mut [bool]) -> Result<f64> {
        self.statistics(n, &self.values(n), t, present)
    }

    /// The same for the values of row `n`, which were read already.
    pub(crate) fn statistics(&self, n: usize, y: &[f64], t: &mut [f64], present: &mut [bool]) -> Result<f64> {
        let mut log_h = 0.0;
        for (column, family, span) in self.columns.iter() {
            let value = y[column];
            let t = &mut t[span];
            present[column] = !value.is_nan();
            if !present[column] {
                t.fill(0.0);
                continue;
            }
            if value.is_infinite() {
                return Err(Error::NotFinite { row: n, column, value });
            }
            let of_value = match self.columns.resolution(column).cell(value) {
                Some(cell) if reaches(&family.support(), value, Some(cell)) => {
                    mean_statistics(&**family, value, cell, t)
                }
                _ => {
                    check(&**family, value, n, column)?;
                    family.t(value, t);
                    self.log_h(column, value)
                }
            };
            if t.iter().any(|t| t.is_nan() || t.abs() > Statistics::LARGEST) {
                return Err(Error::TooExtreme { row: n, column, value, family: family.spec() });
            }
            log_h += self.columns.weight(column) * of_value;
        }
        Ok(log_h)
    }
}
