//! Lines and columns of the reports in text.

/// The columns that a report keeps to.
pub const COLUMNS: usize = 80;

/// `text` behind `lead`, broken between words where it would exceed [`COLUMNS`]; what follows is
/// set in by three.
#[must_use]
pub fn wrap(lead: &str, text: &str) -> String {
    let mut out = lead.to_owned();
    let mut column = lead.chars().count();
    for (i, word) in text.split_whitespace().enumerate() {
        let width = word.chars().count();
        if i > 0 && column + 1 + width > COLUMNS {
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

/// Each sentence on lines of its own, set in by one.
#[must_use]
pub fn paragraphs(sentences: &[String]) -> String {
    sentences.iter().map(|sentence| wrap(" ", sentence)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        let (a, b) = ("a".repeat(40), "b".repeat(38));
        assert_eq!(wrap(" ", &format!("{a} {b}")), format!(" {a} {b}\n"));
        assert_eq!(wrap(" ", &format!("{a} {b}b")), format!(" {a}\n   {b}b\n"));
        assert_eq!(wrap(" ! ", &"c".repeat(90)), format!(" ! {}\n", "c".repeat(90)));
    }
}
