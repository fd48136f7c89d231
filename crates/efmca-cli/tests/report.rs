//! The verdict on the residual and the page of `efmca denoise`, `efmca inpaint` and `efmca apply`, as a user sees them.

mod common;

use std::path::Path;

use efmca_io::image_file::{ReadOptions, WriteOptions, read, write};
use ndarray::{Array4, s};

use common::{efmca, refused, succeeds, text};

/// Large blocks, on which quick settings do well.
fn scene(pages: usize, rows: usize, columns: usize, channels: usize) -> Array4<f64> {
    Array4::from_shape_fn((pages, rows, columns, channels), |(page, y, x, channel)| {
        let block = if ((x + page) / 12 + y / 14) % 2 == 0 { 12.0 } else { 3.0 };
        block + channel as f64
    })
}

fn save(folder: &Path, name: &str, values: &Array4<f64>) {
    write(&folder.join(name), values.view(), &WriteOptions::default()).unwrap();
}

fn load(folder: &Path, name: &str) -> Array4<f64> {
    read(&folder.join(name), &ReadOptions::default()).unwrap().values
}

/// A folder with clean.tif and noisy.tif.
fn folder_with(clean: &Array4<f64>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    save(folder.path(), "clean.tif", clean);
    succeeds(folder.path(), &["corrupt", "clean.tif", "-o", "noisy.tif", "--noise", "poisson"]);
    folder
}

const QUICK: [&str; 8] = ["--noise", "poisson", "--patch", "8", "--causes", "12", "--iterations", "12"];

fn denoise(folder: &Path, input: &str, output: &str, more: &[&str]) -> String {
    succeeds(folder, &[&["denoise", input, "-o", output], &QUICK[..], more].concat())
}

#[test]
fn the_residual_is_judged_in_a_line() {
    let folder = folder_with(&scene(1, 60, 64, 1));
    let path = folder.path();
    let shown = denoise(path, "noisy.tif", "out.tif", &["--reference", "clean.tif", "--save-model", "m.model"]);
    assert!(shown.contains("the residual looks like poisson noise\n") && !shown.contains("warning"), "{shown}");
    assert!(shown.contains(", GMSD 0."), "{shown}");
    let shown = succeeds(path, &["apply", "m.model", "noisy.tif", "-o", "applied.tif"]);
    assert!(shown.contains("the residual looks like poisson noise\n"), "{shown}");
    // each photon counts three
    let noisy = load(path, "noisy.tif");
    save(path, "units.tif", &(&noisy * 3.0));
    // groups of similar patches follow noise that is larger than the family says, and leave less of it in the residual
    let shown = denoise(path, "units.tif", "units-out.tif", &["--causes-only"]);
    let line = shown.lines().find(|line| line.starts_with("warning: ")).unwrap_or_else(|| panic!("{shown}"));
    assert!(line.contains("times as much as poisson noise") && line.contains("--gain"), "{line}");
    let shown = denoise(path, "units.tif", "units-gain.tif", &["--gain", "3"]);
    assert!(shown.contains("the residual looks like poisson noise\n"), "{shown}");
    // too small for a verdict
    save(path, "small.tif", &noisy.slice(s![.., ..12, ..10, ..]).to_owned());
    let shown = denoise(path, "small.tif", "small-out.tif", &["--report", "small.html"]);
    assert!(shown.contains("too small to say"), "{shown}");
}

#[test]
fn stripes_are_named_with_what_to_do() {
    let folder = folder_with(&scene(1, 60, 64, 1));
    let path = folder.path();
    let mut noisy = load(path, "noisy.tif");
    for (y, mut row) in noisy.axis_iter_mut(ndarray::Axis(1)).enumerate() {
        row += [0.0, 5.0, 1.0, 3.0, 0.0, 2.0, 6.0][y * 5 % 7];
    }
    save(path, "striped.tif", &noisy);
    let shown = denoise(path, "striped.tif", "out.tif", &[]);
    assert!(shown.contains("warning: rows have offsets of their own") && shown.contains("readout"), "{shown}");
}

