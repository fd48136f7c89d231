//! The kind of a field of a CSV file.

use std::borrow::Cow;

/// The kind of a field.
#[derive(Debug, PartialEq)]
pub(crate) enum Cell<'a> {
    Missing,
    /// A finite number.
    Number(f64),
    /// Anything else.
    Odd(Oddity, Cow<'a, str>),
}

/// Why a field is no number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Oddity {
    /// It is a word.
    Text,
    /// It is a date, with a time or without.
    Date,
    /// It is a number as written in Europe, 3,14.
    DecimalComma,
    /// It is a number with signs between its thousands, 1,234,567.
    Thousands,
    /// A comma stands before the last three digits, 1,234: it can be either of the above.
    Comma,
    /// It is infinite.
    Infinite,
    /// It is a number beyond the range of a double.
    TooLarge,
}

impl Oddity {
    /// Whether it was meant as a number.
    pub(crate) fn is_numeric(self) -> bool {
        !matches!(self, Self::Text | Self::Date)
    }

    /// The fault of the cell, after its text, and a remedy.
    pub(crate) fn explained(self) -> (&'static str, &'static str) {
        match self {
            Self::Date => (
                "is a date, unlike most cells of the column, which are numbers",
                "correct it, or add it to the markers of missing values",
            ),
            Self::Text => (
                "is no number, unlike most cells of the column",
                "correct it, or add it to the markers of missing values",
            ),
            Self::DecimalComma => (
                "has a decimal comma",
                "say that the table has decimal commas (--decimal-comma yes; decimal_comma in Rust), or write 3.14 and not 3,14",
            ),
            Self::Thousands => (
                "has signs between its thousands",
                "write 1234567 and not 1,234,567, for example by exporting the table without separators of thousands",
            ),
            Self::Comma => (
                "has a comma, which may stand for a decimal point or between thousands",
                "write 1.234 or 1234, for example by exporting the table with decimal points and without separators of \
                 thousands",
            ),
            Self::Infinite => ("is infinite", "give a finite number, or add it to the markers of missing values"),
            Self::TooLarge => (
                "is larger than the largest double, about 1.8e308",
                "use a larger unit, or add it to the markers of missing values",
            ),
        }
    }
}

/// The texts and numbers that stand for a missing value.
pub(crate) struct Markers {
    texts: Vec<String>,
    numbers: Vec<f64>,
    /// Whether numbers have decimal commas; points then stand between thousands.
    pub(crate) decimal_comma: bool,
}

impl Markers {
    pub(crate) fn new(markers: &[String]) -> Self {
        let texts = markers.iter().map(|marker| marker.trim().to_owned()).collect();
        Self { texts, numbers: numbers_of(markers), decimal_comma: false }
    }

    /// Whether a number is one of the markers.
    pub(crate) fn mark(&self, number: f64) -> bool {
        self.numbers.contains(&number)
    }

    fn has(&self, text: &str) -> bool {
        text.is_empty() || self.texts.iter().any(|marker| marker == text)
    }
}

/// The markers of missing values that are numbers.
pub(crate) fn numbers_of(markers: &[String]) -> Vec<f64> {
    markers.iter().filter_map(|marker| marker.trim().parse().ok()).filter(|number: &f64| !number.is_nan()).collect()
}

/// The text of a field without spaces around it. Bytes that are not UTF-8 are taken for Latin-1, which
/// keeps different words different.
pub(crate) fn text_of(field: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(field) {
        Ok(text) => Cow::Borrowed(text.trim()),
        Err(_) => Cow::Owned(field.iter().copied().map(char::from).collect::<String>().trim().to_owned()),
    }
}

/// The kind of a field.
pub(crate) fn classify<'a>(field: &'a [u8], markers: &Markers) -> Cell<'a> {
    // most cells of large tables are plain numbers
    if !markers.decimal_comma
        && let Some(number) = plain_number(field)
    {
        return if markers.mark(number) { Cell::Missing } else { Cell::Number(number) };
    }
    let text = text_of(field);
    // Markers come first, as they may be numbers: -999.
    if markers.has(&text) {
        return Cell::Missing;
    }
    if markers.decimal_comma && text.contains([',', '.']) {
        return with_decimal_comma(text, markers);
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_nan() || markers.numbers.contains(&number) => Cell::Missing,
        Ok(number) if number.is_finite() => Cell::Number(number),
        Ok(_) if text.bytes().any(|byte| byte.is_ascii_digit()) => Cell::Odd(Oddity::TooLarge, text),
        Ok(_) => Cell::Odd(Oddity::Infinite, text),
        Err(_) => match oddity_of(&text) {
            Oddity::Text if is_date(&text) => Cell::Odd(Oddity::Date, text),
            other => Cell::Odd(other, text),
        },
    }
}

