//! A request that a browser or a command has sent, and its values, each of which may become a placeholder.

mod conceal;
mod in_text;
mod multipart;
mod read;
mod step;
#[cfg(test)]
mod tests;

pub(crate) use conceal::{Credentials, Secrets};
pub(crate) use read::{Content, Sent, leaves};

use crate::pointer;
use crate::secrets::looks_secret;

/// Longest body, in bytes, whose values are looked at. A longer one is not in the draft.
pub(crate) const LONGEST: usize = 4 << 20;

/// A request with its values.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// Scheme, host and port.
    pub(crate) origin: String,
    /// Path, query, headers and body, in this order.
    pub(crate) slots: Vec<Slot>,
    pub(crate) body: Body,
    /// Number of values that the draft leaves out, because their names look like secrets.
    left_out: usize,
}

/// A value of a request.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) place: Place,
    /// The value itself: decoded, as a user would read it.
    pub(crate) value: String,
    /// The value as it was sent, if the draft repeats this form.
    raw: Option<String>,
    /// Template that stands for the value.
    pub(crate) template: Option<String>,
    /// Whether it is a number of JSON.
    is_number: bool,
    /// Whether the draft leaves it out, because its name looks like a secret.
    pub(crate) is_left_out: bool,
}

/// Position of a value. It is the same in another recording of the request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// Segment of the path, counted from zero.
    Path(usize),
    /// Name, and how many of this name precede it.
    Query(String, usize),
    /// A query that has no names and values.
    WholeQuery,
    /// Name in lower case.
    Header(String),
    /// As for the query.
    Form(String, usize),
    /// Field of a multipart form, by its number.
    Part(usize, String),
    /// JSON pointer.
    Json(String),
    /// The whole body.
    Text,
}

/// Form of a body. Its values are slots.
#[derive(Debug)]
pub(crate) enum Body {
    None,
    Json { json: serde_json::Value, content_type: Option<String> },
    Form { content_type: Option<String> },
    Multipart(Vec<Part>),
    Text { content_type: Option<String> },
    File { path: String, content_type: Option<String> },
    TooLong(usize),
}

/// A field of a multipart form.
#[derive(Debug, Default)]
pub(crate) struct Part {
    /// File whose content is sent.
    pub(crate) file: Option<String>,
    pub(crate) filename: Option<String>,
    pub(crate) content_type: Option<String>,
}

impl Slot {
    fn new(place: Place, value: impl Into<String>) -> Self {
        Self {
            place,
            value: value.into(),
            raw: None,
            template: None,
            is_number: false,
            is_left_out: false,
        }
    }

    /// Returns the text of the draft.
    fn text(&self) -> String {
        let literal = || crate::draft::escape(self.raw.as_ref().unwrap_or(&self.value));
        self.template.clone().unwrap_or_else(literal)
    }
}

impl Place {
    /// Returns the name by which people know the value, if it has one.
    pub(crate) fn name(&self) -> Option<String> {
        match self {
            Self::Query(name, _)
            | Self::Header(name)
            | Self::Form(name, _)
            | Self::Part(_, name) => Some(name.clone()),
            Self::Json(pointer) => {
                let is_name = |part: &&str| !part.is_empty() && part.parse::<usize>().is_err();
                let part = pointer.rsplit('/').find(is_name)?;
                Some(pointer::unescaped(part))
            }
            Self::Path(_) | Self::WholeQuery | Self::Text => None,
        }
    }

    /// Whether a name of the position is likely a secret itself.
    fn has_secret_name(&self) -> bool {
        match self {
            Self::Json(pointer) => pointer.split('/').any(looks_secret),
            place => place.name().is_some_and(|name| looks_secret(&name)),
        }
    }

    /// Returns the position in words. It quotes no value.
    pub(crate) fn words(&self) -> String {
        let name = self.name().unwrap_or_default();
        match self {
            Self::Path(index) => format!("segment {} of the path", index + 1),
            Self::Query(..) => format!("`{name}` of the query"),
            Self::WholeQuery => "the query".to_owned(),
            Self::Header(_) => format!("the header `{name}`"),
            Self::Form(..) | Self::Part(..) => format!("`{name}` of the form"),
            Self::Json(pointer) if pointer.split('/').any(crate::secrets::is_token_like) => {
                "a member of the body".to_owned()
            }
            Self::Json(pointer) => format!("`{pointer}` of the body"),
            Self::Text => "the body".to_owned(),
        }
    }
}

/// Returns the names and values of a header `cookie`.
pub(crate) fn cookies(header: &str) -> impl Iterator<Item = (&str, &str)> {
    header.split(';').filter_map(|pair| pair.trim().split_once('='))
}

impl Request {
    /// Returns the path, with names in braces where a value is not literal.
    pub(crate) fn shape(&self) -> String {
        let mut path = String::new();
        for slot in &self.slots {
            if let Place::Path(_) = slot.place {
                path.push('/');
                path +=
                    &slot.text().replace("{{ env ", "{").replace("{{ ", "{").replace(" }}", "}");
            }
        }
        path
    }

    /// Whether the request changes nothing on the server, by its method.
    pub(crate) fn is_safe(&self) -> bool {
        matches!(self.method.as_str(), "GET" | "HEAD" | "OPTIONS")
    }
}
