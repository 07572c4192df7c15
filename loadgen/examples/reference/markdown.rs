//! Writes Markdown.

/// Returns a table, each row a line.
pub fn table<C: AsRef<[String]>>(head: &[&str], rows: impl Iterator<Item = C>) -> String {
    let line = |cells: C| {
        let cells: Vec<String> =
            cells.as_ref().iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | ")).replace("|  |", "| |")
    };
    let rows: String = rows.map(line).collect();
    format!("| {} |\n|{}\n{rows}", head.join(" | "), "---|".repeat(head.len()))
}

/// Returns a text as code.
pub fn code(text: &str) -> String {
    format!("`{text}`")
}

/// Returns a text for a terminal with its options, paths and names as code, unless they are already.
pub fn with_code(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(n, part)| match n % 2 {
        0 => words(part),
        _ => code(part),
    });
    parts.collect()
}

/// Returns words of which some are code: those that look like code, and the example after `such as`.
fn words(text: &str) -> String {
    let all: Vec<&str> = text.split(' ').collect();
    let coded = all.iter().enumerate().map(|(at, own)| match all[..at] {
        [.., "such", "as"] if own.contains(|c: char| c.is_ascii_digit()) => {
            let (inner, end) = own.split_at(own.trim_end_matches(['.', ';', ',', ')', ':']).len());
            format!("{}{end}", code(inner))
        }
        _ => word(own),
    });
    coded.collect::<Vec<_>>().join(" ")
}

/// Returns a word as code if it looks like an option, a path or a name. Punctuation stays outside.
fn word(word: &str) -> String {
    let own = word.trim_start_matches('(').trim_end_matches(['.', ',', ';', ':', ')']);
    let has_dot = own.contains('.') && own.parse::<f64>().is_err();
    match has_dot || own.starts_with("--") || own.contains(['/', '@', '=', '_']) {
        true if own.len() > 1 => word.replacen(own, &code(own), 1),
        _ => word.to_owned(),
    }
}

/// Returns a list such as `a, b or c`.
pub fn any_of(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [others @ .., last] => format!("{} or {last}", others.join(", ")),
    }
}

/// Returns a text as a part of a sentence: without its full stop, and with a small letter unless it begins with an
/// abbreviation or a name such as `PostgreSQL`.
pub fn phrase(text: &str) -> String {
    let text = text.trim_end_matches('.');
    let word = text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    match word.chars().skip(1).any(char::is_uppercase) {
        true => text.to_owned(),
        false => {
            text.chars().take(1).flat_map(char::to_lowercase).chain(text.chars().skip(1)).collect()
        }
    }
}
