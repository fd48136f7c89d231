//! Images that are written and read back: every format with every type, metadata, and what cannot be
//! written.

use std::path::Path;

use efmca_io::IoError;
use efmca_io::image_file::{
    Colour, Format, ImageFile, ReadOptions, SampleType, ValueScale, WriteOptions, Written, check_holds, check_writable,
    default_sample, read, rounding_cost, write,
};
use ndarray::Array4;

/// Pages, rows, columns and channels.
type Shape = (usize, usize, usize, usize);

const WHOLE: [SampleType; 8] = [
    SampleType::U8,
    SampleType::U16,
    SampleType::U32,
    SampleType::U64,
    SampleType::I8,
    SampleType::I16,
    SampleType::I32,
    SampleType::I64,
];

fn load(path: &Path) -> ImageFile {
    read(path, &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn save(path: &Path, values: &Array4<f64>, options: &WriteOptions<'_>) -> Written {
    write(path, values.view(), options).unwrap_or_else(|error| panic!("{error}"))
}

/// Values that fit all types, with the ends of the type's range among them.
fn values(shape: (usize, usize, usize, usize), sample: SampleType) -> Array4<f64> {
    let (low, high) = sample.range();
    let mut values = Array4::from_shape_fn(shape, |(p, y, x, c)| ((p * 31 + y * 17 + x * 5 + c * 3) % 100) as f64);
    if sample.is_float() {
        values += 0.125;
        values[[0, 1, 0, 0]] = f64::NEG_INFINITY;
    } else {
        values.mapv_inplace(|value| value.clamp(low, high));
    }
    values[[0, 0, 0, 0]] = low;
    values[[0, 0, 1, 0]] = high;
    values
}

#[test]
fn every_format_keeps_every_type() {
    let folder = tempfile::tempdir().unwrap();
    let floats = [SampleType::F32, SampleType::F64];
    let all: Vec<SampleType> = WHOLE.into_iter().chain(floats).collect();
    let small = [SampleType::U1, SampleType::U2, SampleType::U4, SampleType::U8, SampleType::U16];
    let cases: [(&str, &[SampleType], &[Shape]); 5] = [
        ("a.png", &small, &[(1, 4, 5, 1), (1, 3, 17, 1)]),
        ("a.tif", &all, &[(1, 4, 5, 1), (3, 4, 5, 1), (1, 4, 5, 3), (2, 4, 5, 3), (2, 4, 5, 7)]),
        ("a.npy", &all, &[(1, 4, 5, 1), (3, 4, 5, 1), (1, 4, 5, 3), (2, 4, 5, 3)]),
        ("a.npz", &all, &[(1, 4, 5, 1), (3, 4, 5, 1), (1, 4, 5, 3), (2, 4, 5, 3)]),
        ("a.fits", &all, &[(1, 4, 5, 1), (3, 4, 5, 1)]),
    ];
    for (name, samples, shapes) in cases {
        for sample in samples {
            for shape in shapes {
                let path = folder.path().join(name);
                let values = values(*shape, *sample);
                let options = WriteOptions { dtype: Some(*sample), force: true, ..Default::default() };
                let written = save(&path, &values, &options);
                assert_eq!((written.rounded, written.clipped, written.sample), (0, 0, *sample));
                let image = load(&path);
                assert_eq!(image.values, values, "{name} {sample}");
                assert_eq!(image.metadata.sample, *sample, "{name}");
                assert_eq!(
                    image.metadata.colour,
                    if shape.3 == 3 {
                        Colour::Rgb
                    } else if shape.3 == 1 {
                        Colour::Grey
                    } else {
                        Colour::Channels
                    }
                );
            }
        }
    }
}

#[test]
fn colours_of_png_have_eight_and_sixteen_bits() {
    let folder = tempfile::tempdir().unwrap();
    for sample in [SampleType::U8, SampleType::U16] {
        let path = folder.path().join("a.png");
        let values = values((1, 4, 5, 3), sample);
        save(&path, &values, &WriteOptions { dtype: Some(sample), force: true, ..Default::default() });
        let image = load(&path);
        assert_eq!((image.values, image.metadata.colour, image.metadata.sample), (values, Colour::Rgb, sample));
    }
}

#[test]
fn notes_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let long = "many words with spaces, ".repeat(20);
    let notes: Vec<(String, String)> =
        [("peak", "2"), ("text", "Zoë ☃ \\ =\nsecond line"), ("spaces", "  a   b  "), ("long", &long)]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .to_vec();
    let values = Array4::from_elem((1, 4, 5, 1), 3.0);
    for name in ["a.png", "a.tif", "a.npz", "a.fits"] {
        let path = folder.path().join(name);
        let written = save(&path, &values, &WriteOptions { notes: notes.clone(), ..Default::default() });
        assert!(written.notes_kept);
        let image = load(&path);
        let mut found = image.metadata.notes.clone();
        found.sort();
        let mut expected = notes.clone();
        expected.sort();
        assert_eq!(found, expected, "{name}");
        assert_eq!(image.metadata.note("efmca:peak"), Some("2"));
        // They are not carried over to the next file by themselves, and do not pile up.
        let next = folder.path().join(format!("next-{name}"));
        save(
            &next,
            &values,
            &WriteOptions { like: Some(&image.metadata), notes: notes[..1].to_vec(), ..Default::default() },
        );
        assert_eq!(load(&next).metadata.notes, notes[..1], "{name}");
    }
    let written = save(&folder.path().join("a.npy"), &values, &WriteOptions { notes, ..Default::default() });
    assert!(!written.notes_kept && written.remarks.iter().any(|remark| remark.contains("NPZ")));
}

#[test]
fn a_scale_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let values = Array4::from_shape_fn((1, 6, 7, 1), |(_, y, x, _)| 0.01 * (y * 7 + x) as f64 - 0.1);
    let scale = ValueScale::filling(values.view(), SampleType::U16).unwrap();
    let cost = rounding_cost(values.view(), SampleType::U16, Some(scale));
    for name in ["a.png", "a.tif", "a.fits"] {
        let path = folder.path().join(name);
        let options = WriteOptions { dtype: Some(SampleType::U16), scale: Some(scale), ..Default::default() };
        let written = save(&path, &values, &options);
        assert_eq!(written.rounding_rms, cost.rms);
        assert_eq!(written.clipped, 0);
        let image = load(&path);
        let undone = match written.format {
            // A reader of FITS undoes it.
            Format::Fits => image.values,
            _ => {
                let number = |key: &str| image.metadata.note(key).unwrap().parse::<f64>().unwrap();
                assert_eq!((number("scale-factor"), number("scale-offset")), (scale.factor, scale.offset));
                (image.values - scale.offset) / scale.factor
            }
        };
        let worst = (&undone - &values).iter().fold(0.0_f64, |worst, difference| worst.max(difference.abs()));
        assert!(worst < 1e-5, "{name}: {worst}");
    }
}

