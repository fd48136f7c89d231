//! A result that is written like the file that it came from: axes, alpha, text, resolution, headers.

use std::path::{Path, PathBuf};

use efmca_io::image_file::{
    Axes, Colour, ImageFile, ReadOptions, ResolutionUnit, SampleType, WriteOptions, Written, read, write,
};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(name)
}

fn load(path: &Path, axes: Option<&str>) -> ImageFile {
    let axes = axes.map(|axes| axes.parse::<Axes>().unwrap());
    read(path, &ReadOptions { axes, ..Default::default() }).unwrap_or_else(|error| panic!("{error}"))
}

/// Reads a file, writes half of its values like it, and reads that.
fn half(name: &str, axes: Option<&str>, ending: &str, dtype: Option<SampleType>) -> (ImageFile, ImageFile, Written) {
    let folder = tempfile::tempdir().unwrap();
    let before = load(&path(name), axes);
    let out = folder.path().join(format!("out.{ending}"));
    let values = before.values.map(|value| (value / 2.0).floor());
    let notes = vec![("peak".to_owned(), "2".to_owned())];
    let written =
        write(&out, values.view(), &WriteOptions { like: Some(&before.metadata), dtype, notes, ..Default::default() });
    let written = written.unwrap_or_else(|error| panic!("{error}"));
    let after = load(&out, axes.filter(|_| ending == "npy"));
    if ending != "fits" {
        assert_eq!(after.values, values, "{name}");
    }
    if ending != "npy" {
        assert_eq!(after.metadata.note("peak"), Some("2"));
    }
    (before, after, written)
}

#[test]
fn png_keeps_bits_alpha_text_and_resolution() {
    let (before, after, written) = half("rgba.png", None, "png", None);
    assert_eq!((written.sample, after.metadata.colour), (SampleType::U8, Colour::Rgb));
    assert_eq!(after.metadata.alpha, before.metadata.alpha);
    let (before, after, _) = half("rgb.png", None, "png", None);
    assert_eq!(after.metadata.text, before.metadata.text);
    assert_eq!(after.metadata.resolution, before.metadata.resolution);
    assert_eq!(half("grey16.png", None, "png", None).1.metadata.sample, SampleType::U16);
    assert_eq!(half("grey1.png", None, "png", None).1.metadata.sample, SampleType::U1);
}

#[test]
fn opaque_stays_opaque_with_other_bits() {
    let (before, after, _) = half("grey_alpha.png", None, "png", Some(SampleType::U16));
    let (before, after) = (before.metadata.alpha.unwrap(), after.metadata.alpha.unwrap());
    assert_eq!(after, before * 257.0);
}

#[test]
fn png_becomes_tiff_with_alpha_and_resolution() {
    let (before, after, written) = half("rgba.png", None, "tif", None);
    assert_eq!((written.sample, after.metadata.colour), (SampleType::F32, Colour::Rgb));
    assert_eq!(after.metadata.alpha, before.metadata.alpha);
    let (_, after, written) = half("rgb.png", None, "tif", None);
    let resolution = after.metadata.resolution.unwrap();
    assert_eq!((resolution.x, resolution.unit), (118.11, ResolutionUnit::Centimetre));
    assert!(written.remarks.iter().any(|remark| remark.contains("2 of the texts")), "{:?}", written.remarks);
}

#[test]
fn tiff_keeps_description_and_resolution() {
    let (before, after, written) = half("imagej.tif", None, "tif", None);
    assert_eq!(after.metadata.text, before.metadata.text);
    assert_eq!(after.metadata.resolution, before.metadata.resolution);
    assert_eq!((after.metadata.axes.to_string().as_str(), written.sample), ("pyx", SampleType::F32));
    // A description in JSON stays JSON: the notes are elsewhere.
    let (before, after, _) = half("tiled_deflate.tif", None, "tif", Some(SampleType::U16));
    assert_eq!(after.metadata.text, before.metadata.text);
    let (_, after, _) = half("i16_white.tif", None, "tif", Some(SampleType::I16));
    assert_eq!(after.metadata.sample, SampleType::I16);
}

#[test]
fn a_description_that_is_no_longer_true_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let before = load(&path("imagej.tif"), None);
    let first = before.values.slice(ndarray::s![..1, .., .., ..]);
    let out = folder.path().join("out.tif");
    let written = write(&out, first, &WriteOptions { like: Some(&before.metadata), ..Default::default() }).unwrap();
    assert!(written.remarks.iter().any(|remark| remark.contains("left out")), "{:?}", written.remarks);
    assert_eq!(load(&out, None).values, first);
}

#[test]
fn arrays_keep_their_axes() {
    let (before, after, _) = half("big_fortran.npy", Some("cyx"), "npy", None);
    assert_eq!((after.metadata.shape, after.metadata.sample), (before.metadata.shape, SampleType::F64));
    let (before, after, _) = half("i64.npy", None, "npy", Some(SampleType::I64));
    assert_eq!(after.metadata.shape, before.metadata.shape);
    let (_, after, _) = half("one.npz", None, "npz", None);
    assert_eq!((after.metadata.array.as_deref(), after.metadata.shape.as_slice()), (Some("only"), &[3, 5, 9][..]));
    assert_eq!(half("bool.npy", None, "npy", Some(SampleType::Bool)).1.metadata.sample, SampleType::Bool);
}

#[test]
fn fits_keeps_its_header() {
    let (before, after, _) = half("extension.fits", None, "fits", None);
    assert_eq!(after.values, before.values.map(|value| (value / 2.0).floor()));
    assert_eq!(after.metadata.cards, before.metadata.cards);
    let (before, after, _) = half("u16.fits", None, "fits", Some(SampleType::U16));
    assert_eq!(after.values, before.values.map(|value| (value / 2.0).floor()));
    assert_eq!(after.metadata.sample, SampleType::U16);
    let (_, after, _) = half("scaled_blank.fits", None, "fits", None);
    assert_eq!(after.values.iter().filter(|value| value.is_nan()).count(), 1);
    assert!(after.metadata.cards.iter().any(|card| card.contains("it''s / ok")));
}

#[test]
fn colours_become_planes_of_fits() {
    let (before, after, written) = half("rgb.png", None, "fits", None);
    assert_eq!(after.metadata.shape, [3, 5, 9]);
    assert_eq!(after.values[[2, 4, 8, 0]], (before.values[[0, 4, 8, 2]] / 2.0).floor());
    assert!(written.remarks.iter().any(|remark| remark.contains("no place for the text")), "{:?}", written.remarks);
}

#[test]
fn alpha_of_another_size_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let before = load(&path("rgba.png"), None);
    let part = before.values.slice(ndarray::s![.., ..3, .., ..]);
    let error =
        write(&folder.path().join("a.png"), part, &WriteOptions { like: Some(&before.metadata), ..Default::default() });
    let error = error.unwrap_err().to_string();
    assert!(error.contains("3 rows x 9 columns") && error.contains("5 rows x 9 columns"), "{error}");
}
