//! NPZ: several arrays of NumPy in a ZIP file.

use std::io::{Cursor, Read, Seek, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::content::{Content, Decoded};
use super::fault::{CONVERT, Fault, TOO_LARGE, plausible};
use super::format::Format;
use super::{notes, npy};

/// The array with our notes.
const NOTES: &str = "efmca_notes";

/// Notes are short: what is longer is not ours.
const LONGEST_NOTES: u64 = 1 << 20;

type Archive<'a> = ZipArchive<Cursor<&'a [u8]>>;

/// The array called `name`, or the only one.
pub(crate) fn read(bytes: &[u8], name: Option<&str>, limit: u64) -> Result<Decoded, Fault> {
    let mut archive = open(bytes)?;
    let name = choose(&names(&archive), name)?;
    let entry =
        entry(&mut archive, &format!("{name}.npy"), limit).map_err(|fault| fault.at(format!("array `{name}`")))?;
    let mut decoded = npy::read(&entry, limit).map_err(|fault| fault.at(format!("array `{name}`")))?;
    decoded.metadata.format = Format::Npz;
    decoded.metadata.array = Some(name);
    if let Ok(stored) = self::entry(&mut archive, &format!("{NOTES}.npy"), LONGEST_NOTES) {
        decoded.metadata.notes = npy::read_strings(&stored).iter().filter_map(|line| notes::from_line(line)).collect();
    }
    Ok(decoded)
}

/// The names of all arrays; none if the file cannot be read.
pub(crate) fn array_names(bytes: &[u8]) -> Vec<String> {
    ZipArchive::new(Cursor::new(bytes)).map(|archive| names(&archive)).unwrap_or_default()
}

/// The bytes of the array called `name`, as those of an NPY file.
pub(crate) fn entry_of(bytes: &[u8], name: &str, limit: u64) -> Result<Vec<u8>, Fault> {
    let mut archive = open(bytes)?;
    entry(&mut archive, &format!("{name}.npy"), limit).map_err(|fault| fault.at(format!("array `{name}`")))
}

fn open(bytes: &[u8]) -> Result<Archive<'_>, Fault> {
    ZipArchive::new(Cursor::new(bytes))
        .map_err(|error| Fault::damaged(format!("it is no ZIP file that can be read ({error})")))
}

/// The first bytes, `most` of them, of the array called `name`, or of the only one.
pub(crate) fn head(file: impl Read + Seek, name: Option<&str>, most: u64) -> Option<Vec<u8>> {
    let mut archive = ZipArchive::new(file).ok()?;
    let name = choose(&names(&archive), name).ok()?;
    let mut bytes = Vec::new();
    archive.by_name(&format!("{name}.npy")).ok()?.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The names of all arrays but our notes.
fn names<R: Read + Seek>(archive: &ZipArchive<R>) -> Vec<String> {
    (0..archive.len())
        .filter_map(|index| archive.name_for_index(index)?.ok()?.strip_suffix(".npy").map(str::to_owned))
        .filter(|name| name != NOTES)
        .collect()
}

/// The name of the array to read.
fn choose(names: &[String], wanted: Option<&str>) -> Result<String, Fault> {
    let listed = || names.iter().map(|name| format!("`{}`", name.escape_debug())).collect::<Vec<_>>().join(", ");
    match (wanted, names) {
        (_, []) => Err(Fault::new("it is a ZIP file without arrays of NumPy", "give a file that numpy.savez made")),
        (Some(wanted), _) => names.iter().find(|name| *name == wanted).cloned().ok_or_else(|| {
            Fault::new(
                format!("it has no array `{}`, but {}", wanted.escape_debug(), listed()),
                "name one of these after the colon",
            )
        }),
        (None, [only]) => Ok(only.clone()),
        (None, _) => Err(Fault::new(format!("it has several arrays: {}", listed()), "name one as in `file.npz:name`")),
    }
}

/// The unpacked bytes of an entry.
fn entry(archive: &mut Archive<'_>, name: &str, limit: u64) -> Result<Vec<u8>, Fault> {
    let broken = |error: &dyn std::fmt::Display| Fault::damaged(format!("it cannot be unpacked ({error})"));
    let file = archive.by_name(name).map_err(|error| match error {
        zip::result::ZipError::UnsupportedArchive(what) => {
            Fault::new(format!("it is packed in a way that is not known ({what})"), CONVERT)
        }
        other => broken(&other),
    })?;
    let size = file.size();
    if size > limit {
        return Err(Fault::new(format!("it has {size} bytes, more than the {limit} allowed"), TOO_LARGE));
    }
    plausible(size, file.compressed_size())?;
    let mut bytes = Vec::new();
    file.take(size).read_to_end(&mut bytes).map_err(|error| broken(&error))?;
    Ok(bytes)
}

/// The bytes of an NPZ file.
pub(crate) fn write(content: &Content<'_>) -> Result<Vec<u8>, Fault> {
    pack(content.array.as_deref(), &npy::write(content)?, &content.notes)
}

/// The name of an array, or the usual one if none is given.
pub(crate) fn checked_name(name: Option<&str>) -> Result<&str, Fault> {
    let name = name.unwrap_or("arr_0");
    if name == NOTES || name.contains(['/', '\\']) || name.chars().any(char::is_control) {
        return Err(Fault::new(
            format!("an array cannot be called `{}`", name.escape_debug()),
            "choose another name after the colon",
        ));
    }
    Ok(name)
}

/// The bytes of an NPZ file with an array, given as those of an NPY file, and notes.
pub(crate) fn pack(name: Option<&str>, array: &[u8], notes: &[(String, String)]) -> Result<Vec<u8>, Fault> {
    let name = checked_name(name)?;
    let mut arrays = vec![(name, array.to_vec())];
    if !notes.is_empty() {
        let lines: Vec<String> = notes.iter().map(|(key, value)| notes::to_line(key, value)).collect();
        arrays.push((NOTES, npy::write_strings(&lines)));
    }
    pack_all(&arrays)
}

/// The bytes of an NPZ file with these arrays, given as those of NPY files.
pub(crate) fn pack_all(arrays: &[(&str, Vec<u8>)]) -> Result<Vec<u8>, Fault> {
    let failed =
        |error: &dyn std::fmt::Display| Fault::new(format!("the ZIP file cannot be made ({error})"), "use NPY or TIFF");
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in arrays {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .large_file(bytes.len() as u64 >= u64::from(u32::MAX));
        archive.start_file(format!("{name}.npy"), options).map_err(|error| failed(&error))?;
        archive.write_all(bytes).map_err(|error| failed(&error))?;
    }
    archive.finish().map(Cursor::into_inner).map_err(|error| failed(&error))
}
