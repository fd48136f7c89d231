//! Files on the disk: formats, writing, and what is no table.

use std::io::Write;
use std::path::PathBuf;

use ndarray::{Array1, Array2, array};
use proptest::prelude::*;

use super::*;
use crate::IoError;
use crate::image_file::npy::Header;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn put(&self, name: &str, bytes: &[u8]) -> PathBuf {
        std::fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|index| format!("x{index}")).collect()
}

fn npy(shape: &[usize], values: impl Iterator<Item = f64>) -> Vec<u8> {
    let mut bytes = Header::to_bytes("<f8", shape);
    values.for_each(|value| bytes.extend(value.to_le_bytes()));
    bytes
}

fn zipped(entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        archive.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn message(path: &std::path::Path) -> String {
    read_table(path, &TableOptions::default()).unwrap_err().to_string()
}

#[test]
fn table_files_packed_with_gzip_are_read() {
    let folder = Folder::new();
    let text = format!("a,b\n{}", "1,2\n3,4\n".repeat(50_000));
    let path = folder.put("t.csv.gz", &packed(text.as_bytes()));
    let table = read_table(&path, &TableOptions::default()).unwrap();
    assert_eq!((table.values.dim(), table.values.sum()), ((100_000, 2), 500_000.0));
    let cut = packed(text.as_bytes());
    let path = folder.put("cut.csv.gz", &cut[..cut.len() / 2]);
    assert!(message(&path).contains("gzip"), "{}", message(&path));
    let path = folder.put("t.npy.gz", &packed(&npy(&[2, 1], [1.0, 2.0].into_iter())));
    assert_eq!(read_table(&path, &TableOptions::default()).unwrap().values, array![[1.0], [2.0]]);
}

#[test]
fn table_arrays_of_numpy_have_rows_first() {
    let folder = Folder::new();
    let read = |shape: &[usize]| {
        let count = shape.iter().product::<usize>();
        let path = folder.put("t.npy", &npy(shape, (0..count).map(|value| value as f64)));
        read_table(&path, &TableOptions::default())
    };
    let table = read(&[3, 2]).unwrap();
    assert_eq!(table.values, array![[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]);
    assert_eq!((table.names, table.remarks.len()), (vec!["column 1".to_owned(), "column 2".to_owned()], 0));
    assert_eq!(read(&[3]).unwrap().values, Array1::from_iter([0.0, 1.0, 2.0]).insert_axis(ndarray::Axis(1)));
    let table = read(&[2, 3, 4]).unwrap();
    assert_eq!((table.values.dim(), table.values[[1, 0]]), ((2, 12), 12.0));
    assert!(
        table.remarks[0].to_string().contains("[2, 3, 4]") && table.remarks[0].to_string().contains("12 columns"),
        "{:?}",
        table.remarks
    );
    assert!(read(&[]).is_err());
    assert!(read(&[0, 3]).is_err());
    // What has no value is left out, and what is infinite is refused.
    let path = folder.put("t.npy", &npy(&[2, 2], [1.0, f64::NAN, 2.0, f64::NAN].into_iter()));
    let table = read_table(&path, &TableOptions::default()).unwrap();
    assert_eq!((table.values, table.names), (array![[1.0], [2.0]], vec!["column 1".to_owned()]));
    assert!(table.remarks[0].to_string().contains("column 2 holds no value"), "{:?}", table.remarks);
    let path = folder.put("t.npy", &npy(&[2, 2], [1.0, 9.0, 9.0, 4.0].into_iter()));
    let options = TableOptions { missing: vec!["9".into(), "none".into()], ..TableOptions::default() };
    let missing = read_table(&path, &options).unwrap().values.mapv(f64::is_nan);
    assert_eq!(missing, array![[false, true], [true, false]]);
    let path = folder.put("t.npy", &npy(&[2, 2], [1.0, 2.0, 3.0, f64::INFINITY].into_iter()));
    assert!(message(&path).contains("row 2, column 2"), "{}", message(&path));
    let path = folder.put("t.npy", &npy(&[1, 1], [f64::NAN].into_iter()));
    assert!(message(&path).contains("NaN"));
}

#[test]
fn table_arrays_in_the_order_of_fortran_are_turned() {
    let folder = Folder::new();
    let bytes = npy(&[2, 3], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0].into_iter());
    let at = bytes.windows(5).position(|window| window == b"False").unwrap();
    let mut turned = bytes.clone();
    turned[at..at + 5].copy_from_slice(b"True ");
    let path = folder.put("t.npy", &turned);
    let table = read_table(&path, &TableOptions::default()).unwrap();
    assert_eq!(table.values, array![[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]]);
    assert!(table.values.is_standard_layout());
}

#[test]
fn table_arrays_are_chosen_by_name() {
    let folder = Folder::new();
    let entry = |value: f64| npy(&[1, 1], std::iter::once(value));
    let path = folder.put("t.npz", &zipped(&[("a.npy", entry(1.0)), ("b.npy", entry(2.0))]));
    let text = message(&path);
    assert!(text.contains("`a`, `b`") && text.contains("file.npz:name") && text.contains("table"), "{text}");
    let named = folder.path("t.npz:b");
    assert_eq!(read_table(&named, &TableOptions::default()).unwrap().values, array![[2.0]]);
    assert!(message(&folder.path("t.npz:c")).contains("no array `c`"));
    let path = folder.put("one.npz", &zipped(&[("a.npy", entry(1.0))]));
    assert_eq!(read_table(&path, &TableOptions::default()).unwrap().values, array![[1.0]]);
    folder.put("text.npz", b"a\n1\n");
    assert!(message(&folder.path("text.npz:a")).contains("no NPZ file"));
}

#[test]
fn table_files_of_other_kinds_are_named() {
    let folder = Folder::new();
    let kinds: [(&[u8], &str); 13] = [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "PNG"),
        (b"II*\0\x08\0\0\0", "TIFF"),
        (b"MM\0*\0\0\0\x08", "TIFF"),
        (b"RIFF\x24\0\0\0WAVEfmt ", "WAV"),
        (b"RIFF\x24\0\0\0AVI LIST", "RIFF"),
        (b"SIMPLE  =                    T", "FITS"),
        (b"\xff\xd8\xff\xe0", "JPEG"),
        (b"a,b\n1,\0\0\n", "NUL"),
        (b"\xff\xfea\0,\0b\0", "UTF-16"),
        (b"%PDF-1.7\n", "PDF"),
        (b"  <!DOCTYPE HTML><html>", "web page"),
        (b"\x89HDF\r\n\x1a\n", "HDF5"),
        (b"\xfd7zXZ\0", "xz"),
    ];
    for (bytes, kind) in kinds {
        let text = message(&folder.put("t.csv", bytes));
        assert!(text.contains(kind) && text.contains("t.csv"), "{kind}: {text}");
    }
    let workbook = zipped(&[("[Content_Types].xml", vec![]), ("xl/workbook.xml", vec![])]);
    assert!(message(&folder.put("t.xlsx", &workbook)).contains("Excel"));
    assert!(message(&folder.put("t.zip", &zipped(&[("a.txt", vec![])]))).contains("without arrays"));
    // A NUL byte far below is found, too.
    let far = format!("a,b\n{}1,x\0\n", "1,y\n".repeat(100_000));
    assert!(message(&folder.put("t.csv", far.as_bytes())).contains("line 100002, column `b`"));
    assert!(matches!(read_table(folder.0.path(), &TableOptions::default()), Err(IoError::Read { .. })));
    assert!(message(&folder.path("none.csv")).contains("check that the path is right"));
}

