//! Runs of `efmca learn` that are interrupted and resumed, or meet a disk that does not do what it should.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use assert_cmd::cargo::cargo_bin;
use efmca_io::image_file::{WriteOptions, write};
use efmca_io::read_checkpoint;
use ndarray::Array4;

/// A run of two or three seconds that writes a checkpoint after each of its iterations.
const RUN: [&str; 13] = [
    "learn",
    "a.png",
    "b.png",
    "--patch",
    "8",
    "--patches",
    "2000",
    "--causes",
    "30",
    "--states",
    "12",
    "--checkpoint-every=1",
    "--threads=2",
];
const ITERATIONS: usize = 25;
/// Where nothing has to happen at the right moment.
const FEW: usize = 5;
/// About as long as writing a checkpoint takes.
const WRITING: Duration = Duration::from_millis(3);
/// A run that waits longer than this for something hangs.
const PATIENCE: Duration = Duration::from_secs(120);

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The program, started and not waited for.
fn started(folder: &Path, out: &str, iterations: usize, more: &[&str]) -> Child {
    let mut command = Command::new(cargo_bin!("efmca"));
    command.current_dir(folder).args(RUN).args(["--out-dir", out]).args(more);
    command.args(["--iterations", &iterations.to_string()]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn run(folder: &Path, out: &str, iterations: usize, more: &[&str]) -> Output {
    started(folder, out, iterations, more).wait_with_output().unwrap()
}

/// Numbers that are the same in every run of the test.
struct Numbers(u64);

impl Numbers {
    /// Between 0 and 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Edges in many directions, and noise.
fn scene(seed: u64) -> Array4<f64> {
    let mut numbers = Numbers(seed);
    let edges: Vec<[f64; 3]> =
        (0..12).map(|_| [numbers.next() * 6.3, numbers.next() * 80.0 - 40.0, numbers.next()]).collect();
    Array4::from_shape_fn((1, 80, 72, 1), |(_, y, x, _)| {
        let side = |[angle, shift, height]: &[f64; 3]| {
            let at = angle.cos() * (x as f64 - 36.0) + angle.sin() * (y as f64 - 40.0);
            if at > *shift { 40.0 * height - 20.0 } else { 0.0 }
        };
        (120.0 + edges.iter().map(side).sum::<f64>() + 6.0 * numbers.next()).clamp(0.0, 255.0).round()
    })
}

fn folder_with_images() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let options = WriteOptions { dtype: Some("u8".parse().unwrap()), ..WriteOptions::default() };
    for (name, seed) in [("a.png", 1), ("b.png", 2)] {
        write(&folder.path().join(name), scene(seed).view(), &options).unwrap();
    }
    folder
}

/// Looks at a run every millisecond until `seen`, or until it has ended by itself.
fn watched(child: &mut Child, mut seen: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if seen() {
            return true;
        }
        if start.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("the run hangs");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}

/// Which file it is that has this name: another one after each time it is written.
fn version(path: &Path) -> Option<(u64, i64, i64)> {
    std::fs::metadata(path).ok().map(|file| (file.ino(), file.mtime(), file.mtime_nsec()))
}

/// The files of a folder, without half-written ones whose random letters might be a word (one in two hundred): they are
/// not taken away.
fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let word = |name: &String| {
        let end = name.rsplit('.').next().unwrap();
        name.starts_with('.') && end.len() == 6 && end.bytes().all(|letter| letter.is_ascii_lowercase())
    };
    names.filter(|name| !word(name)).collect()
}

fn model(folder: &Path, out: &str) -> Vec<u8> {
    std::fs::read(folder.join(out).join("model.safetensors")).unwrap()
}

/// Iterations of the checkpoint, which can be read if it exists.
fn iterations_done(folder: &Path, out: &str) -> Option<usize> {
    let path = folder.join(out).join("checkpoint.safetensors");
    path.exists().then(|| read_checkpoint(&path).unwrap().0.history.len())
}

/// Where a run is killed.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Moment {
    /// While images are read, patches whitened and clusters found, or a checkpoint is read.
    StartUp,
    /// Some time after a new checkpoint, up to three iterations later.
    Training,
    /// While a checkpoint is written.
    Checkpoint,
    /// While pictures and the report are written.
    Pictures,
}

