//! Ranges of sizes, as an expectation writes them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A range of sizes: items of an array, members of an object, characters of a string, events of a
/// stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeRange {
    /// Smallest size.
    least: u64,
    /// Largest size.
    most: u64,
    /// The range as written in the file, such as `>= 1`.
    text: String,
}

impl SizeRange {
    /// Creates the range of exactly one size.
    pub(super) fn only(size: u64) -> Self {
        Self { least: size, most: size, text: format!("of {size}") }
    }

    /// Creates the range of all sizes from `size` on.
    pub(super) fn least(size: u64) -> Self {
        Self { least: size, most: u64::MAX, text: format!(">= {size}") }
    }

    /// Parses a range such as `>= 1` or `< 100`; `None` for another text, or if the range is empty.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        // Longer operators first, because `<=` begins with `<`.
        let (sign, number) = ["<=", ">=", "<", ">"].iter().find_map(|sign| {
            let digits = text.strip_prefix(sign)?.trim();
            let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
            Some((*sign, digits.parse::<u64>().ok().filter(|_| is_number)?))
        })?;
        let (least, most) = match sign {
            "<=" => (0, number),
            ">=" => (number, u64::MAX),
            "<" => (0, number.checked_sub(1)?),
            _ => (number.checked_add(1)?, u64::MAX),
        };
        Some(Self { least, most, text: format!("{sign} {number}") })
    }

    /// Returns the size if the range has only one; `None` if it has several.
    #[must_use]
    pub fn exact(&self) -> Option<u64> {
        (self.least == self.most).then_some(self.most)
    }

    /// Returns whether the size of `value` is in the range. A number, a boolean and `null` have no
    /// size.
    #[must_use]
    pub fn has_size_of(&self, value: &serde_json::Value) -> bool {
        let size = match value {
            serde_json::Value::String(text) => text.chars().count(),
            serde_json::Value::Array(items) => items.len(),
            serde_json::Value::Object(members) => members.len(),
            _ => return false,
        };
        self.has(size as u64)
    }

    /// Returns whether `size` is in the range.
    #[must_use]
    pub fn has(&self, size: u64) -> bool {
        (self.least..=self.most).contains(&size)
    }

    /// Formats the range with the noun that it counts: `20 events` or `>= 1 event`.
    #[must_use]
    pub fn counted(&self, noun: &str) -> String {
        let text = self.text.trim_start_matches("of ");
        let number = text.rsplit(' ').next().unwrap_or_default();
        let plural = if number == "1" { "" } else { "s" };
        format!("{text} {noun}{plural}")
    }
}

impl fmt::Display for SizeRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sizes_are_those_of_arrays_objects_and_strings() {
        let at_least_two = SizeRange::parse(" >=2").unwrap();
        assert_eq!(at_least_two.to_string(), ">= 2");
        for value in [json!([1, 2]), json!({"a": 1, "b": 2}), json!("\u{e9}\u{e9}")] {
            assert!(at_least_two.has_size_of(&value), "{value}");
        }
        for value in [json!([1]), json!({}), json!("\u{e9}"), json!(22), json!(null)] {
            assert!(!at_least_two.has_size_of(&value), "{value}");
        }
        assert!(SizeRange::only(0).has_size_of(&json!([])));
        let has_one = |range: &str| SizeRange::parse(range).unwrap().has_size_of(&json!([1]));
        assert_eq!(
            ["< 1", "<= 1", "> 1", "> 0", "< 2"].map(has_one),
            [false, true, false, true, true]
        );
        let counted = [SizeRange::only(20), SizeRange::only(1), SizeRange::least(1)]
            .map(|range| range.counted("event"));
        assert_eq!(counted, ["20 events", "1 event", ">= 1 event"]);
        for empty in ["< 0", "> 18446744073709551615", "1", ">= -1", "> +1", ">= x", ""] {
            assert_eq!(SizeRange::parse(empty), None, "{empty}");
        }
    }
}
