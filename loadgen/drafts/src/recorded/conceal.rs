//! Replaces secrets of requests by environment variables.

use std::collections::{HashMap, HashSet};
use std::mem::{Discriminant, discriminant};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value as Json;

use super::{Body, Place, Request, Slot, in_text};
use crate::secrets::{Variables, is_long_token, is_secret, looks_secret};

/// Shortest secret, in bytes, that is also searched within other values.
const SHORTEST: usize = 6;

/// Shortest secret, in bytes, that replaces other values that equal it.
const SHORTEST_EQUAL: usize = 3;

/// Most secrets that are searched within other values. Each search reads all values.
const MOST_WITHIN: usize = 1000;

/// Secrets of a source.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    /// Environment variables that stand for them.
    variables: Variables,
    /// All secrets with the names of their variables to be.
    known: HashMap<String, String>,
    /// Secrets that are searched within other values, the longest first.
    within: Vec<String>,
}

/// Names of fields that have a password.
static PASSWORD: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new("(?i)passw|passphrase|^(pass|pwd)$").ok());

/// Names of fields that have the user, beside a password.
static USER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)(^|[^a-z])(e-?mail|log|login|user|user_?name|user_?id|account)($|[^a-z])").ok()
});

/// JSON Web Tokens.
static JWT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"eyJ[\w-]{8,}\.[\w-]{4,}\.[\w-]*").ok());

fn matches(regex: &LazyLock<Option<Regex>>, text: &str) -> bool {
    regex.as_ref().is_some_and(|regex| regex.is_match(text))
}

impl Secrets {
    /// Notes the secrets of a request, so that no other value repeats them.
    pub(crate) fn note(&mut self, request: &Request) {
        let credentials = Credentials::of(request);
        for slot in &request.slots {
            if let Some((_, secret, hint)) = secret_of(slot, &credentials) {
                self.note_one(&hint, &secret);
                continue;
            }
            for (name, range) in in_text::find(&slot.value, &slot.place) {
                // A short word is often none, such as that after `password:` in a sentence.
                if range.len() >= SHORTEST {
                    self.note_one(name, &slot.value[range]);
                }
            }
        }
    }

    /// Notes a secret, such as the value of a cookie.
    pub(crate) fn note_one(&mut self, hint: &str, secret: &str) {
        let is_word = matches!(secret, "true" | "false" | "null" | "none" | "undefined");
        if secret.len() < SHORTEST_EQUAL || is_word || self.known.contains_key(secret) {
            return;
        }
        self.known.insert(secret.to_owned(), hint.to_owned());
        if secret.len() >= SHORTEST && self.within.len() < MOST_WITHIN {
            self.within.push(secret.to_owned());
        }
    }

    /// Whether a value is a secret that was noted, and no short one, which other values equal by chance.
    pub(crate) fn is_known(&self, value: &str) -> bool {
        value.len() >= SHORTEST && self.known.contains_key(value)
    }

    /// Sorts what was noted. Of two secrets, one of which contains the other, the longer is replaced.
    pub(crate) fn sort(&mut self) {
        self.within.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    }

    /// Returns the end of the last secret in a text.
    pub(crate) fn last_end(&self, text: &str) -> usize {
        let ends = self.shorter(text).filter_map(|secret| Some(text.rfind(secret)? + secret.len()));
        ends.max().unwrap_or(0)
    }

    /// Returns the secrets that a text may have within it.
    fn shorter(&self, text: &str) -> impl Iterator<Item = &String> {
        let begin = self.within.partition_point(|secret| secret.len() > text.len());
        self.within[begin..].iter()
    }

    /// Returns the placeholder of a secret.
    pub(crate) fn placeholder(&mut self, hint: &str, secret: &str) -> String {
        self.variables.placeholder(hint, secret)
    }

    /// Replaces all secrets of a request that are not replaced yet.
    pub(crate) fn conceal(&mut self, request: &mut Request) {
        let credentials = Credentials::of(request);
        leave_out(request);
        let is_open = |slot: &&mut Slot| slot.template.is_none() && !slot.is_left_out;
        for slot in request.slots.iter_mut().filter(is_open) {
            slot.template = match secret_of(slot, &credentials) {
                Some((scheme, secret, hint)) => {
                    let placeholder = self.placeholder(&hint, &secret);
                    Some(format!("{}{placeholder}", crate::draft::escape(&scheme)))
                }
                None => self.masked(slot),
            };
        }
        if let Body::Multipart(parts) = &mut request.body {
            for name in parts.iter_mut().filter_map(|part| part.filename.as_mut()) {
                if self.last_end(name) > 0 {
                    *name = "file".to_owned();
                }
            }
        }
    }

    /// Returns the value with placeholders for what it has of known secrets, and for the secrets of its text.
    fn masked(&mut self, slot: &Slot) -> Option<String> {
        if let Some(hint) = self.known.get(&slot.value).cloned() {
            return Some(self.placeholder(&hint, &slot.value));
        }
        let within: Vec<String> = self
            .shorter(&slot.value)
            .filter(|secret| slot.value.contains(*secret))
            .cloned()
            .collect();
        let mut pieces = vec![Piece::Literal(slot.raw.as_ref().unwrap_or(&slot.value).clone())];
        pieces = split(pieces, |text| {
            let found = in_text::find(text, &slot.place).into_iter();
            found
                .map(|(name, range)| {
                    let secret = &text[range.clone()];
                    let hint = self.known.get(secret).cloned();
                    let placeholder = self.placeholder(hint.as_deref().unwrap_or(name), secret);
                    (range.start, range.end, placeholder)
                })
                .collect()
        });
        for secret in &within {
            let hint = self.known.get(secret).cloned().unwrap_or_default();
            pieces = split(pieces, |text| {
                text.match_indices(secret.as_str())
                    .map(|(at, found)| (at, at + found.len(), self.placeholder(&hint, secret)))
                    .collect()
            });
        }
        pieces = split(pieces, |text| {
            let found = JWT.iter().flat_map(|regex| regex.find_iter(text));
            let place = |found: regex::Match<'_>| {
                (found.start(), found.end(), self.placeholder("TOKEN", found.as_str()))
            };
            found.map(place).collect()
        });
        if let [Piece::Literal(_)] = pieces.as_slice() {
            // The value as it was sent has the secret in another form, such as with percent signs.
            return (!within.is_empty()).then(|| self.placeholder("TOKEN", &slot.value));
        }
        Some(pieces.iter().map(Piece::text).collect())
    }
}

