//! What other programs gave.

use std::path::Path;

use crate::output::Done;

/// What another program gave for one noisy image.
#[derive(Debug, Clone)]
pub(crate) struct Peer {
    pub(crate) image: String,
    /// The strength of the noise: the peak, or the number of looks.
    pub(crate) strength: f64,
    pub(crate) method: String,
    pub(crate) psnr: f64,
    pub(crate) cpu: f64,
}

impl Peer {
    /// Lines of image, strength, seed, method, PSNR, wall and CPU seconds, with tabs between them.
    pub(crate) fn read(path: &Path) -> Done<Vec<Peer>> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut peers = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let cells: Vec<&str> = line.split('\t').collect();
            let peer = (|| {
                let number = |at: usize| cells.get(at)?.parse::<f64>().ok();
                let method = (*cells.get(3)?).to_owned();
                Some(Peer {
                    image: cells[0].to_owned(),
                    strength: number(1)?,
                    method,
                    psnr: number(4)?,
                    cpu: number(6)?,
                })
            })();
            let wrong = || {
                format!(
                    "{}, line {}: image, peak or looks, seed, method, PSNR, wall and CPU seconds are needed",
                    path.display(),
                    number + 1
                )
            };
            peers.push(peer.ok_or_else(wrong)?);
        }
        Ok(peers)
    }
}

/// Mean and standard deviation.
pub(crate) fn mean_and_spread(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len().max(2) - 1) as f64;
    (mean, variance.sqrt())
}

/// A cell of a table: a number, or a dash where there is none.
pub(crate) fn cell(value: f64) -> String {
    if value.is_nan() { "-".into() } else { format!("{value:.2}") }
}

/// The names of all programs.
pub(crate) fn methods(peers: &[Peer]) -> Vec<&str> {
    let mut methods: Vec<&str> = peers.iter().map(|peer| peer.method.as_str()).collect();
    methods.sort_unstable();
    methods.dedup();
    methods
}

/// The mean PSNR of a program for an image at one strength of the noise; NaN if it was not run.
pub(crate) fn psnr_of(peers: &[Peer], method: &str, image: &str, strength: f64) -> f64 {
    let of = peers.iter().filter(|peer| peer.strength == strength && peer.method == method && peer.image == image);
    mean_and_spread(&of.map(|peer| peer.psnr).collect::<Vec<f64>>()).0
}
