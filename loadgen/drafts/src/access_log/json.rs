//! Lines of JSON: those of Caddy, and those of nginx, Traefik and others with common names of fields.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::logged::{Format, Logged, Method};
use super::{text, time};

/// Fields that say what was requested, when, and the status of the response.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    request: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    request_method: Option<&'a RawValue>,
    #[serde(rename = "RequestMethod")]
    traefik_method: Option<&'a RawValue>,
    request_uri: Option<&'a RawValue>,
    uri: Option<&'a RawValue>,
    url: Option<&'a RawValue>,
    path: Option<&'a RawValue>,
    #[serde(rename = "RequestPath")]
    traefik_path: Option<&'a RawValue>,
    status: Option<&'a RawValue>,
    status_code: Option<&'a RawValue>,
    #[serde(rename = "DownstreamStatus")]
    traefik_status: Option<&'a RawValue>,
    ts: Option<&'a RawValue>,
    time_iso8601: Option<&'a RawValue>,
    time_local: Option<&'a RawValue>,
    msec: Option<&'a RawValue>,
    timestamp: Option<&'a RawValue>,
    #[serde(rename = "@timestamp")]
    at_timestamp: Option<&'a RawValue>,
    time: Option<&'a RawValue>,
    user_id: Option<&'a RawValue>,
    remote_user: Option<&'a RawValue>,
    #[serde(rename = "ClientUsername")]
    traefik_user: Option<&'a RawValue>,
    /// A line of text in a log of Docker.
    log: Option<&'a RawValue>,
}

/// Caddy's `request`.
#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    uri: Option<&'a RawValue>,
    url: Option<&'a RawValue>,
}

/// Reads a line whose JSON may have a prefix, such as that of systemd's journal.
pub(super) fn read(line: &[u8]) -> Option<(Format, Logged<'_>)> {
    let open = memchr::memchr(b'{', line)?;
    let line_of: Line<'_> = serde_json::from_slice(&line[open..]).ok()?;
    if let Some(text) = line_of.log.and_then(string) {
        let (format, logged) = text::read(text.trim_end().as_bytes())?;
        let target = Cow::Owned(logged.target.into_owned());
        let person = logged.person.map(|name| Cow::Owned(name.into_owned()));
        let time = logged.time.or(line_of.time());
        return Some((format, Logged { target, time, person, ..logged }));
    }
    let Line { request, status_code, traefik_status, .. } = &line_of;
    let status = line_of.status.or(*status_code).or(*traefik_status).map(string)??;
    let status = status.parse().ok()?;
    let time = line_of.time().or_else(|| time::find_iso(&line[..open]));
    let person = line_of.person();
    if let Some(request) = request.filter(|request| request.get().starts_with('{')) {
        let request: Request<'_> = serde_json::from_str(request.get()).ok()?;
        let method = Method::of(string(request.method?)?.as_bytes());
        let target = string(request.uri.or(request.url)?)?;
        return Some((
            Format::Caddy,
            Logged { method, target: bytes(target), status, time, person },
        ));
    }
    let (method, target) = match (line_of.method(), line_of.target()) {
        (Some(method), Some(target)) => (Method::of(string(method)?.as_bytes()), string(target)?),
        _ => {
            let request = string((*request)?)?;
            let (method, target, _) = text::split(request.as_bytes())?;
            (method, Cow::Owned(String::from_utf8_lossy(target).into_owned()))
        }
    };
    Some((Format::Json, Logged { method, target: bytes(target), status, time, person }))
}

impl<'a> Line<'a> {
    fn method(&self) -> Option<&'a RawValue> {
        self.request_method.or(self.method).or(self.traefik_method)
    }

    /// Returns the target, first by the names under which it has its query.
    fn target(&self) -> Option<&'a RawValue> {
        self.request_uri.or(self.url).or(self.uri).or(self.path).or(self.traefik_path)
    }

    fn person(&self) -> Option<Cow<'a, [u8]>> {
        let name = string(self.user_id.or(self.remote_user).or(self.traefik_user)?)?;
        Some(bytes(name)).filter(|name| !name.is_empty() && **name != *b"-")
    }

    fn time(&self) -> Option<i64> {
        let iso = [self.ts, self.time_iso8601, self.time_local, self.msec];
        let other = [self.timestamp, self.at_timestamp, self.time];
        iso.into_iter().chain(other).flatten().find_map(|value| {
            let text = string(value)?;
            let number = text.parse().ok().and_then(time::of_number);
            let text = text.as_bytes();
            number.or_else(|| time::of_iso(text)).or_else(|| time::of_server(text))
        })
    }
}

/// Returns the text of a string, or of a number.
fn string(value: &RawValue) -> Option<Cow<'_, str>> {
    let text = value.get();
    match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        Some(plain) if !plain.contains('\\') => Some(Cow::Borrowed(plain)),
        Some(_) => serde_json::from_str(text).ok().map(Cow::Owned),
        None if text.starts_with(['{', '[', 'n', 't', 'f']) => None,
        None => Some(Cow::Borrowed(text)),
    }
}

fn bytes(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}
