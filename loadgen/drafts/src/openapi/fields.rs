//! The query, the headers and the cookies of a step.

use loadgen_scenario::{is_token, may_be_in_header};

use super::template;
use crate::draft::escape;
use crate::{Step, Value};

/// Headers that are not an operation's to set: by OpenAPI (3.1.1, 4.8.12.2), by the body, or by the connection.
const NOT_OWN: [&str; 13] = [
    "accept",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "cookie",
    "expect",
    "host",
    "keep-alive",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// Parts of a request beside its path and its body, each name once.
#[derive(Default)]
pub(super) struct Fields {
    query: Vec<(String, Value)>,
    headers: Vec<(String, Value)>,
    cookies: Vec<(String, String)>,
}

impl Fields {
    /// Sets a parameter of the query.
    pub(super) fn set_query(&mut self, name: &str, value: Value) {
        template::pairs(name, value, &mut self.query);
    }

    /// Sets a header of the operation. Returns whether a request can have it.
    pub(super) fn set_header(&mut self, name: &str, text: &str) -> bool {
        let name = name.to_ascii_lowercase();
        NOT_OWN.contains(&name.as_str()) || self.set_proof(&name, text)
    }

    /// Sets a header that proves who sends the request, such as `authorization`.
    pub(super) fn set_proof(&mut self, name: &str, text: &str) -> bool {
        let name = name.to_ascii_lowercase();
        let can_be_sent = is_token(&name) && text.chars().all(may_be_in_header);
        if can_be_sent {
            self.headers.retain(|(known, _)| *known != name);
            self.headers.push((name, text.into()));
        }
        can_be_sent
    }

    /// Sets a cookie. Returns whether a request can have it.
    pub(super) fn set_cookie(&mut self, name: &str, text: &str) -> bool {
        let is_plain = text.chars().all(|c| may_be_in_header(c) && c != ';');
        let can_be_sent = is_token(name) && is_plain;
        if can_be_sent {
            self.cookies.retain(|(known, _)| known != name);
            self.cookies.push((name.to_owned(), text.to_owned()));
        }
        can_be_sent
    }

    /// Adds all of it to a step.
    pub(super) fn write(mut self, step: &mut Step) {
        if !self.cookies.is_empty() {
            let pairs = self.cookies.iter().map(|(name, text)| format!("{}={text}", escape(name)));
            let all = pairs.collect::<Vec<_>>().join("; ");
            self.headers.push(("cookie".to_owned(), all.into()));
        }
        if !self.query.is_empty() {
            step.push("query", Value::Table(self.query));
        }
        if !self.headers.is_empty() {
            step.push("headers", Value::Table(self.headers));
        }
    }
}
