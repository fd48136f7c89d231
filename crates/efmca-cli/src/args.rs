//! What can be typed.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// Maximal causes analysis with noise from any exponential family: finds the hidden causes of data,
/// where of the active causes the strongest one decides each value.
#[derive(Debug, Parser)]
#[command(name = "efmca", version, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "Examples:
  efmca demo                     learn bars from noisy pictures, live
  efmca demo --family poisson    the same with counts
  efmca families                 all kinds of noise there are
  efmca families gamma           one of them in detail";

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Learns the bars test live: ten bars from a thousand noisy pictures.
    Demo(DemoArgs),
    /// Lists the families of noise, or shows one of them.
    Families(FamiliesArgs),
}

/// What `efmca demo` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// The noise: exponential, poisson, bernoulli, gaussian or gamma.
    #[arg(long, short, default_value = "exponential", value_name = "FAMILY")]
    pub(crate) family: String,

    /// The same number gives the same pictures and the same model, bit for bit.
    #[arg(long, short, default_value_t = 0, value_name = "N")]
    pub(crate) seed: u64,

    /// The folder for the picture, the figure and the model; it is made if it is not there.
    #[arg(long, short, default_value = "efmca-demo", value_name = "DIR")]
    pub(crate) out: PathBuf,
}

/// What `efmca families` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct FamiliesArgs {
    /// A family to show in detail, as `gamma` or `gamma:k=4`; all are listed without it.
    #[arg(value_name = "FAMILY")]
    pub(crate) family: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_commands_are_consistent() {
        Args::command().debug_assert();
    }
}
