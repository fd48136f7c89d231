//! Hands numbers of files to other programs and back, bit for bit: what `.ci/differential` compares with other libraries.
//!
//! Each line of standard input is a job, its words separated by tabs, and each has a line of standard output: `ok`, or `error`
//! and what is wrong.
//!
//! | job | what it does |
//! | --- | --- |
//! | `image`, `table` or `sound`, FILE, NUMBERS | writes the numbers of a file |
//! | `write-image`, NUMBERS, FILE, TYPE | writes an image of pages, rows, columns and channels with numbers of this type |
//! | `write-table` or `write-sparse`, NUMBERS, FILE | writes a table, or a sparse matrix |
//!
//! A file of numbers is a line with the extents of an array, and its doubles with the lowest byte first.

#![allow(clippy::print_stdout)] // it is a program

use std::error::Error;
use std::io::BufRead;
use std::path::Path;

use efmca::SparseRows;
use efmca_io::image_file::{ReadOptions, WriteOptions, read, write};
use efmca_io::sound::read_wav;
use efmca_io::table_file::{TableOptions, read_table, write_sparse, write_table};
use ndarray::{Array, ArrayD, Dimension, Ix2, Ix4, IxDyn};

type Failure = Box<dyn Error>;

fn main() -> Result<(), Failure> {
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split('\t').collect();
        match job(&words) {
            Ok(()) => println!("ok"),
            Err(error) => println!("error\t{}", error.to_string().replace('\n', " ")),
        }
    }
    Ok(())
}

fn job(words: &[&str]) -> Result<(), Failure> {
    match words {
        ["image", file, to] => hand_over(to, read(Path::new(file), &ReadOptions::default())?.values),
        ["table", file, to] => hand_over(to, read_table(Path::new(file), &TableOptions::default())?.values),
        ["sound", file, to] => hand_over(to, Array::from(read_wav(Path::new(file))?.samples)),
        ["write-image", from, file, dtype] => {
            let values = taken(from)?.into_dimensionality::<Ix4>()?;
            let options = WriteOptions { dtype: Some(dtype.parse()?), force: true, ..WriteOptions::default() };
            write(Path::new(file), values.view(), &options)?;
            Ok(())
        }
        ["write-table", from, file] => {
            let values = taken(from)?.into_dimensionality::<Ix2>()?;
            let names: Vec<String> = (1..=values.ncols()).map(|column| format!("c{column}")).collect();
            Ok(write_table(Path::new(file), &names, values.view(), true)?)
        }
        ["write-sparse", from, file] => {
            let values = taken(from)?.into_dimensionality::<Ix2>()?;
            let (mut starts, mut indices, mut stored) = (vec![0], Vec::new(), Vec::new());
            for row in values.rows() {
                for (column, value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                    indices.push(u32::try_from(column)?);
                    stored.push(*value);
                }
                starts.push(stored.len());
            }
            let rows = SparseRows::new(values.ncols(), starts, indices, stored)?;
            Ok(write_sparse(Path::new(file), &rows, true)?)
        }
        _ => Err(format!("no job: {words:?}").into()),
    }
}

fn hand_over<D: Dimension>(to: &str, values: Array<f64, D>) -> Result<(), Failure> {
    let extents: Vec<String> = values.shape().iter().map(usize::to_string).collect();
    let mut bytes = format!("{}\n", extents.join(" ")).into_bytes();
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    Ok(std::fs::write(to, bytes)?)
}

fn taken(from: &str) -> Result<ArrayD<f64>, Failure> {
    let bytes = std::fs::read(from)?;
    let end = bytes.iter().position(|byte| *byte == b'\n').ok_or("no line with extents")?;
    let shape: Vec<usize> = std::str::from_utf8(&bytes[..end])?.split(' ').map(str::parse).collect::<Result<_, _>>()?;
    let (words, _) = bytes[end + 1..].as_chunks::<8>();
    Ok(ArrayD::from_shape_vec(IxDyn(&shape), words.iter().map(|word| f64::from_le_bytes(*word)).collect())?)
}
