//! Replaces secrets of requests by environment variables.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::{Body, Place, Request, Slot};
use crate::secrets::{Variables, is_long_token, is_secret};

/// Shortest secret, in bytes, that is also searched within other values.
const SHORTEST: usize = 6;

/// Secrets of a source.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    /// Environment variables that stand for them.
    pub(crate) variables: Variables,
    /// Secrets with the names of their variables to be, the longest first.
    known: Vec<(String, String)>,
}

/// Names of fields that have a password.
static PASSWORD: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new("(?i)passw|passphrase|^(pass|pwd)$").ok());

/// Names of fields that have the user, beside a password.
static USER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)(^|[^a-z])(e-?mail|log|login|user|user_?name|user_?id|account)($|[^a-z])").ok()
});

/// Secrets within text that is neither a form nor JSON.
static IN_TEXT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let names = "passw(?:or)?d|secret|token|api_?key|authorization|session_?id";
    Regex::new(&format!(r#"(?i)([a-z_-]*(?:{names})[a-z_-]*)(["'>=:\s]+)([^"'<>&;\s]+)"#)).ok()
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
        for slot in &request.slots {
            if let Some((_, secret, hint)) = secret_of(slot, has_password(request, &slot.place)) {
                self.note_one(&hint, &secret);
            }
        }
    }

    /// Notes a secret, such as the value of a cookie.
    pub(crate) fn note_one(&mut self, hint: &str, secret: &str) {
        if secret.len() >= SHORTEST && !self.is_known(secret) {
            self.known.push((secret.to_owned(), hint.to_owned()));
        }
    }

    /// Whether a value is a secret that was noted.
    pub(crate) fn is_known(&self, value: &str) -> bool {
        self.known.iter().any(|(secret, _)| secret == value)
    }

    /// Sorts what was noted. Of two secrets, one of which contains the other, the longer is replaced.
    pub(crate) fn sort(&mut self) {
        self.known.sort_by_key(|(secret, _)| std::cmp::Reverse(secret.len()));
    }

    /// Returns the end of the last secret in a text.
    pub(crate) fn last_end(&self, text: &str) -> usize {
        let ends =
            self.known.iter().filter_map(|(secret, _)| Some(text.rfind(secret)? + secret.len()));
        ends.max().unwrap_or(0)
    }

    /// Replaces all secrets of a request that are not replaced yet.
    pub(crate) fn conceal(&mut self, request: &mut Request) {
        let passwords: Vec<bool> =
            request.slots.iter().map(|slot| has_password(request, &slot.place)).collect();
        for (slot, has_password) in request.slots.iter_mut().zip(passwords) {
            if slot.template.is_some() {
                continue;
            }
            slot.template = match secret_of(slot, has_password) {
                Some((scheme, secret, hint)) => {
                    let placeholder = self.variables.placeholder(&hint, &secret);
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

    /// Returns the value with placeholders for what it has of known secrets.
    fn masked(&mut self, slot: &Slot) -> Option<String> {
        let mut pieces = vec![Piece::Literal(slot.raw.as_ref().unwrap_or(&slot.value).clone())];
        for index in 0..self.known.len() {
            let (secret, hint) = &self.known[index];
            if slot.value.contains(secret.as_str()) {
                let placeholder = self.variables.placeholder(hint, secret);
                pieces = split(pieces, |text| {
                    text.match_indices(secret.as_str())
                        .map(|(at, found)| (at, at + found.len(), placeholder.clone()))
                        .collect()
                });
            }
        }
        let variables = &mut self.variables;
        if slot.place == Place::Text {
            pieces = split(pieces, |text| {
                let found = IN_TEXT.iter().flat_map(|regex| regex.captures_iter(text));
                let place = |found: Captures<'_>| {
                    let (name, secret) = (found.get(1)?.as_str(), found.get(3)?);
                    let placeholder = variables.placeholder(name, secret.as_str());
                    Some((secret.start(), secret.end(), placeholder))
                };
                found.filter_map(place).collect()
            });
        }
        pieces = split(pieces, |text| {
            let found = JWT.iter().flat_map(|regex| regex.find_iter(text));
            let place = |found: regex::Match<'_>| {
                let placeholder = variables.placeholder("TOKEN", found.as_str());
                (found.start(), found.end(), placeholder)
            };
            found.map(place).collect()
        });
        if let [Piece::Literal(_)] = pieces.as_slice() {
            return None;
        }
        Some(pieces.iter().map(Piece::text).collect())
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
fn secret_of(slot: &Slot, has_password: bool) -> Option<(String, String, String)> {
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
        (_, Some(name)) if has_password && matches(&USER, &name) => whole(format!("LOGIN_{name}")),
        (_, Some(name)) if is_long_token(value) && !is_digest(&name) => whole(name),
        (Place::Path(_), None) if is_long_token(value) => whole("TOKEN".to_owned()),
        (Place::WholeQuery, None) if is_secret(value) || is_long_token(value) => {
            whole("QUERY".to_owned())
        }
        _ => None,
    }
}

/// Whether a password stands beside a value, in the same query or body.
fn has_password(request: &Request, place: &Place) -> bool {
    let kind = std::mem::discriminant(place);
    let is_password = |slot: &Slot| {
        std::mem::discriminant(&slot.place) == kind
            && slot.place.name().is_some_and(|name| matches(&PASSWORD, &name))
    };
    let can_be_beside = place.name().is_some_and(|name| matches(&USER, &name));
    can_be_beside && request.slots.iter().any(is_password)
}

/// Whether a value is a user's name or password, which no server makes.
pub(crate) fn is_credential(request: &Request, slot: &Slot) -> bool {
    let name = slot.place.name();
    name.is_some_and(|name| matches(&PASSWORD, &name)) || has_password(request, &slot.place)
}

/// Whether a name says that a long value is public.
fn is_digest(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["hash", "sha", "digest", "etag", "checksum", "version", "build"]
        .iter()
        .any(|it| name.contains(it))
}
