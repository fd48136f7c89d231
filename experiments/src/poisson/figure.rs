//! PSNR over CPU seconds.

use std::path::Path;

use efmca_view::{Figure, LegendPlace, Line, Points, panels};

use super::{Cleaned, IMAGES, OF_THE_PAPER};
use crate::output::{Done, write};
use crate::peers::{Peer, methods};

/// The results of the qualities, as their files are called.
const QUALITIES: [&str; 3] = ["poisson-fast.json", "poisson.json", "poisson-best.json"];

/// Draws the results of all qualities that are in the folder, next to those of other programs: for each peak the average over the
/// images of the paper, for methods that have all of them.
pub(super) fn write_curves(out: &Path, peers: &[Peer]) -> Done<()> {
    let mut results: Vec<Vec<Cleaned>> = Vec::new();
    for name in QUALITIES {
        if let Ok(bytes) = std::fs::read(out.join(name)) {
            results.push(serde_json::from_slice(&bytes)?);
        }
    }
    let mut peaks: Vec<f64> = results.iter().flatten().map(|one| one.peak).collect();
    peaks.sort_by(f64::total_cmp);
    peaks.dedup();
    let methods = methods(peers);
    let mut figures = Vec::new();
    for peak in peaks {
        let ours = results.iter().filter_map(|quality| {
            average(quality.iter().filter(|one| one.peak == peak).map(|one| (one.image.as_str(), one.cpu, one.psnr)))
        });
        let ours: Vec<(f64, f64)> = ours.collect();
        if ours.is_empty() {
            continue;
        }
        let mut figure = Figure::new(format!("peak {peak}"))
            .x_label("log10 of CPU seconds")
            .y_label("PSNR in dB")
            .legend(LegendPlace::Auto)
            .line(Line::new(ours.clone()).label("efmca"))
            .points(Points::new(ours));
        for method in &methods {
            let of = peers.iter().filter(|peer| peer.method == *method && peer.strength == peak);
            let found = average(of.map(|peer| (peer.image.as_str(), peer.cpu, peer.psnr)));
            if let Some(point) = found {
                figure = figure.points(Points::new([point]).label(*method));
            }
        }
        figures.push(figure);
    }
    if figures.is_empty() {
        return Ok(());
    }
    write(out, "poisson-curves.svg", panels(&figures, 360, 320)?.as_bytes())
}

/// The average logarithm of CPU seconds and PSNR over the images of the paper, if all are there.
fn average<'a>(found: impl Iterator<Item = (&'a str, f64, f64)>) -> Option<(f64, f64)> {
    let found: Vec<(&str, f64, f64)> = found.collect();
    let (mut cpu, mut psnr) = (0.0, 0.0);
    for image in &IMAGES[..OF_THE_PAPER] {
        let of: Vec<_> = found.iter().filter(|(name, ..)| name == image).collect();
        let count = of.len() as f64;
        cpu += of.iter().map(|(_, cpu, _)| cpu).sum::<f64>() / count;
        psnr += of.iter().map(|(.., psnr)| psnr).sum::<f64>() / count;
    }
    let images = OF_THE_PAPER as f64;
    Some(((cpu / images).log10(), psnr / images)).filter(|(_, psnr)| psnr.is_finite())
}
