//! Cameras as files: JSON with gain, offset and read noise, which people can also write by hand.

use std::path::Path;

use efmca::tasks::camera::{Calibrated, Camera};
use serde_json::{Map, Value, json};

use crate::error::{IoError, hint_for_reading};
use crate::whole::whole;
use crate::write::write_atomically;

/// The value of the key `format`.
const FORMAT: &str = "efmca camera";
/// The version of the format.
const VERSION: u64 = 1;
/// A larger file is something else.
const LARGEST: u64 = 16 << 20;
/// The three numbers.
const NUMBERS: [&str; 3] = ["gain", "offset", "read_noise"];
/// A file that can be written by hand.
const EXAMPLE: &str = r#"{"format": "efmca camera", "version": 1, "gain": 2.1, "offset": 100, "read_noise": 1.6}"#;

/// Reads a camera.
///
/// # Errors
///
/// [`IoError::Read`], and [`IoError::NotACamera`] for a file that is not JSON, misses a key, has an unknown version, or holds
/// numbers that no camera has.
pub fn read_camera(path: &Path) -> Result<Camera, IoError> {
    let not = |problem: String| IoError::NotACamera { path: path.to_path_buf(), problem };
    let failed =
        |source: std::io::Error| IoError::Read { path: path.to_path_buf(), hint: hint_for_reading(&source), source };
    if std::fs::metadata(path).map_err(failed)?.len() > LARGEST {
        return Err(not("it is larger than any camera file".to_owned()));
    }
    decode_camera(&whole(path)?).map_err(not)
}

/// The camera in the bytes of a file.
///
/// # Errors
///
/// What is wrong with the bytes.
pub fn decode_camera(bytes: &[u8]) -> Result<Camera, String> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| format!("it is not JSON ({error})"))?;
    let Value::Object(keys) = value else {
        return Err(format!("it holds {}, not an object with keys", kind(&value)));
    };
    match keys.get("format") {
        Some(Value::String(format)) if format == FORMAT => {}
        Some(other) => return Err(format!("the key `format` is {other}, not {FORMAT:?}")),
        None => return Err("the key `format` is missing".to_owned()),
    }
    match keys.get("version") {
        Some(version) if version.as_u64() == Some(VERSION) => {}
        Some(other) => return Err(format!("the key `version` is {other}; this program knows {VERSION}")),
        None => return Err("the key `version` is missing".to_owned()),
    }
    let [gain, offset, read_noise] = NUMBERS.map(|key| number(&keys, key));
    let camera = Camera { gain: gain?, offset: offset?, read_noise: read_noise? };
    camera.check().map_err(|error| format!("the key {}", key_first(&error.to_string())))?;
    Ok(camera)
}

/// `gain = -1: ...` with its key marked.
fn key_first(message: &str) -> String {
    match message.split_once(' ') {
        Some((key, rest)) => format!("`{key}` {rest}"),
        None => message.to_owned(),
    }
}

fn number(keys: &Map<String, Value>, key: &str) -> Result<f64, String> {
    match keys.get(key) {
        None => Err(format!("the key `{key}` is missing")),
        Some(value) => value.as_f64().ok_or_else(|| format!("the key `{key}` is {}, not a number", kind(value))),
    }
}

fn kind(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "true or false".to_owned(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(_) => "a text".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// Writes a calibrated camera with its standard errors and the points of its line, completely or not at all. `images` are the
/// names of the files that it was found in.
///
/// # Errors
///
/// [`IoError::Write`].
pub fn write_camera(path: &Path, calibrated: &Calibrated, images: &[String]) -> Result<(), IoError> {
    let Camera { gain, offset, read_noise } = calibrated.camera;
    let value = json!({
        "format": FORMAT,
        "version": VERSION,
        "gain": gain,
        "offset": offset,
        "read_noise": read_noise,
        "standard_errors": calibrated.errors,
        "images": images,
        "pixels": calibrated.pixels,
        "points": calibrated.points,
    });
    let mut text = format!("{value:#}");
    text.push('\n');
    write_atomically(path, text.as_bytes())
}

/// What to do about a file that is no camera.
pub(crate) fn hint() -> String {
    format!("give a file that `efmca calibrate` wrote, or write one such as {EXAMPLE}")
}
