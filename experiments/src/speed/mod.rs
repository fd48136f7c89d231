//! What variational EM costs.
//!
//! Each unit of work runs in a process of its own, so that its peak memory is its own.

mod growth;
mod report;
mod units;

pub(crate) use units::peak_memory;

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::output::{Done, say, write};

/// What to measure.
#[derive(Args, Clone)]
pub(crate) struct Settings {
    /// A folder with `house.png` (256 x 256); without it the patches are those of a drawn picture of that size.
    #[arg(long)]
    images: Option<PathBuf>,
    /// Rows of the Gaussian unit.
    #[arg(long, default_value_t = 100_000)]
    rows: usize,
    /// EM steps of each unit; the middle one of their times is reported.
    #[arg(long, default_value_t = 9)]
    steps: usize,
    /// CPU seconds that each way to propose states is given.
    #[arg(long, default_value_t = 20.0)]
    budget: f64,
    /// How the cost grows with rows, columns, causes, states and active causes, beside what two products of matrices would take.
    #[arg(long)]
    growth: bool,
    /// Measures one unit only, and prints it as JSON.
    #[arg(long, hide = true)]
    unit: Option<String>,
}

/// What a unit of work took.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Measured {
    name: String,
    what: String,
    n: usize,
    d: usize,
    h: usize,
    s: usize,
    /// CPU seconds of one EM step.
    cpu: f64,
    /// Wall-clock seconds of one EM step.
    wall: f64,
    evaluations_per_row: f64,
    /// Active causes of a state at the end.
    active: f64,
    /// Peak memory of the process in megabytes.
    megabytes: f64,
    /// CPU seconds that the products of matrices of an EM step would take, where they were measured.
    #[serde(default)]
    limit: Option<f64>,
    /// After each EM step: CPU seconds since the first, and the bound of a row.
    course: Vec<(f64, f64)>,
}

pub(crate) fn run(settings: &Settings, out: &Path) -> Done<()> {
    if let Some(unit) = &settings.unit {
        use std::io::Write;
        let measured = units::measure(unit, settings)?;
        writeln!(std::io::stdout().lock(), "{}", serde_json::to_string(&measured)?)?;
        return Ok(());
    }
    if settings.growth {
        let all = measured(growth::names(), settings)?;
        write(out, "speed-growth.json", serde_json::to_string_pretty(&all)?.as_bytes())?;
        return write(out, "speed-growth.md", growth::markdown(&all).as_bytes());
    }
    let all = measured(units::names().into_iter().map(str::to_owned), settings)?;
    write(out, "speed.json", serde_json::to_string_pretty(&all)?.as_bytes())?;
    write(out, "speed.md", report::markdown(&all, settings.budget).as_bytes())
}

/// Measures units, each in a process of its own.
fn measured(names: impl IntoIterator<Item = String>, settings: &Settings) -> Done<Vec<Measured>> {
    let mut all = Vec::new();
    for unit in names {
        say(&format!("measuring {unit}"));
        let measured = apart(&unit, settings)?;
        say(&format!(
            "  {:.2} CPU s, {:.2} s, {:.1} us a row, {:.0} evaluations a row, {:.0} MB",
            measured.cpu,
            measured.wall,
            measured.cpu * 1e6 / measured.n as f64,
            measured.evaluations_per_row,
            measured.megabytes
        ));
        all.push(measured);
    }
    Ok(all)
}

/// Measures a unit in a process of its own.
fn apart(unit: &str, settings: &Settings) -> Done<Measured> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["speed", "--unit", unit]);
    command.args(["--rows", &settings.rows.to_string(), "--steps", &settings.steps.to_string()]);
    command.args(["--budget", &settings.budget.to_string()]);
    if let Some(images) = &settings.images {
        command.arg("--images").arg(images);
    }
    let output = command.output()?;
    if !output.status.success() {
        return Err(format!("unit {unit}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
