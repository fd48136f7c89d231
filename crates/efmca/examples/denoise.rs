//! A picture with few photons is cleaned with nothing to learn from but itself, and its missing pixels are filled in.
//!
//! It shows `Denoiser`, the complete method of `efmca denoise`, with progress and uncertainty. Run it with
//! `cargo run --release -p efmca --example denoise`.

#![allow(clippy::print_stdout)]

use std::ops::ControlFlow;

use efmca::Result;
use efmca::tasks::corrupt::Corruption;
use efmca::tasks::denoise::{Denoiser, Quality};
use efmca::tasks::quality::psnr;
use ndarray::Array4;

/// PSNR in dB.
#[derive(Debug)]
pub struct Improvement {
    /// Of the noisy picture.
    pub before: f64,
    /// Of the cleaned one.
    pub after: f64,
}

/// Cleans a drawn picture.
pub fn clean() -> Result<Improvement> {
    // a bright disc over stripes; images have pages, rows, columns and channels
    let picture = Array4::from_shape_fn((1, 64, 64, 1), |(_, y, x, _)| {
        let inside = (y as f64 - 30.0).hypot(x as f64 - 36.0) < 17.0;
        if inside { 200.0 } else { 30.0 + 60.0 * f64::from(u8::from((x + y) / 8 % 2 == 0)) }
    });
    // noise with two photons in the brightest pixel; every 50th pixel is missing
    let peak = 2.0;
    let corrupted = Corruption::new("poisson").peak(peak).seed(1).run(picture.view())?;
    let (mut noisy, truth) = (corrupted.noisy, corrupted.means);
    let before = psnr(noisy.view(), truth.view(), peak)?;
    noisy.iter_mut().step_by(50).for_each(|pixel| *pixel = f64::NAN);

    // one model of patches; Quality::Balanced and Quality::Best learn several and combine them
    let denoiser = Denoiser::new("poisson").quality(Quality::Fast).seed(1);
    let denoised = denoiser.run_observed(noisy.view(), &mut |progress| {
        println!("{}: {} of {} iterations", progress.stage, progress.done, progress.total);
        ControlFlow::Continue(()) // Break ends the learning, and the models so far clean the image
    })?;

    let after = psnr(denoised.estimate.mean.view(), truth.view(), peak)?;
    for member in &denoised.members {
        println!("{} causes, patches of {:?} pixels", member.settings.causes, member.settings.patch);
    }
    let deviation = denoised.estimate.deviation.mean().unwrap_or(f64::NAN);
    println!("PSNR {before:.1} dB before and {after:.1} dB after; posterior deviation {deviation:.2} photons a pixel");
    Ok(Improvement { before, after })
}

fn main() -> Result<()> {
    clean().map(drop)
}
