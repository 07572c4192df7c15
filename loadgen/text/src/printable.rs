//! Escapes text so that a terminal shows it and does not obey it.
//!
//! Records, servers, workers and files may hold any characters. Characters that move the cursor,
//! set colours or titles, or reverse the order of letters are shown as Rust escapes them: `\u{1b}`.
//! All text passes this module on its way to standard output or standard error;
//! `tests/library/layers.rs` checks this rule.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, Write};

/// Whether a terminal or an editor would act on this character instead of showing the character.
/// Such a character is a control character (C0, DEL, C1), or a character that embeds, overrides or
/// isolates a direction of writing.
#[must_use]
pub fn is_obeyed(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Escapes all characters that a terminal would obey instead of showing, except line feeds and
/// tabs.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_obeyed(c) && !matches!(c, '\n' | '\t'))
}

/// Like [`printable`], but returns one line: line feeds and tabs are escaped, too.
#[must_use]
pub fn in_one_line(text: &str) -> Cow<'_, str> {
    escaped(text, is_obeyed)
}

fn escaped(text: &str, is_bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_bad) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_bad(c) {
            true => out.extend(c.escape_default()),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Escapes, in a JSON text, the characters that a terminal would obey instead of showing. The
/// escapes do not change the meaning. JSON itself escapes only C0 characters. Apart from line
/// feeds, which stay, characters to escape occur only in strings.
#[must_use]
pub fn printable_json(json: String) -> String {
    if !json.contains(|c| is_obeyed(c) && c != '\n') {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match is_obeyed(c) && c != '\n' {
            true => out += &format!("\\u{:04x}", u32::from(c)),
            false => out.push(c),
        }
    }
    out
}

/// Writes a line to standard error, with escapes for characters that a terminal would obey. Unlike
/// `eprintln!`, does not panic if nobody reads standard error.
pub fn say(what: impl Display) {
    let text = what.to_string();
    let _ = writeln!(io::stderr(), "{}", printable(&text));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn control_characters_are_escaped() {
        for (text, shown) in [
            ("plain – “text” 你好 é\n\tand more", "plain – “text” 你好 é\n\tand more"),
            ("\x1b[2J\x1b]0;title\x07", "\\u{1b}[2J\\u{1b}]0;title\\u{7}"),
            ("\u{9b}31m\u{7f}\r", "\\u{9b}31m\\u{7f}\\r"),
            ("\u{202e}txt.exe\u{2066}", "\\u{202e}txt.exe\\u{2066}"),
        ] {
            assert_eq!(printable(text), shown);
        }
        assert_eq!(in_one_line("a\nb\tc"), "a\\nb\\tc");
    }

    proptest! {
        #[test]
        fn escaped_json_has_the_same_meaning(text in any::<String>()) {
            let json = printable_json(serde_json::to_string(&[&text]).unwrap());
            prop_assert!(!json.contains(is_obeyed));
            prop_assert_eq!(serde_json::from_str::<[String; 1]>(&json).unwrap(), [text]);
        }
    }
}
