//! Commands that are killed at random moments and started again end with the bits of a run that was left alone.
//!
//! `.ci/kills 100` does a hundred kills; without it there are eight.
#![cfg(unix)]
// `.ci/kills` shows what was done
#![allow(clippy::print_stdout)]

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use assert_cmd::cargo::cargo_bin;
use efmca_io::image_file::{WriteOptions, write};
use ndarray::Array4;

/// A command, and the files of its result; `OUT` stands for the name of a run.
struct Killed {
    name: &'static str,
    command: &'static str,
    results: &'static [&'static str],
}

const COMMANDS: [Killed; 4] = [
    Killed {
        name: "learn",
        command: "learn scene.tif --patch 6 --patches 1500 --causes 20 --states 10 --iterations 20 --checkpoint-every 1 \
                  --resume --out-dir OUT",
        results: &["OUT/model.safetensors"],
    },
    Killed {
        name: "denoise",
        command: "denoise noisy.tif -o OUT.tif --uncertainty OUT-std.tif --noise poisson --force --checkpoint OUT.kept \
                  --checkpoint-seconds 0",
        results: &["OUT.tif", "OUT-std.tif"],
    },
    Killed {
        name: "fit",
        command: "fit table.csv -o OUT.model --force --checkpoint OUT.kept --checkpoint-seconds 0",
        results: &["OUT.model"],
    },
    Killed {
        name: "noise-type",
        command: "noise-type table.csv --columns same --save-model OUT.model --force --checkpoint OUT.kept \
                  --checkpoint-seconds 0",
        results: &["OUT.model"],
    },
];

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
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

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut numbers = Numbers(7);
    let scene = Array4::from_shape_fn((1, 48, 44, 1), |(_, y, x, _)| {
        let stripe = if (x + y / 2) / 6 % 2 == 0 { 9.0 } else { 2.0 };
        (stripe + 3.0 * numbers.next()).round()
    });
    for name in ["scene.tif", "noisy.tif"] {
        write(&folder.path().join(name), scene.view(), &WriteOptions::default()).unwrap();
    }
    let mut table = "a,b,c,d\n".to_owned();
    for _ in 0..500 {
        let (one, other) = (numbers.next() < 0.3, numbers.next() < 0.4);
        let mut count = |high: bool| ((if high { 18.0 } else { 4.0 }) * (0.4 + numbers.next())).round();
        table += &format!("{},{},{},{}\n", count(one), count(one), count(other), count(other));
    }
    std::fs::write(folder.path().join("table.csv"), table).unwrap();
    folder
}

impl Killed {
    fn started(&self, folder: &Path, out: &str) -> std::process::Child {
        let mut command = Command::new(cargo_bin!("efmca"));
        command.current_dir(folder).args(self.command.split_whitespace().map(|word| word.replace("OUT", out)));
        command
            .args(["--threads", "1"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn results(&self, folder: &Path, out: &str) -> Vec<Vec<u8>> {
        self.results.iter().map(|name| std::fs::read(folder.join(name.replace("OUT", out))).unwrap()).collect()
    }
}

/// Kills a command so many times; how often it went on with what was left.
fn killed(command: &Killed, kills: usize, seed: u64) -> usize {
    let folder = folder();
    let path = folder.path();
    let start = Instant::now();
    let output = command.started(path, "whole").wait_with_output().unwrap();
    assert!(output.status.success(), "{}: {}", command.name, text(&output.stderr));
    let (whole, length) = (command.results(path, "whole"), start.elapsed());
    let mut numbers = Numbers(seed);
    let (mut done, mut round, mut lives, mut resumed) = (0, 0, 0, 0);
    loop {
        let out = format!("run{round:02}");
        lives += 1;
        assert!(lives <= 20 * kills + 20, "{}: {done} of {lives} runs could be killed", command.name);
        let left = path.join(format!("{out}.kept")).exists() || path.join(&out).join("checkpoint.safetensors").exists();
        let mut child = command.started(path, &out);
        if done < kills {
            std::thread::sleep(length.mul_f64(numbers.next()).max(Duration::from_millis(1)));
            let _ = child.kill();
        }
        let output = child.wait_with_output().unwrap();
        match output.status.signal() {
            Some(9) => {
                done += 1;
                resumed += usize::from(left);
            }
            _ => {
                assert!(output.status.success(), "{}: {}", command.name, text(&output.stderr));
                assert!(command.results(path, &out) == whole, "{}: other bits after {done} kills", command.name);
                assert!(!path.join(format!("{out}.kept")).exists(), "{}: something is left", command.name);
                resumed += usize::from(left);
                if done == kills {
                    return resumed;
                }
                round += 1;
            }
        }
    }
}

#[test]
fn kills_at_random_moments_change_no_bit() {
    let kills: usize = std::env::var("EFMCA_KILLS").map_or(8, |kills| kills.parse().unwrap());
    let each = kills.div_ceil(COMMANDS.len());
    for (seed, command) in COMMANDS.iter().enumerate() {
        let resumed = killed(command, each, seed as u64 + 1);
        println!("{}: {each} kills, {resumed} runs found what was left, the same bits", command.name);
    }
}
