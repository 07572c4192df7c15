//! HAR 1.2, read as leniently as its writers need.
//!
//! The crate `har` requires what browsers leave out, such as `cache`, `timings` and `cookies`, so the
//! structs here are our own: all members are optional, and unknown ones are skipped.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::DraftError;

const HELP: &str = "record again, and export the recording as HAR, with content";

#[derive(Deserialize)]
struct Root<'a> {
    #[serde(borrow)]
    log: Log<'a>,
}

#[derive(Deserialize)]
struct Log<'a> {
    #[serde(default, deserialize_with = "or_default")]
    browser: Program,
    #[serde(default, deserialize_with = "or_default")]
    creator: Program,
    #[serde(borrow)]
    entries: Vec<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Program {
    #[serde(deserialize_with = "or_default")]
    name: String,
    #[serde(deserialize_with = "or_default")]
    version: String,
}

/// A recorded request and its response.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Entry {
    #[serde(deserialize_with = "or_default")]
    pub(super) started_date_time: String,
    /// In milliseconds.
    #[serde(deserialize_with = "or_default")]
    pub(super) time: f64,
    pub(super) request: Request,
    pub(super) response: Response,
    #[serde(rename = "_resourceType", deserialize_with = "or_default")]
    pub(super) resource_type: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Request {
    #[serde(deserialize_with = "or_default")]
    pub(super) method: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) url: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) headers: Vec<Pair>,
    #[serde(deserialize_with = "or_default")]
    pub(super) cookies: Vec<Pair>,
    #[serde(deserialize_with = "or_default")]
    pub(super) post_data: Option<PostData>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Response {
    #[serde(deserialize_with = "or_default")]
    pub(super) status: i64,
    #[serde(deserialize_with = "or_default")]
    pub(super) headers: Vec<Pair>,
    #[serde(deserialize_with = "or_default")]
    pub(super) cookies: Vec<Pair>,
    #[serde(rename = "redirectURL", deserialize_with = "or_default")]
    pub(super) redirect_url: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) content: Content,
}

/// A header, a cookie, or a field of a form.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Pair {
    #[serde(deserialize_with = "or_default")]
    pub(super) name: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) value: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) file_name: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub(super) content_type: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PostData {
    #[serde(deserialize_with = "or_default")]
    pub(super) mime_type: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) text: Option<String>,
    #[serde(deserialize_with = "or_default")]
    encoding: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) params: Vec<Pair>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Content {
    #[serde(deserialize_with = "or_default")]
    pub(super) mime_type: String,
    #[serde(deserialize_with = "or_default")]
    text: String,
    #[serde(deserialize_with = "or_default")]
    encoding: String,
}

/// Reads `null` as nothing.
fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    from: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// A file with the program that has recorded it.
pub(super) struct File {
    pub(super) browser: String,
    pub(super) entries: Vec<Entry>,
}

/// Reads a file. Errors quote nothing of it, as it has secrets.
pub(super) fn read(name: &str, text: &str) -> Result<File, DraftError> {
    let text = text.trim_start_matches('\u{feff}');
    let root: Root<'_> = serde_json::from_str(text).map_err(|error| {
        let place = format!("line {}, column {}", error.line(), error.column());
        DraftError::new(format!("{name} is not a HAR file: {place}"), HELP)
    })?;
    let Log { browser, creator, entries } = root.log;
    let program = if browser.name.is_empty() { creator } else { browser };
    let browser = format!("{} {}", program.name, program.version).trim().to_owned();
    let entry = |(index, text): (usize, &&RawValue)| {
        serde_json::from_str(text.get()).map_err(|_| {
            let place = format!("entry {} of {name}", index + 1);
            DraftError::new(format!("{place} is not as HAR 1.2 has it"), HELP)
        })
    };
    let entries = entries.iter().enumerate().map(entry).collect::<Result<_, _>>()?;
    Ok(File { browser, entries })
}

impl Content {
    /// Returns the text of a body, unless it is none.
    pub(super) fn into_text(self) -> String {
        decoded(self.text, &self.encoding).unwrap_or_default()
    }
}

impl PostData {
    /// Returns the text of a body, if the file has it.
    pub(super) fn take_text(&mut self) -> Option<String> {
        let text = self.text.take().filter(|text| !text.is_empty())?;
        decoded(text, &self.encoding)
    }
}

fn decoded(text: String, encoding: &str) -> Option<String> {
    if !encoding.eq_ignore_ascii_case("base64") {
        return Some(text);
    }
    String::from_utf8(STANDARD.decode(text.trim()).ok()?).ok()
}

impl Response {
    /// Returns the first value of a header: later ones of the name cannot be captured.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let header = self.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
        // Chromium joins them.
        header.value.split('\n').next()
    }
}
