//! Data as the kernel reads it.

use std::fmt;
use std::sync::Arc;

use ndarray::Array1;

use crate::cancel;
use crate::error::Result;
use crate::model::{Columns, Data, Geometry, RowReader};
use crate::posterior::truncated::data::frame::Frame;
use crate::posterior::truncated::data::scatter::{ColumnMeans, Means, Scatter};
use crate::posterior::truncated::kernel::{Float, LANES};
use crate::ranks::{Forest, Share};

/// The sufficient statistics of a data set in a [`Frame`], one plane for each $l$, in the precision of the kernel.
///
/// Patches of an image are kept as the image, once, and cut out when they are needed.
#[derive(Debug, Clone)]
pub(crate) struct Observations<F> {
    columns: Columns,
    frame: Frame,
    source: Source<F>,
    share: Share,
    /// The first row that is here.
    first: usize,
    /// $\sum_d \log h(y_d)$ of each row that is here.
    log_h: Vec<f64>,
    /// A weight for each row; `None` if all are one.
    weights: Option<Array1<f64>>,
    means: ColumnMeans,
    any_missing: bool,
}

/// Rows that the frame is taken from: it must be roughly right only.
const FRAME_ROWS: usize = 4096;

/// Rows that are read whenever they are needed.
#[derive(Clone)]
struct Outside(Arc<dyn Data + Send>);

impl fmt::Debug for Outside {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} rows of {} values", self.0.n(), self.0.d())
    }
}

#[derive(Debug, Clone)]
enum Source<F> {
    /// $N \times L \times D$ of the rows that are here; missing values are marked in the first plane.
    Rows(Vec<F>),
    /// Values that stay where they are, and whose statistics are taken anew each time.
    Outside(Outside),
    /// $L$ planes of an image; missing values are marked in the first one.
    Image { planes: Vec<F>, geometry: Geometry },
}

/// One row, cut out and padded.
#[derive(Debug, Clone)]
pub(crate) struct Row<F> {
    /// $L$ planes of padded length: $\vec T'$, zero where missing.
    pub(crate) t: Vec<F>,
    /// One where the value is there.
    pub(crate) present: Vec<F>,
    /// Whether any value is missing.
    pub(crate) missing: bool,
    /// Room for values and statistics of rows that are kept elsewhere.
    room: Vec<f64>,
}

/// The length of a row with padding.
pub(crate) fn padded(d: usize) -> usize {
    d.next_multiple_of(LANES)
}

impl<F: Float> Row<F> {
    pub(crate) fn new(columns: &Columns) -> Row<F> {
        let width = padded(columns.d());
        let present = (0..width).map(|d| if d < columns.d() { F::ONE } else { F::ZERO }).collect();
        Row { t: vec![F::ZERO; columns.l_max() * width], present, missing: false, room: Vec::new() }
    }
}

impl<F: Float> Observations<F> {
    /// Checks `data` against the families and takes its statistics; whitened if the precision needs it.
    pub(crate) fn new(columns: &Columns, data: &dyn Data, share: Share, whiten: bool) -> Result<Self> {
        let weights = data.weights().cloned();
        let reader = RowReader::new(columns, data)?;
        // all patches of an image have the same family in all columns, so one frame does for all of them
        let same = columns.iter().all(|(_, family, _)| family.spec() == columns.family(0).spec());
        match data.geometry().filter(|_| same) {
            Some(geometry) => Observations::from_image(columns, &reader, (geometry, share), weights, whiten),
            None => {
                let outside = data.outside().map(Outside);
                Observations::from_rows(columns, &reader, (share, outside), weights, whiten)
            }
        }
    }

    /// No rows: those of sparse data are kept in another form.
    pub(crate) fn without_rows(columns: &Columns) -> Observations<F> {
        let means = Means::new(columns).finish(columns);
        Observations {
            columns: columns.clone(),
            frame: Frame::identity(columns),
            source: Source::Rows(Vec::new()),
            share: Share::all(0),
            first: 0,
            log_h: Vec::new(),
            weights: None,
            means,
            any_missing: false,
        }
    }

