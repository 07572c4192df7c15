//! Writes a draft as a scenario file.

use std::fmt::Write as _;

use toml_writer::{ToTomlKey as _, ToTomlValue as _, TomlKeyBuilder, TomlStringBuilder};

use crate::{Draft, Entry, Flow, RowsFile, Step, Value};

/// Longest line of a value beside its key. A longer table gets lines of its own.
const WIDTH: usize = 100;

impl Draft {
    /// Returns the text of the scenario file. Its first line names the schema beside it.
    pub fn text(&self) -> String {
        let mut out = String::from("#:schema ./loadgen.schema.json\n");
        comments(&mut out, &self.about);
        let line = self.description.split_whitespace().collect::<Vec<_>>().join(" ");
        entry(&mut out, &Entry::new("description", line));
        for (header, entries) in [("http", &self.http), ("load", &self.load)] {
            if !entries.is_empty() {
                out.push('\n');
                table(&mut out, &format!("[{header}]"), header, entries);
            }
        }
        self.rows.iter().for_each(|file| rows(&mut out, file));
        for start in &self.start {
            step(&mut out, "step", start);
        }
        match self.flows.as_slice() {
            [only] => {
                comments(&mut out, &only.about);
                only.steps.iter().for_each(|one| step(&mut out, "step", one));
            }
            flows => flows.iter().for_each(|one| flow(&mut out, one)),
        }
        out
    }
}

fn rows(out: &mut String, file: &RowsFile) {
    let header = format!("rows.{}", key(&file.name));
    let entries = [Entry::new("file", file.file_name.as_str()), Entry::new("use", "random")];
    out.push('\n');
    comments(out, &file.about);
    table(out, &format!("[{header}]"), &header, &entries);
}

fn flow(out: &mut String, flow: &Flow) {
    let mut text = String::from("[[flow]]\n");
    entry(&mut text, &Entry::new("name", flow.name.as_str()));
    if flow.weight > 1 {
        entry(&mut text, &Entry::new("weight", i64::from(flow.weight)));
    }
    out.push('\n');
    comments(out, &flow.about);
    push(out, &text, flow.steps.iter().all(|step| step.off));
    flow.steps.iter().for_each(|one| step(out, "flow.step", one));
}

fn step(out: &mut String, header: &str, step: &Step) {
    let mut text = String::new();
    let name = Entry::new("name", step.name.as_str());
    let entries: Vec<&Entry> = std::iter::once(&name).chain(&step.entries).collect();
    table_of(&mut text, &format!("[[{header}]]"), header, &entries);
    out.push('\n');
    comments(out, &step.about);
    push(out, &text, step.off);
}

fn table(out: &mut String, first: &str, header: &str, entries: &[Entry]) {
    table_of(out, first, header, &entries.iter().collect::<Vec<_>>());
}

/// Writes a table, and after it, as tables of their own, the values that are too long for a line.
fn table_of(out: &mut String, first: &str, header: &str, entries: &[&Entry]) {
    let _ = writeln!(out, "{first}");
    let (long, short): (Vec<&Entry>, Vec<&Entry>) = entries.iter().partition(|it| is_long(it));
    short.into_iter().for_each(|it| entry(out, it));
    for Entry { key: name, value, about } in long {
        let Value::Table(members) = value else { continue };
        let header = format!("{header}.{}", key(name));
        let members: Vec<Entry> =
            members.iter().map(|(key, value)| Entry::new(key, value.clone())).collect();
        out.push('\n');
        comments(out, about);
        table(out, &format!("[{header}]"), &header, &members);
    }
}

fn is_long(entry: &Entry) -> bool {
    let Value::Table(members) = &entry.value else { return false };
    !members.is_empty() && key(&entry.key).len() + 3 + inline(&entry.value).chars().count() > WIDTH
}

