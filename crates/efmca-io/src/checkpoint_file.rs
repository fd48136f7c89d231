//! Runs that were left, as files: safetensors, as models are.
//!
//! A checkpoint is written beside its place and renamed when all of it is on the disk, so that there is always a whole one,
//! whatever happens to the program. A sum over all bytes tells whether one was damaged later.

mod sets;

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use efmca::em::{Iteration, Settings, Snapshot};
use efmca::model::{Columns, Tensor};
use efmca::posterior::Moments;
use efmca::posterior::truncated::Effort;
use efmca::{Checkpoint, Fingerprint, Model};
use ndarray::{Array1, Array2};
use safetensors::tensor::{Dtype, SafeTensors};
use serde_json::{Map, Value, json};

use crate::IoError;
use crate::model_file::{METADATA_KEY, numbers};
use crate::whole::whole;
use crate::write::{create_folder_of, hint_for};

/// The name of the format in the metadata.
const FORMAT: &str = "efmca-checkpoint";
const VERSION: u64 = 2;
/// Numbers of each iteration.
const PER_ITERATION: usize = 7;
/// The name of the sum over all bytes, which comes last.
const CHECKSUM: &str = "checksum";

/// A tensor that is written piece by piece.
struct Piece<'a> {
    name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: usize,
    write: Box<Writing<'a>>,
}

/// Writes the bytes of a tensor.
type Writing<'a> = dyn Fn(&mut dyn Write) -> std::io::Result<()> + 'a;

impl<'a> Piece<'a> {
    fn of_numbers(name: &str, shape: Vec<usize>, values: Vec<f64>) -> Piece<'a> {
        let bytes = values.len() * size_of::<f64>();
        let write = move |out: &mut dyn Write| values.iter().try_for_each(|value| out.write_all(&value.to_le_bytes()));
        Piece { name: name.into(), dtype: Dtype::F64, shape, bytes, write: Box::new(write) }
    }
}

/// Writes a checkpoint, replacing the one that is there; `note` is kept with it for the program that wrote it.
///
/// The bytes go to a file with `.part` after its name, which is flushed to the disk and then renamed. A file of that name
/// that an interrupted program left is replaced.
///
/// # Errors
///
/// [`IoError::CreateFolder`] or [`IoError::Write`]; the checkpoint that was there before is then unchanged.
pub fn write_checkpoint(
    path: &Path,
    state: &Snapshot<'_>,
    settings: &Settings,
    data: Fingerprint,
    note: &Value,
) -> Result<(), IoError> {
    let mut pieces: Vec<Piece<'_>> = Vec::new();
    for tensor in state.model.to_tensors() {
        pieces.push(Piece::of_numbers(&tensor.name, tensor.shape, tensor.values));
    }
    let history: Vec<f64> = state.history.iter().flat_map(numbers_of).collect();
    pieces.push(Piece::of_numbers("history", vec![state.history.len(), PER_ITERATION], history));
    for (part, moments) in state.parts.iter().enumerate() {
        let matrix = |values: &Array2<f64>| (vec![values.nrows(), values.ncols()], values.iter().copied().collect());
        for (name, (shape, values)) in [
            ("assigned", matrix(&moments.assigned)),
            ("sums", matrix(&moments.sums)),
            ("active", (vec![moments.active.len()], moments.active.to_vec())),
            ("totals", (vec![2], vec![moments.weight, moments.bound])),
        ] {
            pieces.push(Piece::of_numbers(&format!("part{part}_{name}"), shape, values));
        }
    }
    pieces.extend(state.sets.into_iter().flat_map(sets::packed));
    let metadata = json!({
        "format": FORMAT,
        "version": VERSION,
        "model": state.model.to_metadata(),
        "e_steps": state.e_steps,
        "parts": state.parts.len(),
        "sets": state.sets.map(|sets| json!({ "h": sets.h(), "s": sets.s() })),
        "settings": settings,
        // as text, since JSON numbers of other programs have 53 bits
        "data": { "n": data.n, "d": data.d, "hash": format!("{:016x}", data.hash) },
        "note": note,
    });
    write_pieces(path, &metadata.to_string(), &pieces)
}

fn write_pieces(path: &Path, metadata: &str, pieces: &[Piece<'_>]) -> Result<(), IoError> {
    let failed = |source: std::io::Error| IoError::Write { path: path.to_path_buf(), hint: hint_for(&source), source };
    create_folder_of(path)?;
    let part = part_of(path);
    let written = write_to(&part, metadata, pieces).and_then(|()| std::fs::rename(&part, path));
    if written.is_err() {
        // what is there of it would only take space
        let _ = std::fs::remove_file(&part);
    }
    written.map_err(failed)?;
    // The rename itself is on the disk when the folder is; where folders cannot be opened, the system sees to it.
    if let Some(folder) = path.parent()
        && let Ok(folder) = File::open(if folder.as_os_str().is_empty() { Path::new(".") } else { folder })
    {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// Where a checkpoint is until all of it is written.
fn part_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    PathBuf::from(name)
}

/// An empty file in the place of one that a killed run left. A link goes, and a file that it leads to stays.
fn made_anew(path: &Path) -> std::io::Result<File> {
    if path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        // a device: nothing is lost there
        return File::create(path);
    }
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => File::create_new(path),
    }
}

