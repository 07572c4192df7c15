//! The parts of a step's request that do not depend on the protocol: path, headers and body.

use std::fmt::Write;

use url::Url;

use super::USER_AGENT;
use super::request_body::RequestBody;
use loadgen_scenario::{Action, Body, Content, Data, Part, RenderError, Step, Template};

/// Returns the path and the query of the request to a server with the base URL `url`.
pub(super) fn path(step: &Step, url: &Url) -> Template {
    let base = url.path().trim_end_matches('/');
    // The path of a request is never empty (RFC 9112, section 3.2.1).
    let base = if base.is_empty() && !step.path.begins_with('/') { "/" } else { base };
    let mut path = Template::literal(base);
    let mut in_query = false;
    path.append(step.path.clone().map_literals(|text| encoded(text, &mut in_query)));
    path
}

/// Returns the names, in lower case, and values of the headers that the request needs or that the
/// step sets: `host` and the other defaults first, `content-type` last. Leaves out `content-length`.
pub(super) fn headers(step: &Step, url: &Url) -> Vec<(String, Template)> {
    let host = host(url);
    let defaults = [("host", host.as_str()), ("user-agent", USER_AGENT), ("accept", "*/*")];
    // A call accepts only the media type of its own message.
    let own = |name: &str| {
        (step.action == Action::Call && name == "accept")
            || step.headers.iter().any(|(own, _)| own == name)
    };
    let defaults = defaults.into_iter().filter(|(name, _)| !own(name));
    let defaults = defaults.map(|(name, value)| (name.to_owned(), Template::literal(value)));
    let media_type = step
        .body
        .as_ref()
        .map(|body| ("content-type".to_owned(), Template::literal(body.content_type.clone())));
    defaults.chain(step.headers.iter().cloned()).chain(media_type).collect()
}

/// Returns the body of the next request. Files are not copied.
pub(super) fn body(body: &Body, data: &mut Data) -> Result<RequestBody, RenderError> {
    let mut all = RequestBody::default();
    for part in &body.parts {
        match part {
            Part::File(file) => match &file.content {
                Content::Kept(bytes) => all.push(bytes.clone()),
                Content::OnDisk(file) => all.push_file(file),
            },
            Part::Text(part) => {
                let mut text = String::new();
                part.render(data, &mut text)?;
                all.push(text.into());
            }
        }
    }
    Ok(all)
}

/// Percent-encodes the characters of a path or query that no URI may contain,
/// as the URL standard and therefore the `reqwest` transport do. In a path,
/// `\` becomes `/`. The first `?` sets `in_query`.
fn encoded(text: &str, in_query: &mut bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match (c, *in_query) {
            ('?', _) => {
                *in_query = true;
                out.push('?');
            }
            ('\\', false) => out.push('/'),
            ('"' | '<' | '>', _) | ('`' | '{' | '}', false) | ('\'', true) => {
                // Writing to a `String` cannot fail.
                let _ = write!(out, "%{:02X}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out
}

/// Returns the host, followed by the port if it is not the scheme's default.
pub(super) fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// Returns the host and the port of a URL of HTTP.
pub(super) fn place(url: &Url) -> String {
    let port = url.port_or_known_default().unwrap_or_default();
    format!("{}:{port}", url.host_str().unwrap_or_default())
}
