//! How the cost of an EM step grows, beside a limit: the two products of matrices that it could not do without, if all scores of flips
//! were one product and all sums of the M-step another.

use cpu_time::ProcessTime;
use efmca::family::family;
use efmca::posterior::Precision;
use efmca::{Em, Held, Hold, Patches, Superposition, Truncation};
use ndarray::{Array2, s};

use super::units::{noisy, observe, textures};
use super::{Measured, Settings};
use crate::output::Done;

/// Rows and causes of the settings with many active causes.
const GAUSSIAN: (usize, usize) = (10_000, 200);
/// Rows that are multiplied at once where the speed of products is measured, as in an E-step.
const TOGETHER: usize = 384;

/// What differs from 20 x 20 patches of the whole picture, 100 causes and 60 states.
#[derive(Debug, Clone, Copy)]
pub(super) enum Setting {
    /// Rows of pixels of the picture, of which there are two below each other at the most.
    Rows(usize),
    /// The side of a patch.
    Side(usize),
    Causes(usize),
    States(usize),
    /// A thousandth of the causes that are expected to be active, with Gaussian noise.
    Active(usize),
}

use Setting::{Active, Causes, Rows, Side, States};

/// The table. The setting that all others are compared with stands in every part.
const ALL: [(&str, Setting); 20] = [
    ("rows", Rows(137)),
    ("rows", Rows(256)),
    ("rows", Rows(493)),
    ("columns", Side(10)),
    ("columns", Side(14)),
    ("columns", Side(20)),
    ("columns", Side(28)),
    ("causes", Causes(25)),
    ("causes", Causes(50)),
    ("causes", Causes(100)),
    ("causes", Causes(200)),
    ("causes", Causes(400)),
    ("states", States(15)),
    ("states", States(30)),
    ("states", States(60)),
    ("states", States(120)),
    ("active causes", Active(10)),
    ("active causes", Active(50)),
    ("active causes", Active(150)),
    ("active causes", Active(400)),
];

/// The names of all settings as units of work.
pub(super) fn names() -> Vec<String> {
    ALL.iter().map(|(_, setting)| setting.name()).collect()
}

impl Setting {
    fn name(self) -> String {
        format!("{self:?}")
    }

    /// The setting with the name of a unit.
    pub(super) fn named(unit: &str) -> Option<Setting> {
        ALL.iter().map(|(_, setting)| *setting).find(|setting| setting.name() == unit)
    }

    /// Trains with one thread, and multiplies matrices of these sizes.
    pub(super) fn measure(self, settings: &Settings) -> Done<Measured> {
        let (mut rows, mut side, mut causes, mut states) = (256, 20, 100, 60);
        match self {
            Rows(number) => rows = number,
            Side(number) => side = number,
            Causes(number) => causes = number,
            States(number) => states = number,
            Active(_) => causes = GAUSSIAN.1,
        }
        let truncation = Truncation::new(states).precision(Precision::Single);
        let em = Em::new(causes).truncated(truncation).iterations(settings.steps + 2);
        let (name, steps) = (self.name(), settings.steps);
        let train = || match self {
            Active(thousandths) => {
                let pi = thousandths as f64 / 1000.0;
                let em = em.family(family("gaussian")?).superposition(Superposition::MaxMagnitude).pi_init(pi, pi);
                let em = em.hold(Hold::always(Held::Pi)).pseudo_count(1.0);
                observe(&name, "active causes", &em, &textures(GAUSSIAN.0), steps, f64::INFINITY)
            }
            _ => {
                let picture = noisy(settings, 1 + usize::from(rows > 256))?;
                let data = Patches::new(picture.slice(s![..rows, ..]).to_owned(), (side, side))?;
                observe(&name, "", &em.family(family("poisson")?), &data, steps, f64::INFINITY)
            }
        };
        let mut found = rayon::ThreadPoolBuilder::new().num_threads(1).build()?.install(train)?;
        let dictionaries = if matches!(self, Active(_)) { 2 } else { 1 };
        found.limit = Some(products(&found, dictionaries));
        Ok(found)
    }
}

/// CPU seconds of two products: the statistics of all rows with the parameters of all flips, and the posteriors of their states with
/// the statistics. The speed is that of products of this size on this machine.
fn products(found: &Measured, dictionaries: usize) -> f64 {
    let width = found.d * dictionaries;
    let t = Array2::<f32>::from_elem((TOGETHER, width), 0.5);
    let parameters = Array2::<f32>::from_elem((found.h + 1, width), 0.25);
    let (mut times, mut sum) = (0usize, 0.0);
    let start = ProcessTime::now();
    while start.elapsed().as_secs_f64() < 0.3 {
        sum += f64::from(t.dot(&parameters.t())[[0, 0]]);
        times += 1;
    }
    // the sum is used, so that the products are not left out
    let seconds = start.elapsed().as_secs_f64() + if sum.is_nan() { 1.0 } else { 0.0 };
    let each = (times * TOGETHER * (found.h + 1) * width) as f64 / seconds;
    (found.n * (found.h + 1 + found.s) * width) as f64 / each
}

/// The page of results.
pub(super) fn markdown(all: &[Measured]) -> String {
    let command: Vec<String> = std::env::args().skip(1).collect();
    let mut page = format!(
        "# How the cost grows\n\nMade by `cargo run --release -p experiments -- {}`. One thread, the middle one of several EM steps. \
         *Limit*: two products of matrices in single precision, of the statistics of all rows with the parameters of all H + 1 flips, and \
         of the posteriors of S states with the statistics, at the speed of such products in the same process.\n\n\
         | with | N | D | H | S | active | CPU s | CPU µs a row | limit, µs a row | times the limit | MB |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
        command.join(" ")
    );
    for (unit, (with, _)) in all.iter().zip(ALL) {
        let per_row = |seconds: f64| seconds * 1e6 / unit.n as f64;
        let limit = unit.limit.unwrap_or(f64::NAN);
        page += &format!(
            "| {with} | {} | {} | {} | {} | {:.1} | {:.3} | {:.1} | {:.1} | {:.1} | {:.0} |\n",
            unit.n,
            unit.d,
            unit.h,
            unit.s,
            unit.active,
            unit.cpu,
            per_row(unit.cpu),
            per_row(limit),
            unit.cpu / limit,
            unit.megabytes
        );
    }
    page
}
