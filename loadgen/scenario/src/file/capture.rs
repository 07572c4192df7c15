//! `capture`: values that a step takes from its answer.

use serde_json::{Value as Json, json};
use toml::de::DeValue;

use super::keys::schema::{self, Schema};
use super::keys::{Boolean, Custom, Defaulted, Key, Keys, Text, custom, key, matching};
use super::pointer::check_pointer;
use super::reader::{Faults, Value};
use super::regex;
use crate::error::Fault;
use crate::method::Method;
use crate::model::{Capture, Pick, Source};
use crate::placeholder::PLACEHOLDERS;
use crate::token::is_token;

const SOURCES: [&str; 3] = [JSON.name(), HEADER.name(), REGEX.name()];

/// When each of these keys is required.
const ONE_SOURCE: &str = "required: one of `json`, `header` and `regex`";

/// Words that pick one of several values. A whole number stands for a number from 1.
const PICKS: [(&str, Pick); 3] =
    [("first", Pick::First), ("last", Pick::Last), ("random", Pick::Random)];

/// Largest number of a match.
const MOST_MATCHES: u64 = 1_000_000;

keys! {
    /// source of the value
    pub(super) const KEYS: Keys = table("a capture").with(|table| table.with("oneOf", one_source()));

    /// the content of a string; the JSON text of a number, `true`, `false`, an array or an object, as the
    /// server wrote it. A part `*` stands for each element of an array and each member of an object, also one
    /// that is called `*`
    const JSON: Key<Custom> = key("json", matching("JSON pointer", schema::POINTER))
        .needed(ONE_SOURCE);
    /// value of the first header with this name
    const HEADER: Key<Text> = key("header", Text).needed(ONE_SOURCE);
    /// match of a [regular expression](https://docs.rs/regex/latest/regex/#syntax) in the body's text, or beside
    /// `header` in its value: its first group, or the whole match if the expression has no group
    const REGEX: Key<Text> = key("regex", Text).needed(ONE_SOURCE);
    /// whether a response may lack the value. The user then has no such value
    const OPTIONAL: Defaulted<Boolean> = key("optional", Boolean).or("false");
    /// which of several matches of `regex`, or of a pointer with `*`, counts
    const MATCH: Defaulted<Custom> =
        key("match", custom("`\"first\"`, `\"last\"`, `\"random\"`, or 1 to 1,000,000", match_schema))
        .or("\"first\"");
}

/// Says that a capture has one source: `regex` alone, or beside `header`.
fn one_source() -> Json {
    let without_header =
        json!({ "required": [REGEX.name()], "not": { "required": [HEADER.name()] } });
    json!([{ "required": [JSON.name()] }, { "required": [HEADER.name()] }, without_header])
}

/// Returns a schema for captures of a response without a body.
pub(super) fn without_a_body() -> Json {
    let mut schema = schema::without(&[JSON.name()]);
    schema["dependencies"] = json!({ REGEX.name(): [HEADER.name()] });
    schema
}

fn match_schema() -> Schema {
    let number = schema::integer(1..=MOST_MATCHES, "Number of the match, from 1.");
    let word = schema::choice(&PICKS, "The first, the last or a random match.");
    schema::one_of([word, number])
}

const EXAMPLE: &str = "write capture = { token = { json = \"/token\" } }, \
                       { header = \"x-token\" } or { regex = 'token=(\\w+)' }";

pub(super) fn read(
    value: Option<Value<'_>>,
    method: Option<&Method>,
    faults: &mut Faults<'_>,
) -> Option<Vec<Capture>> {
    let Some(value) = value else { return Some(Vec::new()) };
    let values = value.table("`capture`", faults)?.rest();
    let captures: Vec<_> = values.iter().map(|value| read_one(value, method, faults)).collect();
    captures.into_iter().collect()
}

/// Returns the names of the values that a step captures. Includes the names of faulty captures, so
/// that a later use of such a name does not count as a second fault.
pub(super) fn names(step: &Value<'_>) -> Vec<String> {
    let table = step.node.get_ref().as_table();
    let capture = table.and_then(|table| {
        let (_, node) = table.iter().find(|(key, _)| key.get_ref() == "capture")?;
        node.get_ref().as_table()
    });
    let keys = capture.into_iter().flat_map(|capture| capture.keys());
    keys.map(|key| key.get_ref().to_string()).collect()
}

