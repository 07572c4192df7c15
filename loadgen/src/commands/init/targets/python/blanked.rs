//! Blanks out what is no code in a Python file.

/// Returns the text with spaces instead of comments and of the content of strings. Lines stay lines, except in
/// strings of several lines, whose line feeds become spaces: what follows them is not at the beginning of a line.
pub(super) fn blanked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        match c {
            '#' => rest = &rest[rest.find('\n').unwrap_or(rest.len())..],
            '"' | '\'' => {
                let triple = ["\"\"\"", "'''"].into_iter().find(|it| rest.starts_with(it));
                let quote = triple.unwrap_or(&rest[..1]);
                let content = &rest[quote.len()..];
                let length = string_length(content, quote);
                out += quote;
                out.extend(content[..length].chars().map(|_| ' '));
                rest = &content[length..];
                if let Some(after) = rest.strip_prefix(quote) {
                    out += quote;
                    rest = after;
                }
            }
            _ => {
                out.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    out
}

/// Returns the length of a string's content, up to its closing quotes. A string with single quotes ends at the
/// end of its line.
fn string_length(content: &str, quote: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in content.char_indices() {
        if is_escaped {
            is_escaped = false;
        } else if c == '\\' {
            is_escaped = true;
        } else if content[at..].starts_with(quote) || (c == '\n' && quote.len() == 1) {
            return at;
        }
    }
    content.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_stays() {
        for (text, code) in [
            ("a = 'b' # c\nd", "a = ' ' \nd"),
            ("'''\napp = Flask()\n'''\nb", "'''               '''\nb"),
            (r##"a = "\"#" + b"##, r#"a = "   " + b"#),
            ("a = 'ä\nb = 1", "a = ' \nb = 1"),
            ("'''never ends", "'''          "),
        ] {
            assert_eq!(blanked(text), code);
        }
    }
}
