//! Writes Markdown.

/// Returns a table, each row a line.
pub fn table<const N: usize>(head: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let line = |cells: [String; N]| format!("| {} |\n", cells.join(" | ")).replace("|  |", "| |");
    let rows = rows.map(|cells| line(cells.map(|cell| cell.replace('|', "\\|"))));
    format!("| {} |\n|{}\n{}", head.join(" | "), "---|".repeat(N), rows.collect::<String>())
}

/// Returns a text as code.
pub fn code(text: &str) -> String {
    format!("`{text}`")
}

/// Returns a text for a terminal with its options, paths and names as code, unless they are already.
pub fn with_code(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(n, part)| match n % 2 {
        0 => part.split(' ').map(word).collect::<Vec<_>>().join(" "),
        _ => code(part),
    });
    parts.collect()
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
