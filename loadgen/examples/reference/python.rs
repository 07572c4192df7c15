//! Options of the Python package's functions, from clap's definitions.

use clap::{Arg, ArgAction};

use crate::options::{find, plain};

/// Functions of the package, and what they leave out of their commands: what the functions set themselves, and
/// what belongs to a terminal.
const FUNCTIONS: [(&str, &str, &[&str]); 3] = [
    ("run", "RunOptions", &["format", "json", "no-progress", "save"]),
    ("capacity", "CapacityOptions", &["format", "json", "no-progress", "save"]),
    ("compare", "CompareOptions", &["format", "json"]),
];

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
    for (name, class, without) in FUNCTIONS {
        let command = find(name).unwrap_or_default();
        text += &format!("\n\nclass {class}(TypedDict, total=False):\n");
        text += &format!("    \"\"\"Options of `loadgen {name}`.\"\"\"\n\n");
        let options =
            command.get_arguments().filter_map(|option| Some((option.get_long()?, option)));
        let shown = options.filter(|(long, option)| {
            !option.is_hide_set() && *long != "help" && !without.contains(long)
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
