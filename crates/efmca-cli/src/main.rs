//! The `efmca` program: maximal causes analysis with noise from any exponential family.

mod args;
mod bars;
mod bars_files;
mod clean;
mod clean_args;
mod clean_report;
mod corrupt;
mod demo;
mod demo_table;
mod failure;
mod families;
mod input;
mod learn;
mod learn_args;
mod learn_data;
mod learn_files;
mod model_args;
mod model_causes;
mod model_families;
mod model_fit;
mod model_info;
mod model_table;
mod model_use;
mod noise_args;
mod noise_report;
mod noise_type;
mod progress;
mod select;
mod show;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};
use failure::Failure;

fn main() -> ExitCode {
    let args = Args::parse();
    let result = match &args.command {
        Command::Demo(demo) => demo::run(demo),
        Command::Bars(bars) => bars::run(bars),
        Command::Families(families) => families::run(families),
        Command::Corrupt(corrupt) => corrupt::run(corrupt),
        Command::Denoise(denoise) => clean::denoise(denoise),
        Command::Inpaint(inpaint) => clean::inpaint(inpaint),
        Command::Apply(apply) => clean::apply(apply),
        Command::Learn(args) => learn::learn(args),
        Command::NoiseType(noise) => noise_type::run(noise),
        Command::Select(select) => select::run(select),
        Command::Fit(fit) => model_fit::run(fit),
        Command::Encode(encode) => model_use::encode(encode),
        Command::Score(score) => model_use::score(score),
        Command::Sample(sample) => model_use::sample(sample),
        Command::Info(info) => model_info::run(info),
    };
    let failure = match result {
        Ok(()) | Err(Failure::OutputClosed) => return ExitCode::SUCCESS,
        Err(failure) => failure,
    };
    // If nobody listens there is no one left to tell; the exit code says it all the same.
    let _ = writeln!(std::io::stderr().lock(), "error: {failure}");
    failure.exit_code()
}