/// Leaves out the values whose names are likely secrets.
fn leave_out(request: &mut Request) {
    for slot in request.slots.iter_mut().filter(|slot| slot.place.has_secret_name()) {
        slot.is_left_out = true;
        // Members of JSON are counted below, as they may have several values or none.
        request.left_out += usize::from(!matches!(slot.place, Place::Json(_)));
    }
    if let Body::Json { json, .. } = &mut request.body {
        request.left_out += without_secret_names(json);
    }
}

/// Removes the members of JSON whose names are likely secrets, and returns their number.
fn without_secret_names(json: &mut Json) -> usize {
    match json {
        Json::Array(items) => items.iter_mut().map(without_secret_names).sum(),
        Json::Object(members) => {
            let all = members.len();
            members.retain(|name, _| !looks_secret(name));
            let removed = all - members.len();
            removed + members.values_mut().map(without_secret_names).sum::<usize>()
        }
        _ => 0,
    }
}

/// A part of a value.
enum Piece {
    Literal(String),
    Placeholder(String),
}

impl Piece {
    fn text(&self) -> String {
        match self {
            // A brace before a placeholder would be a part of it.
            Self::Literal(text) => {
                let text = crate::draft::escape(text);
                text.strip_suffix('{')
                    .filter(|rest| !rest.ends_with('{'))
                    .unwrap_or(&text)
                    .to_owned()
            }
            Self::Placeholder(text) => text.clone(),
        }
    }
}

/// Replaces ranges of the literal pieces, which `find` returns in their order.
fn split(
    pieces: Vec<Piece>,
    mut find: impl FnMut(&str) -> Vec<(usize, usize, String)>,
) -> Vec<Piece> {
    let mut all = Vec::new();
    for piece in pieces {
        let Piece::Literal(text) = piece else {
            all.push(piece);
            continue;
        };
        let mut end = 0;
        for (from, to, placeholder) in find(&text) {
            if from > end {
                all.push(Piece::Literal(text[end..from].to_owned()));
            }
            all.push(Piece::Placeholder(placeholder));
            end = to;
        }
        if end < text.len() || text.is_empty() {
            all.push(Piece::Literal(text[end..].to_owned()));
        }
    }
    all
}

/// Returns what precedes a secret in its value, the secret, and the name for its variable.
fn secret_of(slot: &Slot, credentials: &Credentials) -> Option<(String, String, String)> {
    let value = slot.value.as_str();
    if value.is_empty() {
        return None;
    }
    let whole = |hint: String| Some((String::new(), value.to_owned(), hint));
    match (&slot.place, slot.place.name()) {
        (Place::Header(_), Some(name)) if name.ends_with("authorization") => {
            let (scheme, secret) = value.split_once(' ').unwrap_or(("", value));
            let space = if scheme.is_empty() { "" } else { " " };
            Some((format!("{scheme}{space}"), secret.to_owned(), name))
        }
        (Place::Header(name), _) if name == "origin" || name == "referer" => None,
        (_, Some(name)) if is_secret(&name) => whole(name),
        (_, Some(name)) if credentials.is_user(slot, &name) => whole(format!("LOGIN_{name}")),
        (_, Some(name)) if is_long_token(value) && !is_digest(&name) => whole(name),
        (Place::Path(_), None) if is_long_token(value) => whole("TOKEN".to_owned()),
        (Place::WholeQuery, None) if is_secret(value) || is_long_token(value) => {
            whole("QUERY".to_owned())
        }
        _ => None,
    }
}

/// Kinds of places in which a request has a password, such as its form.
pub(crate) struct Credentials(HashSet<Discriminant<Place>>);

impl Credentials {
    /// Finds the passwords of a request.
    pub(crate) fn of(request: &Request) -> Self {
        let with_password = request.slots.iter().filter(|slot| is_password(slot));
        Self(with_password.map(|slot| discriminant(&slot.place)).collect())
    }

    /// Whether a value of the request is a user's name or password, which no server makes.
    pub(crate) fn has(&self, slot: &Slot) -> bool {
        is_password(slot) || slot.place.name().is_some_and(|name| self.is_user(slot, &name))
    }

    /// Whether a value is the name of a user: a password stands beside it, in the same query or body.
    fn is_user(&self, slot: &Slot, name: &str) -> bool {
        self.0.contains(&discriminant(&slot.place)) && matches(&USER, name)
    }
}

fn is_password(slot: &Slot) -> bool {
    slot.place.name().is_some_and(|name| matches(&PASSWORD, &name))
}

/// Whether a name says that a long value is public.
fn is_digest(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["hash", "sha", "digest", "etag", "checksum", "version", "build"]
        .iter()
        .any(|it| name.contains(it))
}
