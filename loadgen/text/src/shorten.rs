//! Shortens lines to a width, and lists to a few items.

use crate::counted;

/// Most items of a list that is shown in full.
const LISTED: usize = 10;

/// Returns the items with `separator` between them. Of a long list, returns the first items, and the number of
/// the others.
#[must_use]
pub fn listed(items: &[String], separator: &str) -> String {
    match items.split_at_checked(LISTED) {
        Some((first, others @ [_, _, ..])) => {
            let others = counted(others.len() as u64, "other");
            format!("{}{separator}and {others}", first.join(separator))
        }
        _ => items.join(separator),
    }
}

/// Returns the beginning of `text` in at most this many columns, with an ellipsis if words are left out.
#[must_use]
pub fn cut(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    let head = head(text, columns.saturating_sub(1));
    format!("{}…", head.trim_end_matches([' ', ',', ';', ':']))
}

/// Returns the beginning and the end of `text` in at most this many columns, with an ellipsis for the words
/// between: sentences that begin alike, and differ at their end, stay different.
#[must_use]
pub fn shorten(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(3);
    let head = head(text, room / 2).trim_end();
    let rest = &text[head.len()..];
    let tail = tail(rest, room - head.chars().count()).trim_start();
    format!("{head} … {tail}")
}

/// Returns the lines of `text`, broken between words, each of at most this many columns. A word that is wider
/// has a line of its own.
#[must_use]
pub fn broken(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Returns the longest beginning of whole words, or of characters if the first word is too wide.
fn head(text: &str, columns: usize) -> &str {
    let end = text.char_indices().nth(columns).map_or(text.len(), |(at, _)| at);
    match text[..end].rfind(' ') {
        Some(space) if !text[end..].starts_with(' ') => &text[..space],
        _ => &text[..end],
    }
}

/// Returns the longest end of whole words, or of characters if the last word is too wide.
fn tail(text: &str, columns: usize) -> &str {
    let skipped = text.chars().count().saturating_sub(columns);
    let start = text.char_indices().nth(skipped).map_or(text.len(), |(at, _)| at);
    match text[start..].find(' ') {
        Some(space) if !text[..start].ends_with(' ') => &text[start + space..],
        _ => &text[start..],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn of_a_long_list_the_first_items_are_left() {
        let items: Vec<String> = (0..1_000).map(|n| n.to_string()).collect();
        assert_eq!(listed(&items[..3], "; "), "0; 1; 2");
        assert!(listed(&items[..11], ", ").ends_with(", 10"), "one other is shown itself");
        assert_eq!(listed(&items, ", "), "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, and 990 others");
    }

    #[test]
    fn words_are_left_out_at_the_end_or_in_the_middle() {
        let text = "two replicas keep the limit of GET: 99.9 % within 100 ms";
        assert_eq!(cut(text, 56), text);
        assert_eq!(cut(text, 38), "two replicas keep the limit of GET…");
        assert_eq!(shorten(text, 56), text);
        assert_eq!(shorten(text, 40), "two replicas keep … 99.9 % within 100 ms");
        assert_eq!(shorten("abcdefghijkl", 9), "abc … jkl");
        assert_eq!(
            broken(text, 30),
            ["two replicas keep the limit of", "GET: 99.9 % within 100 ms"]
        );
    }

    proptest! {
        #[test]
        fn a_shortened_line_fits(text in ".*", columns in 4_usize..90) {
            prop_assert!(cut(&text, columns).chars().count() <= columns);
            prop_assert!(shorten(&text, columns).chars().count() <= columns);
        }
    }
}
