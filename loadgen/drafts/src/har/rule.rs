//! Rules that find a value in a response.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use memchr::memmem::Finder;
use regex::Regex;
use serde_json::Value as Json;

use super::journey::Answer;
use crate::Value;
use crate::recorded::{Secrets, leaves};
use crate::secrets::is_token_like;

/// Most places of a value in a body that are tried.
const MOST_PLACES: usize = 40;

/// Longest text before a value, in bytes, that a rule looks at.
const WINDOW: usize = 120;

/// Headers that have no values for later requests.
const OTHER_HEADERS: [&str; 6] =
    ["date", "content-length", "content-type", "server", "expires", "last-modified"];

/// A rule that finds a value in a response.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Rule {
    Json(String),
    /// Any of the values at a pointer in which `*` stands for each item: each recording took another one.
    AnyOf(String),
    /// First group of the first match, or of the last one.
    Regex {
        pattern: String,
        is_last: bool,
    },
    Header(String),
    HeaderRegex {
        name: String,
        pattern: String,
    },
}

/// A value to be found, with the response that may have it.
pub(super) struct Sought<'a> {
    pub(super) value: &'a str,
    pub(super) answer: &'a Answer,
    /// The same of the other recording.
    pub(super) other: Option<(&'a str, &'a Answer)>,
    /// Hash of the longest word of the value.
    pub(super) word: Option<u64>,
    /// Name of the field that sends the value.
    pub(super) name: Option<&'a str>,
    /// Whether the value must be that of an input with the same name.
    pub(super) only_inputs: bool,
}

/// Index of a response: most values that are sought are in none.
pub(super) struct Index {
    /// Pointers of the strings and numbers of JSON, by their text.
    leaves: HashMap<String, Vec<String>>,
    /// Hashes of the words of any other text.
    words: HashSet<u64>,
}

impl Index {
    pub(super) fn of(answer: &Answer) -> Self {
        let mut all: HashMap<String, Vec<String>> = HashMap::new();
        if let Some(json) = &answer.json {
            leaves(json, &mut String::new(), &mut |pointer, text, _| {
                let pointers = all.entry(text).or_default();
                if pointers.len() < MOST_PLACES {
                    pointers.push(pointer.to_owned());
                }
            });
        }
        let words = if answer.json.is_none() {
            words(&answer.text).map(hash).collect()
        } else {
            HashSet::new()
        };
        Self { leaves: all, words }
    }

    /// Whether the text may have the value of this word, between characters that belong to no word.
    pub(super) fn may_have(&self, word: Option<u64>) -> bool {
        word.is_some_and(|word| self.words.contains(&word))
    }
}

/// Returns the hash of the longest word of a value.
pub(super) fn longest_word(value: &str) -> Option<u64> {
    words(value).max_by_key(|word| word.len()).map(hash)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

fn hash(word: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    word.hash(&mut hasher);
    hasher.finish()
}

impl Rule {
    /// Returns the capture.
    pub(super) fn value(&self) -> Value {
        match self {
            Self::Json(pointer) => Value::table([("json", pointer.as_str())]),
            Self::AnyOf(pointer) => Value::table([("json", pointer.as_str()), ("match", "random")]),
            Self::Header(name) => Value::table([("header", name.as_str())]),
            Self::HeaderRegex { name, pattern } => {
                Value::table([("header", name.as_str()), ("regex", pattern.as_str())])
            }
            Self::Regex { pattern, is_last } => {
                let last = is_last.then_some(("match", "last"));
                Value::table([("regex", pattern.as_str())].into_iter().chain(last))
            }
        }
    }
}

/// Returns a pointer with `*` in place of the items' numbers, if it has some.
fn of_any_item(pointer: &str) -> Option<String> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts = pointer.split('/').map(|part| if is_number(part) { "*" } else { part });
    let any = parts.collect::<Vec<_>>().join("/");
    (any != pointer).then_some(any)
}

