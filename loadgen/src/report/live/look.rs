//! Adapts the screen to the terminal: its colours, and its characters beyond ASCII.

use std::env;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::Color;

use crate::text::is_obeyed;

/// Colours and characters that the screen may contain. Colour is never the only carrier of
/// information.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    /// Whether colours are allowed. Bold and reversed characters always are.
    pub colour: bool,
    /// Whether characters outside ASCII are allowed.
    pub unicode: bool,
}

impl Look {
    /// Reads from environment variables which colours and characters are allowed.
    pub(super) fn of_environment() -> Self {
        Self::of(|name| env::var(name).ok().filter(|value| !value.is_empty()))
    }

    /// Allows colours unless `NO_COLOR` is set (<https://no-color.org>), and characters outside
    /// ASCII if the locale's encoding is UTF-8. The locale is the first of `LC_ALL`, `LC_CTYPE` and
    /// `LANG` that is set.
    fn of(variable: impl Fn(&str) -> Option<String>) -> Self {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(&variable);
        let charset = locale.unwrap_or_default().to_lowercase().replace('-', "");
        Self { colour: variable("NO_COLOR").is_none(), unicode: charset.contains("utf8") }
    }

    /// Replaces characters that would control the terminal. Where not allowed, removes colours and
    /// replaces characters outside ASCII.
    pub(super) fn apply(self, screen: &mut Buffer) {
        for cell in &mut screen.content {
            if cell.symbol().contains(is_obeyed) {
                cell.set_symbol("?");
            }
            if !self.colour {
                (cell.fg, cell.bg) = (Color::Reset, Color::Reset);
            }
            if !self.unicode {
                in_ascii(cell);
            }
        }
    }
}

/// Replaces the character of a cell with the most similar ASCII character, or with `?`.
fn in_ascii(cell: &mut Cell) {
    let nearest = match cell.symbol() {
        symbol if symbol.is_ascii() => return,
        "─" | "–" | "−" => "-",
        "│" => "|",
        "…" => ".",
        "┌" | "┐" | "└" | "┘" => "+",
        "▁" | "▂" | "▃" => "_",
        "░" => ":",
        "▄" | "▅" | "▆" | "▇" | "█" => "#",
        _ => "?",
    };
    cell.set_symbol(nearest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_sets_colours_and_unicode() {
        let look = |set: &[(&str, &str)]| {
            Look::of(|name| set.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()))
        };
        let with = |colour, unicode| Look { colour, unicode };
        assert_eq!(look(&[]), with(true, false));
        assert_eq!(look(&[("LANG", "de_DE.UTF-8")]), with(true, true));
        assert_eq!(look(&[("LANG", "C.utf8"), ("NO_COLOR", "1")]), with(false, true));
        assert_eq!(look(&[("LC_ALL", "C"), ("LANG", "C.UTF-8")]), with(true, false));
    }
}