#[test]
fn table_is_written_as_text() {
    let folder = Folder::new();
    let given = ["a,b", "c \"d\"", "e"].map(str::to_owned);
    let values = array![[1.0, f64::NAN, -0.0], [1e300, 0.1, 123456.75], [5e-324, -1e-7, 1e15]];
    let path = folder.path("new/t.csv");
    write_table(&path, &given, values.view(), false).unwrap();
    let text = "\"a,b\",\"c \"\"d\"\"\",e\n1,,-0\n1e300,0.1,123456.75\n5e-324,-1e-7,1000000000000000\n";
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    let back = read_table(&path, &TableOptions::default()).unwrap();
    assert_eq!(back.names, given);
    let path = folder.path("t.TSV");
    write_table(&path, &given, values.view(), false).unwrap();
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("a,b\t\"c"));
    assert_eq!(read_table(&path, &TableOptions::default()).unwrap().names, given);
}

#[test]
fn table_labels_are_written_back() {
    let folder = Folder::new();
    let values = array![[0.0, 1.0], [1.0, 0.5], [f64::NAN, 2.0]];
    let labels = [Some(vec!["no".to_owned(), "yes".to_owned()]), None];
    let text = "x0,x1\nno,1\nyes,0.5\n,2\n";
    let path = folder.path("labels.csv");
    write_labelled_table(&path, &names(2), &labels, values.view(), false).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    assert_eq!(csv_text_of(&names(2), &labels[..1], values.view()).unwrap(), text);
    let table = read_table(&path, &TableOptions::default()).unwrap();
    assert!(same(&table.values, &values));
    // what has no word stays a number
    assert_eq!(csv_text_of(&names(1), &labels, array![[1.5], [2.0], [-1.0]].view()).unwrap(), "x0\n1.5\n2\n-1\n");
    let path = folder.path("labels.npy");
    write_labelled_table(&path, &names(2), &labels, values.view(), false).unwrap();
    assert!(same(&read_table(&path, &TableOptions::default()).unwrap().values, &values));
}

