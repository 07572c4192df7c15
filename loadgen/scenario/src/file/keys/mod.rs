//! Declares the keys of a scenario file, each once: its name, the values that it can have, its default, and what it
//! means. The readers, the JSON Schema and the tables of the reference follow from the declaration.
//!
//! ```ignore
//! keys! {
//!     /// options of HTTP
//!     const KEYS: Keys = table("[http]").with(rules);
//!
//!     /// most consecutive redirects that a request follows
//!     const REDIRECTS: Defaulted<Integer> = key("redirects", integer(0, MOST_REDIRECTS)).or("0");
//! }
//!
//! let mut table = KEYS.open(&value, faults)?;
//! let redirects = REDIRECTS.read(&mut table, faults);
//! table.finish(faults);
//! ```
//!
//! The doc comment of a key says what it means: a part of a sentence, in Markdown with links from the reference's page.
//! Each key also says what a file without it has: a default, a default in words, or a fault.
//! A relation between keys is a rule of their table, which the reader checks and the schema repeats.

/// Declares a table with its keys, or only keys. See the module's docs.
macro_rules! keys {
    (
        $(#[doc = $table_about:literal])+
        $table_vis:vis const $table:ident: Keys = $table_value:expr;
        $($(#[doc = $about:literal])* $vis:vis const $key:ident: $kind:ty = $value:expr;)+
    ) => {
        $(#[doc = $table_about])+
        $table_vis const $table: Keys = {
            use $crate::file::keys::table;
            $table_value.of(concat!($($table_about),+), &[$(&$key),+])
        };
        keys! { $($(#[doc = $about])* $vis const $key: $kind = $value;)+ }
    };
    ($($(#[doc = $about:literal])* $vis:vis const $key:ident: $kind:ty = $value:expr;)+) => {
        $($(#[doc = $about])* $vis const $key: $kind = $value.about(concat!("" $(, $about)*));)+
    };
}

mod kinds;
pub(super) mod schema;
#[cfg(test)]
mod tests;

pub(super) use kinds::{
    Boolean, Choice, Custom, Form, Integer, JSON, Kind, Number, ONE_REQUEST, PATH, REQUEST_PATH,
    TEMPLATE, TRUE, Text, Time, custom, integer, matching, not_blank, number,
};
use schema::Schema;
use serde_json::{Map, Value as Json};
use toml::de::{DeTable, DeValue};

use super::reader::{Faults, Table, Value};

/// A key, and the form of its values.
pub(super) struct Key<F: 'static> {
    name: &'static str,
    form: F,
    about: &'static str,
    /// Default in words, in Markdown; empty without one.
    otherwise: &'static str,
    /// Other keys without which the table needs this one, in Markdown; empty for none.
    needed: &'static str,
    is_required: bool,
}

/// A key of which a file without the key has the default value.
pub(super) struct Defaulted<F: 'static> {
    key: Key<F>,
    /// The default as TOML, which is also JSON.
    default: &'static str,
}

/// Begins to declare a key, whose doc comment says what it means.
pub(super) const fn key<F: Copy>(name: &'static str, form: F) -> Key<F> {
    Key { name, form, about: "", otherwise: "", needed: "", is_required: false }
}

impl<F: Copy> Key<F> {
    /// Says what the key means. A key of another module keeps what it means there, if `about` is empty.
    pub(super) const fn about(self, about: &'static str) -> Self {
        match about.is_empty() {
            true => self,
            false => Self { about, ..self },
        }
    }

    /// Sets the value of a file without the key, in TOML.
    pub(super) const fn or(self, default: &'static str) -> Defaulted<F> {
        Defaulted { key: self, default }
    }

    /// Sets the default in words, in Markdown.
    pub(super) const fn otherwise(self, otherwise: &'static str) -> Self {
        Self { otherwise, ..self }
    }

    /// Says when the table has a fault without the key, in Markdown, beginning with "required". The reader adds the
    /// fault.
    pub(super) const fn needed(self, needed: &'static str) -> Self {
        Self { needed, ..self }
    }

    /// Says that the table has a fault without the key. The reader adds the fault.
    pub(super) const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }
}

impl<F> Key<F> {
    pub(super) const fn name(&self) -> &'static str {
        self.name
    }

    /// Takes the key's value from a table.
    pub(super) fn take<'a>(&self, table: &mut Table<'a>) -> Option<Value<'a>> {
        table.take(self.name)
    }
}

impl<F: Form> Key<F> {
    /// Returns the default in words, or when the table needs the key, in Markdown.
    fn absence(&self) -> &'static str {
        match (self.otherwise, self.needed) {
            ("", "") if self.is_required => "required",
            ("", needed) => needed,
            (otherwise, _) => otherwise,
        }
    }

    /// Returns the JSON Schema of the key's value, with the text that editors show for the key: its meaning, its
    /// values, and the `absence` of the key.
    fn explained(&self, absence: &str) -> Schema {
        let (meaning, absence) = (sentence(self.about), sentence(absence));
        let values = without_links(&self.form.words());
        self.form.schema().with("description", format!("{meaning} Value: {values}. {absence}"))
    }
}

impl<F: Copy> Defaulted<F> {
    /// Says what the key means.
    pub(super) const fn about(self, about: &'static str) -> Self {
        Self { key: self.key.about(about), ..self }
    }
}

impl<F> Defaulted<F> {
    pub(super) const fn name(&self) -> &'static str {
        self.key.name
    }

    /// Takes the key's value from a table.
    pub(super) fn take<'a>(&self, table: &mut Table<'a>) -> Option<Value<'a>> {
        table.take(self.key.name)
    }
}

impl<K: Kind> Key<K> {
    /// Takes the key and reads its value: `Some(None)` without the key, `None` for a value with a fault.
    pub(super) fn read(
        &self,
        table: &mut Table<'_>,
        faults: &mut Faults<'_>,
    ) -> Option<Option<K::Read>> {
        match self.take(table) {
            Some(value) => self.value(&value, faults).map(Some),
            None => Some(None),
        }
    }

    /// Reads a value that was taken; `None` for a fault.
    pub(super) fn value(&self, value: &Value<'_>, faults: &mut Faults<'_>) -> Option<K::Read> {
        self.form.read(value, faults)
    }
}

impl<K: Kind> Defaulted<K> {
    /// Takes the key and reads its value, or the default; `None` for a value with a fault.
    pub(super) fn read(&self, table: &mut Table<'_>, faults: &mut Faults<'_>) -> Option<K::Read> {
        match self.key.take(table) {
            Some(value) => self.value(&value, faults),
            None => self.default(),
        }
    }

    /// Reads a value that was taken; `None` for a fault.
    pub(super) fn value(&self, value: &Value<'_>, faults: &mut Faults<'_>) -> Option<K::Read> {
        self.key.value(value, faults)
    }

    /// Returns the value of a file without the key.
    pub(super) fn default(&self) -> Option<K::Read> {
        let node = DeValue::parse(self.default).ok()?;
        let value = Value { key: self.key.name, key_place: 0..0, node: &node };
        self.key.form.read(&value, &mut Faults::new(self.default))
    }
}

/// A key with values of any form.
pub(super) trait Declared: Sync {
    fn name(&self) -> &'static str;
    fn is_required(&self) -> bool;
    /// Returns the JSON Schema of the key's value.
    fn schema(&self) -> Schema;
    /// Returns the key's row of the reference: type, default and meaning.
    fn row(&self) -> [String; 3];
}

impl<F: Form> Declared for Key<F> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn is_required(&self) -> bool {
        self.is_required
    }

    fn schema(&self) -> Schema {
        self.explained(&match self.otherwise {
            "" => self.absence().to_owned(),
            otherwise => format!("Default: {otherwise}"),
        })
    }

    fn row(&self) -> [String; 3] {
        [self.form.words(), self.absence().to_owned(), self.about.trim_start().to_owned()]
    }
}

