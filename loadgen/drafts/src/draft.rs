//! A scenario that is still to be written, as its source tells it.

use serde_json::Number;

/// A scenario to be written, with what a person must decide in comments.
#[derive(Debug, Default)]
pub struct Draft {
    /// Comments at the top of the file, a sentence or two each.
    pub about: Vec<String>,
    /// One line for people.
    pub description: String,
    /// Keys of `[http]`.
    pub http: Vec<Entry>,
    /// Keys of `[load]`.
    pub load: Vec<Entry>,
    /// Files of values beside the scenario, from which steps take rows.
    pub rows: Vec<RowsFile>,
    /// Steps that each user sends once, before its first iteration.
    pub start: Vec<Step>,
    /// Journeys. The steps of an only one stand in the file without a flow.
    pub flows: Vec<Flow>,
    /// Sentences for the person who asked for the draft: what it covers, and what it leaves to decide.
    pub notes: Vec<String>,
    /// URL of the server, without a path, if the source names it.
    pub url: Option<String>,
}

/// Values in a CSV file beside the scenario: an iteration takes any row, with equal probability.
#[derive(Debug, Default)]
pub struct RowsFile {
    /// Unique among the files. A step names a column as `{{ NAME.COLUMN }}`.
    pub name: String,
    /// Name of the file, in the folder of the scenario.
    pub file_name: String,
    /// Comments above it.
    pub about: Vec<String>,
    /// Names of the columns, at least one, each different.
    pub columns: Vec<String>,
    /// Rows, at least one, each with a value for every column.
    pub records: Vec<Vec<String>>,
}

/// Steps of an iteration.
#[derive(Debug, Default)]
pub struct Flow {
    /// Unique among all flows and steps.
    pub name: String,
    /// Relative frequency, from 1 to 1,000,000.
    pub weight: u32,
    /// Comments above it.
    pub about: Vec<String>,
    /// In the order in which they are sent.
    pub steps: Vec<Step>,
}

/// A request.
#[derive(Debug, Default)]
pub struct Step {
    /// Unique among all flows and steps.
    pub name: String,
    /// Comments above it.
    pub about: Vec<String>,
    /// Whether the step is a comment itself, until a person decides otherwise.
    pub off: bool,
    /// Keys of the step besides its name, the method first.
    pub entries: Vec<Entry>,
}

/// A key with its value.
#[derive(Debug)]
pub struct Entry {
    /// Key of the scenario file.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// Comments above it.
    pub about: Vec<String>,
}

/// A value of TOML, whose tables keep their order.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A text, perhaps with placeholders.
    String(String),
    /// An integer of 64 bits.
    Integer(i64),
    /// A finite number.
    Float(f64),
    /// `true` or `false`.
    Boolean(bool),
    /// Values in their order.
    Array(Vec<Self>),
    /// Keys and values in their order.
    Table(Vec<(String, Self)>),
}

impl RowsFile {
    /// Returns the text of the CSV file (RFC 4180).
    pub fn csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        for record in std::iter::once(&self.columns).chain(&self.records) {
            // Memory takes all that is written, and each record has a value for every column.
            let _ = writer.write_record(record);
        }
        let bytes = writer.into_inner().unwrap_or_default();
        String::from_utf8(bytes).unwrap_or_default()
    }
}

impl Entry {
    /// A key without comments.
    pub fn new(key: impl Into<String>, value: impl Into<Value>) -> Self {
        Self { key: key.into(), value: value.into(), about: Vec::new() }
    }
}

impl Step {
    /// A step with one key: its method, and its path.
    pub fn new(name: impl Into<String>, method: &str, path: impl Into<String>) -> Self {
        let path = path.into();
        let known = ["get", "post", "put", "patch", "delete", "head", "options"];
        let lower = method.to_ascii_lowercase();
        let entry = if known.contains(&lower.as_str()) {
            Entry::new(lower, path)
        } else {
            Entry::new("request", format!("{method} {path}"))
        };
        Self { name: name.into(), entries: vec![entry], ..Self::default() }
    }

    /// Adds a key at the end.
    pub fn push(&mut self, key: &str, value: impl Into<Value>) {
        self.entries.push(Entry::new(key, value));
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }
}

impl Value {
    /// A text without placeholders: braces that would begin one are escaped.
    pub fn literal(text: &str) -> Self {
        Self::String(escape(text))
    }

    /// A table of the pairs.
    pub fn table<K: Into<String>, V: Into<Self>>(pairs: impl IntoIterator<Item = (K, V)>) -> Self {
        Self::Table(pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }

    /// Returns JSON whose strings are literal, or nothing if TOML cannot hold it: it has no `null`, and
    /// its integers have 64 bits.
    pub fn of_json(json: &serde_json::Value) -> Option<Self> {
        Some(match json {
            serde_json::Value::Null => return None,
            serde_json::Value::Bool(value) => Self::Boolean(*value),
            serde_json::Value::Number(value) => Self::of_number(value)?,
            serde_json::Value::String(text) => Self::literal(text),
            serde_json::Value::Array(items) => {
                Self::Array(items.iter().map(Self::of_json).collect::<Option<_>>()?)
            }
            serde_json::Value::Object(members) => Self::Table(
                members
                    .iter()
                    .map(|(key, value)| Some((key.clone(), Self::of_json(value)?)))
                    .collect::<Option<_>>()?,
            ),
        })
    }

    fn of_number(number: &Number) -> Option<Self> {
        match number.as_i64() {
            Some(integer) => Some(Self::Integer(integer)),
            None if number.is_u64() => None,
            None => number.as_f64().map(Self::Float),
        }
    }
}

/// Returns the keys of a load to begin with, where a source tells nothing of one.
pub(crate) fn usual_load() -> Vec<Entry> {
    vec![Entry::new("users", 10), Entry::new("duration", "30s")]
}

/// Escapes the braces that would begin a placeholder.
pub(crate) fn escape(text: &str) -> String {
    text.replace("{{", "{{{{")
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<i64> for Value {
    fn from(integer: i64) -> Self {
        Self::Integer(integer)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Boolean(value)
    }
}

impl From<Vec<Self>> for Value {
    fn from(items: Vec<Self>) -> Self {
        Self::Array(items)
    }
}
