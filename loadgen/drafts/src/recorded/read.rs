//! Reads a request into its values.

use std::collections::HashMap;

use loadgen_scenario::{is_token, may_be_in_header};
use percent_encoding::percent_decode_str;
use serde_json::Value as Json;
use url::{Url, form_urlencoded};

use super::{Body, LONGEST, Part, Place, Request, Slot, multipart};
use crate::pointer;

/// A request as its source has it.
pub(crate) struct Sent {
    pub(crate) method: String,
    pub(crate) url: Url,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) content: Content,
}

/// Body as its source has it.
pub(crate) enum Content {
    None,
    /// Text of the media type in the header `content-type`.
    Text(String),
    /// Names and values of a form.
    Pairs(Vec<(String, String)>),
    /// Fields of a multipart form, with their names and values.
    Parts(Vec<(String, String, Part)>),
    /// Path of a file.
    File(String),
}

/// Headers that the client makes, or that browsers add by themselves.
const DROPPED: [&str; 29] = [
    "host",
    "content-length",
    "content-type",
    "transfer-encoding",
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authorization",
    "te",
    "upgrade",
    "http2-settings",
    "expect",
    "accept-encoding",
    "priority",
    "cache-control",
    "pragma",
    "upgrade-insecure-requests",
    "dnt",
    "save-data",
    "if-none-match",
    "if-modified-since",
    "if-match",
    "if-unmodified-since",
    "if-range",
    "cookie",
    "cookie2",
    "purpose",
    "postman-token",
    "x-client-data",
];

impl Request {
    /// Reads a request. Its URL has a host.
    pub(crate) fn read(sent: Sent) -> Self {
        let Sent { method, url, headers, content } = sent;
        let origin = url.origin().ascii_serialization();
        let method = method.to_ascii_uppercase();
        let mut request = Self { method, origin, slots: Vec::new(), body: Body::None, left_out: 0 };
        request.read_path(&url);
        request.read_headers(&headers);
        let find = |name: &str| headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        let media_type = find("content-type").map(|(_, value)| value.trim().to_owned());
        request.body = request.read_body(media_type, content);
        request
    }

    fn read_path(&mut self, url: &Url) {
        for (index, raw) in url.path().strip_prefix('/').unwrap_or_default().split('/').enumerate()
        {
            let value = percent_decode_str(raw).decode_utf8_lossy();
            let raw = Some(raw.to_owned());
            self.slots.push(Slot { raw, ..Slot::new(Place::Path(index), value) });
        }
        let Some(query) = url.query().filter(|query| !query.is_empty()) else { return };
        match pairs(query) {
            Some(pairs) => self.add_pairs(pairs, Place::Query),
            None => self.slots.push(Slot::new(Place::WholeQuery, query)),
        }
    }

    fn add_pairs(&mut self, pairs: Vec<(String, String)>, place: fn(String, usize) -> Place) {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for (name, value) in pairs {
            let count = counts.entry(name.clone()).or_default();
            self.slots.push(Slot::new(place(name, *count), value));
            *count += 1;
        }
    }

    fn read_headers(&mut self, headers: &[(String, String)]) {
        let mut seen: Vec<String> = Vec::new();
        for (name, value) in headers {
            let name = name.to_ascii_lowercase();
            let value = value.trim();
            let can_be_set = is_token(&name) && value.chars().all(may_be_in_header);
            if !can_be_set || seen.contains(&name) || self.is_dropped(&name, value) {
                continue;
            }
            let value = if name == "referer" { without_secrets(value) } else { value.to_owned() };
            self.slots.push(Slot::new(Place::Header(name.clone()), value));
            seen.push(name);
        }
    }

    fn is_dropped(&self, name: &str, value: &str) -> bool {
        match name {
            "accept" => value == "*/*",
            // loadgen names itself, unless the client was no browser.
            "user-agent" => value.starts_with("Mozilla/") || value.starts_with("PostmanRuntime/"),
            // Checks of CSRF read them, and only before a change.
            "origin" | "referer" => self.is_safe(),
            _ => DROPPED.contains(&name) || name.starts_with("sec-"),
        }
    }

