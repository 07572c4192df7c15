//! Writes documents as Markdown, for pages and pull requests: sentences and one table.

mod capacity;
mod comparison;
mod experiment;
mod run;

pub(crate) use capacity::capacity;
pub(crate) use comparison::comparison;
pub(crate) use experiment::experiment;
pub(crate) use run::run;

/// Joins all sections that are not empty, with an empty line between them.
fn sections(all: &[String]) -> String {
    let filled: Vec<&str> = all
        .iter()
        .map(|section| section.trim_end())
        .filter(|section| !section.is_empty())
        .collect();
    filled.join("\n\n") + "\n"
}

/// Puts a title above a text, unless the text is empty.
fn titled(title: &str, text: String) -> String {
    if text.is_empty() { text } else { format!("{title}\n\n{text}") }
}

/// Returns a list item for each sentence.
fn list(sentences: impl IntoIterator<Item = String>) -> String {
    sentences.into_iter().map(|sentence| format!("- {}\n", escaped(&sentence))).collect()
}

/// Returns a Markdown table, with the first column aligned left and all others aligned right; empty
/// without rows.
fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let rule = (0..header.len()).map(|i| if i == 0 { "---" } else { "---:" }.to_owned());
    let rows = rows.iter().map(|row| line(row.iter().map(|cell| escaped(cell)).collect()));
    let header = line(header.iter().map(|&name| name.to_owned()).collect());
    header + &line(rule.collect()) + &rows.collect::<String>()
}

/// Escapes foreign text so that Markdown shows it as it is: no cell ends early, and nothing becomes
/// a tag or a style.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' => out.push(' '),
            '|' | '*' | '_' | '`' | '<' | '[' | ']' | '\\' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}
