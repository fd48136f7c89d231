//! A start from clusters of the data.

use ndarray::{Array1, Array2, ArrayView2, Axis, s};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::distinct::DistinctRows;
use crate::cancel;
use crate::hash;
use crate::model::{Columns, Data};

/// Rows that are clustered, at the most: this many for each cluster, but some at least.
const ROWS_PER_CLUSTER: usize = 24;
const FEWEST_ROWS: usize = 8192;
/// Rounds of Lloyd's algorithm. The first ones do most, and EM goes on from there anyway.
const ROUNDS: usize = 6;
/// Centres that are drawn at a time: one matrix product instead of a pass over the rows for each.
const AT_A_TIME: usize = 32;
/// Rows of a product.
const BLOCK: usize = 256;

/// Groups of similar rows.
pub(super) struct Clusters {
    /// The different rows of the data that were looked at.
    rows: DistinctRows,
    /// The cluster of each of them.
    cluster: Vec<usize>,
}

impl Clusters {
    /// `count` clusters of the rows that count, by k-means on standardised columns; missing values count as average.
    ///
    /// The first centres are drawn as in k-means++: a row with a probability that grows with its squared distance from
    /// the centres so far.
    pub(super) fn new(data: &dyn Data, rows: &[usize], count: usize, rng: &mut ChaCha8Rng) -> Clusters {
        let most = count.saturating_mul(ROWS_PER_CLUSTER).max(FEWEST_ROWS);
        let some = rows.iter().copied().step_by(rows.len().div_ceil(most).max(1));
        let rows = distinct(data, some);
        let x = standardised(data, &rows);
        let mut centres = drawn(x.view(), &rows.weights, count, rng);
        let mut cluster = Vec::new();
        for _ in 0..ROUNDS {
            let nearest = nearest(x.view(), centres.view());
            cluster = nearest.iter().map(|(cluster, _)| *cluster).collect();
            centres = means(x.view(), &rows.weights, &mut cluster, &nearest, count);
        }
        Clusters { rows, cluster }
    }

    /// The mean statistics of each cluster, with one row of average data in each, so that no entry is on the edge of its
    /// domain; `row` gives the statistics of a row and which columns are present.
    pub(super) fn statistics(
        &self,
        count: usize,
        columns: &Columns,
        average: &Array1<f64>,
        row: impl Fn(usize) -> (Vec<f64>, Vec<bool>),
    ) -> Array2<f64> {
        let mut sums = Array2::from_shape_fn((count, columns.k()), |(_, k)| average[k]);
        let mut weights = Array2::<f64>::ones((count, columns.d()));
        for ((n, weight), cluster) in self.rows.rows.iter().zip(&self.rows.weights).zip(&self.cluster) {
            let (t, present) = row(*n);
            for (d, _, span) in columns.iter().filter(|(d, _, _)| present[*d]) {
                weights[[*cluster, d]] += weight;
                for k in span {
                    sums[[*cluster, k]] += weight * t[k];
                }
            }
        }
        for (d, _, span) in columns.iter() {
            for k in span {
                sums.column_mut(k).zip_mut_with(&weights.column(d), |sum, weight| *sum /= weight);
            }
        }
        sums
    }
}

/// The different rows among `rows`.
fn distinct(data: &dyn Data, rows: impl Iterator<Item = usize>) -> DistinctRows {
    let mut y = vec![0.0; data.d()];
    let weight = |n: usize| data.weights().map_or(1.0, |weights| weights[n]);
    DistinctRows::new(rows, weight, |n| {
        data.read_row(n, &mut y);
        hash::wide(y.iter().copied())
    })
}

/// The rows with columns of mean zero and deviation one, zero where missing.
fn standardised(data: &dyn Data, rows: &DistinctRows) -> Array2<f32> {
    let d = data.d();
    let mut x = Array2::zeros((rows.len(), d));
    x.axis_iter_mut(Axis(0)).into_par_iter().zip(&rows.rows).for_each_init(
        || vec![0.0; d],
        |y, (mut x, n)| {
            data.read_row(*n, y);
            x.iter_mut().zip(y).for_each(|(x, y)| *x = *y as f32);
        },
    );
    x.axis_iter_mut(Axis(1)).into_par_iter().for_each(|mut column| {
        let present = || rows.weights.iter().zip(column.iter().map(|x| f64::from(*x))).filter(|(_, x)| !x.is_nan());
        let count = present().map(|(weight, _)| weight).sum::<f64>().max(f64::MIN_POSITIVE);
        let mean = present().map(|(weight, x)| weight * x).sum::<f64>() / count;
        let deviation = (present().map(|(weight, x)| weight * (x - mean).powi(2)).sum::<f64>() / count).sqrt();
        let scale = if deviation > 0.0 { 1.0 / deviation } else { 0.0 };
        column.mapv_inplace(|x| if x.is_nan() { 0.0 } else { ((f64::from(x) - mean) * scale) as f32 });
    });
    x
}

