//! Headers of FITS files: cards of 80 characters.

use super::super::fault::Fault;
use super::super::notes;
use super::super::sample_type::SampleType;
use super::BLOCK;

/// The characters of a card.
pub(crate) const CARD: usize = 80;

/// The axes that we count; the standard allows 999.
const MOST_AXES: i64 = 16;

/// The beginning of a card that continues the note of the card before.
pub(crate) const CONTINUED: &str = "efmca> ";

/// Cards about the array and its place in the file, which are made anew, and checksums and extremes,
/// which do not stay true.
const STRUCTURE: [&str; 24] = [
    "SIMPLE", "XTENSION", "BITPIX", "NAXIS", "EXTEND", "PCOUNT", "GCOUNT", "GROUPS", "BSCALE", "BZERO", "BLANK", "END",
    "CHECKSUM", "DATASUM", "DATAMIN", "DATAMAX", "INHERIT", "EXTLEVEL", "EXTVER", "TFIELDS", "THEAP", "ZHECKSUM",
    "ZDATASUM", "NEXTEND",
];

/// The cards of a header up to END.
pub(crate) struct Header {
    cards: Vec<String>,
    /// The bytes of the header, whole blocks.
    pub(crate) length: usize,
}

impl Header {
    pub(crate) fn of(bytes: &[u8]) -> Result<Self, Fault> {
        let mut cards = Vec::new();
        for (index, card) in bytes.chunks_exact(CARD).enumerate() {
            // Bytes beyond ASCII are not allowed but common in comments.
            let card: String =
                card.iter().map(|byte| if (b' '..=b'~').contains(byte) { char::from(*byte) } else { '?' }).collect();
            if card.trim_end() == "END" {
                let length = ((index + 1) * CARD).next_multiple_of(BLOCK);
                return Ok(Self { cards, length });
            }
            let keyword = card[..8].trim_end();
            if !keyword.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || b"-_".contains(&byte))
            {
                return Err(Fault::damaged(format!("card {index} is no card of FITS: `{}`", card.trim_end())));
            }
            cards.push(card);
        }
        Err(Fault::damaged("its cards do not come to an END"))
    }

    /// The text behind `=` in a card, up to the comment; strings stay in their quotes.
    fn value(&self, keyword: &str) -> Option<&str> {
        let card = self.cards.iter().find(|card| card[..8].trim_end() == keyword && card[8..].starts_with('='))?;
        let value = card[9..].trim();
        if value.starts_with('\'') {
            return Some(value);
        }
        Some(value.split('/').next().unwrap_or_default().trim())
    }

    /// The text of a card, its end without spaces.
    pub(crate) fn text(&self, keyword: &str) -> Option<String> {
        let quoted = self.value(keyword)?.strip_prefix('\'')?;
        let mut text = String::new();
        let mut letters = quoted.chars().peekable();
        while let Some(letter) = letters.next() {
            if letter == '\'' && letters.next_if_eq(&'\'').is_none() {
                break;
            }
            text.push(letter);
        }
        Some(text.trim_end().to_owned())
    }

    /// Whether a card is there and true.
    pub(crate) fn flag(&self, keyword: &str) -> bool {
        self.value(keyword) == Some("T")
    }

    /// The finite number of a card.
    pub(crate) fn number(&self, keyword: &str) -> Result<Option<f64>, Fault> {
        let Some(value) = self.value(keyword).filter(|value| !value.is_empty()) else {
            return Ok(None);
        };
        // Fortran writes double precision with D.
        let number = value.replace(['D', 'd'], "E").parse::<f64>().ok().filter(|number| number.is_finite());
        number.map(Some).ok_or_else(|| Fault::damaged(format!("{keyword} is `{value}` and not a number")))
    }

    /// The whole number of a card.
    pub(crate) fn integer(&self, keyword: &str) -> Result<Option<i64>, Fault> {
        let Some(value) = self.value(keyword).filter(|value| !value.is_empty()) else {
            return Ok(None);
        };
        let number = value.strip_prefix('+').unwrap_or(value).parse();
        number.map(Some).map_err(|_| Fault::damaged(format!("{keyword} is `{value}` and not a whole number")))
    }

    /// The extents of the axes, slowest first as everywhere here; FITS counts the fastest first.
    pub(crate) fn shape(&self) -> Result<Vec<usize>, Fault> {
        let axes = self.integer("NAXIS")?.ok_or_else(|| Fault::damaged("NAXIS, the number of axes, is missing"))?;
        if !(0..=MOST_AXES).contains(&axes) {
            return Err(Fault::damaged(format!("NAXIS, the number of axes, is {axes}")));
        }
        let extent = |axis: i64| {
            let keyword = format!("NAXIS{axis}");
            let extent = self.integer(&keyword)?.and_then(|extent| usize::try_from(extent).ok());
            extent.ok_or_else(|| Fault::damaged(format!("{keyword}, the length of an axis, is missing or negative")))
        };
        (1..=axes).rev().map(extent).collect()
    }

    /// The type of the numbers as they are stored.
    pub(crate) fn stored_type(&self) -> Result<SampleType, Fault> {
        match self.integer("BITPIX")? {
            Some(8) => Ok(SampleType::U8),
            Some(16) => Ok(SampleType::I16),
            Some(32) => Ok(SampleType::I32),
            Some(64) => Ok(SampleType::I64),
            Some(-32) => Ok(SampleType::F32),
            Some(-64) => Ok(SampleType::F64),
            Some(other) => Err(Fault::damaged(format!("BITPIX is {other}, and FITS has 8, 16, 32, 64, -32 and -64"))),
            None => Err(Fault::damaged("BITPIX, the type of the numbers, is missing")),
        }
    }

    /// The bytes of the data, or nothing if they cannot be counted.
    pub(crate) fn data_length(&self) -> Result<Option<usize>, Fault> {
        let shape = self.shape()?;
        if shape.is_empty() {
            return Ok(Some(0));
        }
        let heap = usize::try_from(self.integer("PCOUNT")?.unwrap_or(0)).unwrap_or(0);
        let groups = usize::try_from(self.integer("GCOUNT")?.unwrap_or(1)).unwrap_or(1);
        let values = shape.iter().try_fold(1_usize, |count, extent| count.checked_mul(*extent));
        let bytes = self.stored_type()?.bytes();
        Ok(values.and_then(|values| values.checked_add(heap)?.checked_mul(groups)?.checked_mul(bytes)))
    }

    /// The cards that do not describe the array, those of an empty primary header first where no
    /// card here has the same keyword; our notes are left out.
    pub(crate) fn cards_beside(&self, primary: Option<&Self>) -> Vec<String> {
        let own = self.cards.iter().filter(|card| stays(card)).cloned();
        let inherited = primary.iter().flat_map(|primary| &primary.cards).filter(|card| {
            let keyword = &card[..8];
            let repeats = matches!(keyword.trim_end(), "" | "COMMENT" | "HISTORY" | "HIERARCH" | "CONTINUE");
            stays(card) && (repeats || !self.cards.iter().any(|known| &known[..8] == keyword))
        });
        inherited.cloned().chain(own).collect()
    }

    /// Our notes among the cards of HISTORY.
    pub(crate) fn notes(&self) -> Vec<(String, String)> {
        let mut lines: Vec<String> = Vec::new();
        for card in self.cards.iter().filter(|card| card[..8].trim_end() == "HISTORY") {
            let text = card[8..].trim_end();
            if text.starts_with(notes::PREFIX) {
                lines.push(text.to_owned());
            } else if let (Some(more), Some(line)) = (text.strip_prefix(CONTINUED), lines.last_mut()) {
                line.push_str(more);
            }
        }
        lines.iter().filter_map(|line| notes::from_line(line)).collect()
    }
}

/// Whether a card says the same about a result.
fn stays(card: &str) -> bool {
    let keyword = card[..8].trim_end();
    let numbered = |prefix: &str| {
        keyword
            .strip_prefix(prefix)
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let text = card[8..].trim_start();
    let ours = keyword == "HISTORY" && (text.starts_with(notes::PREFIX) || text.starts_with(CONTINUED));
    !STRUCTURE.contains(&keyword) && !numbered("NAXIS") && !ours
}
