//! Faults of `[rows.NAME]`.

use super::beside_data;

/// Returns the message for a scenario with these rows `r`
/// and this placeholder, in the folder of a few CSV files.
fn rows(lines: &str, placeholder: &str) -> String {
    let text = format!("[rows.r]\n{lines}\n\n[[step]]\nget = \"/{{{{ {placeholder} }}}}\"\n");
    beside_data(&text)
}

faults! {
    rows_of_a_missing_file: rows("file = \"nowhere.csv\"", "r.email");
    rows_without_a_file: rows("use = \"once\"", "r.email");
    rows_with_a_short_line: rows("file = \"short.csv\"", "r.email");
    rows_in_an_unknown_order: rows("file = \"accounts.csv\"\nuse = \"one\"", "r.email");
    too_few_rows_to_use_once: rows("file = \"one.csv\"\nuse = \"once\"", "r.email");
    rows_without_the_column: rows("file = \"accounts.csv\"", "r.emial");
    unused_rows: rows("file = \"accounts.csv\"", "user");
    rows_of_an_unknown_name: rows("file = \"accounts.csv\"", "q.email");
}