/// Centres that lie apart.
fn drawn(x: ArrayView2<'_, f32>, weights: &[f64], count: usize, rng: &mut ChaCha8Rng) -> Array2<f32> {
    let mut centres = Array2::zeros((count, x.ncols()));
    let mut distance = vec![f32::INFINITY; x.nrows()];
    let mut done = 0;
    while done < count {
        let now = if done == 0 { 1 } else { AT_A_TIME.min(count - done).min(done) };
        let mut total = 0.0;
        let sums: Vec<f64> = (distance.iter().zip(weights))
            .map(|(distance, weight)| {
                total += weight * if done == 0 { 1.0 } else { f64::from(*distance) };
                total
            })
            .collect();
        for centre in done..done + now {
            let at = rng.random::<f64>() * total;
            let row = match total > 0.0 {
                true => sums.partition_point(|sum| *sum <= at).min(x.nrows() - 1),
                // fewer different rows than centres
                false => rng.random_range(0..x.nrows()),
            };
            centres.row_mut(centre).assign(&x.row(row));
        }
        let new = nearest(x, centres.slice(s![done..done + now, ..]));
        distance.iter_mut().zip(new).for_each(|(distance, (_, new))| *distance = distance.min(new));
        done += now;
    }
    centres
}

/// The nearest centre of each row, the first of equals, and its squared distance.
fn nearest(x: ArrayView2<'_, f32>, centres: ArrayView2<'_, f32>) -> Vec<(usize, f32)> {
    let squares: Vec<f32> = centres.rows().into_iter().map(|centre| centre.dot(&centre)).collect();
    let blocks: Vec<Vec<(usize, f32)>> = x
        .axis_chunks_iter(Axis(0), BLOCK)
        .into_par_iter()
        .map(|block| {
            cancel::check();
            let products = block.dot(&centres.t());
            let of_row = |(row, products): (ndarray::ArrayView1<'_, f32>, ndarray::ArrayView1<'_, f32>)| {
                let parts = products.iter().zip(&squares).map(|(product, square)| square - 2.0 * product);
                let best = parts
                    .enumerate()
                    .fold((0, f32::INFINITY), |best, (centre, part)| if part < best.1 { (centre, part) } else { best });
                (best.0, (best.1 + row.dot(&row)).max(0.0))
            };
            block.rows().into_iter().zip(products.rows()).map(of_row).collect()
        })
        .collect();
    blocks.concat()
}

/// The means of the clusters. One without rows gets the row that is farthest from its own centre.
fn means(
    x: ArrayView2<'_, f32>,
    weights: &[f64],
    cluster: &mut [usize],
    nearest: &[(usize, f32)],
    count: usize,
) -> Array2<f32> {
    let mut sizes = vec![0usize; count];
    cluster.iter().for_each(|cluster| sizes[*cluster] += 1);
    let mut far: Vec<usize> = (0..nearest.len()).collect();
    if sizes.contains(&0) {
        far.sort_by(|a, b| nearest[*b].1.total_cmp(&nearest[*a].1));
    }
    let mut far = far.into_iter();
    for empty in (0..count).filter(|cluster| sizes[*cluster] == 0).collect::<Vec<_>>() {
        let Some(row) = far.find(|row| sizes[cluster[*row]] > 1) else { break };
        sizes[cluster[row]] -= 1;
        sizes[empty] = 1;
        cluster[row] = empty;
    }
    let (mut sums, mut totals) = (Array2::<f64>::zeros((count, x.ncols())), vec![0.0; count]);
    for ((row, weight), cluster) in x.rows().into_iter().zip(weights).zip(cluster.iter()) {
        sums.row_mut(*cluster).zip_mut_with(&row, |sum, x| *sum += weight * f64::from(*x));
        totals[*cluster] += weight;
    }
    for (mut sum, total) in sums.rows_mut().into_iter().zip(&totals).filter(|(_, total)| **total > 0.0) {
        sum.mapv_inplace(|sum| sum / total);
    }
    sums.mapv(|mean| mean as f32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    /// Three groups of rows around far points.
    fn groups() -> Array2<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        Array2::from_shape_fn((300, 4), |(n, d)| if d == n % 3 { 50.0 } else { 0.0 } + rng.random::<f64>())
    }

    #[test]
    fn far_groups_are_found() {
        let y = groups();
        let rows: Vec<usize> = (0..300).collect();
        for seed in 0..10 {
            let found = Clusters::new(&y, &rows, 3, &mut ChaCha8Rng::seed_from_u64(seed));
            assert_eq!(found.cluster.len(), 300);
            for n in 0..300 {
                assert_eq!(found.cluster[n], found.cluster[n % 3], "{seed}");
            }
        }
    }

    #[test]
    fn more_clusters_than_different_rows() {
        let mut y = Array2::from_elem((20, 3), 2.0);
        y[[3, 1]] = f64::NAN;
        let rows: Vec<usize> = (0..20).collect();
        let found = Clusters::new(&y, &rows, 30, &mut ChaCha8Rng::seed_from_u64(1));
        assert!(found.cluster.iter().all(|cluster| *cluster < 30));
        let average = Array1::from(vec![2.0; 3]);
        let columns = Columns::same(crate::family::family("poisson").unwrap(), 3).unwrap();
        let w = found.statistics(30, &columns, &average, |n| {
            (y.row(n).mapv(|y| if y.is_nan() { 0.0 } else { y }).to_vec(), y.row(n).mapv(|y| !y.is_nan()).to_vec())
        });
        assert!(w.iter().all(|w| (w - 2.0).abs() < 1e-12), "{w}");
    }
}
