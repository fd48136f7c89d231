//! The records of a CSV file one after the other, with the lines they stand on.

use std::io::{BufRead, ErrorKind};

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use super::trouble::Trouble;
use crate::image_file::fault::Fault;

/// The longest record: longer ones are the rest of a file after a quotation mark that is never closed.
const LONGEST: u64 = 64 << 20;

/// Reads records; only one is in memory.
///
/// `csv::Reader` counts lines wrongly after blank lines and where lines end in CR LF, and does not say
/// that a quotation mark is never closed, so that this uses the parser below it.
pub(crate) struct Records<R> {
    source: R,
    parser: Reader,
    bytes: Vec<u8>,
    /// Where the fields end in `bytes`.
    ends: Vec<usize>,
    fields: usize,
    longest: usize,
    /// The line of the next byte, from 1.
    next_line: u64,
    after_cr: bool,
    /// The line on which the record starts.
    start: u64,
}

impl<R: BufRead> Records<R> {
    pub(crate) fn new(source: R, delimiter: u8, memory_limit: u64) -> Self {
        Self {
            source,
            // made anew each time: a clone of a parser has lost its classes of bytes (csv-core 0.1.13)
            parser: ReaderBuilder::new().delimiter(delimiter).build(),
            bytes: vec![0; 1 << 10],
            ends: vec![0; 1 << 6],
            fields: 0,
            longest: memory_limit.clamp(1 << 10, LONGEST) as usize,
            next_line: 1,
            after_cr: false,
            start: 1,
        }
    }

    /// Goes to the next record that is not a blank line; `false` at the end.
    pub(crate) fn advance(&mut self) -> Result<bool, Trouble> {
        while self.advance_to_any()? {
            // One empty field is a cell without a value, `""`; spaces alone are nothing.
            let text = self.field(0);
            if self.fields > 1 || text.is_empty() || !text.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The line on which the record starts, from 1.
    pub(crate) fn line(&self) -> u64 {
        self.start
    }

    /// The number of fields of the record.
    pub(crate) fn len(&self) -> usize {
        self.fields
    }

    /// A field without its quotation marks; nothing if there is none.
    pub(crate) fn field(&self, index: usize) -> &[u8] {
        let start = if index == 0 { Some(0) } else { self.ends.get(index - 1).copied() };
        match (start, self.ends.get(index)) {
            (Some(start), Some(end)) if index < self.fields => self.bytes.get(start..*end).unwrap_or_default(),
            _ => &[],
        }
    }

    /// The fields of the record.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.fields).map(|index| self.field(index))
    }

    fn advance_to_any(&mut self) -> Result<bool, Trouble> {
        self.fields = 0;
        if !self.skip_line_ends()? {
            return Ok(false);
        }
        self.start = self.next_line;
        let mut length = 0;
        loop {
            let input = filled(&mut self.source)?;
            let at_end = input.is_empty();
            // A line end after the last byte ends a record, unless a quotation mark is open.
            let input = if at_end { b"\n" } else { input };
            let output = self.bytes.get_mut(length..).unwrap_or_default();
            let ends = self.ends.get_mut(self.fields..).unwrap_or_default();
            let (result, taken, written, ended) = self.parser.read_record(input, output, ends);
            for byte in input.iter().take(taken) {
                count_line(*byte, &mut self.next_line, &mut self.after_cr);
            }
            length += written;
            self.fields += ended;
            if !at_end {
                self.source.consume(taken);
            }
            match result {
                ReadRecordResult::Record => return Ok(true),
                ReadRecordResult::InputEmpty if at_end => {
                    return Err(Fault::new(
                        format!("line {}: a quotation mark is opened in this record and never closed", self.start),
                        "close it, or write two where one is a part of the text",
                    )
                    .into());
                }
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => self.grow(result)?,
                ReadRecordResult::End => return Ok(false),
            }
        }
    }

    /// Skips blank lines and what is left of the last line end; `false` if nothing follows.
    fn skip_line_ends(&mut self) -> Result<bool, Trouble> {
        loop {
            let input = filled(&mut self.source)?;
            if input.is_empty() {
                return Ok(false);
            }
            let ends = input.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            for byte in input.iter().take(ends) {
                count_line(*byte, &mut self.next_line, &mut self.after_cr);
            }
            let found = ends < input.len();
            self.source.consume(ends);
            if found {
                return Ok(true);
            }
        }
    }

    fn grow(&mut self, full: ReadRecordResult) -> Result<(), Fault> {
        if self.bytes.len() + self.ends.len() * size_of::<usize>() > self.longest {
            return Err(Fault::new(
                format!("line {}: the record that starts here has more than {} bytes", self.start, self.longest / 2),
                "look for a quotation mark that is never closed, or raise the limit on memory",
            ));
        }
        match full {
            ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
            _ => self.bytes.resize(self.bytes.len() * 2, 0),
        }
        Ok(())
    }
}

/// The next bytes; a signal that the program heard while it waited for them is no reason to stop.
fn filled<R: BufRead>(source: &mut R) -> std::io::Result<&[u8]> {
    loop {
        match source.fill_buf() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok([]) => return Ok(&[]),
            Ok(_) => break,
        }
    }
    // asked again because of the borrow: what is there is given without reading
    source.fill_buf()
}