    fn from_rows(
        columns: &Columns,
        reader: &RowReader<'_>,
        (share, outside): (Share, Option<Outside>),
        weights: Option<Array1<f64>>,
        whiten: bool,
    ) -> Result<Self> {
        let (n, d, l_max) = (share.n(), columns.d(), columns.l_max());
        let (mut t, mut there) = (vec![0.0; columns.k()], vec![true; d]);
        let mut frame = Frame::identity(columns);
        if whiten {
            // all ranks read these rows: they must have the same frame
            let mut scatter = Scatter::new(columns, false);
            for row in (0..n).step_by(n.div_ceil(FRAME_ROWS)) {
                reader.read(row, &mut t, &mut there)?;
                scatter.add(columns, &t, &there, 1.0);
            }
            let (means, covariances) = scatter.finish(columns);
            frame = Frame::new(columns, means, &covariances);
        }
        let (own, first) = (share.rows().len(), share.first());
        let mut log_h = Vec::with_capacity(own);
        let mut values = vec![F::ZERO; if outside.is_some() { 0 } else { own * l_max * d }];
        let mut read = || {
            let (mut sums, mut any_missing) = (Forest::new(), false);
            for shard in share.own() {
                let mut means = Means::new(columns);
                for row in share.shards.rows(shard) {
                    cancel::check();
                    log_h.push(reader.read(row, &mut t, &mut there)?);
                    any_missing |= there.contains(&false);
                    means.add(columns, &t, &there, weights.as_ref().map_or(1.0, |weights| weights[row]));
                    if outside.is_none() {
                        let values = &mut values[(row - first) * l_max * d..][..l_max * d];
                        put_in_frame(columns, &frame, &mut t, &there, |l, column, value| {
                            values[l * d + column] = value
                        });
                    }
                }
                sums.push(shard, means);
            }
            Ok((sums, any_missing))
        };
        let read = read();
        let (means, any_missing) = Means::of_all(&share, columns, read)?;
        let (source, columns) = (outside.map_or(Source::Rows(values), Source::Outside), columns.clone());
        Ok(Observations { columns, frame, source, share, first, log_h, weights, means, any_missing })
    }

    fn from_image(
        columns: &Columns,
        reader: &RowReader<'_>,
        (geometry, share): (Geometry, Share),
        weights: Option<Array1<f64>>,
        whiten: bool,
    ) -> Result<Self> {
        let (d, l_max, pixels) = (columns.d(), columns.l_max(), geometry.pixels());
        let (mut t, mut there) = (vec![0.0; columns.k()], vec![true; d]);
        let mut frame = Frame::identity(columns);
        if whiten {
            let mut scatter = Scatter::new(columns, true);
            for row in geometry.covering_rows() {
                cancel::check();
                reader.read(row, &mut t, &mut there)?;
                scatter.add(columns, &t, &there, 1.0);
            }
            let (means, covariances) = scatter.finish(columns);
            frame = Frame::new(columns, means, &covariances);
        }
        // every pixel is in some patch; those that are in several are written several times, with the same value
        let mut planes = vec![F::ZERO; l_max * pixels];
        let mut whole = vec![0.0; (l_max + 2) * pixels];
        for row in geometry.covering_rows() {
            cancel::check();
            let y = reader.values(row);
            reader.statistics(row, &y, &mut t, &mut there)?;
            for (column, _, span) in columns.iter() {
                let pixel = geometry.pixel(row, column);
                for (l, k) in span.enumerate() {
                    whole[l * pixels + pixel] = t[k];
                }
                whole[l_max * pixels + pixel] =
                    if there[column] { columns.weight(column) * reader.log_h(column, y[column]) } else { 0.0 };
                whole[(l_max + 1) * pixels + pixel] = f64::from(u8::from(there[column]));
            }
            put_in_frame(columns, &frame, &mut t, &there, |l, column, value| {
                planes[l * pixels + geometry.pixel(row, column)] = value;
            });
        }
        let mut sums = Forest::new();
        let mut log_h = Vec::with_capacity(share.rows().len());
        let mut cut = vec![0.0; d];
        for shard in share.own() {
            let mut means = Means::new(columns);
            for row in share.shards.rows(shard) {
                cancel::check();
                let plane = |l: usize| &whole[l * pixels..][..pixels];
                geometry.cut(row, plane(l_max), &mut cut);
                log_h.push(cut.iter().sum());
                geometry.cut(row, plane(l_max + 1), &mut cut);
                there.iter_mut().zip(&cut).for_each(|(there, value)| *there = *value > 0.0);
                for l in 0..l_max {
                    geometry.cut(row, plane(l), &mut cut);
                    t.iter_mut().skip(l).step_by(l_max).zip(&cut).for_each(|(t, value)| *t = *value);
                }
                means.add(columns, &t, &there, weights.as_ref().map_or(1.0, |weights| weights[row]));
            }
            sums.push(shard, means);
        }
        let missing = planes.iter().any(|value| value.is_missing());
        let (means, any_missing) = Means::of_all(&share, columns, Ok((sums, missing)))?;
        let (source, columns) = (Source::Image { planes, geometry }, columns.clone());
        let first = share.first();
        Ok(Observations { columns, frame, source, share, first, log_h, weights, means, any_missing })
    }

