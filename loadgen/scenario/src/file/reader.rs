//! Walks the TOML tree of a scenario file and records every fault.

use std::ops::{Range, RangeInclusive};
use std::path::PathBuf;
use std::time::Duration;

use loadgen_text::count;
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use super::services::Services;
use crate::duration::parse_duration;
use crate::error::Fault;
use crate::nearest::suggestion;
use crate::placeholder::{Scope, TemplateError};
use crate::template::Template;

/// All faults of a file, collected while reading.
pub(super) struct Faults<'a> {
    text: &'a str,
    list: Vec<Fault>,
    /// Folder in which relative paths of the file start.
    pub(super) folder: PathBuf,
    /// Whether requests use HTTP/2, which has no headers of connections.
    pub(super) is_http2: bool,
    /// Most redirects that a request follows, unless its step says otherwise.
    pub(super) redirects: u32,
    /// Services that steps can call with gRPC.
    pub(super) services: Services,
    /// Names that a template can use at the current point of the file.
    pub(super) scope: Scope<'a>,
}

impl<'a> Faults<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let (folder, scope) = (PathBuf::new(), Scope::default());
        let services = Services::default();
        Self { text, list: Vec::new(), folder, is_http2: false, redirects: 0, services, scope }
    }

    pub(super) fn add(&mut self, fault: Fault) {
        self.list.push(fault);
    }

    /// Adds a fault of steps that cannot have the options of a table. `table` is `None` if the file has none.
    pub(super) fn add_beside(&mut self, fault: Fault, table: Option<&Value<'_>>) {
        self.add(match table {
            Some(table) => fault.at(table.key_place.clone(), "asked for here"),
            None => fault,
        });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the faults in the order of their positions in the file.
    pub(super) fn in_order(mut self) -> Vec<Fault> {
        self.list.sort_by_key(Fault::offset);
        self.list
    }

    /// Returns the position in the file of `part`, a range within the `content` of a string.
    /// Returns the position of the whole string (`literal`) if escape sequences make the part's
    /// position unclear.
    fn place_within(
        &self,
        literal: Range<usize>,
        content: &str,
        part: Range<usize>,
    ) -> Range<usize> {
        let written = self.text.get(literal.clone()).unwrap_or_default();
        match written.find(content) {
            Some(offset) => {
                let start = literal.start + offset;
                start + part.start..start + part.end
            }
            None => literal,
        }
    }
}

/// A TOML table from which a reader takes the known keys, one after another. Keys left at the end
/// are unknown.
pub(super) struct Table<'a> {
    /// Name of the table in messages, such as `[load]`.
    name: &'static str,
    pub(super) place: Range<usize>,
    left: Vec<Value<'a>>,
    /// Keys that a reader knows.
    known: Vec<&'static str>,
}

impl<'a> Table<'a> {
    pub(super) fn new(name: &'static str, place: Range<usize>, table: &'a DeTable<'a>) -> Self {
        let entries = table.iter().map(|(key, node)| Value {
            key: key.get_ref(),
            key_place: key.span(),
            node,
        });
        let mut left: Vec<Value<'a>> = entries.collect();
        // The parser sorts the tree by name; faults follow the order of lines.
        left.sort_by_key(|value| value.key_place.start);
        Self { name, place, left, known: Vec::new() }
    }

    /// Adds keys that an unknown key may stand for, in the order in which a fault lists them.
    pub(super) fn knows(&mut self, keys: impl IntoIterator<Item = &'static str>) {
        for key in keys {
            if !self.known.contains(&key) {
                self.known.push(key);
            }
        }
    }

    pub(super) fn take(&mut self, key: &'static str) -> Option<Value<'a>> {
        self.knows([key]);
        let index = self.left.iter().position(|value| value.key == key)?;
        Some(self.left.remove(index))
    }

    /// Returns the value of a key without taking the key.
    pub(super) fn peek(&self, key: &str) -> Option<Value<'a>> {
        self.left.iter().find(|value| value.key == key).cloned()
    }