fn entry(out: &mut String, entry: &Entry) {
    comments(out, &entry.about);
    let (name, value) = (key(&entry.key), inline(&entry.value));
    match &entry.value {
        Value::Array(items) if name.len() + 3 + value.chars().count() > WIDTH => {
            let _ = writeln!(out, "{name} = [");
            items.iter().for_each(|item| {
                let _ = writeln!(out, "  {},", inline(item));
            });
            out.push_str("]\n");
        }
        _ => {
            let _ = writeln!(out, "{name} = {value}");
        }
    }
}

fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => string(text),
        Value::Integer(integer) => integer.to_toml_value(),
        Value::Float(number) => number.to_toml_value(),
        Value::Boolean(value) => value.to_toml_value(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", "))
        }
        Value::Table(members) if members.is_empty() => "{}".to_owned(),
        Value::Table(members) => {
            let pairs =
                members.iter().map(|(name, value)| format!("{} = {}", key(name), inline(value)));
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Quotes a text in one line, however many lines it has: a step that is a comment is one line by line.
fn string(text: &str) -> String {
    let text = TomlStringBuilder::new(text);
    let pretty = text.as_basic_pretty().or_else(|| text.as_literal());
    pretty.unwrap_or_else(|| text.as_basic()).to_toml_value()
}

fn key(name: &str) -> String {
    TomlKeyBuilder::new(name).as_default().to_toml_key()
}

/// Writes comments, each in lines of at most [`WIDTH`] columns where its words allow.
fn comments(out: &mut String, about: &[String]) {
    for sentence in about {
        let mut line = String::from("#");
        // A line break of a source would end the comment; so would any other control character be no TOML.
        for word in sentence.split(|c: char| c.is_whitespace() || c.is_control()) {
            if line.len() > 1 && line.chars().count() + 1 + word.chars().count() > WIDTH {
                let _ = writeln!(out, "{line}");
                line = String::from("#");
            }
            if !word.is_empty() {
                line += " ";
                line += word;
            }
        }
        let _ = writeln!(out, "{line}");
    }
}

/// Adds lines, as comments if they are `off`: `#` without a space, as in all scenarios that loadgen
/// writes, so that its removal gives the line.
fn push(out: &mut String, text: &str, off: bool) {
    for line in text.lines() {
        let sign = if off && !line.is_empty() && !line.starts_with('#') { "#" } else { "" };
        let _ = writeln!(out, "{sign}{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_is_written_with_its_comments() {
        let mut create = Step::new("create", "POST", "/orders");
        create.off = true;
        create.about = vec!["It writes.".to_owned()];
        let item = |n: i64| Value::table([("sku", Value::from("{{ uuid }}")), ("n", n.into())]);
        create.push("body", Value::table([("json", Value::Array((0..5).map(item).collect()))]));
        let mut list = Step::new("list", "GET", "/orders");
        list.push("expect", Value::table([("status", 200)]));
        let draft = Draft {
            description: "A shop\nof {{ things }}".to_owned(),
            http: vec![Entry::new("cookies", true)],
            flows: vec![
                Flow {
                    name: "orders".to_owned(),
                    weight: 3,
                    steps: vec![list, create],
                    ..Flow::default()
                },
                Flow {
                    name: "other".to_owned(),
                    weight: 1,
                    steps: vec![Step::new("find", "PROPFIND", "/")],
                    ..Flow::default()
                },
            ],
            ..Draft::default()
        };
        insta::assert_snapshot!(crate::testing::checked(&draft));
    }

    #[test]
    fn no_text_of_a_source_ends_a_comment() {
        let draft = Draft {
            about: vec!["one\n[load]\u{0}\u{85}two \u{2028} three".to_owned()],
            flows: vec![Flow { steps: vec![Step::new("a", "GET", "/")], ..Flow::default() }],
            ..Draft::default()
        };
        let text = crate::testing::checked(&draft);
        assert!(text.contains("# one [load] two three\n"), "{text}");
    }
}