#[test]
fn the_default_type_is_the_stated_one() {
    let folder = tempfile::tempdir().unwrap();
    let values = Array4::from_elem((1, 4, 5, 1), 3.0);
    let metadata = |sample| {
        let path = folder.path().join("like.tif");
        save(&path, &values, &WriteOptions { dtype: Some(sample), force: true, ..Default::default() });
        load(&path).metadata
    };
    let (double, byte, word) = (metadata(SampleType::F64), metadata(SampleType::U8), metadata(SampleType::I16));
    assert_eq!(default_sample(Format::Tiff, None), SampleType::F32);
    assert_eq!(default_sample(Format::Fits, Some(&double)), SampleType::F64);
    assert_eq!(default_sample(Format::Npy, Some(&byte)), SampleType::F32);
    assert_eq!(default_sample(Format::Png, Some(&byte)), SampleType::U8);
    assert_eq!(default_sample(Format::Png, Some(&word)), SampleType::U16);
    assert_eq!(default_sample(Format::Png, None), SampleType::U16);
}

#[test]
fn files_are_not_overwritten_unless_forced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    let values = Array4::from_elem((1, 4, 5, 1), 3.0);
    save(&path, &values, &WriteOptions::default());
    let error = write(&path, values.view(), &WriteOptions::default()).unwrap_err();
    assert!(matches!(error, IoError::Exists { .. }) && error.to_string().contains("a.npy"), "{error}");
    save(&path, &(values + 1.0), &WriteOptions { force: true, ..Default::default() });
    assert_eq!(load(&path).values[[0, 0, 0, 0]], 4.0);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn what_cannot_be_written_is_found_before() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("file"), b"x").unwrap();
    let refused = |name: &str, what: &str| {
        let error = check_writable(&at(name), false).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    };
    refused("a.jpg", ".png, .tif");
    refused("a", ".png, .tif");
    refused("file/a.png", "not a folder");
    refused("file/b/a.png", "not a folder");
    std::fs::create_dir(at("folder.png")).unwrap();
    refused("folder.png", "is a folder");
    check_writable(&at("new/folders/a.png"), false).unwrap();
    check_writable(&at("a.npz:name"), false).unwrap();
    assert!(!at("new").exists());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_is_found_before() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o555)).unwrap();
    let works_anyway = std::fs::write(folder.path().join("probe"), b"").is_ok();
    let result = check_writable(&folder.path().join("a.png"), false);
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    // An administrator may write everywhere.
    if !works_anyway {
        let error = result.unwrap_err().to_string();
        assert!(error.contains("may write"), "{error}");
    }
}

#[test]
fn what_a_format_cannot_hold_is_said() {
    let refused = |name: &str, shape, dtype, what: &str| {
        let error =
            check_holds(Path::new(name), shape, &WriteOptions { dtype, ..Default::default() }).unwrap_err().to_string();
        assert!(error.contains(what) && error.contains(name), "{error}");
    };
    refused("a.png", (2, 4, 5, 1), None, "PNG holds one page, and there are 2");
    refused("a.png", (1, 4, 5, 2), None, "2 channels");
    refused("a.png", (1, 4, 5, 1), Some(SampleType::F32), "f32");
    refused("a.png", (1, 4, 5, 3), Some(SampleType::U1), "grey without alpha");
    refused("a.tif", (1, 4, 5, 1), Some(SampleType::Bool), "bool");
    refused("a.npy", (1, 4, 5, 1), Some(SampleType::F16), "f16");
    refused("a.fits", (1, 0, 5, 1), None, "at least one");
    let values = Array4::from_elem((1, 2, 2, 1), 0.0);
    let notes = vec![("a key".to_owned(), String::new())];
    let folder = tempfile::tempdir().unwrap();
    let error =
        write(&folder.path().join("a.tif"), values.view(), &WriteOptions { notes, ..Default::default() }).unwrap_err();
    assert!(error.to_string().contains("`a key`"), "{error}");
}
