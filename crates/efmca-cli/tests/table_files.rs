//! Tables in all kinds of files: sparse matrices, packed text, and files with something wrong in them.

mod common;

use std::path::Path;

use efmca::SparseRows;
use efmca_io::table_file::{TableOptions, read_table, write_sparse, write_table};
use ndarray::Array2;

use common::{refused, succeeds};

/// Counts of two groups of columns, mostly zeros.
fn counts() -> Array2<f64> {
    Array2::from_shape_fn((120, 12), |(n, d)| match (n % 3 == d % 3, (7 * n + 5 * d) % 11) {
        (true, draw) if draw < 6 => (1 + draw % 3) as f64,
        (false, 0) => 1.0,
        _ => 0.0,
    })
}

/// The same as a sparse matrix whose columns fall in each row.
fn sparse(table: &Array2<f64>) -> SparseRows {
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in table.rows() {
        for (d, value) in row.iter().enumerate().rev().filter(|(_, value)| **value != 0.0) {
            columns.push(d as u32);
            values.push(*value);
        }
        starts.push(values.len());
    }
    SparseRows::new(table.ncols(), starts, columns, values).unwrap()
}

fn numbers(path: &Path) -> Array2<f64> {
    read_table(path, &TableOptions::default()).unwrap().values
}

#[test]
fn sparse_matrices_give_what_whole_tables_give() {
    let folder = tempfile::tempdir().unwrap();
    let table = counts();
    let names: Vec<String> = (1..=12).map(|d| format!("column {d}")).collect();
    write_table(&folder.path().join("whole.csv"), &names, table.view(), false).unwrap();
    write_sparse(&folder.path().join("sparse.npz"), &sparse(&table), false).unwrap();
    for (file, output) in [("whole.csv", "whole"), ("sparse.npz", "sparse")] {
        let model = format!("{output}.model");
        let fit = ["fit", file, "-o", &model, "--family", "poisson", "--causes", "3", "--states", "8"];
        let shown = succeeds(folder.path(), &fit);
        assert!(shown.contains("rows            120") && shown.contains("columns         12"), "{shown}");
        succeeds(folder.path(), &["encode", &model, file, "-o", &format!("{output}-codes.csv")]);
        succeeds(folder.path(), &["score", &model, file, "-o", &format!("{output}-scores.csv")]);
    }
    for result in ["codes", "scores"] {
        let read = |which: &str| numbers(&folder.path().join(format!("{which}-{result}.csv")));
        let (whole, sparse) = (read("whole"), read("sparse"));
        assert!(whole.iter().zip(&sparse).all(|(a, b)| (a - b).abs() < 1e-5), "{result}");
    }
    // the searches make the rows whole that they look at, and give what those of the whole table give
    let searched = |file: &str| {
        let select = ["select", file, "--family", "poisson", "--causes", "1,2", "--iterations", "5", "--most", "60"];
        succeeds(folder.path(), &[&select[..], &["--json"]].concat())
    };
    assert_eq!(searched("sparse.npz"), searched("whole.csv"));
    let noted =
        ["noise-type", "sparse.npz", "--causes", "1", "--iterations", "5", "--families", "poisson", "--most", "40"];
    assert!(succeeds(folder.path(), &noted).contains("every 3th of its 120 rows is looked at"));
    succeeds(folder.path(), &["noise-type", "sparse.npz", "--causes", "2", "--iterations", "5"]);
    let found = ["fit", "sparse.npz", "-o", "found.model", "--iterations", "5", "--causes", "2"];
    let shown = succeeds(folder.path(), &found);
    assert!(shown.contains("found for"), "{shown}");
}

#[test]
fn what_is_wrong_with_a_file_is_told_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let fails = |text: &str, expected: &[&str]| {
        std::fs::write(folder.path().join("table.csv"), text).unwrap();
        let fit = ["fit", "table.csv", "-o", "model", "--causes", "2", "--family", "gaussian"];
        let message = refused(folder.path(), &fit);
        assert!(expected.iter().all(|part| message.contains(part)), "{message}");
    };
    fails("a,b\n1,2\n3,4,5\n", &["line 3 has 3 fields, and line 1 has 2"]);
    fails("a,b\n1,2\n3\n", &["line 3 has 1 fields", "fill up the line"]);
    let below = "1,2\n3,4\n5,6\n7,9\n8,1\n";
    fails(&format!("a,b\nkg,m\n{below}"), &["line 2, column `a`: `kg`", "second time"]);
    fails("a,b\n1,\"2,5\"\n3,\"4,5\"\n", &["line 2, column `b`: `2,5` has a decimal comma", "--decimal-comma yes"]);
}

#[test]
fn odd_files_are_read_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<String> =
        (0..40).map(|n| format!("2024-01-{:02};{},5;{};{}", n % 28 + 1, n % 7, n % 5, n % 3)).collect();
    std::fs::write(folder.path().join("odd.csv"), format!("day;x;y;y\n{}\n", rows.join("\n"))).unwrap();
    let fit = ["fit", "odd.csv", "-o", "model", "--causes", "2", "--family", "gaussian", "--iterations", "5"];
    let shown = succeeds(folder.path(), &fit);
    for part in ["column `day` holds dates", "3,14 is 3.14", "several columns are called `y`; column 4 is `y (2)`"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}
