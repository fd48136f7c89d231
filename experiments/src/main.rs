//! The paper's tables and figures, made by running what is in this repository.
//!
//! `cargo run --release -p experiments -- NAME` makes one of them and writes NAME.md, NAME.json and its pictures.

mod bars;
mod camera;
mod cleaning;
mod exponential;
mod impute;
mod large_bars;
mod large_tables;
mod natural;
mod noise_audio;
mod noise_images;
mod noise_synthetic;
mod noise_tables;
mod noisy_or;
mod output;
mod peers;
mod poisson;
mod rounded;
mod speckle;
mod speed;
mod tables;
mod verdict;
mod volume;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "experiments", about = "The paper's tables and figures", version)]
struct Arguments {
    #[command(subcommand)]
    experiment: Experiment,
    /// The folder that the results are written to.
    #[arg(long, global = true, default_value = "experiments/results")]
    out: PathBuf,
}

#[derive(Subcommand)]
enum Experiment {
    /// The bars test (Sec. 7.1 and appendix C.1): E-MCA, B-MCA and P-MCA, and the reliability of B-MCA.
    Bars(bars::Settings),
    /// Cameras: gain, offset and read noise from one image, and what their errors cost in denoising.
    Camera(camera::Settings),
    /// Bars by variational EM: ten of them beside exact EM, and up to sixty.
    LargeBars(large_bars::Settings),
    /// Large tables: a million rows of mixed columns, and counts that are mostly zeros; CPU seconds and memory.
    LargeTables(large_tables::Settings),
    /// House with exponential noise (Sec. 7.2.3): three noise models and the tool's own settings.
    Exponential(exponential::Settings),
    /// Missing cells of tables, filled in beside column means and the imputers of scikit-learn.
    Impute(impute::Settings),
    /// Features of natural images (Sec. 7.2.1): means and standard deviations of patches, and what they look like.
    Natural(natural::Settings),
    /// Noise types of sound (Sec. 7.2.2): families of the amplitudes of spectrograms.
    NoiseAudio(noise_audio::Settings),
    /// Noise types of images (Sec. 7.2.2): three models on images with three kinds of noise.
    NoiseImages(noise_images::Settings),
    /// Data drawn from a model of each family: is its noise named correctly?
    NoiseSynthetic(noise_synthetic::Settings),
    /// Tables whose columns differ: is the family of each column named correctly, and how long does it take?
    NoiseTables(noise_tables::Settings),
    /// Binary data with known causes: noisy-OR networks and Boolean matrices. How many causes are found?
    NoisyOr(noisy_or::Settings),
    /// Zero-shot denoising of photon-limited images (Sec. 7.2.3), next to the printed table.
    Poisson(poisson::Settings),
    /// Columns of rounded draws: are they named as their unrounded versions are?
    Rounded(rounded::Settings),
    /// Speckle of one, two and four looks on the same images, next to filters that people use.
    Speckle(speckle::Settings),
    /// CPU time, evaluations and memory of variational EM at the paper's scale, and what each way to propose states buys.
    Speed(speed::Settings),
    /// Columns drawn from a family: how often is it called ill-fitting, and how often is a mixture that is none?
    Verdict(verdict::Settings),
    /// Real tables: log-likelihoods of test rows and masked cells, next to independent columns and other programs.
    Tables(tables::Settings),
    /// Volumes: patches over pages beside patches of single pages, on hidden voxels of a cube of counts.
    Volume(volume::Settings),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match &arguments.experiment {
        Experiment::Bars(settings) => bars::run(settings, &arguments.out),
        Experiment::Camera(settings) => camera::run(settings, &arguments.out),
        Experiment::Exponential(settings) => exponential::run(settings, &arguments.out),
        Experiment::Impute(settings) => impute::run(settings, &arguments.out),
        Experiment::LargeBars(settings) => large_bars::run(settings, &arguments.out),
        Experiment::LargeTables(settings) => large_tables::run(settings, &arguments.out),
        Experiment::Natural(settings) => natural::run(settings, &arguments.out),
        Experiment::NoiseAudio(settings) => noise_audio::run(settings, &arguments.out),
        Experiment::NoiseImages(settings) => noise_images::run(settings, &arguments.out),
        Experiment::NoiseSynthetic(settings) => noise_synthetic::run(settings, &arguments.out),
        Experiment::NoiseTables(settings) => noise_tables::run(settings, &arguments.out),
        Experiment::NoisyOr(settings) => noisy_or::run(settings, &arguments.out),
        Experiment::Poisson(settings) => poisson::run(settings, &arguments.out),
        Experiment::Rounded(settings) => rounded::run(settings, &arguments.out),
        Experiment::Speckle(settings) => speckle::run(settings, &arguments.out),
        Experiment::Speed(settings) => speed::run(settings, &arguments.out),
        Experiment::Verdict(settings) => verdict::run(settings, &arguments.out),
        Experiment::Tables(settings) => tables::run(settings, &arguments.out),
        Experiment::Volume(settings) => volume::run(settings, &arguments.out),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::say(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}