#[test]
fn a_run_that_is_killed_twenty_times_ends_as_one_that_is_not() {
    use Moment::{Checkpoint as C, Pictures as P, StartUp as S, Training as T};
    let folder = folder_with_images();
    let path = folder.path();
    // one run that is left alone, and how long its parts take
    let (checkpoint, model_file) =
        (path.join("complete/checkpoint.safetensors"), path.join("complete/model.safetensors"));
    let start = Instant::now();
    let mut child = started(path, "complete", ITERATIONS, &["--resume"]);
    assert!(watched(&mut child, || checkpoint.exists()));
    let start_up = start.elapsed();
    assert!(watched(&mut child, || model_file.exists()));
    let training = start.elapsed() - start_up;
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let pictures = start.elapsed() - start_up - training;
    let (complete, files) = (model(path, "complete"), names(&path.join("complete")));
    assert_eq!(iterations_done(path, "complete"), Some(ITERATIONS));

    let moments = [S, T, C, S, C, T, C, S, T, C, T, S, C, T, P, S, P, P, P, P];
    let mut numbers = Numbers(3);
    let (mut kills, mut lives, mut round, mut resumed) = (0, 0, 0, 0);
    let mut done = None;
    while kills < moments.len() {
        lives += 1;
        assert!(lives < 5 * moments.len(), "{kills} of {lives} runs could be killed");
        let out = format!("killed{round}");
        let checkpoint = path.join(&out).join("checkpoint.safetensors");
        let model_file = path.join(&out).join("model.safetensors");
        let part = path.join(&out).join("checkpoint.safetensors.part");
        let before = (version(&checkpoint), version(&model_file), version(&part));
        let mut child = started(path, &out, ITERATIONS, &["--resume"]);
        let longest = match moments[kills] {
            S => start_up,
            T => {
                watched(&mut child, || version(&checkpoint) != before.0);
                training * 3 / ITERATIONS as u32
            }
            C => {
                watched(&mut child, || version(&part).is_some_and(|found| before.2 != Some(found)));
                WRITING
            }
            P => {
                watched(&mut child, || version(&model_file) != before.1);
                pictures
            }
        };
        std::thread::sleep(longest.mul_f64(numbers.next()));
        // a run that has ended already cannot be killed and does not count
        let _ = child.kill();
        let status = child.wait().unwrap();
        match status.signal() {
            Some(9) => {
                let found = iterations_done(path, &out);
                assert!(found >= done, "{found:?} iterations after kill {kills}, {done:?} before");
                resumed += usize::from(found > done && done.is_some());
                done = found;
                let more: Vec<String> = names(&path.join(&out)).difference(&files).cloned().collect();
                // the lock is open when its process has died, though its file is there
                let expected = ["checkpoint.safetensors.part", ".efmca-lock"];
                let left = more.iter().filter(|name| !expected.contains(&name.as_str())).count();
                assert!(left <= 1, "{more:?} after kill {kills}");
                kills += 1;
            }
            _ => {
                assert!(status.success(), "{status}");
                assert!(model(path, &out) == complete, "run {lives} has another model");
                // there is nothing left to train in this folder
                if moments[kills] != P {
                    (round, done) = (round + 1, None);
                }
            }
        }
    }
    assert!(resumed >= 3, "only {resumed} runs resumed what one before them had left");
    let out = format!("killed{round}");
    let output = run(path, &out, ITERATIONS, &["--resume"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(model(path, &out) == complete, "the model is another one");
    assert_eq!(names(&path.join(&out)), files, "other files than those of a run that was left alone");
}

#[test]
fn ctrl_c_finishes_the_step_and_the_run_can_be_resumed() {
    let folder = folder_with_images();
    let path = folder.path();
    let mut child = started(path, "stopped", ITERATIONS, &[]);
    let checkpoint = path.join("stopped/checkpoint.safetensors");
    assert!(watched(&mut child, || checkpoint.exists()));
    let asked = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(asked.success());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("stopping after this step"), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("--resume continues from there"), "{}", text(&output.stdout));
    let done = iterations_done(path, "stopped").unwrap();
    assert!(done < ITERATIONS, "it was not stopped");
    assert!(text(&output.stdout).contains(&format!("stopped after iteration {done}:")), "{}", text(&output.stdout));
    efmca_io::read_model_file(&path.join("stopped/model.safetensors")).unwrap();

    let output = run(path, "stopped", ITERATIONS, &["--resume"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains(&format!("resuming after iteration {done}")), "{}", text(&output.stdout));
    assert!(run(path, "complete", ITERATIONS, &[]).status.success());
    assert!(model(path, "stopped") == model(path, "complete"));
    // a run that has ended stays as it is
    let output = run(path, "stopped", ITERATIONS, &["--resume"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("all 25 iterations are done"), "{}", text(&output.stdout));
    assert!(model(path, "stopped") == model(path, "complete"));
}

#[test]
fn a_checkpoint_that_cannot_be_written_does_not_end_the_run() {
    let folder = folder_with_images();
    let path = folder.path();
    assert!(run(path, "complete", FEW, &[]).status.success());
    // a folder is where the bytes should go
    std::fs::create_dir_all(path.join("blocked/checkpoint.safetensors.part")).unwrap();
    let output = run(path, "blocked", FEW, &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said = text(&output.stderr);
    assert_eq!(said.matches("warning: training continues without this checkpoint").count(), FEW, "{said}");
    assert!(said.contains("blocked/checkpoint.safetensors"), "{said}");
    assert!(!path.join("blocked/checkpoint.safetensors").exists());
    assert!(model(path, "blocked") == model(path, "complete"));
}

#[test]
fn a_folder_that_is_lost_for_a_while_does_not_end_the_run() {
    let folder = folder_with_images();
    let path = folder.path();
    let mut child = started(path, "lost", ITERATIONS, &[]);
    assert!(watched(&mut child, || path.join("lost/checkpoint.safetensors").exists()));
    std::fs::rename(path.join("lost"), path.join("away")).unwrap();
    // a run that is quick has made the folder again already
    while std::fs::write(path.join("lost"), "a file").is_err() {
        assert!(child.try_wait().unwrap().is_none(), "the run ended first");
        let _ = std::fs::remove_dir_all(path.join("lost"));
    }
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert!(line.contains("warning: training continues") && line.contains("lost"), "{line}");
    std::fs::remove_file(path.join("lost")).unwrap();
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    assert!(child.wait().unwrap().success(), "{rest}");
    assert!(run(path, "complete", ITERATIONS, &[]).status.success());
    assert!(model(path, "lost") == model(path, "complete"));
    assert_eq!(iterations_done(path, "lost"), Some(ITERATIONS));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported_and_the_next_checkpoint_is_tried() {
    let folder = folder_with_images();
    let path = folder.path();
    std::fs::create_dir(path.join("full")).unwrap();
    // a device that is always full; the link goes with the first attempt
    std::os::unix::fs::symlink("/dev/full", path.join("full/checkpoint.safetensors.part")).unwrap();
    let output = run(path, "full", FEW, &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said = text(&output.stderr);
    assert_eq!(said.matches("warning: ").count(), 1, "{said}");
    assert!(said.contains("free some space"), "{said}");
    assert_eq!(iterations_done(path, "full"), Some(FEW));
}
