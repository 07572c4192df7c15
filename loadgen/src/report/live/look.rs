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
    /// Reads the settings from the environment.
    pub(super) fn of_environment() -> Self {
        Self::of(|name| env::var(name).ok().filter(|value| !value.is_empty()))
    }

    /// `NO_COLOR` is that of <https://no-color.org>. Of the locale's variables, the first one that
    /// is set counts.
    fn of(variable: impl Fn(&str) -> Option<String>) -> Self {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(&variable);
        let charset = locale.unwrap_or_default().to_lowercase().replace('-', "");
        Self { colour: variable("NO_COLOR").is_none(), unicode: charset.contains("utf8") }
    }

    /// Replaces characters that the terminal would obey, and removes colours and characters that
    /// are not allowed.
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

/// Replaces a character with the nearest one in ASCII.
fn in_ascii(cell: &mut Cell) {
    let nearest = match cell.symbol() {
        symbol if symbol.is_ascii() => return,
        "─" | "–" | "−" => "-",
        "│" => "|",
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