#[test]
fn table_columns_without_values_are_named() {
    let folder = Folder::new();
    let table = read_table(&folder.put("a.csv", b"a,b,c\n1,,2\n3,,4\n"), &TableOptions::default()).unwrap();
    assert_eq!((table.names, table.empty), (vec!["a".to_owned(), "c".to_owned()], vec!["b".to_owned()]));
    let array = npy(&[2, 2], [1.0, f64::NAN, 2.0, f64::NAN].into_iter());
    let table = read_table(&folder.put("a.npy", &array), &TableOptions::default()).unwrap();
    assert_eq!((table.names, table.empty), (vec!["column 1".to_owned()], vec!["column 2".to_owned()]));
}

#[test]
fn table_is_written_as_array() {
    let folder = Folder::new();
    // Not in the order of the file, as a view of another array may be.
    let turned = array![[1.0, 2.0, 3.0], [f64::NAN, 5.0, 1e-300]];
    let values = turned.t();
    for (name, kept) in [("t.npy", false), ("t.npz", true), ("u.npz:data", true)] {
        let path = folder.path(name);
        let given = ["größe\n\"m\"".to_owned(), "column 2".to_owned()];
        write_table(&path, &given, values, false).unwrap();
        let back = read_table(&path, &TableOptions::default()).unwrap();
        assert_eq!(back.names[0], if kept { given[0].as_str() } else { "column 1" }, "{name}");
        assert_eq!(back.names[1], "column 2");
        assert!(same(&back.values, &values.to_owned()), "{name}");
    }
    let picture = crate::image_file::read(&folder.path("t.npy"), &Default::default()).unwrap();
    assert_eq!(picture.values.dim(), (1, 3, 2, 1));
}

