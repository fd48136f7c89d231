//! The `efmca` program: maximal causes analysis with noise from any exponential family.
//!
//! Every command has the same shape: options are typed values ([`args`]); whatever can fail early does, from settings
//! to the places of results ([`outputs`]); data are read; the library does the work while [`progress`] shows it;
//! results are written and shown. Errors of the library become messages about files, columns and options in one place
//! ([`errors`]).

mod args;
mod columns;
mod commands;
mod errors;
mod failure;
mod input;
mod outputs;
mod progress;
mod show;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};
use commands::{bars, calibrate, corrupt, demo, denoise, families, fit, info, learn, noise_type, rows, sample, select};
use failure::Failure;

fn main() -> ExitCode {
    let failure = match run(&Args::parse().command) {
        Ok(()) | Err(Failure::OutputClosed) => return ExitCode::SUCCESS,
        Err(failure) => failure,
    };
    // If standard error is closed there is no one left to tell; the exit code says it all the same.
    let _ = writeln!(std::io::stderr().lock(), "error: {failure}");
    failure.exit_code()
}

/// Runs a command.
fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Demo(args) => demo::run(args),
        Command::Bars(args) => bars::run(args),
        Command::Families(args) => families::run(args),
        Command::Corrupt(args) => corrupt::run(args),
        Command::Calibrate(args) => calibrate::run(args),
        Command::Denoise(args) => denoise::denoise(args),
        Command::Inpaint(args) => denoise::inpaint(args),
        Command::Apply(args) => denoise::apply(args),
        Command::Learn(args) => learn::run(args),
        Command::NoiseType(args) => noise_type::run(args),
        Command::Select(args) => select::run(args),
        Command::Fit(args) => fit::run(args),
        Command::Encode(args) => rows::encode(args),
        Command::Score(args) => rows::score(args),
        Command::Sample(args) => sample::run(args),
        Command::Info(args) => info::run(args),
    }
}