    fn read_body(&mut self, media_type: Option<String>, content: Content) -> Body {
        let essence =
            media_type.as_deref().unwrap_or_default().split(';').next().unwrap_or_default();
        let essence = essence.trim().to_ascii_lowercase();
        let media_type =
            media_type.filter(|text| text.chars().all(|c| c == ' ' || c.is_ascii_graphic()));
        match content {
            Content::None => Body::None,
            Content::File(path) => Body::File { path, content_type: media_type },
            Content::Parts(parts) => self.read_parts(parts),
            Content::Pairs(pairs) => {
                self.add_pairs(pairs, Place::Form);
                Body::Form { content_type: None }
            }
            Content::Text(text) if text.len() > LONGEST => Body::TooLong(text.len()),
            Content::Text(text) => self.read_text(&essence, media_type, text),
        }
    }

    fn read_text(&mut self, essence: &str, media_type: Option<String>, text: String) -> Body {
        if essence == "application/json" || essence.ends_with("+json") {
            if let Ok(json) = serde_json::from_str::<Json>(&text) {
                self.add_leaves(&json, &mut String::new());
                let content_type = media_type.filter(|given| given != "application/json");
                return Body::Json { json, content_type };
            }
        } else if essence == "application/x-www-form-urlencoded" {
            // curl names this type for all data.
            if let Ok(json @ (Json::Object(_) | Json::Array(_))) = serde_json::from_str(&text) {
                self.add_leaves(&json, &mut String::new());
                return Body::Json { json, content_type: media_type };
            }
            if let Some(pairs) = pairs(&text) {
                self.add_pairs(pairs, Place::Form);
                let content_type = media_type.filter(|given| !given.eq_ignore_ascii_case(essence));
                return Body::Form { content_type };
            }
        } else if essence == "multipart/form-data"
            && let Some(parts) = multipart::parts(media_type.as_deref().unwrap_or_default(), &text)
        {
            return self.read_parts(parts);
        }
        self.slots.push(Slot::new(Place::Text, text));
        Body::Text { content_type: media_type }
    }

    fn read_parts(&mut self, parts: Vec<(String, String, Part)>) -> Body {
        let mut fields = Vec::with_capacity(parts.len());
        for (index, (name, value, part)) in parts.into_iter().enumerate() {
            self.slots.push(Slot::new(Place::Part(index, name), value));
            fields.push(part);
        }
        if fields.is_empty() { Body::None } else { Body::Multipart(fields) }
    }

    /// Adds the strings and numbers of JSON, whose depth serde_json bounds.
    fn add_leaves(&mut self, json: &Json, pointer: &mut String) {
        leaves(json, pointer, &mut |pointer, value, is_number| {
            let slot = Slot::new(Place::Json(pointer.to_owned()), value);
            self.slots.push(Slot { is_number, ..slot });
        });
    }
}

/// Calls `found` for each string and number of JSON, with its pointer and its text.
pub(crate) fn leaves(
    json: &Json,
    pointer: &mut String,
    found: &mut impl FnMut(&str, String, bool),
) {
    let length = pointer.len();
    match json {
        Json::String(text) => found(pointer, text.clone(), false),
        Json::Number(number) => found(pointer, number.to_string(), true),
        Json::Null | Json::Bool(_) => {}
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                pointer.push('/');
                pointer.push_str(&index.to_string());
                leaves(item, pointer, found);
                pointer.truncate(length);
            }
        }
        Json::Object(members) => {
            for (key, member) in members {
                pointer.push('/');
                pointer.push_str(&pointer::escaped(key));
                leaves(member, pointer, found);
                pointer.truncate(length);
            }
        }
    }
}

/// Returns names and values, if the text has some and is UTF-8. A name without `=` has an empty value.
fn pairs(text: &str) -> Option<Vec<(String, String)>> {
    if !text.contains('=') || text.split('&').any(|pair| pair.starts_with('=')) {
        return None;
    }
    let pairs: Vec<_> = form_urlencoded::parse(text.as_bytes()).into_owned().collect();
    let is_text = |text: &String| !text.contains(char::REPLACEMENT_CHARACTER);
    pairs.iter().all(|(name, value)| is_text(name) && is_text(value)).then_some(pairs)
}

/// Returns the URL of a `referer` without its query, and without its path if this may hold a secret.
fn without_secrets(referer: &str) -> String {
    let Ok(url) = Url::parse(referer) else { return String::from("/") };
    let origin = url.origin().ascii_serialization();
    let is_plain = !url.path().split('/').any(crate::secrets::is_token_like);
    format!("{origin}{}", if is_plain { url.path() } else { "/" })
}