fn write_to(path: &Path, metadata: &str, pieces: &[Piece<'_>]) -> std::io::Result<()> {
    let mut header = Map::new();
    header.insert("__metadata__".into(), json!({ METADATA_KEY: metadata }));
    let mut at = 0;
    for piece in pieces {
        let end = at + piece.bytes;
        let entry = json!({ "dtype": piece.dtype.to_string(), "shape": piece.shape, "data_offsets": [at, end] });
        header.insert(piece.name.clone(), entry);
        at = end;
    }
    let checksum = json!({ "dtype": "U64", "shape": [1], "data_offsets": [at, at + size_of::<u64>()] });
    header.insert(CHECKSUM.into(), checksum);
    let mut header = Value::Object(header).to_string();
    // numbers begin at a multiple of eight
    header.extend(std::iter::repeat_n(' ', header.len().next_multiple_of(8) - header.len()));
    let mut file = BufWriter::with_capacity(1 << 20, made_anew(path)?);
    // what the header says is part of the run: another number of E-steps would go on with other random numbers
    let mut summing = Summing { out: &mut file, sum: Sum::default() };
    summing.write_all(&(header.len() as u64).to_le_bytes())?;
    summing.write_all(header.as_bytes())?;
    pieces.iter().try_for_each(|piece| (piece.write)(&mut summing))?;
    let sum = summing.sum.finish();
    file.write_all(&sum.to_le_bytes())?;
    file.flush()?;
    file.get_ref().sync_all()
}

/// Passes bytes on and adds them up.
struct Summing<'a> {
    out: &'a mut dyn Write,
    sum: Sum,
}

