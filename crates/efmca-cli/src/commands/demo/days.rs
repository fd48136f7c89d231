//! A made-up table to try the commands for tables with.

use std::path::Path;

use efmca::family::{family, from_conventional};
use efmca::model::Columns;
use efmca::{Background, Model};
use efmca_io::table_file::write_table;
use ndarray::{Array2, array};

use crate::failure::Failure;

/// A column: its name, its family, and its usual parameters for the two causes and for the background.
struct Column(&'static str, &'static str, [&'static [f64]; 3]);

/// Days at a café: tourists (the first cause) and rain (the second).
const COLUMNS: [Column; 6] = [
    Column("guests", "poisson", [&[40.0], &[12.0], &[8.0]]),
    Column("terrace", "bernoulli", [&[0.9], &[0.05], &[0.4]]),
    Column("turnover", "gamma", [&[9.0, 0.012], &[9.0, 0.03], &[9.0, 0.06]]),
    Column("share_of_tea", "beta", [&[3.0, 9.0], &[9.0, 3.0], &[2.0, 9.0]]),
    Column("minutes_waiting", "exponential", [&[0.1], &[0.3], &[0.5]]),
    Column("temperature", "gaussian", [&[24.0, 3.0], &[12.0, 2.0], &[10.0, 3.0]]),
];

/// How often each cause is active.
const PI: [f64; 2] = [0.4, 0.3];

/// Writes 600 days, with a few cells empty.
pub(super) fn write(path: &Path, seed: u64) -> Result<(), Failure> {
    let model = days().map_err(Failure::work)?;
    let mut values: Array2<f64> = model.sample(600, seed).y;
    // cents, percent and tenths, the way people write them down
    for (d, digits) in [(2, 100.0), (3, 1000.0), (4, 100.0), (5, 10.0)] {
        let (low, high) = if d == 3 { (0.001, 0.999) } else { (1.0 / digits, f64::INFINITY) };
        let low = if d == 5 { f64::NEG_INFINITY } else { low };
        values.column_mut(d).mapv_inplace(|value| ((value * digits).round() / digits).clamp(low, high));
    }
    values.iter_mut().step_by(97).for_each(|value| *value = f64::NAN);
    let names: Vec<String> = COLUMNS.iter().map(|column| column.0.to_owned()).collect();
    write_table(path, &names, values.view(), true).map_err(Failure::work)
}

/// The model that makes the days.
fn days() -> efmca::Result<Model> {
    let families = COLUMNS.iter().map(|column| family(column.1)).collect::<efmca::Result<Vec<_>>>()?;
    let mut profiles = vec![Vec::new(); 3];
    for (family, Column(_, _, parameters)) in families.iter().zip(&COLUMNS) {
        for (profile, values) in profiles.iter_mut().zip(parameters) {
            let mut w = vec![0.0; family.l()];
            family.grad_a(&from_conventional(&**family, values)?, &mut w);
            profile.extend(w);
        }
    }
    let columns = Columns::new(families)?;
    let w = Array2::from_shape_fn((2, columns.k()), |(h, k)| profiles[h][k]);
    Model::from_parts(columns, array![PI[0], PI[1]], w, Background::Fixed(profiles[2].clone()))
}
