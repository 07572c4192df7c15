//! `[rows]`: files whose rows users send.

use std::collections::BTreeSet;
use std::path::Path;

use super::csv;
use super::keys::{Choice, Custom, Defaulted, Key, Keys, PATH, key};
use super::reader::{Faults, Value};
use crate::error::Fault;
use crate::model::{Step, When};
use crate::rows::{Order, Rows};
use crate::template::Template;

const ORDERS: [(&str, Order); 3] =
    [("once", Order::Once), ("cycle", Order::Cycle), ("random", Order::Random)];

keys! {
    /// a CSV file. {{ NAME.COLUMN }} in a step stands for a column of the user's row
    pub(super) const KEYS: Keys = table("[rows]");

    /// UTF-8 file of at most 64 MiB, relative to the scenario file. The first line names the columns
    const FILE: Key<Custom> = key("file", PATH).required();
    /// order of the rows: each row at most once in a round (`once`), all in turn, again and again (`cycle`), or any
    /// with equal probability (`random`)
    const USE: Defaulted<Choice<Order>> = key("use", Choice(&ORDERS)).or("\"cycle\"");
}

/// A key of the `[rows]` table and the rows of the key's CSV file; `None` if reading added a fault.
pub(super) type Named<'a> = (Value<'a>, Option<Rows>);

/// Reads all CSV files of the `[rows]` table, and allows templates to use the files' columns.
pub(super) fn read_all<'a>(
    value: Option<Value<'a>>,
    folder: &Path,
    faults: &mut Faults<'_>,
) -> Vec<Named<'a>> {
    let table = value.and_then(|value| value.table("[rows]", faults));
    let files = table.map_or_else(Vec::new, |table| table.rest());
    let read = files.into_iter().map(|value| {
        let rows = read_one(&value, folder, faults);
        faults.scope.has_rows(value.key, rows.as_ref().map(Rows::columns));
        (value, rows)
    });
    read.collect()
}

fn read_one(value: &Value<'_>, folder: &Path, faults: &mut Faults<'_>) -> Option<Rows> {
    let named = check_name(value, faults);
    let mut table = KEYS.open(value, faults)?;
    let file = FILE.take(&mut table);
    let order = USE.read(&mut table, faults);
    table.finish(faults);
    let Some(file) = file else {
        let help = "add the path of a CSV file, such as file = \"accounts.csv\"";
        let message = format!("`rows.{}` has no `file`", value.key);
        return value.fault(message, "no file", help, faults);
    };
    let (path, order) = (file.name(faults)?, order?);
    let rows = match csv::read(value.key, folder, path, order) {
        Ok(rows) => rows,
        Err(csv::Unusable { message, help }) => {
            return file.fault(message, "this file", help, faults);
        }
    };
    if order == Order::Once && rows.len() < 2 {
        let help = "the verification before the measurement uses one row";
        return file.fault("`use = \"once\"` needs at least two rows", "one row", help, faults);
    }
    named.then_some(rows)
}

fn check_name(value: &Value<'_>, faults: &mut Faults<'_>) -> bool {
    let name = value.key;
    let right = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
    if !right {
        let fault = Fault::new(format!("`{name}` is not a valid name for rows"))
            .at(value.key_place.clone(), "invalid name");
        faults.add(fault.help("use letters, digits, `_` and `-`"));
    }
    right
}

/// Returns each file's rows, reduced to the columns that `steps` name. Also sets when users take a
/// row, and adds a fault for each file that no step uses.
pub(super) fn used(files: Vec<Named<'_>>, steps: &[Step], faults: &mut Faults<'_>) -> Vec<Rows> {
    let names = |when: When| -> BTreeSet<&str> {
        let steps = steps.iter().filter(|step| step.when == when);
        steps.flat_map(Step::templates).flat_map(Template::taken).collect()
    };
    let [start, iteration, stop] = [When::Start, When::Iteration, When::Stop].map(names);
    let mut used = Vec::new();
    for (value, rows) in files {
        let Some(rows) = rows else { continue };
        let among = |names: &BTreeSet<&str>| {
            rows.columns().iter().any(|column| names.contains(column.as_str()))
        };
        let in_iterations = among(&iteration);
        let at_start = among(&start) || (among(&stop) && !in_iterations);
        if !in_iterations && !at_start {
            let message = format!("no step uses `rows.{}`", value.key);
            let column = rows.columns().first().cloned().unwrap_or_default();
            let help =
                format!("write `{{{{ {column} }}}}` in a step, or leave out `rows.{}`", value.key);
            faults.add(Fault::new(message).at(value.key_place, "unused").help(help));
            continue;
        }
        let kept = [&start, &iteration, &stop];
        let mut rows = rows.of_columns(|column| kept.iter().any(|names| names.contains(column)));
        (rows.at_start, rows.in_iterations) = (at_start, in_iterations);
        used.push(rows);
    }
    used
}
