//! Reads the document of an API from a file, from its URL, or from a server that publishes one.

use std::path::Path;
use std::time::Duration;

use reqwest::{Client, StatusCode};
use url::Url;

use crate::failure::{Exit, Failure};
use crate::process::on_all_cpus;
use crate::scenario::read_text;

/// Largest document, in bytes.
const LARGEST: u64 = 64 << 20;

/// Longest time for a document.
const LIMIT: Duration = Duration::from_secs(10);

/// Where frameworks publish their documents: FastAPI, Quart-Schema and BlackSheep; Litestar; Django Ninja; DRF
/// (drf-spectacular); projects with a prefix; Spring; NestJS; others.
const USUAL: [&str; 9] = [
    "/openapi.json",
    "/schema/openapi.json",
    "/api/openapi.json",
    "/api/schema/",
    "/api/v1/openapi.json",
    "/schema/",
    "/v3/api-docs",
    "/api-json",
    "/openapi.yaml",
];

/// The document of an API.
pub(super) struct Document {
    pub(super) text: String,
    /// URL or path of the document.
    pub(super) place: String,
    /// URL of the server that published it, without a path.
    pub(super) server: Option<String>,
}

/// Reads a document. A page in its place, or the URL of a server alone, leads to the places where frameworks
/// publish their documents.
pub(super) fn read(place: &str) -> Result<Document, Failure> {
    if !place.starts_with("http://") && !place.starts_with("https://") {
        let text =
            read_text(LARGEST, Path::new(place)).map_err(|why| unread(place, &why.to_string()))?;
        return Ok(Document { text, place: place.to_owned(), server: None });
    }
    let url = Url::parse(place).map_err(|error| unread("at this URL", &error.to_string()))?;
    if !url.username().is_empty() || url.password().is_some() {
        let message = "the URL of the OpenAPI document has a user name or a password".to_owned();
        let help = "save the document, such as with curl, and name the file";
        return Err(Failure::message(Exit::Usage, "bad_url", message, help));
    }
    on_all_cpus()?.block_on(published(&url))
}

/// Returns a URL as messages show it: a query may have a key.
fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

/// Why there is no text at a URL.
enum Missing {
    /// The server answered with this status.
    Status(StatusCode),
    /// There was no whole response: why.
    Response(String),
}

async fn published(url: &Url) -> Result<Document, Failure> {
    let client = Client::builder().no_proxy().timeout(LIMIT).build();
    let client = client.map_err(|error| unread(&shown(url), &error.to_string()))?;
    let found = |url: &Url, text| Document {
        text,
        place: shown(url),
        server: Some(url.origin().ascii_serialization()),
    };
    let is_server = matches!(url.path(), "" | "/");
    match get(&client, url).await {
        Ok(text) if is_document(&text) => return Ok(found(url, text)),
        // Without a response, no other path would have one.
        Err(Missing::Response(why)) => return Err(unread(&shown(url), &why)),
        Err(Missing::Status(status)) if !is_server => {
            return Err(unread(&shown(url), &format!("status {status}")));
        }
        Ok(_) | Err(Missing::Status(_)) => {}
    }
    for path in USUAL {
        let Ok(usual) = url.join(path) else { continue };
        if let Ok(text) = get(&client, &usual).await
            && is_document(&text)
        {
            return Ok(found(&usual, text));
        }
    }
    Err(unread(&shown(url), "no OpenAPI document there, nor where frameworks publish theirs"))
}

/// Whether a text may be a document: it is no page, and says `openapi` or `swagger` somewhere.
fn is_document(text: &str) -> bool {
    !text.trim_start().starts_with('<') && (text.contains("openapi") || text.contains("swagger"))
}

async fn get(client: &Client, url: &Url) -> Result<String, Missing> {
    let accepted =
        "application/json, application/vnd.oai.openapi+json, application/yaml;q=0.9, */*;q=0.5";
    let failed = |error: reqwest::Error| Missing::Response(causes(&error));
    let request = client.get(url.clone()).header("accept", accepted);
    let mut response = request.send().await.map_err(failed)?;
    if !response.status().is_success() {
        return Err(Missing::Status(response.status()));
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        body.extend_from_slice(&chunk);
        if body.len() as u64 > LARGEST {
            return Err(Missing::Response(format!("more than {} MiB", LARGEST >> 20)));
        }
    }
    let text = String::from_utf8(body);
    text.map_err(|_| Missing::Response("the document is not UTF-8".to_owned()))
}

/// Returns the innermost cause of an error, which says what happened.
fn causes(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("no answer within {} s", LIMIT.as_secs());
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

fn unread(place: &str, why: &str) -> Failure {
    let message = format!("cannot read the OpenAPI document {place}: {why}");
    let help = "name the document's URL, such as http://127.0.0.1:8000/openapi.json, or save the document, such as \
                with curl, and name the file";
    Failure::message(Exit::Usage, "bad_source", message, help)
}
