//! Image files that other programs made: tifffile, Pillow, NumPy and astropy. How they were made is
//! in `files/make_files.py`.

use std::path::{Path, PathBuf};

use efmca_io::image_file::{Axes, Colour, Format, ImageFile, ReadOptions, ResolutionUnit, SampleType, read, read_mask};
use ndarray::Array4;

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(name)
}

fn load(name: &str) -> ImageFile {
    read(&path(name), &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(name: &str) -> String {
    let error = read(&path(name), &ReadOptions::default()).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains(name), "{error}");
    error
}

fn load_as(name: &str, axes: &str) -> ImageFile {
    let axes: Axes = axes.parse().unwrap();
    read(&path(name), &ReadOptions { axes: Some(axes), ..ReadOptions::default() }).unwrap()
}

fn ramp(shape: (usize, usize, usize, usize), modulus: usize) -> Array4<f64> {
    Array4::from_shape_fn(shape, |(p, y, x, c)| ((p * 1000 + y * 50 + x * 7 + c * 3) % modulus) as f64)
}

fn grey() -> Array4<f64> {
    ramp((1, 5, 9, 1), 251)
}

fn rgb() -> Array4<f64> {
    ramp((1, 5, 9, 3), 251)
}

fn stack() -> Array4<f64> {
    ramp((3, 5, 9, 1), 4096) + 0.25
}

fn wide() -> Array4<f64> {
    ramp((1, 40, 50, 1), 60_000)
}

#[test]
fn png_of_pillow() {
    let image = load("rgb.png");
    assert_eq!(image.values, rgb());
    assert_eq!((image.metadata.sample, image.metadata.colour), (SampleType::U8, Colour::Rgb));
    let text = |key: &str| image.metadata.text.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
    assert_eq!((text("Title"), text("Author")), (Some("ramp"), Some("Zoë ☃")));
    let resolution = image.metadata.resolution.unwrap();
    assert_eq!((resolution.x, resolution.unit), (11811.0, ResolutionUnit::Metre));

    let image = load("grey16.png");
    assert_eq!(image.values, wide());
    assert_eq!((image.metadata.sample, image.metadata.format), (SampleType::U16, Format::Png));

    let image = load("grey1.png");
    assert_eq!(image.values, grey().map(|value| value % 2.0));
    assert_eq!(image.metadata.sample, SampleType::U1);

    assert_eq!(load("interlaced.png").values, grey());
    let image = load("interlaced2.png");
    assert_eq!((image.values, image.metadata.sample), (grey().map(|value| value % 4.0), SampleType::U2));

    let image = load("palette.png");
    assert_eq!(image.metadata.colour, Colour::Rgb);
    assert_eq!(image.values, Array4::from_shape_fn((1, 5, 9, 3), |(_, y, x, _)| grey()[[0, y, x, 0]]));
}

#[test]
fn alpha_is_kept_apart() {
    let image = load("grey_alpha.png");
    assert_eq!((image.values, image.metadata.colour), (grey(), Colour::Grey));
    let alpha = image.metadata.alpha.unwrap();
    assert_eq!(alpha[[0, 4, 8]], (grey()[[0, 4, 8, 0]] / 2.0).floor());

    let image = load("rgba.png");
    assert_eq!((image.values, image.metadata.colour), (rgb(), Colour::Rgb));
    assert_eq!(image.metadata.alpha.unwrap().insert_axis(ndarray::Axis(3)), grey());

    // One grey is transparent.
    let image = load("grey_key.png");
    assert_eq!((image.values, image.metadata.colour), (grey(), Colour::Grey));
    let key = grey().map(|value| if *value == 57.0 { 0.0 } else { 255.0 });
    assert_eq!(image.metadata.alpha.unwrap().insert_axis(ndarray::Axis(3)), key);

    // Colour n of the palette has alpha n, up to 199.
    let image = load("palette_alpha.png");
    assert_eq!(image.metadata.colour, Colour::Rgb);
    let alpha = grey().map(|value| if *value < 200.0 { *value } else { 255.0 });
    assert_eq!(image.metadata.alpha.unwrap().insert_axis(ndarray::Axis(3)), alpha);

    let image = load("rgb_alpha_tiles_planar.tif");
    assert_eq!((image.values, image.metadata.colour), (ramp((1, 40, 50, 3), 251), Colour::Rgb));
    assert_eq!(image.metadata.alpha.unwrap().insert_axis(ndarray::Axis(3)), wide().map(|value| value % 251.0));
}

#[test]
fn tiff_of_tifffile() {
    let planar = load("planar.tif");
    assert_eq!((planar.values, planar.metadata.colour), (rgb(), Colour::Rgb));
    let image = load("stack_big.tif");
    assert_eq!((image.values, image.metadata.sample), (stack(), SampleType::F32));
    let image = load("tiled_deflate.tif");
    assert_eq!((image.values, image.metadata.sample), (wide(), SampleType::U16));
    let image = load("lzw_predictor.tif");
    assert_eq!((image.values, image.metadata.sample), (ramp((1, 40, 50, 3), 60_000), SampleType::U16));
    let image = load("float_predictor.tif");
    assert_eq!((image.values, image.metadata.sample), (wide() / 4.0, SampleType::F32));
    let image = load("f64_lzw.tif");
    assert_eq!((image.values, image.metadata.sample), (wide() / 4.0, SampleType::F64));
    assert_eq!(load("packbits.tif").values, grey());
    let image = load("f16.tif");
    assert_eq!((image.values, image.metadata.sample), (grey() / 4.0, SampleType::F16));
    let image = load("grey1.tif");
    assert_eq!((image.values, image.metadata.sample), (grey().map(|value| value % 2.0), SampleType::U1));
}

#[test]
fn white_is_zero_is_not_inverted() {
    let image = load("i16_white.tif");
    assert_eq!((image.values, image.metadata.sample), (wide() - 1000.0, SampleType::I16));
}

#[test]
fn a_palette_of_tiff_is_looked_up() {
    let image = load("palette.tif");
    assert_eq!((image.metadata.colour, image.metadata.sample), (Colour::Rgb, SampleType::U16));
    // Pillow fills the high byte only.
    assert_eq!(image.values, Array4::from_shape_fn((1, 5, 9, 3), |(_, y, x, _)| grey()[[0, y, x, 0]] * 256.0));
}

#[test]
fn a_stack_of_imagej() {
    let image = load("imagej.tif");
    assert_eq!(image.values, stack());
    let resolution = image.metadata.resolution.unwrap();
    assert_eq!((resolution.x, resolution.unit), (2.5, ResolutionUnit::Unknown));
    assert!(image.metadata.text.iter().any(|(key, value)| key == "Description" && value.contains("unit=um")));
    assert_eq!(image.metadata.axes.to_string(), "pyx");
    // Its pages may as well be channels.
    assert_eq!(load_as("imagej.tif", "cyx").values.dim(), (1, 5, 9, 3));
}

#[test]
fn a_stack_of_imagej_may_have_one_directory() {
    let image = load("imagej_one_directory.tif");
    assert_eq!((image.values, image.metadata.sample), (stack(), SampleType::F32));
}

#[test]
fn pages_that_differ_are_refused_by_number() {
    let error = refusal("sizes.tif");
    assert!(error.contains("page 2 has 4 rows x 9 columns, but page 1 5 rows x 9 columns"), "{error}");
    let error = refusal("types.tif");
    assert!(error.contains("page 2 has numbers of type u16, but page 1 u8"), "{error}");
}

#[test]
fn arrays_of_numpy() {
    let image = load("big_fortran.npy");
    assert_eq!((image.values, image.metadata.sample), (stack(), SampleType::F64));
    let image = load("bool.npy");
    assert_eq!((image.values, image.metadata.sample), (grey().map(|value| value % 2.0), SampleType::Bool));
    let image = load("i64.npy");
    assert_eq!((image.values, image.metadata.sample), (ramp((2, 5, 9, 3), 251) - 100.0, SampleType::I64));
    assert_eq!(image.metadata.axes.to_string(), "pyxc");
    let image = load("f16.npy");
    assert_eq!((image.values, image.metadata.sample), (grey() / 4.0, SampleType::F16));
    assert!(refusal("complex.npy").contains("complex"));
    assert_eq!(load_as("big_fortran.npy", "cxy").values.dim(), (1, 9, 5, 3));
    let axes: Axes = "yx".parse().unwrap();
    let options = ReadOptions { axes: Some(axes), ..ReadOptions::default() };
    let error = read(&path("big_fortran.npy"), &options).unwrap_err().to_string();
    assert!(error.contains("has 3 axes, but the axes `yx` are 2"), "{error}");
}

#[test]
fn an_array_of_several_is_chosen_by_name() {
    assert_eq!(load("two.npz:dark").values, grey());
    assert_eq!(load("two.npz:light").values, stack());
    assert_eq!(load("one.npz").values, stack());
    let error = refusal("two.npz");
    assert!(error.contains("`dark`, `light`") && error.contains("file.npz:name"), "{error}");
    let error = refusal("two.npz:grey");
    assert!(error.contains("no array `grey`") && error.contains("`dark`, `light`"), "{error}");
}

#[test]
fn fits_of_astropy() {
    let image = load("u16.fits");
    assert_eq!((image.values, image.metadata.sample), (wide(), SampleType::U16));
    assert_eq!(load("u16.fits.gz").values, wide());
    let image = load("cube.fits");
    assert_eq!((image.values, image.metadata.sample), (stack(), SampleType::F32));

    let image = load("extension.fits");
    assert_eq!((image.values, image.metadata.sample), (wide(), SampleType::I32));
    let cards = image.metadata.cards.join("\n");
    for part in ["TELESCOP", "M31 / core", "EXPTIME", "CONTINUE"] {
        assert!(cards.contains(part), "{cards}");
    }
    for part in ["BITPIX", "NAXIS", "DATAMIN", "XTENSION", "PCOUNT"] {
        assert!(!cards.contains(part), "{cards}");
    }
    assert!(refusal("tile_compressed.fits").contains("funpack"));
}

#[test]
fn fits_is_scaled_and_blank_is_missing() {
    let image = load("scaled_blank.fits");
    let expected = grey().map(|value| if *value == 7.0 { f64::NAN } else { value * 0.5 + 10.0 });
    assert_eq!(image.values.iter().filter(|value| value.is_nan()).count(), 1);
    for (found, expected) in image.values.iter().zip(&expected) {
        assert!(found == expected || (found.is_nan() && expected.is_nan()));
    }
    assert_eq!(image.metadata.sample, SampleType::F32);
    assert!(image.remarks.iter().any(|remark| remark.contains("BLANK")), "{:?}", image.remarks);
}

#[test]
fn a_mask_has_the_size_of_its_image() {
    let mask = |name: &str, shape| read_mask(&path(name), shape, &ReadOptions::default());
    let odd = mask("grey1.png", (2, 5, 9)).unwrap();
    assert_eq!(odd.dim(), (2, 5, 9));
    for ((_, y, x), missing) in odd.indexed_iter() {
        assert_eq!(*missing, grey()[[0, y, x, 0]] % 2.0 == 1.0);
    }
    assert_eq!(mask("rgb.png", (1, 5, 9)).unwrap().iter().filter(|missing| !**missing).count(), 0);
    let error = mask("bool.npy", (1, 9, 5)).unwrap_err().to_string();
    assert!(error.contains("5 rows x 9 columns") && error.contains("9 rows x 5 columns"), "{error}");
    assert!(mask("cube.fits", (2, 5, 9)).is_err());
}

#[test]
fn what_is_no_image_is_said() {
    assert!(refusal("make_files.py").contains("no format that is known"));
    let missing = read(&path("none.tif"), &ReadOptions::default()).unwrap_err().to_string();
    assert!(missing.contains("check that the path is right"), "{missing}");
    let folder = read(&path(""), &ReadOptions::default()).unwrap_err().to_string();
    assert!(folder.contains("is a folder"), "{folder}");
}
