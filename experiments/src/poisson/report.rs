//! The table, next to the printed rows.

use std::fmt::Write;

use super::printed::PRINTED;
use super::{Cleaned, IMAGES, OF_THE_PAPER};
use crate::peers::{Peer, cell, mean_and_spread, methods, psnr_of};

/// The average over the images of the paper; NaN if one is missing.
fn average(values: &[f64]) -> f64 {
    values[..OF_THE_PAPER].iter().sum::<f64>() / OF_THE_PAPER as f64
}

fn row(page: &mut String, name: &str, cells: &[String], average: &str) {
    let _ = writeln!(page, "| {name} | {} | {average} |", cells.join(" | "));
}

pub(super) fn markdown(found: &[Cleaned], peers: &[Peer]) -> String {
    let mut page = String::from("# Zero-shot Poisson denoising\n\n");
    let command: Vec<String> = std::env::args().skip(1).collect();
    let _ = writeln!(
        page,
        "Made by `cargo run --release -p experiments -- {}`. PSNR in dB with the peak, 10 log10(peak² / MSE), mean ± standard \
         deviation over noise realisations; for House also with 255 on the scale of the file, which some of the printed rows \
         use. A printed number counts as beaten only by the one with the peak. Averages are over the six images of the paper. \
         Rows marked \"run\" are other programs on {}.\n",
        command.join(" "),
        if command.iter().any(|word| word == "--noisy") { "the same noisy files" } else { "noise of their own" }
    );
    let mut peaks: Vec<f64> = found.iter().map(|cleaned| cleaned.peak).collect();
    peaks.sort_by(f64::total_cmp);
    peaks.dedup();
    let mut lost_in_all = Vec::new();
    for peak in peaks {
        let _ = writeln!(page, "## Peak {peak}\n");
        let _ = writeln!(page, "| | {} | average |", IMAGES.join(" | "));
        let _ = writeln!(page, "| --- |{} ---: |", " ---: |".repeat(IMAGES.len()));
        for printed in PRINTED.iter().filter(|printed| printed.peak == peak) {
            let cells: Vec<String> = printed.psnr.iter().map(|psnr| cell(*psnr)).collect();
            row(&mut page, printed.method, &cells, &cell(average(&printed.psnr)));
        }
        let of_peak: Vec<Peer> = peers.iter().filter(|peer| peer.strength == peak).cloned().collect();
        for method in methods(&of_peak) {
            let means = IMAGES.map(|image| psnr_of(&of_peak, method, image, peak));
            row(&mut page, &format!("{method} (run)"), &means.map(cell), &cell(average(&means)));
        }
        let (mut cells, mut means) = (Vec::new(), Vec::new());
        for image in IMAGES {
            let of: Vec<&Cleaned> = found.iter().filter(|one| one.image == image && one.peak == peak).collect();
            let psnr: Vec<f64> = of.iter().map(|one| one.psnr).collect();
            let (mean, spread) = mean_and_spread(&psnr);
            means.push(mean);
            let mut text = if of.is_empty() { "-".into() } else { format!("**{mean:.2}** ± {spread:.2}") };
            if image == "house" && !of.is_empty() {
                let with_255: Vec<f64> = of.iter().map(|one| one.psnr_255).collect();
                let _ = write!(text, " ({:.2} with 255)", mean_and_spread(&with_255).0);
            }
            cells.push(text);
        }
        row(&mut page, "**efmca**", &cells, &format!("**{}**", cell(average(&means))));
        for (clean, words) in [(false, "that did not learn from clean images"), (true, "that did")] {
            let best = |index: usize| {
                let of_peak =
                    PRINTED.iter().filter(|printed| printed.peak == peak && printed.saw_clean_images() == clean);
                of_peak.map(|printed| printed.psnr[index]).fold(f64::NEG_INFINITY, f64::max)
            };
            let lost: Vec<String> = (0..IMAGES.len())
                .filter(|index| means[*index] < best(*index))
                .map(|index| format!("{} by {:.2}", IMAGES[index], best(index) - means[index]))
                .collect();
            if !clean {
                lost_in_all.extend(lost.iter().map(|lost| format!("{lost} at {peak}")));
            }
            if lost.is_empty() && clean {
                continue;
            }
            let lost = if lost.is_empty() { "none".into() } else { lost.join(", ") };
            let _ = writeln!(page, "\nBelow the best printed number of a method {words}: {lost}.");
        }
        page.push('\n');
    }
    let lost = if lost_in_all.is_empty() { "none".into() } else { lost_in_all.join("; ") };
    let _ = writeln!(
        page,
        "Cells below the best printed number of a method that did not learn from clean images: {lost}.\n"
    );
    for (size, images) in [("256 x 256", &IMAGES[..OF_THE_PAPER]), ("512 x 512", &IMAGES[OF_THE_PAPER..])] {
        let cpu: Vec<f64> =
            found.iter().filter(|one| images.contains(&one.image.as_str())).map(|one| one.cpu).collect();
        if !cpu.is_empty() {
            let most = cpu.iter().copied().fold(0.0, f64::max);
            let _ = writeln!(
                page,
                "CPU seconds of an image of {size}: {:.1} on average, {most:.1} at the most.",
                mean_and_spread(&cpu).0
            );
        }
    }
    page
}
