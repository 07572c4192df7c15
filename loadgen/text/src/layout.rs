//! Breaks the text of reports into lines.

/// Maximum line width of text reports, in columns.
pub const COLUMNS: usize = 80;

/// Returns `lead` followed by `text`, and breaks lines between words before a line exceeds
/// [`COLUMNS`]. Indents further lines by three columns.
#[must_use]
pub fn wrap(lead: &str, text: &str) -> String {
    wrap_within(COLUMNS, lead, text)
}

/// Like [`wrap`], for lines of at most this many columns.
#[must_use]
pub fn wrap_within(columns: usize, lead: &str, text: &str) -> String {
    let mut out = lead.to_owned();
    let mut column = lead.chars().count();
    for (i, word) in text.split_whitespace().enumerate() {
        let width = word.chars().count();
        if i > 0 && column + 1 + width > columns {
            out.push_str("\n   ");
            column = 3;
        } else if i > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += width;
    }
    out.push('\n');
    out
}

/// Formats sentences as lines, each sentence on a new line that is indented by one column.
#[must_use]
pub fn paragraphs(sentences: &[String]) -> String {
    sentences.iter().map(|sentence| wrap(" ", sentence)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_break_between_words() {
        let (a, b) = ("a".repeat(40), "b".repeat(38));
        assert_eq!(wrap(" ", &format!("{a} {b}")), format!(" {a} {b}\n"));
        assert_eq!(wrap(" ", &format!("{a} {b}b")), format!(" {a}\n   {b}b\n"));
        assert_eq!(wrap(" ! ", &"c".repeat(90)), format!(" ! {}\n", "c".repeat(90)));
    }
}
