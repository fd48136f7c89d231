//! The `efmca` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(efmca_cli::main_with(std::env::args_os()))
}
