//! Body of a request: texts, and files between them.

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::data::Data;
use super::on_disk::OnDisk;
use super::template::Template;
use loadgen_text::count;

/// A request's body and its media type.
///
/// `Display` shows texts as written, and the name and length of each file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Body {
    /// Value of the `content-type` header.
    pub content_type: String,
    /// Content of the body, in order. Adjacent texts are always joined.
    pub parts: Vec<Part>,
}

/// A part of a body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Text, rendered for each request if it has generated parts.
    Text(Template),
    /// Content of a file, the same in each request.
    File(Attachment),
}

/// A file whose content is sent.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// Path of the file, as written in the scenario.
    pub path: String,
    /// Content of the file.
    pub content: Content,
}

/// Content of a file. A clone shares it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Bytes that were read with the scenario.
    Kept(#[serde(with = "shared")] Bytes),
    /// More bytes than are kept.
    OnDisk(OnDisk),
}

impl Body {
    /// Creates a body of one text.
    pub(super) fn of_text(content_type: impl Into<String>, text: Template) -> Self {
        Self { content_type: content_type.into(), parts: vec![Part::Text(text)] }
    }

    /// Returns the texts of the body.
    pub fn texts(&self) -> impl Iterator<Item = &Template> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text),
            Part::File(_) => None,
        })
    }

    /// Returns the files of the body.
    pub fn files(&self) -> impl Iterator<Item = &Attachment> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::File(file) => Some(file),
        })
    }

    /// Renders the body of the next request for display. See [`Template::shown`] for what stays as
    /// written.
    pub fn shown(&self, data: &mut Data) -> String {
        let one = |part: &Part| match part {
            Part::Text(text) => text.shown(data),
            Part::File(file) => file.to_string(),
        };
        self.parts.iter().map(one).collect()
    }

    /// Returns this body with environment variables replaced by their values. The result must never
    /// be shown.
    pub fn revealed(&self) -> Vec<Part> {
        let one = |part: &Part| match part {
            Part::Text(text) => Part::Text(text.clone().revealed()),
            Part::File(file) => Part::File(file.clone()),
        };
        self.parts.iter().map(one).collect()
    }

    /// Appends a part; joins adjacent texts.
    pub(super) fn push(&mut self, part: Part) {
        match (self.parts.last_mut(), part) {
            (Some(Part::Text(before)), Part::Text(text)) => before.append(text),
            (_, part) => self.parts.push(part),
        }
    }

    /// Returns a body whose texts are rendered once for each user. `key` and as many numbers after it
    /// as the body has parts must differ from the keys of other such bodies.
    pub(super) fn once(mut self, key: usize) -> Self {
        for (index, part) in self.parts.iter_mut().enumerate() {
            if let Part::Text(text) = part {
                *text = std::mem::take(text).once(key + index);
            }
        }
        self
    }
}

impl Part {
    /// Returns the bytes that each request has; `None` for a text with generated parts, and for a file that
    /// is not in memory.
    pub fn as_constant(&self) -> Option<&[u8]> {
        match self {
            Self::Text(text) => text.as_constant().map(str::as_bytes),
            Self::File(file) => file.kept().map(|bytes| &bytes[..]),
        }
    }
}

impl Attachment {
    pub(super) fn new(path: &str, content: Content) -> Self {
        Self { path: path.to_owned(), content }
    }

    /// Returns the content, if it is in memory.
    #[must_use]
    pub fn kept(&self) -> Option<&Bytes> {
        match &self.content {
            Content::Kept(bytes) => Some(bytes),
            Content::OnDisk(_) => None,
        }
    }

    /// Returns the file, if its content is not in memory.
    #[must_use]
    pub fn on_disk(&self) -> Option<&OnDisk> {
        match &self.content {
            Content::Kept(_) => None,
            Content::OnDisk(file) => Some(file),
        }
    }

    /// Number of bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        match &self.content {
            Content::Kept(bytes) => bytes.len() as u64,
            Content::OnDisk(file) => file.length(),
        }
    }

    /// Returns the SHA-256 digest of the content, in hexadecimal digits.
    #[must_use]
    pub fn digest(&self) -> String {
        match &self.content {
            Content::Kept(bytes) => format!("{:x}", Sha256::digest(bytes)),
            Content::OnDisk(file) => file.digest().to_owned(),
        }
    }
}

impl fmt::Display for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.iter().try_for_each(|part| match part {
            Part::Text(text) => text.fmt(f),
            Part::File(file) => file.fmt(f),
        })
    }
}

impl fmt::Display for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}: {} bytes]", self.path, count(self.length()))
    }
}

impl fmt::Debug for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Attachment");
        shown.field("path", &self.path).field("length", &self.length());
        shown.field("sha256", &self.digest()).finish()
    }
}

/// Serializes shared bytes as bytes, not as numbers.
mod shared {
    use bytes::Bytes;
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &Bytes, to: S) -> Result<S::Ok, S::Error> {
        serde_bytes::serialize(&bytes[..], to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Bytes, D::Error> {
        serde_bytes::deserialize::<Vec<u8>, D>(from).map(Bytes::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_survives_serialization_and_is_never_shown() {
        let bytes: Vec<u8> = (0..=255).cycle().take(3_000).collect();
        let body = Body {
            content_type: "image/png".to_owned(),
            parts: vec![Part::File(Attachment::new(
                "a/b.png",
                Content::Kept(bytes.clone().into()),
            ))],
        };
        let packed = rmp_serde::to_vec_named(&body).unwrap();
        assert!(packed.len() < bytes.len() + 100, "{}", packed.len());
        assert_eq!(rmp_serde::from_slice::<Body>(&packed).unwrap(), body);
        assert_eq!(body.to_string(), "[a/b.png: 3,000 bytes]");
        let shown = format!("{body:?}");
        assert!(shown.contains("length: 3000, sha256: ") && shown.len() < 200, "{shown}");
    }
}
