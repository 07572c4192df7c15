//! Kinds of requests: pages, and their files.

use url::Url;

use super::file::Entry;

/// Types of resources that browsers name.
const FILES: [&str; 7] =
    ["image", "stylesheet", "script", "font", "media", "manifest", "texttrack"];

/// Extensions of files that pages name.
const EXTENSIONS: [&str; 24] = [
    "avif", "bmp", "css", "eot", "gif", "ico", "jpeg", "jpg", "js", "map", "mjs", "mp3", "mp4",
    "ogg", "otf", "png", "svg", "ttf", "wasm", "wav", "webm", "webp", "woff", "woff2",
];

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
    // The response to a fetch, or a page, is no file of a page, whatever its name.
    let is_page_or_data =
        !entry.resource_type.is_empty() || essence.contains("html") || essence.contains("json");
    let name = url.path().rsplit('/').next().unwrap_or_default();
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    !is_page_or_data && extension.is_some_and(|it| EXTENSIONS.contains(&it.as_str()))
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
