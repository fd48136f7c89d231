//! All files that are kept for the fuzzer: small real ones, what it found worth keeping, and every input that ever failed.

use std::alloc::System;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use cap::Cap;
use efmca_fuzz::TARGETS;

/// No file here is worth more memory; a request for more ends the test.
#[global_allocator]
static LIMITED: Cap<System> = Cap::new(System, 512 << 20);

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// The files of a folder, in order; none if there is no such folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut files: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_file()).collect();
    files.sort();
    files
}

#[test]
fn every_kept_file_ends_in_a_result_or_an_error() {
    let mut failed = Vec::new();
    for target in TARGETS {
        let kept = files(&folder().join("corpus").join(target.name));
        assert!(kept.len() > 1, "fuzz/corpus/{} has {} files", target.name, kept.len());
        for path in kept.into_iter().chain(files(&folder().join("regressions").join(target.name))) {
            let bytes = std::fs::read(&path).unwrap();
            if catch_unwind(AssertUnwindSafe(|| (target.run)(&bytes))).is_err() {
                failed.push(path);
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn every_target_has_a_program_and_every_folder_a_target() {
    for target in TARGETS {
        let program = folder().join("fuzz_targets").join(format!("{}.rs", target.name));
        let text = std::fs::read_to_string(&program).unwrap_or_default();
        assert!(text.contains(&format!("program!({})", target.name.to_uppercase())), "{}", program.display());
    }
    for kind in ["corpus", "regressions"] {
        for entry in std::fs::read_dir(folder().join(kind)).into_iter().flatten().flatten() {
            let name = entry.file_name();
            assert!(
                TARGETS.iter().any(|target| *target.name == *name) || !entry.path().is_dir(),
                "fuzz/{kind}/{name:?}"
            );
        }
    }
}

/// The bodies can fail: a file that is known to be one is read, and one that is cut is not.
#[test]
fn the_corpus_has_files_that_are_read() {
    use efmca_io::image_file::{ReadOptions, read};
    let corpus = folder().join("corpus");
    for name in ["png", "tiff", "fits", "npy"] {
        let read = files(&corpus.join(name)).iter().filter(|path| read(path, &ReadOptions::default()).is_ok()).count();
        assert!(read > 1, "{read} files of fuzz/corpus/{name} are images");
    }
    let models = files(&corpus.join("model"));
    let read = models.iter().map(|path| efmca_fuzz::join_safetensors(&std::fs::read(path).unwrap()));
    assert!(read.filter(|file| efmca_io::decode_model(file, efmca::family::family).is_ok()).count() > 1);
}
