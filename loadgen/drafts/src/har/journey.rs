//! The requests of a recording that become steps, in their order.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use loadgen_scenario::is_method;
use serde_json::Value as Json;
use url::Url;

use super::file::{Entry, File};
use super::kind::{is_document, is_static};
use crate::DraftError;
use crate::recorded::{Content, LONGEST, Part, Request, Secrets, Sent, leaves};
use crate::secrets::is_secret;
use crate::secrets::is_secret_cookie;

/// Most redirects that a step follows.
const MOST_REDIRECTS: usize = 20;

/// A recording, without what is left out.
#[derive(Default)]
pub(super) struct Journey {
    pub(super) browser: String,
    /// Scheme, host and port of the main server.
    pub(super) origin: String,
    pub(super) visits: Vec<Visit>,
    /// Requests to other hosts that are left out, by host.
    pub(super) others: BTreeMap<String, usize>,
    /// Files of pages that are left out.
    pub(super) statics: usize,
    /// WebSockets, and requests without a response, that are left out.
    pub(super) unanswered: usize,
    pub(super) sockets: usize,
    /// Names and values of all cookies.
    pub(super) cookies: BTreeSet<(String, String)>,
    /// Names of cookies that requests had, and those that responses set.
    sent: BTreeSet<String>,
    set: BTreeSet<String>,
    /// Passwords in URLs.
    passwords: Vec<String>,
}

/// A request with its response.
pub(super) struct Visit {
    pub(super) request: Request,
    pub(super) answer: Answer,
    /// Where the response redirected to.
    target: Option<String>,
    url: String,
    /// In milliseconds since 1970.
    pub(super) begin: f64,
    pub(super) end: f64,
}

/// A response.
pub(super) struct Answer {
    pub(super) status: i64,
    /// Names in lower case, with the first value of each.
    pub(super) headers: Vec<(String, String)>,
    pub(super) text: String,
    pub(super) json: Option<Json>,
}

/// A step to be: a request, and the redirects that it follows.
pub(super) struct Chain {
    /// Index of the visit that begins the step.
    pub(super) first: usize,
    /// Visits that follow redirects.
    pub(super) followed: Vec<usize>,
}

impl Chain {
    /// Returns the index of the visit whose response ends the step.
    pub(super) fn last(&self) -> usize {
        self.followed.last().copied().unwrap_or(self.first)
    }

    /// Returns the visits that were redirected within the step.
    pub(super) fn redirected(&self) -> Vec<usize> {
        let all = std::iter::once(self.first).chain(self.followed.iter().copied());
        all.take(self.followed.len()).collect()
    }
}

impl Journey {
    /// Reads the requests to the main server.
    pub(super) fn read(file: File, name: &str, with_static: bool) -> Result<Self, DraftError> {
        let mut journey = Self { browser: file.browser, ..Self::default() };
        let mut entries = Vec::with_capacity(file.entries.len());
        for (index, entry) in file.entries.into_iter().enumerate() {
            match Url::parse(&entry.request.url) {
                Ok(url) if url.has_host() && matches!(url.scheme(), "ws" | "wss") => {
                    journey.sockets += 1
                }
                Ok(url) if url.has_host() && matches!(url.scheme(), "http" | "https") => {
                    entries.push((index, url, entry))
                }
                // Such as `data:` and `blob:`.
                _ => {}
            }
        }
        let origin = main_server(&entries).ok_or_else(|| {
            DraftError::new(
                format!("{name} has no requests over HTTP"),
                "record the journey before the export",
            )
        })?;
        for (index, url, entry) in entries {
            let place = || format!("entry {} of {name}", index + 1);
            journey.passwords.extend(url.password().map(str::to_owned));
            if url.origin().ascii_serialization() != origin {
                *journey.others.entry(host(&url)).or_default() += 1;
            } else if entry.response.status == 101 {
                journey.sockets += 1;
            } else if !(200..600).contains(&entry.response.status)
                || entry.resource_type == "preflight"
            {
                journey.unanswered += 1;
            } else if !with_static && is_static(&entry, &url) {
                journey.statics += 1;
                journey.take_cookies(&entry);
            } else {
                journey.take_cookies(&entry);
                journey.visits.push(Visit::read(entry, url, place)?);
            }
        }
        journey.origin = origin;
        journey.visits.sort_by(|a, b| a.begin.total_cmp(&b.begin));
        Ok(journey)
    }