    /// Takes each of `keys` that the table contains.
    pub(super) fn take_any(
        &mut self,
        keys: impl IntoIterator<Item = &'static str>,
    ) -> Vec<Value<'a>> {
        keys.into_iter().filter_map(|key| self.take(key)).collect()
    }

    /// Returns all values that are not taken yet.
    pub(super) fn all(&self) -> Vec<Value<'a>> {
        self.left.clone()
    }

    /// Returns all remaining values. Used for a table in which the author of the file chooses the
    /// names of the keys.
    pub(super) fn rest(self) -> Vec<Value<'a>> {
        self.left
    }

    /// Returns the name of the table in messages.
    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// Adds a fault for each key of the table that was not taken, because such a key is unknown.
    pub(super) fn finish(self, faults: &mut Faults<'_>) {
        for value in self.left {
            let message = format!("`{}` is not a key of {}", value.key, self.name);
            let help = suggestion(value.key, self.known.iter().copied());
            faults.add(Fault::new(message).at(value.key_place, "unknown key").help(help));
        }
    }
}

/// A value in a TOML table, with its key and the positions of both in the file.
#[derive(Clone)]
pub(super) struct Value<'a> {
    pub(super) key: &'a str,
    pub(super) key_place: Range<usize>,
    pub(super) node: &'a Spanned<DeValue<'a>>,
}

impl<'a> Value<'a> {
    pub(super) fn place(&self) -> Range<usize> {
        self.node.span()
    }

