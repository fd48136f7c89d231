//! The outer form of a WAV file: what kind of file it is, and where its format and its data are.

use std::path::Path;

use crate::IoError;

/// The hint for files that end too early or contradict themselves.
pub(super) const DAMAGED: &str = "the file is damaged or was cut short: copy it again, or make it anew";

/// The hint for kinds of files and of samples that we do not read.
pub(super) const CONVERT: &str =
    "convert it to a WAV file of 16 bit integers, for example with `ffmpeg -i old -c:a pcm_s16le new.wav`";

/// The hint for files whose sizes were never filled in.
const PIPE: &str = "a program that writes to a pipe leaves the size open: let it write to a file";

/// The bytes before the first chunk.
pub(super) const HEADER: usize = 12;

/// A fault of a file, before its path is added.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) problem: String,
    pub(super) hint: &'static str,
}

impl Fault {
    pub(super) fn new(problem: impl Into<String>, hint: &'static str) -> Self {
        Self { problem: problem.into(), hint }
    }

    pub(super) fn damaged(problem: impl Into<String>) -> Self {
        Self::new(problem, DAMAGED)
    }

    pub(super) fn when_reading(self, path: &Path) -> IoError {
        IoError::NotASound { path: path.to_path_buf(), problem: self.problem, hint: self.hint }
    }
}

/// Refuses what is no WAV file, by its first 12 bytes.
pub(super) fn check_kind(bytes: &[u8]) -> Result<(), Fault> {
    const KINDS: [(&[u8], &str); 12] = [
        (b"fLaC", "it is a FLAC file"),
        (b"OggS", "it is an OGG file"),
        (b"ID3", "it is an MP3 file"),
        (b"\xff\xfb", "it seems to be an MP3 file"),
        (b"\xff\xf3", "it seems to be an MP3 file"),
        (b"\xff\xf1", "it seems to be an AAC file"),
        (b"FORM", "it is an AIFF file or one like it"),
        (b".snd", "it is an AU file"),
        (b"caff", "it is a CAF file"),
        (b"RF64", "it is an RF64 file, the kind of WAV for more than 4 GiB"),
        (b"RIFX", "it is a RIFX file, a WAV file with its bytes the other way round"),
        (b"\x1f\x8b", "it is packed with gzip"),
    ];
    if bytes.is_empty() {
        return Err(Fault::damaged("it is empty"));
    }
    if let Some((_, kind)) = KINDS.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Err(Fault::new(*kind, CONVERT));
    }
    if bytes.get(4..8) == Some(b"ftyp") {
        return Err(Fault::new("it is an MP4 file", CONVERT));
    }
    if !bytes.starts_with(b"RIFF") {
        return Err(Fault::new("its first bytes are not those of a WAV file", "give a WAV file"));
    }
    match bytes.get(8..HEADER) {
        Some(b"WAVE") => Ok(()),
        Some(kind) => Err(Fault::new(format!("it is a RIFF file of the kind {}", name(kind)), "give a WAV file")),
        None => Err(Fault::damaged("it ends within its first 12 bytes")),
    }
}

/// The parts of a WAV file that matter.
#[derive(Debug)]
pub(super) struct Chunks<'a> {
    pub(super) format: &'a [u8],
    pub(super) data: &'a [u8],
    pub(super) remarks: Vec<String>,
}

impl<'a> Chunks<'a> {
    /// Finds them in the bytes of a file that [`check_kind`] accepted.
    pub(super) fn find(bytes: &'a [u8]) -> Result<Self, Fault> {
        let mut format = None;
        let mut at = HEADER;
        loop {
            let Some((id, size)) = chunk_header(bytes, at) else {
                return Err(Fault::damaged("it ends before its data chunk"));
            };
            let start = at + 8;
            let rest = bytes.get(start..).unwrap_or_default();
            if id == b"data" {
                let data = data_of(size, rest)?;
                let Some(format) = format else {
                    return Err(Fault::damaged("it has no fmt chunk before its data chunk"));
                };
                return Ok(Self { format, data, remarks: size_remark(bytes) });
            }
            let Some(body) = usize::try_from(size).ok().and_then(|size| rest.get(..size)) else {
                return Err(Fault::damaged(format!(
                    "its chunk {} should have {size} bytes, but only {} are left",
                    name(id),
                    rest.len()
                )));
            };
            if id == b"fmt " {
                format = Some(body);
            }
            // Chunks begin at even places; a byte that fills the gap is not counted in the size.
            at = start + body.len() + body.len() % 2;
        }
    }
}

/// The name and the size of the chunk that begins at `at`.
fn chunk_header(bytes: &[u8], at: usize) -> Option<(&[u8], u32)> {
    let header = bytes.get(at..)?.first_chunk::<8>()?;
    let [_, _, _, _, a, b, c, d] = *header;
    Some((&header[..4], u32::from_le_bytes([a, b, c, d])))
}

/// The `size` bytes of the data chunk.
fn data_of(size: u32, rest: &[u8]) -> Result<&[u8], Fault> {
    if size == 0 && !rest.is_empty() || size == u32::MAX {
        return Err(Fault::new(format!("its data chunk should have {size} bytes, but {} are left", rest.len()), PIPE));
    }
    if size == 0 {
        return Err(Fault::new("it has no sample", "give a file with a sound in it"));
    }
    usize::try_from(size).ok().and_then(|size| rest.get(..size)).ok_or_else(|| {
        Fault::damaged(format!("its data chunk should have {size} bytes, but only {} are left", rest.len()))
    })
}

/// The remark about a file whose size is not the one in its header. All data are there by then, so
/// that this is no reason to refuse it.
fn size_remark(bytes: &[u8]) -> Vec<String> {
    let promised = chunk_header(bytes, 0).map_or(0, |(_, size)| u64::from(size) + 8);
    let found = bytes.len() as u64;
    // Some programs count the last byte that fills a gap, and some do not.
    if promised.abs_diff(found) <= 1 {
        return Vec::new();
    }
    vec![format!("its header says that it has {promised} bytes, but it has {found}; its data chunk is whole")]
}

/// Four letters of a file, with what cannot be printed escaped.
fn name(id: &[u8]) -> String {
    format!("\"{}\"", id.escape_ascii())
}
