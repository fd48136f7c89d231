//! Files that are cut short or changed: a table or an error, never a panic, and within the memory.

use proptest::prelude::*;

use super::reading::decode;
use super::*;
use crate::image_file::npy::Header;
use crate::image_file::npz;

const LIMIT: u64 = 1 << 18;

/// Small files that reach most of the reader.
fn valid_files() -> Vec<(&'static str, Vec<u8>)> {
    let text = "\u{feff}\"n, 1\",town,answer,x,,x\r\n1,Rom,yes,2.5,,NA\r\n\r\n-3e5,\"Bern\r\n\"\"Ost\"\"\",no,,,7\n4,,y,0.1,,8";
    let mut array = Header::to_bytes("<f8", &[3, 4]);
    (0..12).for_each(|value| array.extend(f64::from(value).to_le_bytes()));
    let notes = [("column-1".to_owned(), "größe".to_owned()), ("column-9".to_owned(), "none".to_owned())];
    let archive = npz::pack(Some("data"), &array, &notes).unwrap();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut packed, text.as_bytes()).unwrap();
    vec![
        ("comma", text.as_bytes().to_vec()),
        ("semicolon", "a;b;c\n1;2;x\n3;4;y\n5;6;x\n".into()),
        ("tab", "1\t2\n3\t4\n".into()),
        ("npy", array),
        ("npz", archive),
        ("gzip", packed.finish().unwrap()),
    ]
}

/// A table that keeps its promises, or an error with a hint.
fn look_at(bytes: &[u8]) {
    let options = TableOptions { memory_limit: LIMIT, ..Default::default() };
    match decode(bytes, Some(bytes.len() as u64), None, &options) {
        Ok(table) => {
            let (rows, columns) = table.values.dim();
            assert!(rows > 0 && columns > 0 && (table.values.len() * 8) as u64 <= LIMIT);
            assert_eq!((table.names.len(), table.kinds.len()), (columns, columns));
            assert!(table.values.iter().all(|value| !value.is_infinite()));
            for (kind, column) in table.kinds.iter().zip(table.values.columns()) {
                if let Kind::Labels(labels) = kind {
                    assert!(column.iter().all(|value| value.is_nan() || *value < labels.len() as f64));
                }
            }
        }
        Err((trouble, packed)) => {
            let text = trouble.when_reading("t".as_ref(), packed).to_string();
            assert!(text.contains("; "), "{text}");
        }
    }
}

#[test]
fn table_files_cut_anywhere_do_no_harm() {
    for (name, bytes) in valid_files() {
        let options = TableOptions { memory_limit: LIMIT, ..Default::default() };
        assert!(decode(bytes.as_slice(), None, None, &options).is_ok(), "{name}");
        for length in 0..bytes.len() {
            look_at(&bytes[..length]);
        }
    }
}

#[test]
fn table_bytes_can_all_be_wrong() {
    for (_, bytes) in valid_files() {
        for at in 0..bytes.len() {
            for value in
                [0, b'"', b',', b';', b'\t', b'\n', b'\r', b'0', b'e', 0x80, 0xff, bytes[at] ^ 1, bytes[at] ^ 0x10]
            {
                let mut changed = bytes.clone();
                changed[at] = value;
                look_at(&changed);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn table_bytes_can_be_wrong_together(
        which in 0_usize..6,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        keep in any::<prop::sample::Index>(),
    ) {
        let (_, mut bytes) = valid_files().swap_remove(which);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        look_at(&bytes);
        look_at(&bytes[..keep.index(bytes.len())]);
    }

    #[test]
    fn table_of_any_text_is_read_or_refused(text in "[01a.,;\t\"\r\n -]{0,60}") {
        look_at(text.as_bytes());
    }
}
