//! Reads a CSV file (RFC 4180) whose first line names the columns.

use std::io::ErrorKind;
use std::path::Path;

use csv::{ReaderBuilder, StringRecord};

use crate::bounded::read_at_most;
use crate::rows::{Order, Rows};

/// Largest size of a CSV file, in MiB. The size is limited because each worker holds rows in
/// memory.
const LARGEST: u64 = 64;

/// Reason why a CSV file cannot be used: a message (with the line if known), and help.
pub(super) struct Unusable {
    pub(super) message: String,
    pub(super) help: &'static str,
}

/// Reads a CSV file as the rows called `name`. `file` is the path as written in a scenario file,
/// relative to the scenario file's `folder`.
pub(super) fn read(name: &str, folder: &Path, file: &str, order: Order) -> Result<Rows, Unusable> {
    let text = text(&folder.join(file), file)?;
    parse(name, file, text.trim_start_matches('\u{feff}'), order)
}

fn text(path: &Path, file: &str) -> Result<String, Unusable> {
    let unusable = |message, help| Unusable { message, help };
    let bytes = read_at_most(LARGEST << 20, path).map_err(|error| match error.kind() {
        ErrorKind::FileTooLarge => {
            let size = path.metadata().map_or(LARGEST + 1, |file| file.len().div_ceil(1 << 20));
            let message = format!("{file} has {size} MiB, but the limit is {LARGEST} MiB");
            let help = "each worker receives rows: keep only the columns that the scenario needs";
            unusable(message, help)
        }
        _ => {
            let help = "the path is relative to the folder of the scenario file";
            unusable(format!("cannot read {file}: {error}"), help)
        }
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + valid.iter().filter(|byte| **byte == b'\n').count();
        unusable(format!("{file}:{line}: invalid UTF-8"), "save the file as UTF-8")
    })
}

fn parse(name: &str, file: &str, text: &str, order: Order) -> Result<Rows, Unusable> {
    // Fields are counted here, because the crate's error gives a different line number after empty
    // lines (BurntSushi/rust-csv#208) and does not report an open quote (#289).
    let mut reader =
        ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let mut record = StringRecord::new();
    let mut rows: Option<Rows> = None;
    let mut width = 0;
    loop {
        let begin = reader.position().byte() as usize;
        let at = |message: String, help| {
            let line = line(text, begin);
            Err(Unusable { message: format!("{file}:{line}: {message}"), help })
        };
        match reader.read_record(&mut record) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => return at(error.to_string(), ""),
        }
        let written = text.get(begin..reader.position().byte() as usize).unwrap_or_default();
        if written.bytes().filter(|byte| *byte == b'"').count() % 2 == 1 {
            let help =
                "write a quote within a field twice, and enclose the field in quotes: \"5\"\"\"";
            return at("unterminated quoted field".to_owned(), help);
        }
        let Some(rows) = &mut rows else {
            let columns: Vec<String> = record.iter().map(str::to_owned).collect();
            if let Some(message) = fault_of_header(&columns) {
                return at(message, "the first line names the columns, each with a different name");
            }
            width = columns.len();
            rows = Some(Rows::new(name, file, order, &columns));
            continue;
        };
        if record.len() != width {
            let message =
                format!("the row has {}, but the header has {width}", fields(record.len()));
            return at(message, "enclose a field that contains a comma in quotes");
        }
        record.iter().for_each(|cell| rows.push(cell));
    }
    let help = "the first line names the columns; each further line is a row";
    match rows {
        None => Err(Unusable { message: format!("{file} is empty"), help }),
        Some(rows) if rows.is_empty() => {
            Err(Unusable { message: format!("{file} has no row below its header"), help })
        }
        Some(rows) => Ok(rows),
    }
}

fn fault_of_header(columns: &[String]) -> Option<String> {
    columns.iter().enumerate().find_map(|(index, column)| {
        if column.trim().is_empty() {
            Some(format!("column {} has no name", index + 1))
        } else if columns[..index].contains(column) {
            Some(format!("two columns are called `{column}`"))
        } else {
            None
        }
    })
}

fn fields(count: usize) -> String {
    if count == 1 { "one field".to_owned() } else { format!("{count} fields") }
}

/// Returns the line number, counted from 1, of the record that was read from byte offset `from`.
/// Skips empty lines before the record.
fn line(text: &str, from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    let blank = rest.len() - rest.trim_start_matches(['\r', '\n']).len();
    let before = text.get(..from + blank).unwrap_or(text);
    1 + before.bytes().filter(|byte| *byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rows(text: &str) -> Result<Vec<Vec<String>>, String> {
        let rows = parse("r", "r.csv", text, Order::Cycle).map_err(|error| error.message)?;
        let row = |index| rows.row(index).map(|(_, cell)| cell.to_owned()).collect();
        Ok((0..rows.len()).map(row).collect())
    }

    #[test]
    fn a_file_gives_its_rows() {
        let expected = [["1", "a,b"], ["2", "c\"d\ne"], ["", ""]].map(|row| row.map(str::to_owned));
        let text = "id,text\r\n1,\"a,b\"\r\n\r\n2,\"c\"\"d\ne\"\r\n,";
        assert_eq!(rows(text), Ok(expected.map(Vec::from).into()));
    }

    #[test]
    fn a_faulty_file_is_refused_with_its_line() {
        for (text, message) in [
            ("", "r.csv is empty"),
            ("\n\n", "r.csv is empty"),
            ("a,b\n", "r.csv has no row below its header"),
            ("a,,c\n1,2,3", "r.csv:1: column 2 has no name"),
            ("\na,b,a\n1,2,3", "r.csv:2: two columns are called `a`"),
            ("a,b\n1,2\n3\n", "r.csv:3: the row has one field, but the header has 2"),
            ("a,b\n1,\"x\ny\"\n\n\n3,4,5\n", "r.csv:6: the row has 3 fields, but the header has 2"),
            ("a\r\n\r\n1,2", "r.csv:3: the row has 2 fields, but the header has 1"),
            ("a,b\n1,\"2\n3,4\n", "r.csv:2: unterminated quoted field"),
        ] {
            assert_eq!(rows(text), Err(message.to_owned()), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_written_cells_are_read_back(
            cells in prop::collection::vec(prop::collection::vec("[a-z,\"\n\r é]{0,6}", 2), 1..9),
        ) {
            let quoted = |cell: &String| format!("\"{}\"", cell.replace('"', "\"\""));
            let line = |row: &Vec<String>| row.iter().map(quoted).collect::<Vec<_>>().join(",");
            let text = format!("a,b\n{}\n", cells.iter().map(line).collect::<Vec<_>>().join("\n"));
            prop_assert_eq!(rows(&text), Ok(cells));
        }

        #[test]
        fn no_text_panics(text in "([,\"\r\n]|\\PC){0,40}") {
            let _ = rows(&text);
        }
    }
}