    /// Returns the secrets of all requests, and those that responses name as such.
    pub(super) fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::default();
        self.visits.iter().for_each(|visit| secrets.note(&visit.request));
        for (name, value) in &self.cookies {
            if is_secret_cookie(name, value) {
                secrets.note_one(name, value);
            }
        }
        self.passwords.iter().for_each(|password| secrets.note_one("PASSWORD", password));
        for json in self.visits.iter().filter_map(|visit| visit.answer.json.as_ref()) {
            leaves(json, &mut String::new(), &mut |pointer, text, is_number| {
                let name = pointer.rsplit('/').next().unwrap_or_default();
                if !is_number && is_secret(name) {
                    secrets.note_one(name, &text);
                }
            });
        }
        secrets.sort();
        secrets
    }

    fn take_cookies(&mut self, entry: &Entry) {
        let Entry { request, response, .. } = entry;
        let sides = [
            (&request.cookies, &request.headers, "cookie"),
            (&response.cookies, &response.headers, "set-cookie"),
        ];
        for (cookies, headers, name) in sides {
            let is_set = name == "set-cookie";
            let headers = headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
            // Of a response, only the first pair of a line is a cookie.
            let most = if is_set { 1 } else { usize::MAX };
            let lines = headers.flat_map(|header| header.value.lines());
            let pairs = lines.flat_map(|line| crate::recorded::cookies(line).take(most));
            let cookies = cookies.iter().map(|pair| (pair.name.as_str(), pair.value.as_str()));
            for (name, value) in cookies.chain(pairs) {
                if is_set { &mut self.set } else { &mut self.sent }.insert(name.to_owned());
                self.cookies.insert((name.to_owned(), value.to_owned()));
            }
        }
    }

    /// Returns the names of cookies that no response has set: of scripts, or of a time before the recording.
    pub(super) fn foreign_cookies(&self) -> Vec<&str> {
        self.sent.difference(&self.set).map(String::as_str).collect()
    }

    /// Joins redirects with the requests that they led to, except where `is_apart` says otherwise of the
    /// visit that was redirected.
    pub(super) fn chains(&self, is_apart: impl Fn(&Visit) -> bool) -> Vec<Chain> {
        let mut is_taken = vec![false; self.visits.len()];
        let mut chains = Vec::new();
        for first in 0..self.visits.len() {
            if is_taken[first] {
                continue;
            }
            let mut chain = Chain { first, followed: Vec::new() };
            while chain.followed.len() < MOST_REDIRECTS && !is_apart(&self.visits[chain.last()]) {
                let Some(next) = self.followed(chain.last(), &is_taken) else { break };
                is_taken[next] = true;
                chain.followed.push(next);
            }
            chains.push(chain);
        }
        chains
    }

    /// Returns the visit to which another one was redirected. It stands soon behind.
    fn followed(&self, from: usize, is_taken: &[bool]) -> Option<usize> {
        let target = self.visits[from].target.as_ref()?;
        let is_next = |at: &usize| !is_taken[*at] && self.visits[*at].url == *target;
        (from + 1..self.visits.len()).take(8).find(is_next)
    }
}

