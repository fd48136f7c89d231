//! The table, next to the printed rows.

use std::fmt::Write;

use super::printed::PRINTED;
use super::{Cleaned, IMAGES};

/// Mean and standard deviation.
fn mean_and_spread(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len().max(2) - 1) as f64;
    (mean, variance.sqrt())
}

/// A cell: a number, or a dash where there is none.
fn cell(value: f64) -> String {
    if value.is_nan() { "-".into() } else { format!("{value:.2}") }
}

pub(super) fn markdown(found: &[Cleaned]) -> String {
    let mut page = String::from("# Zero-shot Poisson denoising\n\n");
    let command: Vec<String> = std::env::args().skip(1).collect();
    let _ = writeln!(
        page,
        "Made by `cargo run --release -p experiments -- {}`. PSNR in dB with the peak, 10 log10(peak² / MSE), mean ± standard \
         deviation over noise realisations; for House also with 255 on the scale of the file, which some of the printed rows \
         use. A printed number counts as beaten only by the one with the peak.\n",
        command.join(" ")
    );
    let mut peaks: Vec<f64> = found.iter().map(|cleaned| cleaned.peak).collect();
    peaks.sort_by(f64::total_cmp);
    peaks.dedup();
    for peak in peaks {
        let _ = writeln!(page, "## Peak {peak}\n");
        page.push_str("| | house | camera | peppers | saturn | bridge | flag | average |\n");
        page.push_str("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
        for printed in PRINTED.iter().filter(|printed| printed.peak == peak) {
            let cells: Vec<String> = printed.psnr.iter().map(|psnr| cell(*psnr)).collect();
            let average = cell(printed.psnr.iter().sum::<f64>() / 6.0);
            let _ = writeln!(page, "| {} (printed) | {} | {average} |", printed.method, cells.join(" | "));
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
        let average = cell(means.iter().sum::<f64>() / 6.0);
        let _ = writeln!(page, "| **efmca** | {} | **{average}** |", cells.join(" | "));
        let best = |index: usize| {
            let of_peak = PRINTED.iter().filter(|printed| printed.peak == peak);
            of_peak.map(|printed| printed.psnr[index]).fold(f64::NEG_INFINITY, f64::max)
        };
        let lost: Vec<String> = (0..6)
            .filter(|index| means[*index] < best(*index))
            .map(|index| format!("{} by {:.2}", IMAGES[index], best(index) - means[index]))
            .collect();
        let lost = if lost.is_empty() { "none".into() } else { lost.join(", ") };
        let _ = writeln!(page, "\nBelow the best printed number: {lost}.\n");
    }
    let cpu: Vec<f64> = found.iter().map(|one| one.cpu).collect();
    let _ = writeln!(page, "CPU seconds of one image: {:.0} on average.", mean_and_spread(&cpu).0);
    page
}