/// The number of a field that is a sign, digits and perhaps a point with digits.
fn plain_number(field: &[u8]) -> Option<f64> {
    let digits = field.strip_prefix(b"-").unwrap_or(field);
    if digits.is_empty() || !digits.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.') {
        return None;
    }
    // finite, unless there are hundreds of digits
    str::from_utf8(field).ok()?.parse::<f64>().ok().filter(|number| number.is_finite())
}

/// The kind of a cell of a table with decimal commas.
fn with_decimal_comma<'a>(text: Cow<'a, str>, markers: &Markers) -> Cell<'a> {
    match oddity_of(&text) {
        Oddity::DecimalComma | Oddity::Comma => {
            let point: String = text
                .chars()
                .filter(|letter| !matches!(letter, '.' | '\'' | '’' | ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}'))
                .map(|letter| match letter {
                    ',' => '.',
                    '−' => '-',
                    other => other,
                })
                .collect();
            match point.parse::<f64>() {
                Ok(number) if markers.mark(number) => Cell::Missing,
                Ok(number) if number.is_finite() => Cell::Number(number),
                _ => Cell::Odd(Oddity::Text, text),
            }
        }
        // 1.234 is a thousand where commas are decimal, or a slip
        Oddity::Text if text.parse::<f64>().is_ok() => Cell::Odd(Oddity::Thousands, text),
        other => Cell::Odd(other, text),
    }
}

/// Whether a text is a date as 2024-01-05, 5.1.2024 or 1/5/24, with a time or without.
fn is_date(text: &str) -> bool {
    let day = text.split([' ', 'T']).next().unwrap_or_default();
    let rest = text.get(day.len()..).unwrap_or_default();
    let time = |letter: char| letter.is_ascii_digit() || matches!(letter, ' ' | 'T' | ':' | '.' | 'Z' | '+' | '-');
    ['-', '/', '.'].iter().any(|separator| {
        let parts: Vec<&str> = day.split(*separator).collect();
        let numbers: Vec<u32> = parts.iter().filter_map(|part| part.parse().ok()).collect();
        let [first, second, third] = numbers.as_slice() else { return false };
        let plausible =
            |day: u32, month: u32| (1..=31).contains(&day) && (1..=31).contains(&month) && day.min(month) <= 12;
        let year = |text: &str| matches!(text.len(), 2 | 4);
        parts.len() == 3
            && ((parts[0].len() == 4 && plausible(*third, *second)) || (year(parts[2]) && plausible(*first, *second)))
    }) && rest.chars().all(time)
}

/// The number that a text may have been meant as which is none for Rust.
fn oddity_of(text: &str) -> Oddity {
    let unsigned = text.strip_prefix(['+', '-', '−']).unwrap_or(text);
    if unsigned == "∞" {
        return Oddity::Infinite;
    }
    // The shortest are 1,5 and ,5.
    if !unsigned.starts_with(|letter: char| letter.is_ascii_digit() || letter == ',') {
        return Oddity::Text;
    }
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let mantissa = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, power)) if digits(power.strip_prefix(['+', '-']).unwrap_or(power)) => mantissa,
        Some(_) => return Oddity::Text,
        None => unsigned,
    };
    if let Some((whole, fraction)) = mantissa.split_once(',')
        && digits(fraction)
    {
        if digits(whole) && whole.len() <= 3 && fraction.len() == 3 && mantissa.len() == unsigned.len() {
            // 0,123 cannot be a thousand.
            return if whole.starts_with('0') { Oddity::DecimalComma } else { Oddity::Comma };
        }
        if whole.is_empty() || digits(whole) || grouped(whole, &['.', '\'', '’', ' ', '\u{a0}', '\u{202f}', '\u{2009}'])
        {
            return Oddity::DecimalComma;
        }
    }
    let whole = match mantissa.rsplit_once('.') {
        Some((whole, fraction)) if digits(fraction) && whole.contains([',', '\'', '’', ' ', '\u{a0}', '\u{202f}']) => {
            whole
        }
        _ => mantissa,
    };
    if grouped(whole, &[',', '.', '\'', '’', ' ', '\u{a0}', '\u{202f}', '\u{2009}']) {
        return Oddity::Thousands;
    }
    Oddity::Text
}

