//! Text that a terminal shows, and does not obey.
//!
//! Records, servers, workers and files hold any characters. Those that move the cursor, set colours or
//! titles, or turn the order of letters around are shown as Rust escapes them: `\u{1b}`. All text passes
//! here on its way to standard output or standard error; `tests/library/layers.rs` keeps it so.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, Write};

/// Whether a terminal, or an editor, would obey this character: control characters (C0, DEL, C1), and
/// those that embed, override or isolate a direction of writing.
#[must_use]
pub fn is_obeyed(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The same text with all such characters escaped, but line feeds and tabs.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_obeyed(c) && !matches!(c, '\n' | '\t'))
}

/// The same in one line: line feeds and tabs are escaped, too.
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

/// JSON of the same meaning, in which strings have such characters escaped: JSON itself escapes those of
/// C0 alone, and has them nowhere but in strings.
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

/// Says something on standard error. Unlike with `eprintln!`, nobody needs to listen.
pub fn say(what: impl Display) {
    let text = what.to_string();
    let _ = writeln!(io::stderr(), "{}", printable(&text));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
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
        fn json_means_the_same(text in any::<String>()) {
            let json = printable_json(serde_json::to_string(&[&text]).unwrap());
            prop_assert!(!json.contains(is_obeyed));
            prop_assert_eq!(serde_json::from_str::<[String; 1]>(&json).unwrap(), [text]);
        }
    }
}
