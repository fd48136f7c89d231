//! The `efmca` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    // A limit on the size of files ends a program by a signal where it does not look at it. With this a write that goes beyond it
    // fails like any other.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
    ExitCode::from(efmca_cli::main_with(std::env::args_os()))
}
