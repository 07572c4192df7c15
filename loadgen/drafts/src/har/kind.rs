//! Kinds of requests: pages, and their files.

use url::Url;

use super::file::Entry;
use crate::static_files;

/// Types of resources that browsers name.
const FILES: [&str; 7] =
    ["image", "stylesheet", "script", "font", "media", "manifest", "texttrack"];

/// Whether a request is one for a page.
pub(super) fn is_document(entry: &Entry) -> bool {
    entry.resource_type == "document"
        || entry.resource_type.is_empty() && essence(entry) == "text/html"
}

/// Whether a request is one for a file of a page.
pub(super) fn is_static(entry: &Entry, url: &Url) -> bool {
    if FILES.contains(&entry.resource_type.as_str()) {
        return true;
    }
    let essence = essence(entry);
    let kind = essence.split('/').next().unwrap_or_default();
    if matches!(kind, "image" | "font" | "audio" | "video")
        || essence == "text/css"
        || essence == "application/wasm"
        || essence.ends_with("javascript")
        || essence.starts_with("application/font")
    {
        return true;
    }
    // A page, or the response to a fetch, is no static file, under any name.
    let is_page_or_data =
        !entry.resource_type.is_empty() || essence.contains("html") || essence.contains("json");
    !is_page_or_data && static_files::is_static(url.path())
}

fn essence(entry: &Entry) -> String {
    let content = &entry.response.content.mime_type;
    let mime_type = if content.is_empty() {
        entry.response.header("content-type").unwrap_or_default()
    } else {
        content
    };
    mime_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