impl Write for Summing<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.out.write_all(bytes)?;
        self.sum.add(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

/// A sum over bytes in which every bit and its place count; it does not matter in which pieces they come.
#[derive(Default)]
struct Sum {
    sum: u64,
    rest: Vec<u8>,
}

impl Sum {
    fn add(&mut self, mut bytes: &[u8]) {
        if !self.rest.is_empty() {
            let missing = (8 - self.rest.len()).min(bytes.len());
            self.rest.extend_from_slice(&bytes[..missing]);
            bytes = &bytes[missing..];
            if let Ok(word) = <[u8; 8]>::try_from(self.rest.as_slice()) {
                self.rest.clear();
                self.mix(u64::from_le_bytes(word));
            }
        }
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.mix(u64::from_le_bytes(*word)));
        self.rest.extend_from_slice(rest);
    }

    fn mix(&mut self, word: u64) {
        self.sum = (self.sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
    }

    fn finish(mut self) -> u64 {
        let mut word = [0; 8];
        word[..self.rest.len()].copy_from_slice(&self.rest);
        self.mix(u64::from_le_bytes(word));
        self.sum
    }
}

/// The sum that stands behind these bytes in a checkpoint, for programs that make damaged ones.
#[doc(hidden)]
pub fn checksum(bytes: &[u8]) -> u64 {
    let mut sum = Sum::default();
    sum.add(bytes);
    sum.finish()
}

/// Reads a checkpoint and the note that was written with it.
///
/// # Errors
///
/// [`IoError::Read`] if the file cannot be read, [`IoError::NotACheckpoint`] if it is cut short, damaged, or something
/// else.
pub fn read_checkpoint(path: &Path) -> Result<(Checkpoint, Value), IoError> {
    decode_checkpoint(&whole(path)?).map_err(|problem| IoError::NotACheckpoint { path: path.to_path_buf(), problem })
}

/// The checkpoint in the bytes of a file, and the note that was written with it.
///
/// # Errors
///
/// What is wrong with the bytes.
pub fn decode_checkpoint(bytes: &[u8]) -> Result<(Checkpoint, Value), String> {
    let broken =
        |error: safetensors::SafeTensorError| format!("it is cut short, damaged, or no safetensors file ({error})");
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(broken)?;
    let text = header.metadata().as_ref().and_then(|metadata| metadata.get(METADATA_KEY));
    let text = text.ok_or_else(|| format!("its metadata has no entry `{METADATA_KEY}`"))?;
    let metadata: Value =
        serde_json::from_str(text).map_err(|error| format!("its metadata cannot be read: {error}"))?;
    if metadata["format"] != FORMAT {
        return Err("it is no checkpoint of efmca".into());
    }
    if metadata["version"] != VERSION {
        let then = &metadata["version"];
        let other = if then.as_u64() < Some(VERSION) { "an older" } else { "a newer" };
        return Err(format!(
            "it was written by {other} efmca (version {then} of checkpoints; this one reads {VERSION})"
        ));
    }
    let file = SafeTensors::deserialize(bytes).map_err(broken)?;
    let (content, sum) = bytes.split_last_chunk::<8>().ok_or("it is cut short")?;
    if checksum(content) != u64::from_le_bytes(*sum) {
        return Err("its bytes are not those that were written".into());
    }
    let mut tensors = Vec::new();
    for (name, view) in file.iter().filter(|(_, view)| view.dtype() == Dtype::F64 && !view.data().is_empty()) {
        tensors.push(numbers(name, &view)?);
    }
    let metadata_of_model = metadata["model"].as_str().ok_or("its metadata has no model")?;
    let model = Model::from_tensors(&tensors, metadata_of_model).map_err(|error| error.to_string())?;
    let history = match tensors.iter().find(|tensor| tensor.name == "history") {
        Some(tensor) => tensor.values.chunks_exact(PER_ITERATION).map(iteration_of).collect(),
        None => Vec::new(),
    };
    let parts = metadata["parts"].as_u64().ok_or("its metadata does not say how many parts there are")?;
    let parts = (0..parts).map(|part| moments_of(&tensors, part, &model)).collect::<Result<_, _>>()?;
    let size = |value: &Value| value.as_u64().and_then(|size| usize::try_from(size).ok());
    let sets = match &metadata["sets"] {
        Value::Null => None,
        sets => {
            let (h, s) = size(&sets["h"]).zip(size(&sets["s"])).ok_or("it does not say how large its sets are")?;
            // states are made as long as it says, so that it must not say anything
            if h != model.h() {
                return Err(format!("its sets are of {h} causes, and its model has {}", model.h()));
            }
            Some(sets::unpacked(&file, h, s)?)
        }
    };
    let data = &metadata["data"];
    let hash = data["hash"].as_str().and_then(|hash| u64::from_str_radix(hash, 16).ok());
    let (n, d) = size(&data["n"]).zip(size(&data["d"])).ok_or("its metadata does not say which data it is of")?;
    let checkpoint = Checkpoint {
        model,
        history,
        sets,
        parts,
        e_steps: metadata["e_steps"].as_u64().ok_or("its metadata does not say how many E-steps were done")?,
        settings: metadata["settings"].as_object().cloned().ok_or("its metadata has no settings")?,
        data: Fingerprint { n, d, hash: hash.ok_or("its metadata does not say which data it is of")? },
    };
    Ok((checkpoint, metadata["note"].clone()))
}

fn numbers_of(step: &Iteration) -> [f64; PER_ITERATION] {
    [
        step.bound,
        step.temperature,
        step.rho.unwrap_or(f64::NAN),
        step.revived as f64,
        step.removed as f64,
        step.effort.evaluations as f64,
        step.effort.replaced as f64,
    ]
}

fn iteration_of(numbers: &[f64]) -> Iteration {
    Iteration {
        bound: numbers[0],
        temperature: numbers[1],
        rho: Some(numbers[2]).filter(|rho| !rho.is_nan()),
        revived: numbers[3] as usize,
        removed: numbers[4] as usize,
        effort: Effort { evaluations: numbers[5] as u64, replaced: numbers[6] as u64 },
    }
}

fn moments_of(tensors: &[Tensor], part: u64, model: &Model) -> Result<Moments, String> {
    let columns: &Columns = model.columns();
    let find = |name: &str, shape: &[usize]| {
        let name = format!("part{part}_{name}");
        let found = tensors.iter().find(|tensor| tensor.name == name);
        let tensor = found.ok_or_else(|| format!("there is no tensor `{name}`"))?;
        (tensor.shape.len() == shape.len() && (1..shape.len()).all(|side| tensor.shape[side] == shape[side]))
            .then_some(tensor)
            .ok_or_else(|| format!("tensor `{name}` has shape {:?}", tensor.shape))
    };
    let matrix = |name: &str, width: usize| {
        let tensor = find(name, &[0, width])?;
        Array2::from_shape_vec((tensor.shape[0], width), tensor.values.clone()).map_err(|error| error.to_string())
    };
    let [weight, bound] = find("totals", &[2])?.values[..] else { return Err("totals of a part are missing".into()) };
    Ok(Moments {
        assigned: matrix("assigned", columns.d())?,
        sums: matrix("sums", columns.k())?,
        active: Array1::from(find("active", &[0])?.values.clone()),
        weight,
        bound,
    })
}

#[cfg(test)]
mod tests;
