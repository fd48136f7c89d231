//! The `efmca` program as a library of one function, which the program itself and the Python package call; and the report
//! about a table, which the Python package makes, too ([`TablePage`]).
//!
//! Every command has the same shape: options are typed values (`args`); whatever can fail early does, from settings
//! to the places of results (`outputs`); data are read; the library does the work while `progress` shows it;
//! results are written and shown. Errors of the library become messages about files, columns and options in one place
//! (`errors`).

mod args;
mod cluster;
mod columns;
mod commands;
mod errors;
mod failure;
mod input;
mod memory;
mod outputs;
mod progress;
mod rescue;
mod show;
mod threads;
mod times;

use std::ffi::OsString;
use std::io::Write;

use clap::Parser;

use args::{Args, Command};
pub use commands::report::TablePage;
use commands::{
    bars, calibrate, corrupt, demo, denoise, families, fit, impute, info, learn, noise_type, report, rows, sample,
    select,
};
use efmca::em::within_memory;
use failure::Failure;

/// Runs the program with its name and what was typed after it, and returns its exit code.
///
/// ```
/// assert_eq!(efmca_cli::main_with(["efmca", "--version"]), 0);
/// assert_eq!(efmca_cli::main_with(["efmca", "no-such-command"]), 2);
/// ```
pub fn main_with<T: Into<OsString> + Clone>(arguments: impl IntoIterator<Item = T>) -> u8 {
    let done = typed(arguments).map(|args| {
        let done = cluster::run(&args.command, || {
            // every training is refused before it begins if it needs more than there is
            within_memory(efmca_io::available_memory, || memory::for_the_program().and_then(|()| run(&args.command)))
        });
        outputs::give_free();
        done.and_then(|()| Ok(show::said_all()?))
    });
    let failure = match done {
        Ok(Ok(()) | Err(Failure::OutputClosed)) => return 0,
        Ok(Err(failure)) => failure,
        Err(usage) => {
            // help and version are no faults; where they cannot be shown there is no one left to tell; of several ranks one says it
            if !cluster::will_follow() {
                let _ = usage.print();
            }
            return u8::try_from(usage.exit_code()).unwrap_or(2);
        }
    };
    // If standard error is closed there is no one left to tell; the exit code says it all the same.
    if !cluster::will_follow() {
        let _ = writeln!(std::io::stderr().lock(), "error: {failure}");
    }
    failure.exit_code()
}

/// Whether the program understands its name and what was typed after it. Nothing is done.
///
/// ```
/// assert!(efmca_cli::understand(["efmca", "families", "gamma"]).is_ok());
/// assert!(efmca_cli::understand(["efmca", "denoise"]).unwrap_err().contains("required arguments"));
/// ```
///
/// # Errors
///
/// What the program would print: what is wrong, or help if that was asked for.
pub fn understand<T: Into<OsString> + Clone>(arguments: impl IntoIterator<Item = T>) -> Result<(), String> {
    typed(arguments).map(drop).map_err(|usage| usage.to_string())
}

/// What was typed; where it is no number the error says which numbers there are.
fn typed<T: Into<OsString> + Clone>(arguments: impl IntoIterator<Item = T>) -> Result<Args, clap::Error> {
    use clap::error::{ContextKind, ContextValue};
    use std::error::Error;
    use std::num::{IntErrorKind, ParseFloatError, ParseIntError};
    Args::try_parse_from(arguments).map_err(|mut usage| {
        let problem = usage.source();
        let tip = match problem.and_then(|problem| problem.downcast_ref::<ParseIntError>()).map(ParseIntError::kind) {
            Some(IntErrorKind::PosOverflow) => Some("give a smaller number"),
            Some(_) => Some("give a whole number, 0 or more"),
            None if problem.is_some_and(|problem| problem.is::<ParseFloatError>()) => {
                Some("give a number, such as 3, 0.5 or 1e-3")
            }
            None => None,
        };
        if let Some(tip) = tip {
            usage.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        }
        usage
    })
}

/// Runs a command.
fn run(command: &Command) -> Result<(), Failure> {
    use Command::{Bars, Calibrate, Corrupt, Demo, Families, Info, Sample};
    // the others have an option for it
    if matches!(command, Bars(_) | Calibrate(_) | Corrupt(_) | Demo(_) | Families(_) | Info(_) | Sample(_)) {
        threads::start_if_possible();
    }
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
        Command::Report(args) => report::run(args),
        Command::Impute(args) => impute::run(args),
        Command::Sample(args) => sample::run(args),
        Command::Info(args) => info::run(args),
    }
}
