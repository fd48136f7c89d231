//! Models as files: the parameters as safetensors, and one line of text that says what they mean.
//!
//! Any program that reads safetensors can read the numbers: `pi`, `w1` … `wL` and `background1` …
//! `backgroundL`, all of 64 bits. Models of tables also keep the names of the columns and the words that
//! stand for the values of a column ([`ModelFile`]).

mod columns;
mod prepare;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use efmca::Model;
use efmca::family::{SharedFamily, family};
use efmca::model::Tensor;
use efmca::tasks::learn::Whitening;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde_json::{Value, json};

pub use columns::{ColumnChange, ModelRows};

use crate::whole::whole;
use crate::{IoError, write_atomically};

/// The only key of the metadata. The library keeps the keys in a hash map, so that two of them would
/// stand in another order from run to run, and the same model would not give the same bytes.
pub(crate) const METADATA_KEY: &str = "efmca";

/// Where the names of the columns stand in the metadata, and where their labels do.
const NAMES_KEY: &str = "names";
const LABELS_KEY: &str = "labels";
/// Where the size of a patch stands.
const PATCH_KEY: &str = "patch";
/// Where the pages of a patch stand, if it has several.
const PAGES_KEY: &str = "pages";
/// Where it stands that values are logarithms.
const LOGARITHMS_KEY: &str = "logarithms";

/// The bytes of a number.
const NUMBER: usize = size_of::<f64>();

/// A model with what is known of its columns.
#[derive(Debug, Clone)]
pub struct ModelFile {
    /// The model.
    pub model: Model,
    /// A name for each column, all different; empty if there are none, as in models of images.
    pub names: Vec<String>,
    /// For each column the words that its values 0, 1, … stand for, if they do; empty if no column has any.
    pub labels: Vec<Option<Vec<String>>>,
    /// Rows, columns and channels of a patch, if the columns are its pixels, channel by channel.
    pub patch: Option<[usize; 3]>,
    /// Pages of a patch, one unless it is from a volume or a movie: then the columns are its pixels page by page.
    pub pages: usize,
    /// Whether the model saw the logarithms of values.
    pub logarithms: bool,
    /// How rows were whitened before the model saw them, after taking logarithms.
    pub whitening: Option<Whitening>,
}

impl ModelFile {
    /// The words of column `d`, if it has any.
    pub fn labels_of(&self, d: usize) -> Option<&[String]> {
        self.labels.get(d)?.as_deref()
    }

    /// The fault of the names and labels, if there is one.
    fn problem(&self) -> Option<String> {
        let d = self.model.d();
        if !self.names.is_empty() && self.names.len() != d {
            return Some(format!("it has {} names for {d} columns", self.names.len()));
        }
        if !self.labels.is_empty() && self.labels.len() != d {
            return Some(format!("it has labels of {} columns and {d} columns", self.labels.len()));
        }
        if let Some(patch) = self.patch
            && patch.iter().try_fold(self.pages, |size, side| size.checked_mul(*side)) != Some(d)
        {
            let pages = if self.pages == 1 { String::new() } else { format!(" and {} pages", self.pages) };
            return Some(format!("its patches have the size {patch:?}{pages}, and it has {d} columns"));
        }
        if let Some(whitening) = self.whitening.as_ref().filter(|whitening| whitening.d() != d) {
            return Some(format!("its whitening is of {} columns, and it has {d}", whitening.d()));
        }
        let mut seen = HashSet::new();
        let twice = self.names.iter().find(|name| !seen.insert(name.as_str()));
        twice.map(|name| format!("two of its columns are called `{}`", name.escape_debug()))
    }
}

/// A model alone.
impl From<Model> for ModelFile {
    fn from(model: Model) -> Self {
        Self { model, names: Vec::new(), labels: Vec::new(), patch: None, pages: 1, logarithms: false, whitening: None }
    }
}

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
    write_atomically(path, &encode(model.to_tensors(), model.to_metadata()).map_err(failed)?)
}

/// Writes a model with the names and labels of its columns, replacing a file that is there.
///
/// The same model gives the same bytes. Without names and labels they are those of [`write_model`]; with them,
/// [`read_model`] reads the file, too.
///
/// # Errors
///
/// As [`write_model`], and [`IoError::EncodeModel`] if there are not as many names or labels as columns, or if two
/// columns have the same name.
///
/// ```
/// use efmca::{bars, family::family};
/// use efmca_io::ModelFile;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("counts.safetensors");
/// let model = bars::model(family("poisson")?, 2, &[10.0], &[1.0], 0.2)?;
/// let names = ["north", "east", "south", "west"].map(String::from).to_vec();
/// efmca_io::write_model_file(&path, &ModelFile { names, ..ModelFile::from(model) })?;
/// assert_eq!(efmca_io::read_model_file(&path)?.names[1], "east");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_model_file(path: &Path, file: &ModelFile) -> Result<(), IoError> {
    let failed = |reason: String| IoError::EncodeModel { path: path.to_path_buf(), reason };
    write_atomically(path, &encode_model(file).map_err(failed)?)
}

/// The bytes that [`write_model_file`] writes, for those who keep them elsewhere.
///
/// # Errors
///
/// What is wrong: not as many names or labels as columns, two columns with the same name, or a model that is too large for the
/// format.
pub fn encode_model(file: &ModelFile) -> Result<Vec<u8>, String> {
    if let Some(problem) = file.problem() {
        return Err(problem);
    }
    let metadata = file.model.to_metadata();
    let mut metadata: Value = serde_json::from_str(&metadata).map_err(|error| error.to_string())?;
    if !file.names.is_empty() {
        metadata[NAMES_KEY] = json!(file.names);
    }
    if !file.labels.is_empty() {
        metadata[LABELS_KEY] = json!(file.labels);
    }
    if let Some(patch) = file.patch {
        metadata[PATCH_KEY] = json!(patch);
    }
    if file.pages != 1 {
        metadata[PAGES_KEY] = json!(file.pages);
    }
    if file.logarithms {
        metadata[LOGARITHMS_KEY] = json!(true);
    }
    let mut tensors = file.model.to_tensors();
    tensors.extend(file.whitening.iter().flat_map(Whitening::to_tensors));
    encode(tensors, metadata.to_string()).map_err(|error| error.to_string())
}

