//! A table of counts, a yes/no column and amounts: families, number of causes and model in one call.
//!
//! It shows `TableLearner`, the method of `efmca fit`, and what a model says about rows. Run it with
//! `cargo run --release -p efmca --example table`.

#![allow(clippy::print_stdout)]

use efmca::model::Columns;
use efmca::tasks::encode::Encoder;
use efmca::tasks::table::{FamilyOrigin, LearnedTable, TableLearner};
use efmca::{Background, Model, Result, family::family};
use ndarray::{Array2, array};

/// Days in a café: guests, orders of ice cream, whether the terrace was open, rainfall. There are two causes: a weekend,
/// and rain, which brings people inside.
fn days() -> Result<Array2<f64>> {
    let families = ["poisson", "poisson", "bernoulli", "exponential"];
    let columns = Columns::new(families.into_iter().map(family).collect::<Result<_>>()?)?;
    let weekend_and_rain = array![[60.0, 25.0, 0.9, 1.0], [25.0, 4.0, 0.1, 12.0]];
    let usual = Background::Fixed(vec![10.0, 3.0, 0.1, 1.0]);
    let mut table = Model::from_parts(columns, array![0.3, 0.4], weekend_and_rain, usual)?.sample(1500, 7).y;
    table[[3, 1]] = f64::NAN; // a missing value is left out of all sums
    Ok(table)
}

/// Learns the table. Only the family of the first column is given.
pub fn learn() -> Result<LearnedTable> {
    let table = days()?;
    let learned = TableLearner::new().column(0, "poisson").causes(2).seed(1).run(table.view())?;

    let names = ["guests", "ice cream", "terrace", "rainfall"];
    for ((name, family), origin) in names.iter().zip(&learned.families).zip(&learned.origins) {
        let how = match origin {
            FamilyOrigin::Given => "given",
            FamilyOrigin::Found(_) => "found by held-out entries",
            FamilyOrigin::OneValue => "all values are equal",
        };
        println!("{name}: {} ({how})", family.spec());
    }
    let model = &learned.fit.model;
    println!("probability of each cause: {:.2}", model.pi());
    println!("mean of each column by cause:\n{:.1}", model.means());

    let encoding = Encoder::new(model).run(&table)?;
    println!("row 1 has cause 1 with probability {:.2}", encoding.active[[0, 0]]);
    let least = encoding.log_likelihoods.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
    if let Some((row, log_likelihood)) = least {
        println!("the least likely row is number {}: log-likelihood {log_likelihood:.1}", row + 1);
    }
    Ok(learned)
}

fn main() -> Result<()> {
    learn().map(drop)
}
