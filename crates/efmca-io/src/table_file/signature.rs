//! Files that are no text, and what they seem to be.

use crate::image_file::fault::Fault;
use crate::image_file::format::Format;

const GIVE: &str = "give a CSV, Parquet, NPY or NPZ file";
const SHEET: &str = "open it in the program that made it, and save the sheet as CSV";
const UNPACK: &str = "unpack it first, or pack it with gzip";
const IMAGE: &str = "read it as an image, or give a CSV, NPY or NPZ file";

/// Beginnings of files, what they then are, and what to do.
const KINDS: [(&[u8], &str, &str); 12] = [
    (b"\xff\xd8\xff", "it is a JPEG image", IMAGE),
    (b"GIF8", "it is a GIF image", IMAGE),
    (b"\x89HDF\r\n", "it is an HDF5 file", "export the table as CSV or NPY"),
    (
        b"PAR1",
        "it is a Parquet file that is packed, or this program was built without Parquet",
        "unpack it, or export the table as CSV",
    ),
    (b"%PDF-", "it is a PDF document", GIVE),
    (b"SQLite format 3\0", "it is an SQLite database", "export the table as CSV"),
    (b"\xd0\xcf\x11\xe0", "it seems to be an old Excel workbook", SHEET),
    (b"\xfd7zXZ\0", "it is packed with xz", UNPACK),
    (b"BZh9", "it is packed with bzip2", UNPACK),
    (b"\x28\xb5\x2f\xfd", "it is packed with zstd", UNPACK),
    (b"\xff\xfe", "it is text in UTF-16", "save it as UTF-8"),
    (b"\xfe\xff", "it is text in UTF-16", "save it as UTF-8"),
];

/// Refuses what is neither text nor an array of NumPy by its first bytes.
pub(crate) fn refuse_others(head: &[u8]) -> Result<(), Fault> {
    let fault = |problem: &str, hint: &'static str| Err(Fault::new(problem, hint));
    if head.is_empty() {
        return Err(Fault::damaged("it is empty"));
    }
    match Format::of_bytes(head) {
        Some(format @ (Format::Png | Format::Tiff | Format::Fits)) => {
            return fault(&format!("it is a {format} image"), IMAGE);
        }
        // Workbooks are ZIP files like NPZ; what is in them stands near their start.
        Some(Format::Npz) if contains(head, b"[Content_Types].xml") || contains(head, b"xl/workbook") => {
            return fault("it seems to be an Excel workbook", SHEET);
        }
        Some(Format::Npz) if contains(head, b"vnd.oasis.opendocument") => {
            return fault("it seems to be an OpenDocument file", SHEET);
        }
        Some(Format::Npy | Format::Npz) => return Ok(()),
        None => {}
    }
    if head.starts_with(b"RIFF") {
        return match head.get(8..12) {
            Some(b"WAVE") => fault("it is a WAV sound file", GIVE),
            _ => fault("it seems to be a RIFF file of sound or video", GIVE),
        };
    }
    if let Some((_, problem, hint)) = KINDS.iter().find(|(magic, ..)| head.starts_with(magic)) {
        return fault(problem, hint);
    }
    let start = head.trim_ascii_start();
    let page = [b"<!doctype html".as_slice(), b"<html"];
    if page.iter().any(|tag| start.get(..tag.len()).is_some_and(|found| found.eq_ignore_ascii_case(tag))) {
        return fault("it is a web page", "download the table itself, and not the page that shows it");
    }
    if head.contains(&0) {
        return fault("it holds NUL bytes, so that it seems to be a binary file and not text", GIVE);
    }
    Ok(())
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}
