//! Noisy-OR networks: read from a file, or drawn.

use std::path::Path;

use efmca_io::table_file::{TableOptions, read_table};
use ndarray::Array2;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::output::Done;

/// Binary data, and the causes that are behind it.
pub(super) struct Network {
    pub(super) name: String,
    /// Rows of zeros and ones.
    pub(super) x: Array2<f64>,
    /// How likely each cause switches each column on.
    pub(super) p: Array2<f64>,
}

/// What a drawn network is like.
struct Shape {
    name: &'static str,
    rows: usize,
    columns: usize,
    causes: usize,
    /// Columns of a cause, at the least and at the most.
    sizes: (usize, usize),
    /// Probabilities of a cause in its columns.
    p: (f64, f64),
    prior: (f64, f64),
    leak: (f64, f64),
}

/// Networks unlike each other, none of which has the sizes and probabilities of the four sets.
const SHAPES: [Shape; 8] = [
    Shape::new("few columns", (4000, 30, 8), (3, 6), (0.7, 0.95), (0.08, 0.2), (0.005, 0.02)),
    Shape::new("many columns", (6000, 100, 8), (10, 30), (0.6, 0.9), (0.05, 0.2), (0.001, 0.05)),
    Shape::new("overlapping", (8000, 40, 8), (10, 18), (0.85, 0.95), (0.1, 0.2), (0.001, 0.01)),
    Shape::new("dense", (8000, 80, 8), (8, 32), (0.85, 0.95), (0.2, 0.3), (0.001, 0.01)),
    Shape::new("rare", (10_000, 60, 8), (5, 12), (0.6, 0.95), (0.01, 0.05), (0.005, 0.05)),
    Shape::new("leaky", (8000, 60, 8), (4, 15), (0.6, 0.98), (0.06, 0.18), (0.05, 0.25)),
    Shape::new("twelve", (8000, 70, 12), (5, 14), (0.7, 0.95), (0.08, 0.18), (0.001, 0.02)),
    Shape::new("few rows", (1500, 50, 6), (6, 12), (0.75, 0.95), (0.1, 0.2), (0.005, 0.02)),
];

impl Shape {
    const fn new(
        name: &'static str,
        (rows, columns, causes): (usize, usize, usize),
        sizes: (usize, usize),
        p: (f64, f64),
        prior: (f64, f64),
        leak: (f64, f64),
    ) -> Shape {
        Shape { name, rows, columns, causes, sizes, p, prior, leak }
    }

    fn draw(&self, seed: u64) -> Network {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut uniform = |(low, high): (f64, f64)| low + (high - low) * rng.random::<f64>();
        let mut p = Array2::zeros((self.causes, self.columns));
        let prior: Vec<f64> = (0..self.causes).map(|_| uniform(self.prior)).collect();
        let leak: Vec<f64> = (0..self.columns).map(|_| uniform(self.leak)).collect();
        for mut cause in p.rows_mut() {
            let size = rng.random_range(self.sizes.0..=self.sizes.1);
            let mut order: Vec<usize> = (0..self.columns).collect();
            order.shuffle(&mut rng);
            order[..size].iter().for_each(|d| cause[*d] = self.p.0 + (self.p.1 - self.p.0) * rng.random::<f64>());
        }
        let mut x = Array2::zeros((self.rows, self.columns));
        for mut row in x.rows_mut() {
            let on: Vec<bool> = prior.iter().map(|prior| rng.random::<f64>() < *prior).collect();
            for (d, x) in row.iter_mut().enumerate() {
                let active = p.column(d).into_iter().zip(&on).filter(|(_, on)| **on).map(|(p, _)| *p);
                let off = active.fold(1.0 - leak[d], |off, p| off * (1.0 - p));
                *x = f64::from(u8::from(rng.random::<f64>() >= off));
            }
        }
        Network { name: self.name.to_owned(), x, p }
    }
}

/// A network of each of these shapes; of all if none is named.
pub(super) fn drawn(seed: u64, kinds: &[String]) -> Done<Vec<Network>> {
    if let Some(unknown) = kinds.iter().find(|kind| !SHAPES.iter().any(|shape| shape.name == **kind)) {
        let known = SHAPES.map(|shape| shape.name).join(", ");
        return Err(format!("--kinds {unknown}: the kinds are {known}").into());
    }
    let wanted = |(shape, _): &(&Shape, u64)| kinds.is_empty() || kinds.iter().any(|kind| kind == shape.name);
    Ok(SHAPES.iter().zip(seed * 100..).filter(wanted).map(|(shape, seed)| shape.draw(seed)).collect())
}

/// The arrays `x` and `p` of an NPZ file.
pub(super) fn read(path: &Path) -> Done<Network> {
    let name = path.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let array = |name: &str| -> Done<Array2<f64>> {
        let mut place = path.as_os_str().to_owned();
        place.push(format!(":{name}"));
        Ok(read_table(Path::new(&place), &TableOptions::default())?.values)
    };
    let network = Network { name, x: array("x")?, p: array("p")? };
    if network.x.ncols() != network.p.ncols() {
        return Err(format!("{}: `x` and `p` must have as many columns", path.display()).into());
    }
    Ok(network)
}