/// Whether a value is at a pointer in which `*` stands for each item.
fn has(json: &Json, pointer: &str, value: &str) -> bool {
    match pointer.split_once("/*") {
        None => json.pointer(pointer).is_some_and(|it| is_text(it, value)),
        Some((list, rest)) => json
            .pointer(list)
            .and_then(Json::as_array)
            .is_some_and(|items| items.iter().any(|item| has(item, rest, value))),
    }
}

/// Whether JSON is a string or a number with this text.
fn is_text(json: &Json, text: &str) -> bool {
    match json {
        Json::String(string) => string == text,
        Json::Number(number) => number.to_string() == text,
        _ => false,
    }
}

impl Sought<'_> {
    /// Finds the value in the body or, if it is not there, in a header. The rule finds it in both
    /// recordings.
    pub(super) fn rule(&self, index: &Index, secrets: &Secrets) -> Option<Rule> {
        let in_text = || if index.may_have(self.word) { self.in_text(secrets) } else { None };
        if self.only_inputs {
            return in_text();
        }
        let json = self.in_json(index, secrets);
        json.or_else(in_text).or_else(|| self.in_headers(secrets))
    }

    fn in_json(&self, index: &Index, secrets: &Secrets) -> Option<Rule> {
        let pointers = index.leaves.get(self.value)?.iter();
        let pointers = pointers.filter(|pointer| {
            let mut parts = pointer.split('/');
            let is_same = || {
                pointer
                    .rsplit('/')
                    .next()
                    .is_some_and(|part| part == "id" || Some(part) == self.name)
            };
            // A star stands for any member.
            !parts.any(|part| part == "*" || is_token_like(part))
                && secrets.last_end(pointer) == 0
                && (self.value.len() > 1 || is_same())
        });
        let pointers: Vec<&String> = pointers.collect();
        let Some((value, answer)) = self.other else {
            return pointers.first().map(|pointer| Rule::Json((*pointer).clone()));
        };
        let json = answer.json.as_ref()?;
        let is_there =
            |pointer: &&&String| json.pointer(pointer).is_some_and(|it| is_text(it, value));
        if let Some(pointer) = pointers.iter().find(is_there) {
            return Some(Rule::Json((*pointer).clone()));
        }
        // Two people took two items of the same list.
        let any = pointers.iter().filter_map(|pointer| of_any_item(pointer));
        any.into_iter().find(|pointer| has(json, pointer, value)).map(Rule::AnyOf)
    }

    fn in_text(&self, secrets: &Secrets) -> Option<Rule> {
        let text = self.answer.text.as_str();
        if self.value.len() < 2 && !self.only_inputs {
            return None;
        }
        let finder = Finder::new(self.value);
        for at in finder.find_iter(text.as_bytes()).take(MOST_PLACES) {
            let Some(pattern) = pattern(text, at, self.value, secrets) else { continue };
            if self.only_inputs
                && !self.name.is_some_and(|name| {
                    pattern.contains(&format!("name=\"{}\"", regex::escape(name)))
                })
            {
                continue;
            }
            let Ok(regex) = Regex::new(&pattern) else { continue };
            for is_last in [false, true] {
                let finds = |value: &str, text: &str| matched(&regex, text, is_last) == Some(value);
                if finds(self.value, text)
                    && self.other.is_none_or(|(value, other)| finds(value, &other.text))
                {
                    return Some(Rule::Regex { pattern, is_last });
                }
            }
        }
        None
    }

    /// Finds the value in a header.
    pub(super) fn in_headers(&self, secrets: &Secrets) -> Option<Rule> {
        if self.value.len() < 2 {
            return None;
        }
        let headers = self.answer.headers.iter();
        let is_name =
            |name: &str| name.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_".contains(&it));
        let mut headers =
            headers.filter(|(name, _)| is_name(name) && !OTHER_HEADERS.contains(&name.as_str()));
        headers.find_map(|(name, text)| {
            let other = match self.other {
                Some((value, answer)) => {
                    let (_, text) = answer.headers.iter().find(|(other, _)| other == name)?;
                    Some((value, text.as_str()))
                }
                None => None,
            };
            if text == self.value {
                return other
                    .is_none_or(|(value, text)| value == text)
                    .then(|| Rule::Header(name.clone()));
            }
            let pattern = match text.split(';').next().and_then(|pair| pair.split_once('=')) {
                Some((cookie, value)) if name == "set-cookie" && value == self.value => {
                    format!("{}=([^;]+)", regex::escape(cookie))
                }
                _ => pattern(text, text.find(self.value)?, self.value, secrets)?,
            };
            let regex = Regex::new(&pattern).ok()?;
            let finds = |value: &str, text: &str| matched(&regex, text, false) == Some(value);
            let is_found =
                finds(self.value, text) && other.is_none_or(|(value, text)| finds(value, text));
            is_found.then(|| Rule::HeaderRegex { name: name.clone(), pattern })
        })
    }
}