    pub(super) fn text(&self, faults: &mut Faults<'_>) -> Option<&'a str> {
        self.text_of("a string", faults)
    }

    /// Reads a string whose fault names what is `expected`, such as a duration.
    pub(super) fn text_of(&self, expected: &str, faults: &mut Faults<'_>) -> Option<&'a str> {
        match self.node.get_ref() {
            DeValue::String(text) => Some(text),
            _ => self.wrong_type(expected, faults),
        }
    }

    /// Reads a string that is not blank.
    pub(super) fn name(&self, faults: &mut Faults<'_>) -> Option<&'a str> {
        let text = self.text(faults)?;
        if text.trim().is_empty() {
            let message = format!("`{}` must not be empty", self.key);
            return self.fault(message, "empty", "", faults);
        }
        Some(text)
    }

    pub(super) fn integer(
        &self,
        range: RangeInclusive<u64>,
        faults: &mut Faults<'_>,
    ) -> Option<u64> {
        let DeValue::Integer(integer) = self.node.get_ref() else {
            return self.wrong_type("a whole number", faults);
        };
        let number = parse_integer(integer);
        if let Some(number) = number.and_then(|number| u64::try_from(number).ok())
            && range.contains(&number)
        {
            return Some(number);
        }
        let (word, bound) = match number {
            Some(number) if number < i128::from(*range.start()) => ("at least", range.start()),
            _ => ("at most", range.end()),
        };
        let message = format!("`{}` must be {word} {}", self.key, count(*bound));
        let range =
            format!("a whole number from {} to {}", count(*range.start()), count(*range.end()));
        self.fault(message, "out of range", format!("write {range}"), faults)
    }

    /// Reads an integer or a float that must be in `range`.
    pub(super) fn number(
        &self,
        range: RangeInclusive<f64>,
        faults: &mut Faults<'_>,
    ) -> Option<f64> {
        let number = match self.node.get_ref() {
            DeValue::Integer(integer) => parse_integer(integer).map(|number| number as f64),
            DeValue::Float(float) => float.as_str().replace('_', "").parse().ok(),
            _ => return self.wrong_type("a number", faults),
        };
        if let Some(number) = number.filter(|number| range.contains(number)) {
            return Some(number);
        }
        let written = |bound: f64| match bound.fract() {
            0.0 => count(bound as u64),
            _ => bound.to_string(),
        };
        let (least, most) = (written(*range.start()), written(*range.end()));
        let message = format!("`{}` must be a number from {least} to {most}", self.key);
        self.fault(message, "out of range", "", faults)
    }

    /// Whether the value is `true` or `false`.
    pub(super) fn is_boolean(&self) -> bool {
        matches!(self.node.get_ref(), DeValue::Boolean(_))
    }

    pub(super) fn boolean(&self, faults: &mut Faults<'_>) -> Option<bool> {
        match self.node.get_ref() {
            DeValue::Boolean(boolean) => Some(*boolean),
            _ => self.wrong_type("true or false", faults),
        }
    }

    /// Reads a duration that must be longer than zero.
    pub(super) fn positive_duration(&self, faults: &mut Faults<'_>) -> Option<Duration> {
        let duration = self.duration(faults)?;
        if duration.is_zero() {
            let message = format!("`{}` must be longer than zero", self.key);
            return self.fault(message, "zero", "", faults);
        }
        Some(duration)
    }

    pub(super) fn duration(&self, faults: &mut Faults<'_>) -> Option<Duration> {
        let text = self.text_of("a duration such as \"10s\"", faults)?;
        match parse_duration(text) {
            Ok(duration) => Some(duration),
            Err(message) => {
                let message = format!("`{}`: {message}", self.key);
                self.fault(message, "invalid duration", "", faults)
            }
        }
    }

    pub(super) fn template(&self, faults: &mut Faults<'_>) -> Option<Template> {
        let text = self.text(faults)?;
        self.parsed(text, Template::parse_in(text, &faults.scope), faults)
    }

    /// Returns the parsed template. If parsing failed, adds a fault at the position of the error in
    /// the file and returns `None`.
    pub(super) fn parsed(
        &self,
        text: &str,
        parsed: Result<Template, TemplateError>,
        faults: &mut Faults<'_>,
    ) -> Option<Template> {
        match parsed {
            Ok(template) => Some(template),
            Err(TemplateError { message, place, help }) => {
                let place = faults.place_within(self.place(), text, place);
                faults.add(Fault::new(message).at(place, "in this text").help(help));
                None
            }
        }
    }

    /// Reads a string that must be one of the words in `choices`, and returns the value of the
    /// word.
    pub(super) fn choice<T: Copy>(
        &self,
        choices: &[(&'static str, T)],
        faults: &mut Faults<'_>,
    ) -> Option<T> {
        let text = self.text(faults)?;
        if let Some((_, choice)) = choices.iter().find(|(word, _)| *word == text) {
            return Some(*choice);
        }
        let words = choices.iter().map(|(word, _)| *word);
        let message = format!("\"{text}\" is not a value of `{}`", self.key);
        self.fault(message, "unknown", suggestion(text, words), faults)
    }

    pub(super) fn table(&self, name: &'static str, faults: &mut Faults<'_>) -> Option<Table<'a>> {
        match self.node.get_ref() {
            DeValue::Table(table) => Some(Table::new(name, self.place(), table)),
            _ => self.wrong_type("a table", faults),
        }
    }

    pub(super) fn array(&self, expected: &str, faults: &mut Faults<'_>) -> Option<Vec<Value<'a>>> {
        let DeValue::Array(array) = self.node.get_ref() else {
            return self.wrong_type(expected, faults);
        };
        let item =
            |node: &'a Spanned<DeValue<'a>>| Value { node, key_place: node.span(), ..self.clone() };
        Some(array.iter().map(item).collect())
    }

    pub(super) fn wrong_type<T>(&self, expected: &str, faults: &mut Faults<'_>) -> Option<T> {
        let found = match self.node.get_ref() {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "a whole number",
            DeValue::Float(_) => "a floating-point number",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date or time",
            DeValue::Array(_) => "an array",
            DeValue::Table(_) => "a table",
        };
        let message = format!("`{}` must be {expected}", self.key);
        self.fault(message, format!("this is {found}"), "", faults)
    }

    /// Adds a fault at the position of this value and returns `None`. An empty `help` means no
    /// help.
    pub(super) fn fault<T>(
        &self,
        message: impl Into<String>,
        label: impl Into<String>,
        help: impl Into<String>,
        faults: &mut Faults<'_>,
    ) -> Option<T> {
        let fault = Fault::new(message).at(self.place(), label);
        let help = help.into();
        faults.add(if help.is_empty() { fault } else { fault.help(help) });
        None
    }
}

/// Parses an integer; returns `None` if the integer does not fit into 128 bits.
pub(super) fn parse_integer(integer: &DeInteger<'_>) -> Option<i128> {
    i128::from_str_radix(integer.as_str(), integer.radix()).ok()
}
