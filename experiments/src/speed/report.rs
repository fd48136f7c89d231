//! The page of results.

use super::Measured;
use super::units::PROPOSALS;

pub(super) fn markdown(all: &[Measured], budget: f64) -> String {
    let is_proposal = |unit: &&Measured| PROPOSALS.iter().any(|(name, _, _)| *name == unit.name);
    let mut page = String::from(
        "# What variational EM costs\n\nMade by `cargo run --release -p experiments -- speed`. The middle one of several EM steps; CPU seconds of all threads.\n\n\
         | unit | N | D | H | S | active | evaluations a row | CPU s | CPU µs a row | million evaluations a CPU s | wall s | peak MB |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for unit in all.iter().filter(|unit| !is_proposal(unit)) {
        let rows = unit.n as f64;
        page += &format!(
            "| {} | {} | {} | {} | {} | {:.1} | {:.0} | {:.2} | {:.1} | {:.1} | {:.2} | {:.0} |\n",
            unit.what,
            unit.n,
            unit.d,
            unit.h,
            unit.s,
            unit.active,
            unit.evaluations_per_row,
            unit.cpu,
            unit.cpu * 1e6 / rows,
            unit.evaluations_per_row * rows / unit.cpu / 1e6,
            unit.wall,
            unit.megabytes
        );
    }
    let find = |name: &str| all.iter().find(|unit| unit.name == name);
    if let (Some(two), Some(one), Some(twice), Some(portable)) =
        (find("poisson"), find("poisson-one-thread"), find("poisson-twice"), find("poisson-portable"))
    {
        page += &format!(
            "\nAll threads against one: {:.2} times faster. {:.2} times the rows: {:.2} times the CPU time. Safe kernel against the fast one: {:.1} times the CPU time.\n",
            one.wall / two.wall,
            twice.n as f64 / two.n as f64,
            twice.cpu / two.cpu,
            portable.cpu / two.cpu
        );
    }
    let points = [0.25, 0.5, 1.0].map(|part| part * budget);
    page += &format!(
        "\n## What each way to propose states buys\n\nThe bound of a row (nats) after so many CPU seconds of EM steps, from the same start, on the Poisson patches.\n\n\
         | proposals | evaluations a row | CPU s a step | {:.0} s | {:.0} s | {:.0} s |\n| --- | ---: | ---: | ---: | ---: | ---: |\n",
        points[0], points[1], points[2]
    );
    for unit in all.iter().filter(is_proposal) {
        let after = |seconds: f64| {
            let reached = unit.course.iter().take_while(|(cpu, _)| *cpu <= seconds).last();
            reached.map_or(f64::NAN, |(_, bound)| *bound)
        };
        page += &format!(
            "| {} | {:.0} | {:.2} | {:.3} | {:.3} | {:.3} |\n",
            unit.what,
            unit.evaluations_per_row,
            unit.cpu,
            after(points[0]),
            after(points[1]),
            after(points[2])
        );
    }
    page
}
