//! Tables in arrays of NumPy.

use ndarray::Axis;

use super::cell::numbers_of;
use super::names::{default_name, distinct};
use super::{Kind, Remark, Table, TableOptions};
use crate::image_file::fault::Fault;
use crate::image_file::format::Format;
use crate::image_file::{npy, npz};

/// The name of notes with the names of columns in NPZ files, before the number of the column.
const NAME_KEY: &str = "column-";

/// The table in the bytes of an NPY or NPZ file.
pub(crate) fn read(bytes: &[u8], format: Format, array: Option<&str>, options: &TableOptions) -> Result<Table, Fault> {
    let limit = options.memory_limit;
    let decoded = match format {
        Format::Npz => npz::read(bytes, array, limit)?,
        _ => npy::read(bytes, limit)?,
    };
    let mut remarks: Vec<Remark> = decoded.remarks.into_iter().map(Remark::Array).collect();
    let array = decoded.array;
    let shape = array.shape().to_vec();
    let (rows, width) = match shape.as_slice() {
        [] => return Err(Fault::new("it holds a single number", "give an array with a row for each observation")),
        [rows, rest @ ..] => (*rows, rest.iter().product::<usize>()),
    };
    if shape.len() > 2 {
        remarks.push(Remark::Axes { shape, columns: width });
    }
    // Arrays in the order of Fortran are brought in ours.
    let array = if array.is_standard_layout() { array } else { array.as_standard_layout().into_owned() };
    let mut values = array.into_shape_with_order((rows, width)).map_err(|error| Fault::damaged(error.to_string()))?;
    let missing = numbers_of(&options.missing);
    if !missing.is_empty() {
        values.mapv_inplace(|value| if missing.contains(&value) { f64::NAN } else { value });
    }
    if let Some(((row, column), value)) = values.indexed_iter().find(|(_, value)| value.is_infinite()) {
        return Err(Fault::new(
            format!("row {}, column {} (from 1): the value is {value}", row + 1, column + 1),
            "give finite numbers, and NaN for missing values",
        ));
    }
    let mut names: Vec<String> = vec![String::new(); width];
    for (key, name) in decoded.metadata.notes {
        let index = key.strip_prefix(NAME_KEY).and_then(|index| index.parse::<usize>().ok()?.checked_sub(1));
        if let Some(place) = index.and_then(|index| names.get_mut(index)) {
            *place = name;
        }
    }
    let names = distinct(names, &mut remarks);
    let empty: Vec<bool> = values.axis_iter(Axis(1)).map(|column| column.iter().all(|value| value.is_nan())).collect();
    if empty.iter().all(|empty| *empty) {
        return Err(Fault::new("all its values are NaN", "give an array with numbers"));
    }
    if !empty.contains(&true) {
        return Ok(Table { names, values, kinds: vec![Kind::Number; width], empty: Vec::new(), remarks, rows: None });
    }
    for (index, name) in names.iter().enumerate().filter(|(index, _)| empty.get(*index) == Some(&true)) {
        let place = if *name == default_name(index) { name.clone() } else { format!("column {} ({name})", index + 1) };
        remarks.push(Remark::EmptyColumn { column: place });
    }
    let kept: Vec<usize> = (0..width).filter(|index| empty.get(*index) == Some(&false)).collect();
    let values = values.select(Axis(1), &kept);
    let (kept_names, empty): (Vec<_>, Vec<_>) = names.into_iter().zip(empty).partition(|(_, empty)| !empty);
    let only_names = |columns: Vec<(String, bool)>| columns.into_iter().map(|(name, _)| name).collect();
    let kinds = vec![Kind::Number; kept.len()];
    Ok(Table { names: only_names(kept_names), values, kinds, empty: only_names(empty), remarks, rows: None })
}

/// The names of columns as notes of an NPZ file; those that [`read`] fills in are left out.
pub(crate) fn notes_of(names: &[String]) -> Vec<(String, String)> {
    let given = names.iter().enumerate().filter(|(index, name)| !name.is_empty() && **name != default_name(*index));
    given.map(|(index, name)| (format!("{NAME_KEY}{}", index + 1), name.clone())).collect()
}