/// Whether digits are in groups of three, with one of these signs between them, always the same.
fn grouped(text: &str, separators: &[char]) -> bool {
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    separators.iter().any(|separator| {
        let mut groups = text.split(*separator);
        let first = groups.next().is_some_and(|first| (1..=3).contains(&first.len()) && digits(first));
        let mut more = groups.peekable();
        first && more.peek().is_some() && more.all(|group| group.len() == 3 && digits(group))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table_file::TableOptions;

    fn cell(text: &str) -> Cell<'_> {
        classify(text.as_bytes(), &Markers::new(&TableOptions::default().missing))
    }

    #[test]
    fn table_numbers_are_read_as_they_are() {
        for (text, number) in
            [("1", 1.0), (" -2.5 ", -2.5), ("+3", 3.0), (".5", 0.5), ("1e-3", 1e-3), ("6.02E23", 6.02e23), ("-0", 0.0)]
        {
            assert_eq!(cell(text), Cell::Number(number), "{text}");
        }
    }

    #[test]
    fn table_markers_are_missing() {
        for text in ["", "  ", "NA", " N/A", "NaN", "nan", "null", "NULL", "?", "-", "NAN", "-nan"] {
            assert_eq!(cell(text), Cell::Missing, "{text:?}");
        }
        assert_eq!(classify(b"-999", &Markers::new(&["-999".to_owned()])), Cell::Missing);
        assert!(matches!(classify(b"NA", &Markers::new(&[])), Cell::Odd(Oddity::Text, _)));
    }

    #[test]
    fn table_oddities_are_told_apart() {
        use Oddity::{Comma, Date, DecimalComma, Infinite, Text, Thousands, TooLarge};
        let cases = [
            (
                Text,
                vec![
                    "a",
                    "1a",
                    "1,2,3",
                    "1,2,",
                    "2024-01-55",
                    "12:30",
                    "3-4-5",
                    "10.0.0.1",
                    "1.2.3",
                    "192.168.0.1",
                    "1 2",
                    "1e",
                    "1e5x",
                ],
            ),
            (
                DecimalComma,
                vec!["3,14", "-3,14", ",5", "1,5e-3", "1.234,56", "1.234.567,8", "1 234,5", "1234,567", "0,125"],
            ),
            (Thousands, vec!["1,234,567", "1,234.5", "1.234.567", "1'234", "1 234 567", "-12,345,678.9"]),
            (Comma, vec!["1,234", "-12,345"]),
            (
                Date,
                vec![
                    "2024-01-05",
                    "2024-01-05 12:30:01",
                    "2024-01-05T12:30:01.5Z",
                    "5.1.2024",
                    "31/12/99",
                    "12-31-1999",
                ],
            ),
            (Infinite, vec!["inf", "-inf", "Infinity", "INF", "∞", "-∞"]),
            (TooLarge, vec!["1e999", "-1e400"]),
        ];
        for (wanted, texts) in cases {
            for text in texts {
                assert_eq!(cell(text), Cell::Odd(wanted, text.into()), "{text}");
            }
            let (problem, hint) = wanted.explained();
            assert!(!problem.is_empty() && !hint.is_empty());
        }
    }

    #[test]
    fn table_decimal_commas_are_read_where_they_are_said() {
        let markers = Markers { decimal_comma: true, ..Markers::new(&["-9,5".to_owned(), "NA".to_owned()]) };
        for (text, number) in
            [("3,15", 3.15), ("-1.234,5", -1234.5), ("1,234", 1.234), ("7", 7.0), (",5", 0.5), ("1 234,5e-1", 123.45)]
        {
            assert_eq!(classify(text.as_bytes(), &markers), Cell::Number(number), "{text}");
        }
        assert_eq!(classify(b"1.5", &markers), Cell::Odd(Oddity::Thousands, "1.5".into()));
        assert_eq!(classify(b"-9,5", &markers), Cell::Missing);
    }

    #[test]
    fn table_text_that_is_not_utf8_stays_different() {
        assert_eq!(text_of(b" M\xfctze"), "Mütze");
        assert_ne!(text_of(b"M\xfctze"), text_of(b"M\xf6tze"));
    }
}
