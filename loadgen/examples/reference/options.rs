//! Tables of the command line, from clap's definitions: `options lab up` has the options of `lab up`,
//! `options lab up without RuntimeArgs` those that are not in that struct, `options CommonArgs` those of
//! a struct, and `subcommands lab` the subcommands of `lab`.

use clap::builder::StyledStr;
use clap::{Arg, Args, Command, CommandFactory, Id};
use loadgen::cli::{Cli, CommonArgs, K8sArgs, RequestArgs, RunArgs, RuntimeArgs};

use crate::markdown::{any_of, code, phrase, table, with_code};

/// Words in the meanings, and what they link to.
const LINKS: &[(&str, &str)] = &[
    ("`loadgen list`", "#loadgen-list"),
    ("are templates", "scenario-file.md#templates"),
    (
        "differences of a few percent",
        "../how-to/compare-servers.md#find-differences-of-a-few-percent",
    ),
    ("with a few more users", "../explanation/counting.md#a-probe"),
    ("slices of each start", "../how-to/compare-servers.md#measure-in-slices"),
    (
        "each interval that the result compares",
        "../how-to/compare-servers.md#choose-the-number-of-rounds",
    ),
    ("replicas of each target", "../how-to/measure-scaling.md#scale-the-replicas"),
    ("as soon as a threshold has failed", "scenario-file.md#thresholds-that-end-a-run-early"),
    ("loss of each target", "../how-to/run-in-ci.md#fail-on-a-regression"),
    ("loss of a target", "../explanation/comparisons.md#the-gate"),
    ("JUnit XML", "result-document.md#junit"),
    ("at a ref of Git", "targets-at-refs.md"),
    ("count in no rate and no latency", "../explanation/counting.md"),
    ("another loadgen measures", "#several-runs-on-one-machine"),
    ("`measured_together`", "verdicts.md#measured_together"),
    ("folder for the result", "#files"),
    ("the whole result", "result-document.md"),
    ("a row for each target and step", "result-document.md#csv"),
];

/// Returns the table of a command's options.
pub fn options(of: &str) -> Option<String> {
    let (of, without) = of.split_once(" without ").unwrap_or((of, ""));
    let command = find(of)?;
    let others = without.split_whitespace().map(find).collect::<Option<Vec<Command>>>()?;
    let is_other =
        |id: &Id| others.iter().flat_map(Command::get_arguments).any(|it| it.get_id() == id);
    let shown = command.get_arguments().filter(|option| {
        !option.is_hide_set() && option.get_id() != "help" && !is_other(option.get_id())
    });
    let rows = shown.map(|option| row(&command, option));
    Some(table(&["option", "value", "default", "meaning"], rows))
}

/// Returns the table of a command's subcommands.
pub fn subcommands(of: &str) -> Option<String> {
    let command = find(of)?;
    let shown = command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set());
    let rows = shown.map(|subcommand| {
        let name = subcommand.get_name();
        let values = subcommand.get_positionals().map(|value| format!(" {}", value_name(value)));
        let words = match of {
            "" => format!("[`{name}`](#loadgen-{name})"),
            _ => code(&format!("{of} {name}{}", values.collect::<String>())),
        };
        [words, for_page(&plain(subcommand.get_long_about().or(subcommand.get_about())))]
    });
    Some(table(&["subcommand", "purpose"], rows))
}

/// Returns the command that words such as `lab up` name, or a command with the options of a struct.
pub fn find(name: &str) -> Option<Command> {
    let empty = Command::new("");
    let mut found = match name {
        "CommonArgs" => CommonArgs::augment_args(empty),
        "K8sArgs" => K8sArgs::augment_args(empty),
        "RequestArgs" => RequestArgs::augment_args(empty),
        "RunArgs" => RunArgs::augment_args(empty),
        "RuntimeArgs" => RuntimeArgs::augment_args(empty),
        _ => name
            .split_whitespace()
            .try_fold(Cli::command(), |command, name| command.find_subcommand(name).cloned())?,
    }
    .disable_help_subcommand(true);
    found.build();
    Some(found)
}

