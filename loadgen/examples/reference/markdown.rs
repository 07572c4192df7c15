//! Writes tables in Markdown.

/// Returns a table with a line for each row.
pub fn table<const N: usize>(head: [&str; N], rows: Vec<[String; N]>) -> String {
    let line = |cells: [String; N]| format!("| {} |\n", cells.join(" | "));
    let mut text = line(head.map(str::to_owned));
    text.push_str(&format!("|{}\n", "---|".repeat(N)));
    for row in rows {
        text.push_str(&line(row.map(|cell| cell.replace('|', "\\|"))));
    }
    text
}
