//! The page about a run.

use std::fmt::Write;

use super::shape::{LOCALISED, THRESHOLD};
use super::summary::Summary;
use super::{Found, Settings};

pub(super) fn markdown(settings: &Settings, found: &Found) -> String {
    let command: Vec<String> = std::env::args().skip(1).collect();
    let (size, times) = (found.size, &found.times);
    let mut page = format!(
        "# Features of natural images\n\nMade by `cargo run --release -p experiments -- {}`.\n\n\
         Gaussian-MCA with two dictionaries and maximum magnitude on N = {} whitened patches of {3} x {3} pixels (D = {4}) from {2} \
         images{5}; H = {6}, {7} states a patch.\n\n",
        command.join(" "),
        size.patches,
        found.images,
        size.patch,
        size.patch * size.patch,
        if settings.linear { "" } else { ", logarithms of intensities" },
        size.causes,
        settings.states,
    );
    // writing to a string cannot fail, here and below
    let _ = write!(
        page,
        "| | |\n| --- | ---: |\n| CPU seconds to draw and whiten patches | {:.1} |\n| CPU seconds of the first EM step, with \
         checks, clusters and first sets | {:.1} |\n| CPU seconds of an EM step later | {:.1} |\n| its wall seconds | {:.1} |\n| all until \
         the end of the first step, in later steps | {:.2} |\n| CPU seconds in all | {:.0} |\n| peak memory, MB | {:.0} |\n| causes that are used | {} of {} |\n| bound a patch | {:.2} |\n| active causes in the best \
         state of a patch | {:.2} |\n",
        times.patches,
        times.first,
        times.step_cpu,
        times.step_wall,
        (times.patches + times.first) / times.step_cpu,
        times.cpu,
        times.megabytes,
        found.used,
        size.causes,
        found.bound,
        found.active,
    );
    if let Some(summary) = &found.summary {
        shapes(&mut page, settings.name(), summary, found);
    }
    page
}

fn shapes(page: &mut String, name: &str, summary: &Summary, found: &Found) {
    let _ = write!(
        page,
        "\n## What the means look like\n\n![Means]({name}-means.png)\n\nA Gabor function and a globular field (a blob, or centre and \
         surround) were fitted to every mean, used or not. A field is Gabor-like or globular if R² of the fit is above the threshold and the \
         form covers less than {:.0} % of the patch; of noise that was blurred by a pixel and more, 0 to 9 % pass at {THRESHOLD}.\n\n\
         | R² above | Gabor-like | globular | together | neither | as good a fit, but not local |\n\
         | ---: | ---: | ---: | ---: | ---: | ---: |\n",
        100.0 * LOCALISED
    );
    for shares in &summary.shares {
        let mark = if shares.threshold == THRESHOLD { "**" } else { "" };
        let _ = writeln!(
            page,
            "| {mark}{}{mark} | {:.1} % | {:.1} % | {mark}{:.1} %{mark} | {:.1} % | {:.1} % |",
            shares.threshold,
            100.0 * shares.gabor,
            100.0 * shares.globular,
            100.0 * (shares.gabor + shares.globular),
            100.0 * shares.other,
            100.0 * shares.extended
        );
    }
    if let Some(used) = &found.of_used
        && let Some(shares) = used.shares.iter().find(|shares| shares.threshold == THRESHOLD)
    {
        let _ = write!(
            page,
            "\nOf the {} causes that are used, {:.1} % are Gabor-like and {:.1} % globular with R² above {THRESHOLD}, together **{:.1} \
             %**.\n",
            found.used,
            100.0 * shares.gabor,
            100.0 * shares.globular,
            100.0 * (shares.gabor + shares.globular)
        );
    }
    let _ = write!(
        page,
        "\nMedians of the Gabor-like ones: {:.3} cycles a pixel, {:.2} octaves, {:.2} times as long as wide. Median R² of all \
         fields: {:.3}.\n\n## Standard deviations\n\n![Standard deviations]({name}-deviations.png)\n\nThey are not one constant: within \
         a cause, the largest tenth is {:.2} times the smallest (median over causes), and of the medians of the causes, the largest \
         tenth is {:.2} times the smallest.\n\n## How patches are encoded\n\n![Encoding]({name}-encoding.png)\n\n## \
         Training\n\n![Bound]({name}-bound.png)\n",
        summary.frequency, summary.bandwidth, summary.aspect, summary.r2, found.spread_within, found.spread_between
    );
}