fn row(command: &Command, option: &Arg) -> [String; 4] {
    let help = plain(option.get_long_help().or(option.get_help()));
    let (mut meaning, default) = without_default(&help);
    for value in option.get_possible_values() {
        // A single word says no more than the value.
        if let Some(help) = value.get_help().filter(|help| help.to_string().contains(' ')) {
            meaning += &format!(". `{}`: {}", value.get_name(), phrase(&plain(Some(help))));
        }
    }
    let others = command.get_arguments().filter(|other| excludes(command, option, other));
    let others = others.map(|other| {
        other.get_long().map_or_else(|| value_name(other), |long| format!("--{long}"))
    });
    if let others @ [_, ..] = others.collect::<Vec<_>>().as_slice() {
        meaning += &format!(". Not with {}", any_of(others));
    }
    let default = default.map_or_else(|| clap_default(option), in_words);
    [name(option), value(option), default, for_page(&meaning)]
}

/// Returns whether one of two options says that it does not go with the other.
fn excludes(command: &Command, one: &Arg, other: &Arg) -> bool {
    let says = |one: &Arg, other: &Arg| {
        command.get_arg_conflicts_with(one).iter().any(|it| it.get_id() == other.get_id())
    };
    one.get_id() != other.get_id() && (says(one, other) || says(other, one))
}

/// Returns a help text in one line, without its last full stop, as clap has short texts.
pub fn plain(help: Option<&StyledStr>) -> String {
    let text = help.map(ToString::to_string).unwrap_or_default();
    text.replace("\n\n", " ").trim_end_matches('.').to_owned()
}

/// Separates a help text from the default in its words: `[default: from the scenario]`.
fn without_default(help: &str) -> (String, Option<&str>) {
    let Some((before, rest)) = help.split_once(" [default: ") else {
        return (help.to_owned(), None);
    };
    match rest.split_once("]. ") {
        Some((default, after)) => (format!("{before}. {after}"), Some(default)),
        None => (before.to_owned(), rest.strip_suffix(']')),
    }
}

/// Returns a text for a terminal as the page has it.
fn for_page(text: &str) -> String {
    let link = |text: String, (words, page): &(&str, &str)| {
        text.replacen(words, &format!("[{words}]({page})"), 1)
    };
    LINKS.iter().fold(with_code(&phrase(text)), link)
}

/// Returns a default in words, or as code if it is a value.
fn in_words(default: &str) -> String {
    if default.contains(' ') { with_code(default) } else { code(default) }
}

/// Returns the default that clap knows.
fn clap_default(option: &Arg) -> String {
    let required = if option.is_required_set() { "required" } else { "none" };
    match (option.get_env(), option.get_default_values()) {
        _ if !option.get_action().takes_values() => "off".to_owned(),
        (Some(variable), _) => format!("`{}`, or else {required}", variable.display()),
        (_, [value, ..]) => code(&value.to_string_lossy()),
        _ => required.to_owned(),
    }
}

/// Returns the first cell: the option's names, or the name of an argument's value.
fn name(option: &Arg) -> String {
    let Some(long) = option.get_long() else { return value_name(option) };
    let short = option.get_short().map(|short| format!("`-{short}`, ")).unwrap_or_default();
    let is_optional = option.get_num_args().is_some_and(|range| range.min_values() == 0);
    match is_optional && option.get_action().takes_values() {
        true => format!("{short}`--{long}[={}]`", value_name(option)),
        false => format!("{short}`--{long}`"),
    }
}

/// Returns the second cell: the values that an option takes.
fn value(option: &Arg) -> String {
    let possible = option.get_possible_values();
    let possible: Vec<String> = possible.iter().map(|value| code(value.get_name())).collect();
    match option.get_value_delimiter() {
        _ if option.is_positional() || !option.get_action().takes_values() => String::new(),
        Some(delimiter) if !possible.is_empty() => format!("{}{delimiter}…", any_of(&possible)),
        _ if !possible.is_empty() => any_of(&possible),
        _ => value_name(option),
    }
}

fn value_name(option: &Arg) -> String {
    let names = option.get_value_names().unwrap_or_default();
    names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}
