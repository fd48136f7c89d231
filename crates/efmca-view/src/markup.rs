//! Texts and pictures inside HTML and SVG.

mod base64;

use crate::{Picture, ViewError};

/// Text in which nothing is markup, also inside of quotation marks. Control characters, which HTML and XML do not have,
/// are shown as the sign for an unknown one.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(letter),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            letter if letter.is_control() => safe.push('\u{fffd}'),
            letter => safe.push(letter),
        }
    }
    safe
}

/// The address of a picture that is a part of the page itself.
pub(crate) fn address_of(picture: &Picture) -> Result<String, ViewError> {
    Ok(format!("data:image/png;base64,{}", base64::base64(&picture.to_png()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_markup() {
        assert_eq!(escaped("<a b='c'>&\"\u{1}\u{ffff}\n"), "&lt;a b=&#39;c&#39;&gt;&amp;&quot;\u{fffd}\u{fffd}\n");
    }
}
