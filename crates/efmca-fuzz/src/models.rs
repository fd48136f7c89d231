//! Models and checkpoints. An input is the header, a byte 0, and the numbers: the length before them and the checksum behind
//! them, which a file has, too, are put there, so that all else is looked at.

use std::ops::ControlFlow;

use efmca::family::family;
use efmca::{Em, Inference, Model};
use efmca_io::{decode_checkpoint, decode_model, encode_model};
use ndarray::Array2;

use crate::said;

/// A safetensors file of an input.
pub fn join_safetensors(input: &[u8]) -> Vec<u8> {
    let end = input.iter().position(|byte| *byte == 0).unwrap_or(input.len());
    let (header, numbers) = (&input[..end], input.get(end + 1..).unwrap_or_default());
    [&(header.len() as u64).to_le_bytes(), header, numbers].concat()
}

/// The input of a safetensors file; empty if it is none.
pub fn split_safetensors(file: &[u8]) -> Vec<u8> {
    let Some((length, rest)) = file.split_first_chunk::<8>() else { return Vec::new() };
    let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
    match rest.split_at_checked(length) {
        Some((header, numbers)) => [header, &[0], numbers].concat(),
        None => Vec::new(),
    }
}

pub(crate) fn model(bytes: &[u8]) {
    // as a whole, and put together
    said(decode_model(bytes, family));
    let Some(file) = said(decode_model(&join_safetensors(bytes), family)) else { return };
    let again = encode_model(&file).unwrap_or_else(|error| panic!("a model that was read is not written: {error}"));
    let back =
        decode_model(&again, family).unwrap_or_else(|error| panic!("a model that was written is not read: {error}"));
    assert_eq!(encode_model(&back), Ok(again));
    apply(&file.model);
}

/// What is done with a model: rows are drawn, explained and scored.
fn apply(model: &Model) {
    if model.h() > 6 || model.d() > 16 {
        return;
    }
    let drawn = model.sample(2, 1).y;
    let missing = Array2::from_elem((1, model.d()), f64::NAN);
    for rows in [&drawn, &missing] {
        if let Some(likely) = said(model.log_likelihoods(rows)) {
            assert!(likely.iter().all(|value| !value.is_nan()), "{likely}");
        }
        if let Some(codes) = said(model.encode(rows)) {
            assert!(codes.iter().all(|value| (0.0..=1.0 + 1e-9).contains(value)), "{codes}");
        }
    }
    assert!(matches!(model.inference(), Inference::Exact | Inference::Truncated { .. }));
}

pub(crate) fn checkpoint(bytes: &[u8]) {
    said(decode_checkpoint(bytes));
    let mut file = join_safetensors(bytes);
    if let Some((content, sum)) = file.split_last_chunk_mut::<8>() {
        *sum = efmca_io::checksum(content).to_le_bytes();
    }
    let Some((checkpoint, _)) = said(decode_checkpoint(&file)) else { return };
    let settings = serde_json::Value::Object(checkpoint.settings.clone());
    let Ok(em) = serde_json::from_value::<Em>(settings) else { return };
    let y = crate::training::small_counts();
    let mut steps = 0;
    let fit = em.resume(&y, checkpoint, &mut |_| {
        steps += 1;
        if steps < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    if let Some(fit) = said(fit) {
        crate::training::is_finite(&fit.model);
    }
}
