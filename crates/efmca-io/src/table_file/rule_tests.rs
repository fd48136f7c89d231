//! The rules for CSV files.

use super::reading::decode;
use super::*;
use crate::IoError;

fn read_with(text: impl AsRef<[u8]>, options: &TableOptions) -> Result<Table, IoError> {
    let bytes = text.as_ref();
    let size = Some(bytes.len() as u64);
    decode(bytes, size, None, options).map_err(|(trouble, packed)| trouble.when_reading("t.csv".as_ref(), packed))
}

fn read(text: impl AsRef<[u8]>) -> Table {
    read_with(text, &TableOptions::default()).unwrap()
}

/// The message of the error, which has all these parts.
fn refused(text: impl AsRef<[u8]>, parts: &[&str]) {
    let message = read_with(text, &TableOptions::default()).unwrap_err().to_string();
    for part in ["t.csv"].iter().chain(parts) {
        assert!(message.contains(part), "`{part}` is missing in: {message}");
    }
}

fn rows(table: &Table) -> Vec<Vec<f64>> {
    table.values.rows().into_iter().map(|row| row.to_vec()).collect()
}

fn labels(labels: &[&str]) -> Kind {
    Kind::Labels(labels.iter().map(|label| (*label).to_owned()).collect())
}

fn remarked(table: &Table, parts: &[&str]) {
    assert!(
        table.remarks.iter().any(|remark| parts.iter().all(|part| remark.to_string().contains(part))),
        "{parts:?}: {:?}",
        table.remarks
    );
}

