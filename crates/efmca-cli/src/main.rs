//! The `efmca` program: maximal causes analysis with noise from any exponential family.

mod args;
mod corrupt;
mod demo;
mod demo_files;
mod failure;
mod families;
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
        Command::Families(families) => families::run(families),
        Command::Corrupt(corrupt) => corrupt::run(corrupt),
    };
    let failure = match result {
        Ok(()) | Err(Failure::OutputClosed) => return ExitCode::SUCCESS,
        Err(failure) => failure,
    };
    // If nobody listens there is no one left to tell; the exit code says it all the same.
    let _ = writeln!(std::io::stderr().lock(), "error: {failure}");
    failure.exit_code()
}
