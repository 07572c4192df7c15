//! Writes a draft as a scenario file.

use std::fmt::{self, Write as _};

use toml_writer::{ToTomlKey as _, ToTomlValue as _, TomlKeyBuilder, TomlStringBuilder};

use crate::{Draft, Entry, Flow, RowsFile, Step, Value};

/// Longest line of a key with its value, and of a comment, in characters.
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
                let _ = writeln!(out, "\n[{header}]");
                entries.iter().for_each(|it| entry(&mut out, it));
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
    out.push('\n');
    comments(out, &file.about);
    let _ = writeln!(out, "[rows.{}]", key(&file.name));
    entry(out, &Entry::new("file", file.file_name.as_str()));
    entry(out, &Entry::new("use", "random"));
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
    let _ = writeln!(text, "[[{header}]]");
    entry(&mut text, &Entry::new("name", step.name.as_str()));
    step.entries.iter().for_each(|it| entry(&mut text, it));
    out.push('\n');
    comments(out, &step.about);
    push(out, &text, step.off);
}

fn entry(out: &mut String, entry: &Entry) {
    comments(out, &entry.about);
    member(out, &key(&entry.key), &entry.value);
}

/// Writes a key with its value. A value that is too long for the line gets a line for each of its parts, a
/// table by dotted keys.
fn member(out: &mut String, name: &str, value: &Value) {
    let line = format!("{name} = {value}");
    let is_long = line.chars().count() > WIDTH;
    match value {
        Value::Array(items) if is_long => {
            let _ = writeln!(out, "{name} = [");
            items.iter().for_each(|item| {
                let _ = writeln!(out, "  {item},");
            });
            out.push_str("]\n");
        }
        // The key stands before each part: a long one would be written many times.
        Value::Table(members) if is_long && !members.is_empty() && name.len() <= WIDTH => {
            members
                .iter()
                .for_each(|(part, value)| member(out, &format!("{name}.{}", key(part)), value));
        }
        _ => {
            let _ = writeln!(out, "{line}");
        }
    }
}

/// Writes the value in one line of TOML.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::String(text) => f.write_str(&string(text)),
            Self::Integer(integer) => f.write_str(&integer.to_toml_value()),
            Self::Float(number) => f.write_str(&number.to_toml_value()),
            Self::Boolean(value) => f.write_str(&value.to_toml_value()),
            Self::Array(items) => {
                let items = items.iter().map(Self::to_string);
                write!(f, "[{}]", items.collect::<Vec<_>>().join(", "))
            }
            Self::Table(members) if members.is_empty() => f.write_str("{}"),
            Self::Table(members) => {
                let pairs = members.iter().map(|(name, value)| format!("{} = {value}", key(name)));
                write!(f, "{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
            }
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
    fn a_long_table_is_written_whole() {
        let key = "k".repeat(2 * WIDTH);
        let empty = Value::table([(key.as_str(), Value::Table(Vec::new()))]);
        let mut out = String::new();
        member(&mut out, "json", &empty);
        assert_eq!(out, format!("json.{key} = {{}}\n"));
        // A long key is written once.
        let parts = Value::table([(key.as_str(), Value::table([("a", 1), ("b", 2)]))]);
        let mut out = String::new();
        member(&mut out, "json", &parts);
        assert_eq!(out, format!("json.{key} = {{ a = 1, b = 2 }}\n"));
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