#[test]
fn programs_read_the_verdict() {
    let folder = folder_with(&scene(1, 60, 64, 1));
    let more = ["--log-format", "json", "--reference", "clean.tif"];
    let arguments = [&["denoise", "noisy.tif", "-o", "out.tif"], &QUICK[..], &more].concat();
    let output = efmca(folder.path(), &arguments);
    let lines: Vec<serde_json::Value> =
        text(&output.stderr).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let event = lines.iter().find(|line| line["event"] == "residual").unwrap();
    assert!(event["looks_like_noise"] == true && event["noise"] == "poisson", "{event}");
    assert!(event["findings"].as_array().is_some_and(Vec::is_empty), "{event}");
    for name in ["dispersion", "dispersion_error", "quantile_distance", "correlation_along_rows", "row_offsets"] {
        assert!(event[name].is_number(), "{name}: {event}");
    }
    let quality = lines.iter().find(|line| line["event"] == "quality").unwrap();
    assert!(quality["gmsd_after"].is_number() && quality["gmsd_before"].is_number(), "{quality}");
    assert!(quality["blur_after"].is_number() && quality["blur_reference"].is_number(), "{quality}");
}

#[test]
fn the_page_has_all_parts_and_works_without_scripts() {
    let folder = folder_with(&scene(1, 110, 200, 1));
    let path = folder.path();
    denoise(path, "noisy.tif", "out.tif", &["--reference", "clean.tif", "--report", "r.html"]);
    let page = std::fs::read_to_string(path.join("r.html")).unwrap();
    for part in ["Before and after", "Most changed regions", "Residual and uncertainty", "Learned causes", "Learning"] {
        assert!(page.contains(&format!("<h2>{part}</h2>")), "{part}");
    }
    for words in ["looks like poisson noise", "GMSD", "Variance over that of the noise", "Correlation of near pixels"] {
        assert!(page.contains(words), "{words}");
    }
    // some regions in three pictures each
    let regions =
        ["before", "after", "reference"].map(|name| page.matches(&format!("<figcaption>{name}: rows ")).count());
    assert!((2..=4).contains(&regions[0]) && regions == [regions[0]; 3], "{regions:?}");
    let (markup, _) = page.split_once("<script>").unwrap();
    assert!(["before", "after", "reference"].iter().all(|name| markup.contains(&format!("<figcaption>{name}<"))));
    // all others come after it and do not need it
    assert!(page.matches("<script>").count() == 1 && page.ends_with("</html>\n"));
}

#[test]
fn pages_of_stacks_colours_holes_and_wide_images() {
    for (shape, channels) in [((2, 30, 32), 3), ((1, 24, 200), 1), ((1, 30, 30), 2)] {
        let clean = scene(shape.0, shape.1, shape.2, channels);
        let folder = folder_with(&clean);
        let path = folder.path();
        let mut noisy = load(path, "noisy.tif");
        noisy.slice_mut(s![.., 3..6, 4..9, ..]).fill(f64::NAN);
        save(path, "holes.tif", &noisy);
        let arguments = [&["inpaint", "holes.tif", "-o", "out.tif", "--report", "r.html"], &QUICK[..]].concat();
        succeeds(path, &arguments);
        let page = std::fs::read_to_string(path.join("r.html")).unwrap();
        assert!(page.contains("missing pixels") && page.contains("Learned causes"), "{shape:?}");
        assert_eq!(page.contains("page 1 of 2"), shape.0 == 2, "{shape:?}");
    }
}

#[test]
fn a_page_is_not_replaced_unless_that_is_asked_for() {
    let folder = folder_with(&scene(1, 40, 40, 1));
    let path = folder.path();
    std::fs::write(path.join("r.html"), "mine").unwrap();
    let arguments = [&["denoise", "noisy.tif", "-o", "out.tif", "--report", "r.html"], &QUICK[..]].concat();
    let message = refused(path, &arguments);
    assert!(message.contains("r.html") && message.contains("exists already"), "{message}");
    assert!(std::fs::read_to_string(path.join("r.html")).unwrap() == "mine" && !path.join("out.tif").exists());
}

#[cfg(unix)]
#[test]
fn names_of_files_are_no_markup() {
    let folder = folder_with(&scene(1, 40, 40, 1));
    let path = folder.path();
    let name = "<img src=x onerror=alert(1)>\"'&.tif";
    std::fs::copy(path.join("noisy.tif"), path.join(name)).unwrap();
    denoise(path, name, "<script>alert(2)<.tif", &["--report", "r.html"]);
    let page = std::fs::read_to_string(path.join("r.html")).unwrap();
    assert!(!page.contains("<img src=x") && !page.contains("<script>alert"), "markup in a name");
    assert!(page.contains("&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;.tif"));
    assert!(page.contains("<title>&lt;script&gt;alert(2)&lt;.tif</title>"));
}
