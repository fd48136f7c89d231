//! The ways in which a command can fail.

use std::fmt;
use std::io::ErrorKind;

/// Why a command stopped.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The user asked for something that cannot be done; asking for something else can help.
    Input(String),
    /// Something went wrong on the way.
    Work(String),
    /// The reader of the output has gone (`efmca demo | head -1`), so there is no one to work for.
    OutputClosed,
}

impl Failure {
    /// The user's input is at fault.
    pub(crate) fn input(error: impl fmt::Display) -> Self {
        Self::Input(error.to_string())
    }

    /// Anything else is at fault.
    pub(crate) fn work(error: impl fmt::Display) -> Self {
        Self::Work(error.to_string())
    }

    /// 2 for wrong input, which is clap's code for wrong usage, too; 1 otherwise.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Input(_) => 2,
            Self::Work(_) => 1,
            Self::OutputClosed => 0,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(message) | Self::Work(message) => out.write_str(message),
            Self::OutputClosed => out.write_str("the output was closed"),
        }
    }
}

/// Errors of writing to the terminal or pipe; files have errors of their own, with their path.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            ErrorKind::BrokenPipe => Self::OutputClosed,
            _ => Self::Work(format!("cannot write the output: {error}; check where it is sent to")),
        }
    }
}
