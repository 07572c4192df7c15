//! Files that a server sends as they are.

/// Extensions of files that a server does not compute, in lower case.
const EXTENSIONS: [&str; 30] = [
    "avif",
    "bmp",
    "css",
    "eot",
    "gif",
    "gz",
    "ico",
    "jpeg",
    "jpg",
    "js",
    "map",
    "mjs",
    "mov",
    "mp3",
    "mp4",
    "ogg",
    "otf",
    "pdf",
    "png",
    "svg",
    "swf",
    "ttf",
    "wasm",
    "wav",
    "webm",
    "webmanifest",
    "webp",
    "woff",
    "woff2",
    "zip",
];

/// Returns whether a path, without a query, names a static file by its extension.
pub(crate) fn is_static(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    extension.is_some_and(|it| EXTENSIONS.iter().any(|known| known.eq_ignore_ascii_case(it)))
}