impl Visit {
    fn read(entry: Entry, url: Url, place: impl Fn() -> String) -> Result<Self, DraftError> {
        let begin = if entry.started_date_time.is_empty() {
            0.0
        } else {
            let time: Timestamp = entry.started_date_time.parse().map_err(|_| {
                let help = "record again, and export the recording as HAR";
                DraftError::new(format!("{} has no time in `startedDateTime`", place()), help)
            })?;
            time.as_nanosecond() as f64 / 1e6
        };
        let end = begin + entry.time.clamp(0.0, 1e9);
        let target = target(&entry, &url);
        let text = url_text(&url);
        let Entry { request, response, .. } = entry;
        if !is_method(&request.method) {
            return Err(DraftError::new(
                format!("{} has no method that can be sent", place()),
                "leave out the entry",
            ));
        }
        let mut headers: Vec<(String, String)> =
            request.headers.into_iter().map(|header| (header.name, header.value)).collect();
        let content = content(&mut headers, request.post_data);
        let request = Request::read(Sent { method: request.method, url, headers, content });
        Ok(Self { request, answer: Answer::read(response), target, url: text, begin, end })
    }
}

impl Answer {
    fn read(response: super::file::Response) -> Self {
        let mut headers: Vec<(String, String)> = Vec::new();
        for header in &response.headers {
            let name = header.name.to_ascii_lowercase();
            if !headers.iter().any(|(known, _)| *known == name)
                && let Some(value) = response.header(&name)
            {
                headers.push((name, value.trim().to_owned()));
            }
        }
        let is_json = response.content.mime_type.contains("json");
        let mut text = response.content.into_text();
        if text.len() > LONGEST {
            text = String::new();
        }
        let json = if is_json { serde_json::from_str(&text).ok() } else { None };
        Self { status: response.status, headers, text, json }
    }
}

/// Returns the body of a request. The media type of the header counts, as it has the boundary.
fn content(headers: &mut Vec<(String, String)>, data: Option<super::file::PostData>) -> Content {
    let Some(mut data) = data else { return Content::None };
    let media_type = data.mime_type.clone();
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"))
        && !media_type.is_empty()
    {
        headers.push(("content-type".to_owned(), media_type.clone()));
    }
    let text = data.take_text();
    let is_multipart = media_type.to_ascii_lowercase().starts_with("multipart/");
    match text {
        Some(text) if !is_multipart || data.params.is_empty() => Content::Text(text),
        None if data.params.is_empty() => Content::None,
        _ if is_multipart => Content::Parts(
            data.params
                .into_iter()
                .map(|pair| {
                    let part = Part {
                        file: None,
                        filename: pair.file_name,
                        content_type: pair.content_type,
                    };
                    (pair.name, pair.value, part)
                })
                .collect(),
        ),
        _ => Content::Pairs(data.params.into_iter().map(|pair| (pair.name, pair.value)).collect()),
    }
}

/// Returns the origin of the first page. If its server redirects to another scheme, or to the same host
/// with or without `www.`, the latter is the main server.
fn main_server(entries: &[(usize, Url, Entry)]) -> Option<String> {
    let (_, mut url, mut entry) = entries
        .iter()
        .find(|(.., entry)| is_document(entry))
        .or_else(|| entries.first())
        .map(|(index, url, entry)| (index, url.clone(), entry))?;
    let plain = |url: &Url| host(url).trim_start_matches("www.").to_owned();
    for _ in 0..MOST_REDIRECTS {
        let Some(target) = target(entry, &url) else { break };
        let next = entries.iter().find(|(_, url, _)| url_text(url) == target);
        let Some((_, next_url, next)) = next.filter(|(_, next, _)| plain(next) == plain(&url))
        else {
            break;
        };
        (url, entry) = (next_url.clone(), next);
    }
    Some(url.origin().ascii_serialization())
}

/// Returns the URL to which a response redirects.
fn target(entry: &Entry, url: &Url) -> Option<String> {
    if !(300..400).contains(&entry.response.status) || entry.response.status == 304 {
        return None;
    }
    let given = Some(entry.response.redirect_url.as_str()).filter(|given| !given.is_empty());
    let target = given.or_else(|| entry.response.header("location"))?;
    url.join(target).ok().map(|target| url_text(&target))
}

/// Returns a URL without its fragment, which no request has.
fn url_text(url: &Url) -> String {
    let mut url = url.clone();
    url.set_fragment(None);
    url.into()
}

fn host(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}