/// Counts a line end: LF, CR LF, or CR alone.
fn count_line(byte: u8, line: &mut u64, after_cr: &mut bool) {
    match byte {
        b'\n' if !*after_cr => *line += 1,
        b'\r' => *line += 1,
        _ => {}
    }
    *after_cr = byte == b'\r';
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(text: &str) -> Vec<(u64, Vec<String>)> {
        // A small buffer shows what goes wrong at its ends.
        let mut records = Records::new(std::io::BufReader::with_capacity(3, text.as_bytes()), b',', 1 << 20);
        let mut found = Vec::new();
        while records.advance().unwrap() {
            let fields = records.iter().map(|field| String::from_utf8_lossy(field).into_owned()).collect();
            found.push((records.line(), fields));
        }
        found
    }

    #[test]
    fn table_lines_are_counted_whatever_ends_them() {
        for end in ["\n", "\r\n", "\r"] {
            let text = ["a,b", "", "1,2", "  ", "\"x,", "y\",3", "", "4,\"\"\"\""].join(end);
            let multi = format!("x,{end}y");
            let wanted: [(u64, [&str; 2]); 4] =
                [(1, ["a", "b"]), (3, ["1", "2"]), (5, [&multi, "3"]), (8, ["4", "\""])];
            let found = records(&text);
            assert_eq!(found.len(), wanted.len(), "{end:?}");
            for ((line, fields), (wanted_line, wanted_fields)) in found.iter().zip(&wanted) {
                assert_eq!((line, fields.as_slice()), (wanted_line, &wanted_fields.map(str::to_owned)[..]), "{end:?}");
            }
            assert_eq!(records(&format!("{text}{end}")), found);
        }
    }

    #[test]
    fn table_cells_without_a_value_are_no_blank_lines() {
        assert_eq!(records("x\n\"\"\n\n1\n").len(), 3);
        assert_eq!(records(",\n"), [(1, vec![String::new(), String::new()])]);
        assert_eq!(records(""), []);
        assert_eq!(records("\n\r\n\n"), []);
    }

    #[test]
    fn table_records_longer_than_buffers_are_read() {
        let long = "x".repeat(5000);
        let many = vec!["1"; 700].join(",");
        let found = records(&format!("{long},{long}\n{many}\n"));
        assert_eq!(found[0].1, [long.clone(), long]);
        assert_eq!(found[1].1.len(), 700);
    }

    #[test]
    fn table_quotation_marks_that_stay_open_are_an_error() {
        let mut records = Records::new(&b"a,b\n1,\"x\n2,3\n4,5\n"[..], b',', 1 << 20);
        assert!(records.advance().unwrap());
        let Err(Trouble::Fault(fault)) = records.advance() else { panic!("the quotation mark is open") };
        assert!(fault.problem.starts_with("line 2:"), "{}", fault.problem);
        let endless = format!("a\n\"{}", "1\n".repeat(4000));
        let mut records = Records::new(endless.as_bytes(), b',', 1 << 10);
        assert!(records.advance().unwrap());
        assert!(records.advance().is_err());
    }

    /// A source that is interrupted before every second reading.
    struct Interrupted<'a>(&'a [u8], bool);

    impl std::io::Read for Interrupted<'_> {
        fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
            self.1 = !self.1;
            if self.1 { Err(ErrorKind::Interrupted.into()) } else { self.0.read(to) }
        }
    }

    #[test]
    fn table_records_are_read_on_after_a_signal() {
        let source = std::io::BufReader::with_capacity(4, Interrupted(b"\n\na,b\n1,2\n3,4\n", false));
        let mut records = Records::new(source, b',', 1 << 20);
        let mut read = 0;
        while records.advance().unwrap() {
            read += 1;
        }
        assert_eq!(read, 3);
    }
}