fn matched<'a>(regex: &Regex, text: &'a str, is_last: bool) -> Option<&'a str> {
    let mut all = regex.captures_iter(text);
    let found = if is_last { all.last() } else { all.next() };
    found?.get(1).map(|group| group.as_str())
}

/// Returns an expression with the text before a value, which must end where the value ends.
fn pattern(text: &str, at: usize, value: &str, secrets: &Secrets) -> Option<String> {
    let is_of_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let after = text[at + value.len()..].chars().next();
    let is_within = |one: Option<char>, other: Option<char>| {
        one.is_some_and(is_of_word) && other.is_some_and(is_of_word)
    };
    if is_within(text[..at].chars().next_back(), value.chars().next())
        || is_within(value.chars().next_back(), after)
    {
        return None;
    }
    let before = context(text, at, secrets)?;
    let group = match after {
        None => String::from(r#"([^\s"<>]+)"#),
        Some(c) if c.is_whitespace() => String::from(r"(\S+)"),
        Some('/' | '?' | '#' | '&') => String::from(r#"([^/?#&"\s]+)"#),
        Some(c @ ('"' | '\'' | '<' | ';' | ',' | ')' | ']' | '}' | '|' | '\\')) => {
            format!("([^{}]+)", regex::escape(&c.to_string()))
        }
        Some(_) => return None,
    };
    Some(format!("{}{group}", regex::escape(before)))
}

/// Returns the text before a value that is likely the same in each response.
fn context<'a>(text: &'a str, at: usize, secrets: &Secrets) -> Option<&'a str> {
    let mut before = &text[text.floor_char_boundary(at.saturating_sub(WINDOW))..at];
    let after_last = |text: &str, c: &[char]| text.rfind(c).map_or(0, |at| at + 1);
    before = &before[after_last(before, &['\n', '\r'])..];
    before = &before[secrets.last_end(before)..];
    before = without_tokens(before);
    let tag = before.rfind('<');
    let is_in_tag = tag.is_some_and(|tag| !before[tag..].contains('>'));
    let attribute =
        [" name=", " id=", " property="].into_iter().filter_map(|name| before.rfind(name)).max();
    match (tag, attribute) {
        // The name of an input says more than what stands before it.
        (_, Some(attribute)) if !before[attribute..].contains('>') => {
            before = &before[attribute + 1..]
        }
        (Some(tag), _) if is_in_tag || before.len() - tag < 40 => before = &before[tag..],
        _ => {
            before = &before[before.ceil_char_boundary(before.len().saturating_sub(32))..];
            let part = after_last(before, &[',', '{', '(', ';', '&', '?']);
            if before.len() - part >= 4 {
                before = &before[part..];
            }
        }
    }
    (before.len() > 2 && before.contains(char::is_alphabetic)).then_some(before)
}

/// Returns the text after the last word that a server has made, such as another token.
fn without_tokens(text: &str) -> &str {
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut begin = 0;
    let mut word = 0;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        if !is_of_word(c) {
            let found = &text[word..at];
            if found.len() >= 8 && found.contains(|c: char| c.is_ascii_digit()) {
                begin = at;
            }
            word = at + c.len_utf8();
        }
    }
    text.get(begin..).unwrap_or_default()
}