    pub(crate) fn columns(&self) -> &Columns {
        &self.columns
    }

    pub(crate) fn frame(&self) -> &Frame {
        &self.frame
    }

    /// The rows that are here, and where the others are.
    pub(crate) fn share(&self) -> &Share {
        &self.share
    }

    /// All rows, wherever they are.
    pub(crate) fn n(&self) -> usize {
        self.share.n()
    }

    pub(crate) fn log_h(&self, n: usize) -> f64 {
        self.log_h[n - self.first]
    }

    pub(crate) fn weight(&self, n: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[n])
    }

    pub(crate) fn total_weight(&self) -> f64 {
        self.weights.as_ref().map_or(self.n() as f64, |weights| weights.sum())
    }

    /// The weighted mean of each of the $K$ statistics, moved inside the domain.
    pub(crate) fn column_means(&self) -> Array1<f64> {
        self.means.projected(&self.columns)
    }

    /// An error if there is a column of which nothing can be learned.
    pub(crate) fn check_learnable(&self) -> Result<()> {
        self.means.check_learnable(&self.columns)
    }

    /// How far apart in the order of rows those lie that overlap most: for patches, the next in each direction. Patches of one page
    /// have none along the pages, with which they do not overlap.
    pub(crate) fn neighbours(&self) -> ([usize; 2], Option<usize>) {
        match &self.source {
            Source::Rows(_) | Source::Outside(_) => ([1, 2], None),
            Source::Image { geometry, .. } => {
                let page = geometry.down() * geometry.across();
                ([1, geometry.across()], Some(page).filter(|_| geometry.depth() > 1))
            }
        }
    }

    /// Cuts out row `n`.
    pub(crate) fn load(&self, n: usize, row: &mut Row<F>) {
        let (d, l) = (self.columns.d(), self.columns.l_max());
        let width = padded(d);
        match &self.source {
            Source::Rows(values) => {
                let values = &values[(n - self.first) * l * d..][..l * d];
                for (to, from) in row.t.chunks_exact_mut(width).zip(values.chunks_exact(d)) {
                    to[..d].copy_from_slice(from);
                }
            }
            Source::Outside(data) => self.take_statistics(&*data.0, n, row),
            Source::Image { planes, geometry } => {
                for (to, plane) in row.t.chunks_exact_mut(width).zip(planes.chunks_exact(geometry.pixels())) {
                    geometry.cut(n, plane, &mut to[..d]);
                }
            }
        }
        self.mark_missing(row);
    }

    /// Notes which values of a row are there, and puts zeros where they are not.
    fn mark_missing(&self, row: &mut Row<F>) {
        if !self.any_missing && !row.missing {
            return;
        }
        let d = self.columns.d();
        let width = padded(d);
        let mut missing = false;
        for value in &row.t[..d] {
            missing |= value.is_missing();
        }
        if missing || row.missing {
            let (present, (first, others)) = (&mut row.present[..d], row.t.split_at_mut(width));
            for (present, t) in present.iter_mut().zip(first) {
                let missing = t.is_missing();
                *present = if missing { F::ZERO } else { F::ONE };
                *t = if missing { F::ZERO } else { *t };
            }
            for plane in others.chunks_exact_mut(width) {
                plane
                    .iter_mut()
                    .zip(&*present)
                    .for_each(|(t, there)| *t = if *there == F::ZERO { F::ZERO } else { *t });
            }
        }
        row.missing = missing;
    }

    /// Reads a row that is kept elsewhere; its values were checked when the observations were made.
    fn take_statistics(&self, data: &dyn Data, n: usize, row: &mut Row<F>) {
        let (d, width) = (self.columns.d(), padded(self.columns.d()));
        row.room.resize(d + self.columns.k(), 0.0);
        let (y, t) = row.room.split_at_mut(d);
        data.read_row(n, y);
        for (column, family, span) in self.columns.iter() {
            let t = &mut t[span.clone()];
            let there = !y[column].is_nan();
            if there {
                family.t(y[column], t);
                self.frame.enter(column, span.start, t);
            }
            for l in 0..self.columns.l_max() {
                let value = if there { F::of(t.get(l).copied().unwrap_or(0.0)) } else { F::MISSING };
                row.t[l * width + column] = value;
            }
        }
    }

    /// Reads a row that is kept by another rank, in the way in which it was read there.
    fn read_elsewhere(&self, data: &dyn Data, n: usize, row: &mut Row<F>) {
        let (mut t, mut there) = (vec![0.0; self.columns.k()], vec![false; self.columns.d()]);
        // its values were checked there
        let _ = RowReader::new(&self.columns, data).and_then(|reader| reader.read(n, &mut t, &mut there));
        let width = padded(self.columns.d());
        put_in_frame(&self.columns, &self.frame, &mut t, &there, |l, column, value| row.t[l * width + column] = value);
    }

    /// Whether a value is missing anywhere.
    pub(crate) fn any_missing(&self) -> bool {
        self.any_missing
    }

    /// $\vec T$ of row `n`, $K$ values, zero where missing, and which columns are present. A row that is not here is read from
    /// `data`, whose values were checked where it is.
    pub(crate) fn statistics(&self, n: usize, data: Option<&dyn Data>) -> (Vec<f64>, Vec<bool>) {
        let mut row = Row::new(&self.columns);
        match (&self.source, data) {
            (Source::Rows(_), Some(data)) if !self.share.rows().contains(&n) => {
                self.read_elsewhere(data, n, &mut row);
                self.mark_missing(&mut row);
            }
            _ => self.load(n, &mut row),
        }
        let width = padded(self.columns.d());
        let (mut t, mut there) = (vec![0.0; self.columns.k()], vec![true; self.columns.d()]);
        for (d, _, span) in self.columns.iter() {
            there[d] = row.present[d] > F::ZERO;
            if there[d] {
                let t = &mut t[span.clone()];
                for (l, t) in t.iter_mut().enumerate() {
                    *t = row.t[l * width + d].f64();
                }
                self.frame.leave(d, span.start, 1.0, t);
            }
        }
        (t, there)
    }
}

/// Hands the statistics of a row to `see` as the kernel wants them: by $l$ and column.
fn put_in_frame<F: Float>(
    columns: &Columns,
    frame: &Frame,
    t: &mut [f64],
    there: &[bool],
    mut see: impl FnMut(usize, usize, F),
) {
    for (d, _, span) in columns.iter() {
        let t = &mut t[span.clone()];
        frame.enter(d, span.start, t);
        for l in 0..columns.l_max() {
            see(l, d, if there[d] { F::of(t.get(l).copied().unwrap_or(0.0)) } else { F::MISSING });
        }
    }
}