#[test]
fn table_delimiters_are_guessed() {
    for delimiter in [",", ";", "\t"] {
        let table = read(["a,b,c", "1,2,3", "4,5,6", ""].join("\n").replace(',', delimiter));
        assert_eq!(table.names, ["a", "b", "c"]);
        assert_eq!(rows(&table), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
        assert_eq!(table.kinds, [Kind::Number, Kind::Number, Kind::Number]);
        assert_eq!(table.remarks.len(), 0);
    }
    let options = TableOptions { delimiter: Some(b'|'), ..Default::default() };
    assert_eq!(rows(&read_with("a|b\n1|2", &options).unwrap()), [[1.0, 2.0]]);
    let options = TableOptions { delimiter: Some(b'"'), ..Default::default() };
    assert!(matches!(super::read_table("x".as_ref(), &options), Err(IoError::Setting { .. })));
}

#[test]
fn table_headers_are_guessed() {
    assert_eq!(read("1,2\n3,4").names, ["column 1", "column 2"]);
    remarked(&read("1,2\n3,4"), &["line 1", "values"]);
    assert_eq!(read("a\n1\n2").names, ["a"]);
    // Text alone, without repetition.
    assert_eq!(read("a,b\nx,y\nx,y").names, ["a", "b"]);
    assert_eq!(read("a,a\nx,y\nx,y").names, ["column 1", "column 2"]);
    // pandas leaves the name of the index empty.
    assert_eq!(read(",a\n0,1\n1,2").names, ["column 1", "a"]);
    assert_eq!(read(",a\nx,y\nx,z").names, ["column 1", "a"]);
    // Missing values say nothing, and decimal commas below are numbers.
    assert_eq!(read("a,b\nNA,1\n2,NA").names, ["a", "b"]);
    assert_eq!(read("a;b\n1,5;2,5").names, ["a", "b"]);
    let options = |header| TableOptions { header: Some(header), ..Default::default() };
    assert_eq!(read_with("2019,2020\n3,4", &options(true)).unwrap().names, ["2019", "2020"]);
    let table = read_with("a,b\nx,y\nx,y", &options(false)).unwrap();
    assert_eq!((table.values.dim(), table.names[0].as_str()), ((3, 2), "column 1"));
}

#[test]
fn table_marks_ends_and_blank_lines_do_no_harm() {
    let wanted = [[1.0, 2.0], [3.0, 4.0]];
    for text in [
        "\u{feff}a,b\n1,2\n3,4\n",
        "a,b\r\n1,2\r\n3,4\r\n",
        "a,b\r1,2\r3,4",
        "\n\na,b\n\n1,2\n   \n3,4\n\n\n",
        " a , b \n 1 ,\t2\n3, 4",
        "\"a\",\"b\"\n\"1\",\"2\"\n\"3\",4",
    ] {
        let table = read(text);
        assert_eq!(table.names, ["a", "b"], "{text:?}");
        assert_eq!(rows(&table), wanted, "{text:?}");
    }
}

#[test]
fn table_quoted_fields_hold_anything() {
    let table = read("\"x, in \"\"mm\"\"\",\"two\nlines\"\n1,\"a,b\"\n2,\"c\nd\"\n");
    assert_eq!(table.names, ["x, in \"mm\"", "two\nlines"]);
    assert_eq!(table.kinds[1], labels(&["a,b", "c\nd"]));
    refused("a,b\n1,2\n3,\"4\n5,6\n", &["line 3", "never closed"]);
}

#[test]
fn table_ragged_records_are_refused() {
    refused("a,b,c\n1,2,3\n\n4,5\n", &["line 4 has 2 fields", "line 1 has 3", "commas"]);
    refused("a,b,c\r\n1,2,3\r\n4,5,6,7\r\n", &["line 3 has 4 fields", "quotation marks", "3.14"]);
    refused("a;b\n1;2\n1;2;3\n", &["line 3", "semicolons"]);
    refused("x\n3,14\n2,71\n", &["line 2 has 2 fields", "3.14, not 3,14"]);
}

#[test]
fn table_missing_cells_are_nan() {
    let table = read("a,b\n1,\nNA,2\nN/A,?\nNaN,-\nnan,null\nNULL,3\n");
    let missing: Vec<bool> = table.values.iter().map(|value| value.is_nan()).collect();
    assert_eq!(missing, [false, true, true, false, true, true, true, true, true, true, true, false]);
    remarked(&table, &["3 of 6 rows hold no value"]);
    let options = TableOptions { missing: vec!["-999".into()], ..Default::default() };
    assert!(read_with("a\n-999\n1", &options).unwrap().values[[0, 0]].is_nan());
    // a number is missing however it is written, and a code of a label is no number
    assert!(read_with("a\n-999.0\n1", &options).unwrap().values[[0, 0]].is_nan());
    let zero = TableOptions { missing: vec!["0".into()], ..Default::default() };
    assert_eq!(read_with("a,b\n0,x\n1,y\n1,x", &zero).unwrap().values.column(1), ndarray::array![0.0, 1.0, 0.0]);
    assert!(read_with("a,b\n,2\n1,2", &options).unwrap().values[[0, 0]].is_nan());
}

#[test]
fn table_numbers_of_other_countries_are_refused() {
    let text = "x,y\n1,2\n1,\"3,15\"\n";
    refused(text, &["line 3, column `y`: `3,15`", "decimal comma", "--decimal-comma yes", "write 3.14"]);
    let said = TableOptions { decimal_comma: Some(true), ..Default::default() };
    assert_eq!(read_with(text, &said).unwrap().values[[1, 1]], 3.15);
    // Points and commas in one file: nobody knows what is meant.
    refused("x;y\n1.5;2\n1;3,15\n", &["line 3, column `y`: `3,15`", "decimal comma"]);
    refused("y\n\"1,5\"\n\"2,5\"\n", &["line 2, column `y`: `1,5`", "decimal comma"]);
    refused("y,z\n\"1,234,567\",1\n", &["line 2, column `y`: `1,234,567`", "thousands", "write 1234567"]);
    refused("y;z\n1.234.567;1\n", &["thousands"]);
    refused("y;z\n12,345;1\n", &["`12,345`", "may stand for"]);
}

#[test]
fn table_decimal_commas_are_found_where_fields_are_not_cut_at_them() {
    for text in ["x;y\n1;2\n1;3,15\n", "x\ty\n1\t2\n1\t3,15\n"] {
        let table = read(text);
        assert_eq!(table.values[[1, 1]], 3.15, "{text:?}");
        remarked(&table, &["3,14 is 3.14"]);
        let said = TableOptions { decimal_comma: Some(false), ..Default::default() };
        let error = read_with(text, &said).unwrap_err().to_string();
        assert!(error.contains("line 3, column `y`: `3,15` has a decimal comma"), "{error}");
    }
    assert_eq!(rows(&read("x;y\n1.234,5;2\n1,25;3\n")), [[1234.5, 2.0], [1.25, 3.0]]);
}

#[test]
fn table_columns_of_dates_are_left_out() {
    let table = read("day,x\n2024-01-05,1\n2024-01-06,2\nNA,3\n");
    assert_eq!(table.names, ["x"]);
    remarked(&table, &["column `day` holds dates", "`2024-01-05` on line 2", "days since"]);
}

#[test]
fn table_second_lines_of_names_are_told() {
    refused(
        "age,height\nyears,cm\n34,180\n35,170\n36,175\n40,182\n41,160\n",
        &["line 2, column `age`: `years`", "second time"],
    );
}

#[test]
fn table_infinite_values_are_refused() {
    for text in ["inf", "-Infinity", "INF"] {
        refused(format!("a,b\n1,2\n3,{text}\n"), &["line 3, column `b`", text, "is infinite"]);
    }
    refused("a,b\n1,1e999\n", &["line 2, column `b`", "largest double"]);
}

#[test]
fn table_answers_are_0_and_1() {
    let sorts = [
        ("yes", "no", ["no", "yes"]),
        ("Yes", "NO", ["no", "yes"]),
        ("TRUE", "False", ["false", "true"]),
        ("y", "N", ["n", "y"]),
        ("T", "f", ["f", "t"]),
        ("y", "no", ["no", "yes"]),
    ];
    for (positive, negative, names) in sorts {
        let table = read(format!("a,b\n1,{positive}\n2,{negative}\n3,\n4,{positive}\n"));
        assert_eq!(table.kinds[1], labels(&names), "{positive}");
        let values = table.values.column(1);
        assert_eq!((values[0], values[1], values[3]), (1.0, 0.0, 1.0), "{positive}");
        assert!(values[2].is_nan());
        remarked(&table, &["`b`", "= 1"]);
    }
    // A tick or nothing: the tick is 1.
    assert_eq!(read("a,b\n1,yes\n2,").values[[0, 1]], 1.0);
    // Not answers of one sort.
    assert_eq!(read("a,b\n1,yes\n2,true").kinds[1], labels(&["true", "yes"]));
}

#[test]
fn table_labels_are_coded_in_order() {
    let table = read("a,town\n1,Rom\n2,Bern\n3,\n4,Paris\n5,Bern\n");
    assert_eq!(table.kinds[1], labels(&["Bern", "Paris", "Rom"]));
    assert_eq!(table.values.column(1).iter().filter(|value| !value.is_nan()).count(), 4);
    assert_eq!((table.values[[0, 1]], table.values[[1, 1]], table.values[[3, 1]]), (2.0, 0.0, 1.0));
    remarked(&table, &["column `town`", "3 labels", "`Bern` = 0"]);
    // Fewer than four of five are numbers: these are labels, too.
    let table = read("a,grade\n1,A\n2,10\n3,2\n4,10.0\n5,B\n6,-0\n7,0\n");
    assert_eq!(table.kinds[1], labels(&["0", "10", "2", "A", "B"]));
    assert_eq!(table.values.column(1).to_vec(), [3.0, 1.0, 2.0, 1.0, 4.0, 0.0, 0.0]);
}

#[test]
fn table_columns_with_many_labels_are_left_out() {
    let text = |count: usize| {
        let rows: Vec<String> = (0..count).map(|row| format!("{row},name {row},{}", row % 2)).collect();
        format!("x,who,y\n{}\n", rows.join("\n"))
    };
    let table = read(text(51));
    assert_eq!(table.names, ["x", "y"]);
    assert_eq!(table.values.row(50).to_vec(), [50.0, 0.0]);
    remarked(&table, &["`who`", "more than 50", "left out", "`name 0` on line 2"]);
    assert_eq!(read(text(50)).names, ["x", "who", "y"]);
    // With numbers among them.
    let rows: Vec<String> = (0..60).map(|row| if row % 2 == 0 { format!("1,{row}") } else { "1,low".into() }).collect();
    assert_eq!(read(format!("a,b\n{}", rows.join("\n"))).names, ["a", "b"]);
    let rows: Vec<String> =
        (0..120).map(|row| if row % 2 == 0 { format!("1,{row}") } else { "1,low".into() }).collect();
    let table = read(format!("a,b\n{}", rows.join("\n")));
    assert_eq!(table.names, ["a"]);
    remarked(&table, &["`b`", "60 of its 120 cells"]);
}

#[test]
fn table_bad_cells_among_numbers_are_refused() {
    let text = |bad: usize| {
        let rows: Vec<String> = (0..10).map(|row| if row < bad { "bad".into() } else { row.to_string() }).collect();
        format!("a,b\n0,5\n{}\n", rows.iter().map(|cell| format!("1,{cell}")).collect::<Vec<_>>().join("\n"))
    };
    refused(text(2), &["line 3, column `b`: `bad`", "no number", "9 of the 11", "markers of missing values"]);
    // 8 numbers and 3 words are less than four of five.
    assert!(matches!(read(text(3)).kinds[1], Kind::Labels(_)));
    let options = TableOptions { missing: vec!["bad".into()], ..Default::default() };
    assert_eq!(read_with(text(2), &options).unwrap().kinds[1], Kind::Number);
    // The cell may be far below where the column still looked like numbers, and is shown on one line.
    refused("a,b\n1,2\n1,3\n1,4\n1,5\n1,\"x\ny\"\n", &["line 6, column `b`: `x\\ny`"]);
}

#[test]
fn table_columns_without_values_are_left_out() {
    let table = read("a,b,c\n1,,2\n3,NA,4\n");
    assert_eq!(table.names, ["a", "c"]);
    assert_eq!(rows(&table), [[1.0, 2.0], [3.0, 4.0]]);
    remarked(&table, &["column `b` holds no value"]);
    // A delimiter at the end of each line makes a column without name and value.
    assert_eq!(read("a,b,\n1,2,\n").names, ["a", "b"]);
}

#[test]
fn table_files_without_values_are_refused() {
    refused("", &["empty"]);
    refused("\n\n \n", &["blank lines"]);
    refused("a,b\n", &["no row"]);
    refused("a,b\n,\nNA,\n", &["no column", "`a` holds no value"]);
}

#[test]
fn table_names_are_made_distinct() {
    let table = read("x,x,y,,x\n1,2,3,4,5\n");
    assert_eq!(table.names, ["x", "x (2)", "y", "column 4", "x (3)"]);
    remarked(&table, &["several columns are called `x`", "`x (2)`"]);
}

#[test]
fn table_text_that_is_not_utf8_is_latin_1() {
    let table = read(b"a,m\xfctze\n1,r\xf6t\n2,r\xfct\n3,blau\n");
    assert_eq!(table.names, ["a", "mütze"]);
    assert_eq!(table.kinds[1], labels(&["blau", "röt", "rüt"]));
    remarked(&table, &["line 1, column `mütze`", "Latin-1"]);
    refused(b"a\n1\n2\n3\n4\n\xff\xfe\xff\n", &["line 6"]);
}

#[test]
fn table_memory_is_limited() {
    let options = TableOptions { memory_limit: 1 << 12, ..Default::default() };
    let text = |rows: usize| format!("a\n{}", "1\n".repeat(rows));
    assert_eq!(read_with(text(512), &options).unwrap().values.len(), 512);
    let message = read_with(text(513), &options).unwrap_err().to_string();
    assert!(message.contains("line 514") && message.contains("4096 bytes"), "{message}");
    assert!(read_with(vec!["1"; 500].join(","), &options).is_err());
}

#[test]
fn table_of_a_million_values_is_quick() {
    use std::fmt::Write;
    let mut text = String::from("i,x,town,answer,id\n");
    for row in 0..200_000_u32 {
        let (town, answer) = (["Rom", "Bern", "Paris"][row as usize % 3], ["no", "yes"][row as usize % 2]);
        writeln!(text, "{row},{},{town},{answer},id-{row}", f64::from(row).sqrt()).unwrap();
    }
    let start = std::time::Instant::now();
    let table = read(&text);
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    assert_eq!(table.names, ["i", "x", "town", "answer"]);
    assert_eq!(table.values.dim(), (200_000, 4));
    assert_eq!(table.values.row(199_999).to_vec(), [199_999.0, 199_999_f64.sqrt(), 0.0, 1.0]);
    // There is no room left that nobody uses.
    let (values, _) = table.values.into_raw_vec_and_offset();
    assert!(values.capacity() <= values.len() + values.len() / 8, "{}", values.capacity());
}

#[test]
fn whole_numbers_that_no_double_is_are_told() {
    let table = read(
        "id,b\n9007199254740993,1\n9007199254740994,2\n-9007199254740995,3\n1e300,4\n99999999999999999999999999999999999999999,5",
    );
    remarked(&table, &["3 whole numbers beyond 2^53", "line 2", "id", "letter"]);
    assert_eq!(read("id,b\n9007199254740992,1\n9007199254740994,0.1").remarks.len(), 0);
}
