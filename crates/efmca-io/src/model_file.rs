//! Models as files: the parameters as safetensors, and one line of text that says what they mean.
//!
//! Any program that reads safetensors can read the numbers: `pi`, `w1` … `wL` and `background1` …
//! `backgroundL`, all of 64 bits.

use std::collections::HashMap;
use std::path::Path;

use efmca::Model;
use efmca::model::Tensor;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};

use crate::error::hint_for_reading;
use crate::{IoError, write_atomically};

/// The only key of the metadata. The library keeps the keys in a hash map, so that two of them would
/// stand in another order from run to run, and the same model would not give the same bytes.
const METADATA_KEY: &str = "efmca";

/// The bytes of a number.
const NUMBER: usize = size_of::<f64>();

/// Writes a model to a safetensors file, replacing a file that is there.
///
/// The same model gives the same bytes, and [`read_model`] gives back the same model, bit for bit.
///
/// # Errors
///
/// As [`write_atomically`], and [`IoError::EncodeModel`] if the model is too large for the format.
///
/// ```
/// use efmca::{bars, family::family};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("bars.safetensors");
/// let model = bars::model(family("poisson")?, 5, &[10.0], &[1.0], 0.2)?;
/// efmca_io::write_model(&path, &model)?;
/// assert_eq!(efmca_io::read_model(&path)?.pi(), model.pi());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_model(path: &Path, model: &Model) -> Result<(), IoError> {
    let failed = |error: safetensors::SafeTensorError| IoError::EncodeModel {
        path: path.to_path_buf(),
        reason: error.to_string(),
    };
    let tensors: Vec<(Tensor, Vec<u8>)> = (model.to_tensors().into_iter())
        .map(|tensor| {
            let bytes = tensor.values.iter().flat_map(|value| value.to_le_bytes()).collect();
            (tensor, bytes)
        })
        .collect();
    let mut views = Vec::with_capacity(tensors.len());
    for (tensor, bytes) in &tensors {
        let view = TensorView::new(Dtype::F64, tensor.shape.clone(), bytes).map_err(failed)?;
        views.push((tensor.name.as_str(), view));
    }
    let metadata = HashMap::from([(METADATA_KEY.to_owned(), model.to_metadata())]);
    let bytes = safetensors::serialize(views, Some(metadata)).map_err(failed)?;
    write_atomically(path, &bytes)
}

/// Reads a model that [`write_model`] wrote.
///
/// # Errors
///
/// [`IoError::Read`] if the file cannot be read, [`IoError::NotAModel`] if it is cut short, damaged,
/// or not a model of efmca.
pub fn read_model(path: &Path) -> Result<Model, IoError> {
    let bytes = std::fs::read(path).map_err(|source| IoError::Read {
        path: path.to_path_buf(),
        hint: hint_for_reading(source.kind()),
        source,
    })?;
    decode(&bytes).map_err(|problem| IoError::NotAModel { path: path.to_path_buf(), problem })
}

/// The model in the bytes of a file, or what is wrong with them.
fn decode(bytes: &[u8]) -> Result<Model, String> {
    let broken =
        |error: safetensors::SafeTensorError| format!("it is cut short, damaged, or no safetensors file ({error})");
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(broken)?;
    let metadata = header.metadata().as_ref().and_then(|metadata| metadata.get(METADATA_KEY));
    let metadata = metadata.ok_or_else(|| format!("its metadata has no entry `{METADATA_KEY}`"))?;
    let file = SafeTensors::deserialize(bytes).map_err(broken)?;
    let mut tensors = Vec::with_capacity(file.len());
    for (name, view) in file.iter() {
        tensors.push(numbers(name, &view)?);
    }
    Model::from_tensors(&tensors, metadata).map_err(|error| match error {
        efmca::Error::NotAModel { problem } => problem,
        other => other.to_string(),
    })
}

/// A tensor of the file as numbers.
fn numbers(name: &str, view: &TensorView<'_>) -> Result<Tensor, String> {
    if view.dtype() != Dtype::F64 {
        return Err(format!("tensor `{name}` has numbers of type {}, and a model has F64", view.dtype()));
    }
    // Without values the other extent is not bounded by the size of the file, and could ask for any
    // amount of memory.
    if view.shape().contains(&0) {
        return Err(format!("tensor `{name}` is empty, of shape {:?}", view.shape()));
    }
    let (values, _) = view.data().as_chunks::<NUMBER>();
    let values = values.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
    Ok(Tensor { name: name.to_owned(), shape: view.shape().to_vec(), values })
}

#[cfg(test)]
mod tests;
