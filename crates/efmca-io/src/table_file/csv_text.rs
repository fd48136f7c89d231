//! Tables in CSV files.

use std::borrow::Cow;
use std::io::{BufRead, Read};

use ndarray::Array2;

use super::cell::{Cell, Markers, classify, text_of};
use super::column::{Codes, Column, Fate};
use super::guess::Head;
use super::names::{default_name, distinct};
use super::records::Records;
use super::trouble::{Trouble, shown};
use super::{Remark, Table, TableOptions};
use crate::image_file::fault::{Fault, TOO_LARGE};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The values of a file, row by row, before it is known what the columns are.
pub(crate) struct Cells {
    pub(crate) names: Vec<String>,
    pub(crate) columns: Vec<Column>,
    pub(crate) values: Vec<f64>,
    pub(crate) rows: usize,
    pub(crate) remarks: Vec<Remark>,
}

/// The table in the text that `head` and `rest` make up. `size` is the number of its bytes, if known.
pub(crate) fn read(
    head: &[u8],
    rest: impl BufRead,
    whole: bool,
    size: Option<u64>,
    options: &TableOptions,
) -> Result<Table, Trouble> {
    let bytes = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    let head = Head { bytes, whole };
    let delimiter = options.delimiter.unwrap_or_else(|| head.delimiter());
    let mut markers = Markers::new(&options.missing);
    markers.decimal_comma = options.decimal_comma.unwrap_or_else(|| head.has_decimal_commas(delimiter, &markers));
    let header = options.header.unwrap_or_else(|| head.has_header(delimiter, &markers));
    let records = Records::new(bytes.chain(rest), delimiter, options.memory_limit);
    let expected = size.map_or(0, |size| head.estimated_records(delimiter, size));
    let cells = collect(records, delimiter, header, expected, &markers, options)?;
    Ok(finish(cells)?)
}

/// Reads all records.
fn collect<R: BufRead>(
    mut records: Records<R>,
    delimiter: u8,
    header: bool,
    expected: usize,
    markers: &Markers,
    options: &TableOptions,
) -> Result<Cells, Trouble> {
    if !records.advance()? {
        return Err(Fault::damaged("it holds blank lines only").into());
    }
    let (first, width) = (records.line(), records.len());
    let most = options.memory_limit / size_of::<f64>() as u64;
    if (width * size_of::<Column>()) as u64 > options.memory_limit {
        return Err(too_large(options, records.line()).into());
    }
    let mut remarks = Vec::new();
    if markers.decimal_comma && options.decimal_comma.is_none() {
        remarks.push(Remark::DecimalCommas);
    }
    let mut foreign: Option<(u64, usize)> = None;
    // whole numbers that no double is: how many, and where the first one is
    let mut rounded: (u64, Option<(u64, usize)>) = (0, None);
    let mut more = true;
    let names: Vec<String> = if header {
        let names: Vec<Cow<'_, str>> = records.iter().map(text_of).collect();
        foreign = names.iter().position(|name| matches!(name, Cow::Owned(_))).map(|column| (first, column));
        let names = distinct(names.into_iter().map(Cow::into_owned).collect(), &mut remarks);
        more = records.advance()?;
        names
    } else {
        if options.header.is_none() {
            remarks.push(Remark::NoHeader { line: first, first: default_name(0) });
        }
        (0..width).map(default_name).collect()
    };
    let mut values = Vec::new();
    // Room for all rows at once, as growing would move them and need up to three times their memory.
    // It is only an estimate: without it, the values grow as they come.
    let room = expected.saturating_mul(width).min(usize::try_from(most).unwrap_or(usize::MAX));
    let _ = values.try_reserve_exact(room);
    let mut columns: Vec<Column> = std::iter::repeat_with(Column::default).take(width).collect();
    let (mut rows, mut empty) = (0_usize, 0_usize);
    while more {
        let line = records.line();
        if records.len() != width {
            return Err(ragged(line, records.len(), first, width, delimiter).into());
        }
        if (values.len() + width) as u64 > most || values.try_reserve(width).is_err() {
            return Err(too_large(options, line).into());
        }
        let mut is_empty = true;
        for (index, (field, column)) in records.iter().zip(&mut columns).enumerate() {
            let cell = classify(field, markers);
            is_empty &= cell == Cell::Missing;
            if matches!(cell, Cell::Number(number) if is_rounded(field, number)) {
                rounded = (rounded.0 + 1, rounded.1.or(Some((line, index))));
            }
            if let Cell::Odd(_, text) = &cell {
                if text.contains('\0') {
                    let name = names.get(index).map_or_else(String::new, |name| shown(name));
                    return Err(Fault::damaged(format!("line {line}, column {name}: the cell holds a NUL byte")).into());
                }
                if foreign.is_none() && matches!(text, Cow::Owned(_)) {
                    foreign = Some((line, index));
                }
            }
            values.push(column.push(cell, line));
        }
        rows += 1;
        empty += usize::from(is_empty);
        more = records.advance()?;
    }
    if let Some((line, index)) = foreign {
        remarks.push(Remark::NotUtf8 { line, column: names.get(index).cloned().unwrap_or_default() });
    }
    if let (count, Some((line, index))) = rounded {
        remarks.push(Remark::Rounded { count, line, column: names.get(index).cloned().unwrap_or_default() });
    }
    if empty > 0 {
        remarks.push(Remark::EmptyRows { empty, rows });
    }
    Ok(Cells { names, columns, values, rows, remarks })
}

