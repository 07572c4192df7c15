//! Fits foreign text into pictures, without the metrics of a font.

use crate::text::{broken, cut};

/// Mean width of a character, as a share of the font's size: wide for most text, so that none is cut off.
const CHARACTER: f64 = 0.51;

/// Returns how many characters of a font of this size fit into a width, both in pixels.
pub(super) fn fitting(width: f64, size: f64) -> usize {
    (width / (size * CHARACTER)) as usize
}

/// Returns the width in pixels of a text in a font of this size.
pub(super) fn wide(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * CHARACTER
}

/// Returns the lines of a text, of which the last ends in an ellipsis if there are more than `most`.
pub(super) fn lines(text: &str, columns: usize, most: usize) -> Vec<String> {
    let mut lines = broken(&clean(text), columns);
    if lines.len() > most {
        let rest = lines.split_off(most.saturating_sub(1)).join(" ");
        lines.push(cut(&rest, columns));
    }
    lines.iter().map(|line| cut(line, columns)).collect()
}

/// Replaces characters that XML cannot contain even escaped with spaces.
pub(super) fn clean(text: &str) -> String {
    text.replace(|c: char| c.is_control() || c == '\u{fffe}' || c == '\u{ffff}', " ")
}