fn read_one(
    value: &Value<'_>,
    method: Option<&Method>,
    faults: &mut Faults<'_>,
) -> Option<Capture> {
    let named = check_name(value, faults);
    let mut table = KEYS.open(value, faults)?;
    let sources = table.take_any(SOURCES);
    if sources.is_empty() {
        let message = format!("the capture `{}` has no source", value.key);
        value.fault::<()>(message, "no source", EXAMPLE, faults);
    }
    let is_match_of_header = matches!(sources.as_slice(), [one, other] if [one.key, other.key] == [HEADER.name(), REGEX.name()]);
    if sources.len() > 1 && !is_match_of_header {
        let message = format!("the capture `{}` has more than one source", value.key);
        let at =
            |fault: Fault, source: &Value<'_>| fault.at(source.key_place.clone(), "one source");
        let fault = sources.iter().fold(Fault::new(message), at);
        faults.add(fault.help("keep one source, or write a separate capture for each source"));
    }
    if method == Some(&Method::HEAD) && !is_match_of_header {
        let of_body = sources.iter().filter(|source| source.key != "header");
        of_body.for_each(|source| refuse_for_head(source, faults));
    }
    let optional = OPTIONAL.read(&mut table, faults);
    let written = MATCH.take(&mut table);
    let pick = written.as_ref().map_or(Some(Pick::First), |value| read_pick(value, faults));
    let read: Vec<_> = sources.iter().map(|source| read_source(source, faults)).collect();
    table.finish(faults);
    let mut read = read.into_iter();
    let source = match (read.next()??, read.next()) {
        (Source::Header(name), Some(Some(Source::Regex(regex)))) => {
            Source::HeaderMatch(name, regex)
        }
        (_, Some(_)) => return None,
        (source, None) => source,
    };
    let is_first = pick.is_some_and(|pick| pick.is_first());
    if let Some(written) = written.filter(|_| !is_first && !source.has_several()) {
        let message =
            String::from("`match` picks one of several values, but this capture finds one");
        let help = "write `*` for a part of the JSON pointer, as in \"/items/*/id\", use `regex`, or leave \
                    out `match`";
        return written.fault(message, "no effect", help, faults);
    }
    let (pick, optional) = (pick?, optional?);
    named.then(|| Capture { name: value.key.to_owned(), source, pick, optional })
}

fn read_pick(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Pick> {
    match value.node.get_ref() {
        DeValue::Integer(_) => {
            let number = value.integer(1..=MOST_MATCHES, faults)?;
            u32::try_from(number).ok().map(Pick::Number)
        }
        DeValue::String(_) => value.choice(&PICKS, faults),
        _ => value.wrong_type("a whole number, \"first\", \"last\" or \"random\"", faults),
    }
}

fn check_name(value: &Value<'_>, faults: &mut Faults<'_>) -> bool {
    let name = value.key;
    let fault = if PLACEHOLDERS.contains(&name) {
        Fault::new(format!("`{name}` is the name of a built-in placeholder"))
            .at(value.key_place.clone(), "reserved")
            .help(format!("give the captured value another name, such as `captured_{name}`"))
    } else if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || "_-".contains(c)) {
        Fault::new(format!("`{name}` is not a valid name for a captured value"))
            .at(value.key_place.clone(), "invalid name")
            .help("use letters, digits, `_` and `-`")
    } else {
        return true;
    };
    faults.add(fault);
    false
}

fn read_source(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Source> {
    let text = value.text(faults)?;
    match value.key {
        "json" => {
            check_pointer(text, value.place(), faults);
            Some(Source::Json(text.to_owned()))
        }
        "header" => read_header(text, value, faults),
        _ => regex::read(value, faults).map(Source::Regex),
    }
}

fn read_header(name: &str, value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Source> {
    if !is_token(name) {
        let message = format!("`{name}` is not a valid header name");
        return value.fault(message, "invalid name", "write a name such as \"x-session\"", faults);
    }
    Some(Source::Header(name.to_ascii_lowercase()))
}

fn refuse_for_head(value: &Value<'_>, faults: &mut Faults<'_>) {
    let message = format!("`{}` reads a body, but a response to HEAD has no body", value.key);
    value.fault::<()>(message, "no body", "use `get`, or capture a header", faults);
}