/// Decides on the columns, and keeps those that can be used.
pub(crate) fn finish(cells: Cells) -> Result<Table, Fault> {
    let Cells { names, columns, mut values, rows, mut remarks } = cells;
    if rows == 0 {
        return Err(Fault::new("it holds names of columns but no row of values", "give a table with at least one row"));
    }
    let width = columns.len();
    let mut kept: Vec<(usize, Codes)> = Vec::with_capacity(width);
    let (mut kept_names, mut kinds) = (Vec::with_capacity(width), Vec::with_capacity(width));
    let mut empty = Vec::new();
    for (index, (column, name)) in columns.iter().zip(names).enumerate() {
        let cells = values.iter().skip(index).step_by(width).copied();
        match column.finish(&name, cells)? {
            Fate::LeftOut(reason) => remarks.push(reason),
            Fate::Empty(reason) => {
                remarks.push(reason);
                empty.push(name);
            }
            Fate::Kept { kind, codes, remark } => {
                kept.push((index, codes));
                kept_names.push(name);
                kinds.push(kind);
                remarks.extend(remark);
            }
        }
    }
    if kept.is_empty() {
        return Err(Fault::new(
            format!("it has no column of numbers or labels ({})", listed(&remarks)),
            "check its delimiter and its markers of missing values",
        ));
    }
    if kept.len() < width || kept.iter().any(|(_, codes)| !codes.is_identity()) {
        // In place: a value only moves towards the start.
        let mut to = 0;
        for row in 0..rows {
            for (from, codes) in &kept {
                values[to] = codes.apply(values[row * width + from]);
                to += 1;
            }
        }
        values.truncate(to);
    }
    if values.capacity() - values.len() > values.len() / 8 {
        values.shrink_to_fit();
    }
    let values =
        Array2::from_shape_vec((rows, kept.len()), values).map_err(|error| Fault::damaged(error.to_string()))?;
    Ok(Table { names: kept_names, values, kinds, empty, remarks, rows: None })
}

fn listed(remarks: &[Remark]) -> String {
    remarks.iter().map(Remark::to_string).collect::<Vec<_>>().join("; ")
}

fn ragged(line: u64, found: usize, first: u64, width: usize, delimiter: u8) -> Fault {
    let name = match delimiter {
        b',' => "commas".to_owned(),
        b';' => "semicolons".to_owned(),
        b'\t' => "tabs".to_owned(),
        other => format!("`{}`", char::from(other).escape_debug()),
    };
    let hint = match delimiter {
        b',' if found > width => {
            "put fields that hold a comma in quotation marks, and write numbers with decimal points (3.14, not 3,14)"
        }
        _ if found > width => "put fields that hold the delimiter in quotation marks, or give the right delimiter",
        _ => "fill up the line with empty fields, or give the right delimiter",
    };
    Fault::new(format!("line {line} has {found} fields, and line {first} has {width} (fields are cut at {name})"), hint)
}

fn too_large(options: &TableOptions, line: u64) -> Fault {
    Fault::new(
        format!("at line {line} its values need more than the {} bytes allowed", options.memory_limit),
        TOO_LARGE,
    )
}

/// Whether a field is a whole number that no double is.
fn is_rounded(field: &[u8], number: f64) -> bool {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let digits = field.trim_ascii();
    number.abs() >= EXACT
        && digits.strip_prefix(b"-").unwrap_or(digits).iter().all(u8::is_ascii_digit)
        && str::from_utf8(digits).is_ok_and(|text| text.parse::<i128>() != Ok(number as i128))
}