fn encode(tensors: Vec<Tensor>, metadata: String) -> Result<Vec<u8>, safetensors::SafeTensorError> {
    let tensors: Vec<(Tensor, Vec<u8>)> = (tensors.into_iter())
        .map(|tensor| {
            let bytes = tensor.values.iter().flat_map(|value| value.to_le_bytes()).collect();
            (tensor, bytes)
        })
        .collect();
    let mut views = Vec::with_capacity(tensors.len());
    for (tensor, bytes) in &tensors {
        views.push((tensor.name.as_str(), TensorView::new(Dtype::F64, tensor.shape.clone(), bytes)?));
    }
    let metadata = HashMap::from([(METADATA_KEY.to_owned(), metadata)]);
    safetensors::serialize(views, Some(metadata))
}

/// Reads a model that [`write_model`] wrote.
///
/// # Errors
///
/// [`IoError::Read`] if the file cannot be read, [`IoError::NotAModel`] if it is cut short, damaged,
/// or not a model of efmca.
pub fn read_model(path: &Path) -> Result<Model, IoError> {
    let bytes = whole(path)?;
    let found = decode(&bytes, family).map(|(model, ..)| model);
    found.map_err(|problem| IoError::NotAModel { path: path.to_path_buf(), problem })
}

/// Reads a model with the names and labels of its columns, if the file has them.
///
/// # Errors
///
/// As [`read_model`], and [`IoError::NotAModel`] if names or labels do not fit the columns.
pub fn read_model_file(path: &Path) -> Result<ModelFile, IoError> {
    read_model_file_with(path, family)
}

/// The same with `find` in place of the registry, for models with families of your own.
///
/// # Errors
///
/// As [`read_model_file`].
pub fn read_model_file_with(
    path: &Path,
    find: impl Fn(&str) -> Result<SharedFamily, efmca::Error>,
) -> Result<ModelFile, IoError> {
    let found = decode_model(&whole(path)?, find);
    found.map_err(|problem| IoError::NotAModel { path: path.to_path_buf(), problem })
}

/// The model in bytes that [`encode_model`] made; `find` finds its families, such as [`efmca::family::family`].
///
/// # Errors
///
/// What is wrong with the bytes.
pub fn decode_model(
    bytes: &[u8],
    find: impl Fn(&str) -> Result<SharedFamily, efmca::Error>,
) -> Result<ModelFile, String> {
    decode(bytes, find).and_then(|(model, metadata, tensors)| with_columns(model, &metadata, &tensors))
}

/// The model with what its metadata says about its columns.
fn with_columns(model: Model, metadata: &str, tensors: &[Tensor]) -> Result<ModelFile, String> {
    let metadata: Value =
        serde_json::from_str(metadata).map_err(|error| format!("its metadata cannot be read: {error}"))?;
    let texts = |value: &Value| -> Option<Vec<String>> {
        value.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
    };
    let names = match &metadata[NAMES_KEY] {
        Value::Null => Vec::new(),
        names => texts(names).ok_or("the names of its columns are no list of texts")?,
    };
    let labels = match &metadata[LABELS_KEY] {
        Value::Null => Some(Vec::new()),
        Value::Array(columns) => {
            columns.iter().map(|column| if column.is_null() { Some(None) } else { texts(column).map(Some) }).collect()
        }
        _ => None,
    };
    let labels = labels.ok_or("the labels of its columns are no list of lists of texts")?;
    let patch = match &metadata[PATCH_KEY] {
        Value::Null => None,
        patch => {
            let side = |at: usize| patch[at].as_u64().and_then(|side| usize::try_from(side).ok());
            let sides = [side(0), side(1), side(2)].map(|side| side.ok_or("the size of its patches is no size"));
            let [rows, columns, channels] = sides;
            Some([rows?, columns?, channels?])
        }
    };
    let pages = match &metadata[PAGES_KEY] {
        Value::Null => 1,
        pages => {
            let pages = pages.as_u64().and_then(|pages| usize::try_from(pages).ok());
            pages.ok_or("the pages of its patches are no number")?
        }
    };
    let whitening = Whitening::from_tensors(tensors).map_err(|error| match error {
        efmca::Error::NotAModel { problem } => problem,
        other => other.to_string(),
    })?;
    let file =
        ModelFile { model, names, labels, patch, pages, logarithms: metadata[LOGARITHMS_KEY] == true, whitening };
    file.problem().map_or(Ok(file), Err)
}

/// The model in the bytes of a file and its metadata, or what is wrong with them.
fn decode(
    bytes: &[u8],
    find: impl Fn(&str) -> Result<SharedFamily, efmca::Error>,
) -> Result<(Model, String, Vec<Tensor>), String> {
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
    let model = Model::from_tensors_with(&tensors, metadata, find).map_err(|error| match error {
        efmca::Error::NotAModel { problem } => problem,
        other => other.to_string(),
    })?;
    Ok((model, metadata.clone(), tensors))
}

/// A tensor of the file as numbers.
pub(crate) fn numbers(name: &str, view: &TensorView<'_>) -> Result<Tensor, String> {
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
