//! Keys and values that efmca stores in a file beside the numbers.

use super::fault::Fault;

/// The mark of our own notes in a file.
pub(crate) const PREFIX: &str = "efmca:";

/// PNG allows 79 characters, the prefix included.
const LONGEST_KEY: usize = 60;

/// The notes with keys that every format can hold, without the prefix.
pub(crate) fn checked(notes: &[(String, String)]) -> Result<Vec<(String, String)>, Fault> {
    let mut checked: Vec<(String, String)> = Vec::with_capacity(notes.len());
    for (key, value) in notes {
        let key = key.strip_prefix(PREFIX).unwrap_or(key);
        let usable = !key.is_empty()
            && key.len() <= LONGEST_KEY
            && key.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'=');
        if !usable {
            return Err(Fault::new(
                format!("a note has the key `{}`", key.escape_debug()),
                "use up to 60 letters, digits and signs, without spaces and `=`",
            ));
        }
        if value.contains('\0') {
            return Err(Fault::new(format!("the note `{key}` has a NUL character"), "leave it out"));
        }
        if checked.iter().any(|(known, _)| known == key) {
            return Err(Fault::new(format!("two notes have the key `{key}`"), "give each note a key of its own"));
        }
        checked.push((key.to_owned(), value.clone()));
    }
    Ok(checked)
}

/// A note as one line of text.
pub(crate) fn to_line(key: &str, value: &str) -> String {
    let mut line = format!("{PREFIX}{key}=");
    for letter in value.chars() {
        match letter {
            '\\' => line.push_str("\\\\"),
            letter if letter.is_control() => line.extend(letter.escape_unicode()),
            letter => line.push(letter),
        }
    }
    line
}

/// As [`to_line`], in printable ASCII and without spaces that a format may drop.
pub(crate) fn to_ascii_line(key: &str, value: &str) -> String {
    let mut ascii = String::new();
    let mut letters = to_line(key, value).chars().collect::<Vec<_>>().into_iter().peekable();
    let mut before = ' ';
    while let Some(letter) = letters.next() {
        let lost = letter == ' ' && (before == ' ' || letters.peek().is_none());
        if lost || !letter.is_ascii() {
            ascii.extend(letter.escape_unicode());
            before = '}';
        } else {
            ascii.push(letter);
            before = letter;
        }
    }
    ascii
}

/// The note in a line, if it is one.
pub(crate) fn from_line(line: &str) -> Option<(String, String)> {
    let (key, escaped) = line.strip_prefix(PREFIX)?.split_once('=')?;
    let mut value = String::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some(at) = rest.find('\\') {
        value.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('\\') {
            value.push('\\');
            rest = after;
        } else if let Some((letter, after)) = unicode_escape(rest) {
            value.push(letter);
            rest = after;
        } else {
            value.push('\\');
        }
    }
    value.push_str(rest);
    Some((key.to_owned(), value))
}

/// The letter of `u{...}` at the start, and what follows.
fn unicode_escape(text: &str) -> Option<(char, &str)> {
    let (digits, after) = text.strip_prefix("u{")?.split_once('}')?;
    let letter = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)?;
    Some((letter, after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_value_survives(value in any::<String>()) {
            let expected = Some(("key".to_owned(), value.clone()));
            prop_assert_eq!(from_line(&to_line("key", &value)), expected.clone());
            let ascii = to_ascii_line("key", &value);
            prop_assert!(ascii.bytes().all(|byte| (0x20..0x7f).contains(&byte)));
            prop_assert!(!ascii.contains("  ") && !ascii.ends_with(' '));
            prop_assert_eq!(from_line(&ascii), expected);
        }

        #[test]
        fn any_line_is_a_note_or_not(line in any::<String>()) {
            let _ = from_line(&format!("{PREFIX}{line}"));
        }
    }

    #[test]
    fn keys_are_checked() {
        let check = |key: &str| checked(&[(key.to_owned(), String::new())]);
        assert_eq!(check("efmca:peak").unwrap()[0].0, "peak");
        for key in ["", "a b", "a=b", "ä", &"k".repeat(61)] {
            assert!(check(key).is_err(), "{key}");
        }
    }
}