#[test]
fn table_places_are_checked_before() {
    let folder = Folder::new();
    let values = Array2::<f64>::zeros((1, 1));
    let path = folder.path("t.csv");
    check_table_place(&path, false).unwrap();
    assert!(!path.exists());
    write_table(&path, &names(1), values.view(), false).unwrap();
    assert!(matches!(check_table_place(&path, false), Err(IoError::Exists { .. })));
    assert!(matches!(write_table(&path, &names(1), values.view(), false), Err(IoError::Exists { .. })));
    write_table(&path, &names(1), values.view(), true).unwrap();
    let text = check_table_place(&folder.path("t.tif"), false).unwrap_err().to_string();
    assert!(text.contains(".csv, .tsv, .npy or .npz"), "{text}");
    assert!(check_table_place(&folder.path("t"), false).is_err());
    assert!(check_table_place(&folder.path("t.csv/u.csv"), false).is_err());
    let path = folder.path("u.csv");
    let text = write_table(&path, &names(2), values.view(), false).unwrap_err().to_string();
    assert!(text.contains("1 columns") && text.contains("2 names"), "{text}");
    assert!(write_table(&path, &[], Array2::zeros((1, 0)).view(), false).is_err());
    assert!(!path.exists());
}

/// Whether all bits are the same, and NaN where there is NaN.
fn same(left: &Array2<f64>, right: &Array2<f64>) -> bool {
    let equal = |(left, right): (&f64, &f64)| left.to_bits() == right.to_bits() || (left.is_nan() && right.is_nan());
    left.dim() == right.dim() && left.iter().zip(right).all(equal)
}

fn value() -> impl Strategy<Value = f64> {
    let any = any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |value| value.is_finite());
    prop_oneof![4 => any, 1 => Just(f64::NAN), 2 => (-100_i32..100).prop_map(f64::from), 2 => -1.0..1.0]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn table_comes_back_from_any_file(
        (rows, columns, cells) in (1_usize..8, 1_usize..5)
            .prop_flat_map(|(rows, columns)| (Just(rows), Just(columns), prop::collection::vec(value(), rows * columns))),
        ending in prop::sample::select(vec!["csv", "tsv", "npy", "npz"]),
    ) {
        let folder = Folder::new();
        let values = Array2::from_shape_vec((rows, columns), cells).unwrap();
        let path = folder.path(&format!("t.{ending}"));
        write_table(&path, &names(columns), values.view(), false).unwrap();
        let kept: Vec<usize> = (0..columns).filter(|index| values.column(*index).iter().any(|value| !value.is_nan())).collect();
        match read_table(&path, &TableOptions::default()) {
            Ok(table) => {
                prop_assert!(same(&table.values, &values.select(ndarray::Axis(1), &kept)));
                prop_assert_eq!(table.names.len(), kept.len());
                if ending != "npy" {
                    let given = names(columns);
                    let given: Vec<&String> = kept.iter().map(|index| &given[*index]).collect();
                    prop_assert_eq!(table.names.iter().collect::<Vec<_>>(), given);
                }
            }
            Err(error) => prop_assert!(kept.is_empty(), "{}", error),
        }
    }

    #[test]
    fn table_names_and_labels_come_back(texts in prop::collection::vec("[ -~äß\n,;\"]{1,8}", 1..6)) {
        let trimmed: Vec<String> = texts.iter().map(|text| text.trim().to_owned()).collect();
        let folder = Folder::new();
        let path = folder.path("t.csv");
        let columns = texts.len();
        write_table(&path, &texts, Array2::from_elem((2, columns), 1.5).view(), false).unwrap();
        let options = TableOptions { header: Some(true), delimiter: Some(b','), ..Default::default() };
        let table = read_table(&path, &options);
        // A single name of spaces is a blank line.
        if columns > 1 || !trimmed[0].is_empty() {
            let table = table.unwrap();
            for (index, (found, given)) in table.names.iter().zip(&trimmed).enumerate() {
                let filled = if given.is_empty() { format!("column {}", index + 1) } else { given.clone() };
                prop_assert!(found.starts_with(&filled));
            }
        }
    }
}