impl<F: Form> Declared for Defaulted<F> {
    fn name(&self) -> &'static str {
        self.key.name
    }

    fn is_required(&self) -> bool {
        false
    }

    fn schema(&self) -> Schema {
        let default: Option<Json> = serde_json::from_str(self.default).ok();
        let schema = self.key.explained(&format!("Default: `{}`", self.default));
        schema.with("default", default.unwrap_or_default())
    }

    fn row(&self) -> [String; 3] {
        let [words, _, about] = self.key.row();
        [words, format!("`{}`", self.default), about]
    }
}

/// A table with a fixed set of keys.
pub(super) struct Keys {
    /// Name of the table in messages and in the reference, such as `[load]`.
    pub name: &'static str,
    about: &'static str,
    keys: &'static [&'static dyn Declared],
    rules: fn(Schema) -> Schema,
}

/// Begins to declare a table, whose doc comment says what it is.
pub(super) const fn table(name: &'static str) -> Keys {
    Keys { name, about: "", keys: &[], rules: |schema| schema }
}

impl Keys {
    /// Says what the table is, and which keys it has.
    pub(super) const fn of(
        self,
        about: &'static str,
        keys: &'static [&'static dyn Declared],
    ) -> Self {
        Self { about, keys, ..self }
    }

    /// Gives a table with the same keys another name.
    pub(super) const fn called(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// Adds the rules that hold between keys to the table's schema.
    pub(super) const fn with(self, rules: fn(Schema) -> Schema) -> Self {
        Self { rules, ..self }
    }

    /// Opens a table, from which a reader takes these keys. A key that no reader takes is unknown.
    pub(super) fn open<'a>(&self, value: &Value<'a>, faults: &mut Faults<'_>) -> Option<Table<'a>> {
        let mut table = value.table(self.name, faults)?;
        table.knows(self.keys.iter().map(|key| key.name()));
        Some(table)
    }

    /// Opens the outermost table of a file.
    pub(super) fn of_file<'a>(&self, tree: &'a DeTable<'a>) -> Table<'a> {
        let mut table = Table::new(self.name, 0..0, tree);
        table.knows(self.keys.iter().map(|key| key.name()));
        table
    }

    /// Returns the JSON Schema of the table.
    pub(super) fn schema(&self) -> Schema {
        let keys: Map<String, Json> =
            self.keys.iter().map(|key| (key.name().to_owned(), key.schema().into())).collect();
        let required: Vec<&str> =
            self.keys.iter().filter(|key| key.is_required()).map(|key| key.name()).collect();
        let table = schema::closed(keys).with("description", sentence(self.about));
        (self.rules)(if required.is_empty() { table } else { table.with("required", required) })
    }

    /// Returns the table's rows in the reference: keys, type, default, meaning. Keys that differ only in their
    /// names share a row.
    pub(super) fn rows(&self) -> Vec<[String; 4]> {
        let mut rows: Vec<[String; 4]> = Vec::new();
        for key in self.keys {
            let (name, [words, default, about]) = (format!("`{}`", key.name()), key.row());
            match rows.last_mut() {
                Some(last) if last[1..] == [words.clone(), default.clone(), about.clone()] => {
                    last[0] = format!("{}, {name}", last[0]);
                }
                _ => rows.push([name, words, default, about]),
            }
        }
        rows
    }
}

/// Makes a sentence without links of a part of a sentence in Markdown.
fn sentence(part: &str) -> String {
    let text = without_links(part);
    let mut letters = text.trim_start().chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    let end = if text.ends_with('.') { "" } else { "." };
    format!("{}{}{end}", first.unwrap_or_default(), letters.as_str())
}

fn without_links(markdown: &str) -> String {
    let mut text = String::new();
    let mut rest = markdown;
    while let Some((before, after)) = rest.split_once("](") {
        let (_, after) = after.split_once(')').unwrap_or_default();
        let open = opening(before);
        text.push_str(&before[..open]);
        text.push_str(before.get(open + 1..).unwrap_or_default());
        rest = after;
    }
    text.push_str(rest);
    text
}

/// Returns the position of the bracket that the end of `text` closes; the end if there is none.
fn opening(text: &str) -> usize {
    let mut depth = 1;
    let opens = |(_, letter): &(usize, char)| {
        depth += match letter {
            ']' => 1,
            '[' => -1,
            _ => 0,
        };
        depth == 0
    };
    text.char_indices().rev().find(opens).map_or(text.len(), |(at, _)| at)
}
