//! Standard output: lines, frames that are drawn again and again, and tables.

use std::env;
use std::fmt::Display;
use std::io::{IsTerminal, StdoutLock, Write, stdout};
use std::path::Path;
use std::sync::Mutex;
use std::thread::sleep;
use std::time::{Duration, Instant};

use efmca_view::fields_as_text;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2};

use crate::cluster::follows;

/// Frames do not follow each other faster than this: the eye has to see something happen.
const FRAME_TIME: Duration = Duration::from_millis(40);

/// Standard output, with one frame of it that can be drawn again and again if it is a terminal.
pub(crate) struct Screen {
    out: StdoutLock<'static>,
    live: bool,
    colour: bool,
    /// The lines of the frame that stands on the screen.
    frame_lines: usize,
    last_frame: Option<Instant>,
    /// Whether the results are in files, so that the work goes on if nobody can be told about it.
    beside_files: bool,
}

/// The first error of a screen that the work went on after.
static LOST: Mutex<Option<std::io::Error>> = Mutex::new(None);

/// What became of the lines that were said beside files: an error if some could not be written and somebody wanted them.
pub(crate) fn said_all() -> std::io::Result<()> {
    LOST.lock().ok().and_then(|mut lost| lost.take()).map_or(Ok(()), Err)
}

impl Screen {
    /// Standard output as it is: with control sequences only for a terminal that knows them.
    pub(crate) fn new() -> Self {
        let out = stdout().lock();
        let is = |name: &str, values: &[&str]| env::var(name).is_ok_and(|value| values.contains(&value.as_str()));
        let set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
        let live = out.is_terminal() && !is("TERM", &["dumb"]);
        // Terminals that know 256 colours only show nonsense for 24-bit ones, so they have to say that they can.
        let colour = live && !set("NO_COLOR") && (is("COLORTERM", &["truecolor", "24bit"]) || set("WT_SESSION"));
        Self { out, live, colour, frame_lines: 0, last_frame: None, beside_files: false }
    }

    /// The same for a command whose results are files: these are written whether or not somebody reads the lines about them.
    pub(crate) fn beside_files() -> Self {
        Self { beside_files: true, ..Self::new() }
    }

    /// Whether frames replace each other.
    pub(crate) fn is_live(&self) -> bool {
        self.live
    }

    /// Prints a text and the end of its line.
    pub(crate) fn say(&mut self, text: &str) -> std::io::Result<()> {
        if follows() {
            return Ok(());
        }
        let said = writeln!(self.out, "{text}").and_then(|()| {
            // Without this a pipe that nobody reads is noticed only after all the work.
            self.out.flush()
        });
        match said {
            Err(error) if self.beside_files => {
                // the reader of a pipe may go when it has seen enough; a full disk is worth a word at the end
                if error.kind() != std::io::ErrorKind::BrokenPipe
                    && let Ok(mut lost) = LOST.lock()
                {
                    lost.get_or_insert(error);
                }
                Ok(())
            }
            said => said,
        }
    }

    /// Prints what the user should know about a file.
    pub(crate) fn notes<T: Display>(
        &mut self,
        path: &Path,
        remarks: impl IntoIterator<Item = T>,
    ) -> std::io::Result<()> {
        remarks.into_iter().try_for_each(|remark| self.say(&format!("note: {}: {remark}", path.display())))
    }

    /// Pictures beside each other, as many as fit a terminal of 80 columns, indented.
    pub(crate) fn pictures(&self, pictures: &[Array2<f64>]) -> String {
        let views: Vec<ArrayView2<'_, f64>> = pictures.iter().map(|picture| picture.view()).collect();
        // In colours a pixel is half a character high and one wide, otherwise one high and two wide.
        let per_row = if self.colour { 10 } else { 5 };
        let text = fields_as_text(&views, per_row, self.colour);
        text.lines().map(|line| format!("  {line}").trim_end().to_owned() + "\n").collect()
    }

    /// Draws a frame in place of the one before.
    pub(crate) fn frame(&mut self, text: &str) -> std::io::Result<()> {
        if let Some(last) = self.last_frame {
            sleep(FRAME_TIME.saturating_sub(last.elapsed()));
        }
        self.last_frame = Some(Instant::now());
        // Lines that wrap would be two on the screen and one in the count, so that wrapping is off meanwhile.
        let mut frame = self.to_frame_start() + "\x1b[?7l";
        for line in text.lines() {
            // The rest of an old line is erased after the new one is written: erasing first would flicker.
            frame += &format!("{line}\x1b[K\n");
        }
        frame += "\x1b[?7h";
        self.frame_lines = text.lines().count();
        self.out.write_all(frame.as_bytes())?;
        self.out.flush()
    }

    /// Takes the frame away; what comes next stands where it was.
    pub(crate) fn clear_frame(&mut self) -> std::io::Result<()> {
        if self.frame_lines > 0 {
            let back = self.to_frame_start() + "\x1b[J";
            self.frame_lines = 0;
            self.out.write_all(back.as_bytes())?;
        }
        self.out.flush()
    }

    fn to_frame_start(&self) -> String {
        // "up by 0" would be taken as "up by 1"
        if self.frame_lines > 0 { format!("\x1b[{}A\r", self.frame_lines) } else { String::new() }
    }
}

/// A row of values as a picture with `side` rows; pixels beyond its end are missing.
pub(crate) fn square(values: ArrayView1<'_, f64>, side: usize) -> Array2<f64> {
    Array2::from_shape_fn((side, side), |(y, x)| values.get(y * side + x).copied().unwrap_or(f64::NAN))
}

/// The positions of `values`, the largest value first.
pub(crate) fn largest_first(values: &Array1<f64>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
    order
}

/// The width of a column of texts, which is bounded so that one long name does not push the rest off the screen.
pub(crate) fn width_of(texts: &[String]) -> usize {
    texts.iter().map(|text| text.chars().count()).max().unwrap_or(0).min(40)
}

/// The name of a file, for titles.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().map_or("efmca".into(), |name| name.to_string_lossy().into_owned())
}

/// A table of texts.
#[derive(Clone)]
pub(crate) struct TextTable {
    pub(crate) head: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl TextTable {
    /// The table in aligned columns; those in `left` are aligned to the left, the others to the right.
    pub(crate) fn aligned(&self, left: &[usize]) -> String {
        let all = || std::iter::once(&self.head).chain(&self.rows);
        let width = |column: usize| all().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).enumerate().map(|(index, (cell, width))| {
                if left.contains(&index) { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            });
            cells.collect::<Vec<String>>().join("  ").trim_end().to_owned()
        };
        all().map(line).collect::<Vec<String>>().join("\n")
    }
}

/// Text broken at spaces into lines of at most `width` characters; longer words are not broken.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn rows_become_squares() {
        assert_eq!(square(array![1.0, 2.0, 3.0, 4.0].view(), 2), array![[1.0, 2.0], [3.0, 4.0]]);
        assert!(square(array![1.0].view(), 2)[[1, 1]].is_nan());
    }

    #[test]
    fn the_largest_is_first_and_equals_keep_their_order() {
        assert_eq!(largest_first(&array![0.1, 0.3, 0.1, 0.2]), [1, 3, 0, 2]);
    }

    #[test]
    fn lines_break_at_spaces() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("extraordinary", 5), ["extraordinary"]);
        assert!(wrapped("", 5).is_empty());
    }
}
