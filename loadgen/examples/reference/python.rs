//! Options of the Python package's functions, from clap's definitions.

use clap::{Arg, ArgAction};

use crate::options::{find, plain};

/// Classes of options: the command or the struct that has them, and the class whose options they add to.
const CLASSES: [(&str, &str, &str); 4] = [
    ("CommonArgs", "MeasuringOptions", "TypedDict"),
    ("run", "RunOptions", "MeasuringOptions"),
    ("capacity", "CapacityOptions", "MeasuringOptions"),
    ("compare", "CompareOptions", "TypedDict"),
];

/// Options that the functions set themselves, or that belong to a terminal.
const WITHOUT: [&str; 5] = ["format", "help", "json", "no-progress", "save"];

const HEAD: &str = r#"# Written from the command line's definition: `make reference`.
"""Options of loadgen's commands, as keyword arguments: `--server-workers 4` is `server_workers=4`."""

from collections.abc import Sequence
from os import PathLike
from typing import Literal, TypedDict

Value = str | int | float | PathLike[str]
"""Value of an option, as on the command line: `duration="10s"`, `users=50`."""
"#;

/// Width of the package's lines.
const WIDTH: usize = 120;

/// Returns the source of the module with the options.
pub fn options() -> String {
    let mut text = HEAD.to_owned();
    let mut repeated = Vec::new();
    let common = find(CLASSES[0].0).unwrap_or_default();
    for (name, class, base) in CLASSES {
        let command = find(name).unwrap_or_default();
        let of = if name == CLASSES[0].0 { "run` and `loadgen capacity" } else { name };
        text += &format!("\n\nclass {class}({base}, total=False):\n");
        text += &format!("    \"\"\"Options of `loadgen {of}`.\"\"\"\n\n");
        let is_inherited = |option: &Arg| {
            base == CLASSES[0].1 && common.get_arguments().any(|it| it.get_id() == option.get_id())
        };
        let options =
            command.get_arguments().filter_map(|option| Some((option.get_long()?, option)));
        let shown = options.filter(|(long, option)| {
            !option.is_hide_set() && !WITHOUT.contains(long) && !is_inherited(option)
        });
        for (long, option) in shown {
            let key = long.replace('-', "_");
            text += &format!("    {key}: {}\n{}", kind(option), comment(option));
            if takes_several(option) && option.get_value_delimiter().is_none() {
                repeated.push(key);
            }
        }
    }
    repeated.sort();
    repeated.dedup();
    let repeated: Vec<String> = repeated.iter().map(|key| format!("\"{key}\"")).collect();
    text += &format!("\n\nREPEATED = frozenset({{{}}})\n", repeated.join(", "));
    text + "\"\"\"Options that are given once for each value. Others take their values in one word, separated by \
            commas.\"\"\"\n"
}

fn takes_several(option: &Arg) -> bool {
    matches!(option.get_action(), ArgAction::Append)
}

/// Returns the type of an option's value.
fn kind(option: &Arg) -> String {
    if !option.get_action().takes_values() {
        return "bool".to_owned();
    }
    let possible: Vec<String> =
        option.get_possible_values().iter().map(|it| format!("\"{}\"", it.get_name())).collect();
    let one = match possible.as_slice() {
        [] => "Value".to_owned(),
        some => format!("Literal[{}]", some.join(", ")),
    };
    let is_optional = option.get_num_args().is_some_and(|range| range.min_values() == 0);
    match (takes_several(option), is_optional) {
        (true, _) => format!("{one} | Sequence[{one}]"),
        (_, true) => format!("{one} | bool"),
        _ => one,
    }
}

/// Returns an option's help as the docstring of its key.
fn comment(option: &Arg) -> String {
    let help = plain(option.get_long_help().or(option.get_help()));
    let (begin, mut lines) = ("    \"\"\"", vec![String::new()]);
    for word in help.split_whitespace() {
        // The last line also has the quotes at its end.
        let room = WIDTH - begin.len() - 3;
        match lines.last_mut() {
            Some(line) if line.is_empty() => *line = word.to_owned(),
            Some(line) if line.len() + 1 + word.len() < room => *line += &format!(" {word}"),
            _ => lines.push(word.to_owned()),
        }
    }
    format!("{begin}{}.\"\"\"\n", lines.join("\n    "))
}
