//! Escapes a value for its position in a request, so
//! that no value can end its context and begin another.

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Position of a value in a request, which determines the escaping of the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Position {
    /// A body that is sent as it is.
    Text,
    /// A path, a query or a form.
    Path,
    /// Text between the quotation marks of a JSON string.
    Json,
    /// The value of a header.
    Header,
    /// The name of a field or of a file in a multipart form.
    Quoted,
    /// The user of HTTP Basic authentication, before the encoding.
    User,
    /// The password of HTTP Basic authentication, before the encoding.
    Password,
}

impl Position {
    /// Appends `value` to `out`, escaped for this position. Errors name the value as `name`.
    #[inline]
    pub(super) fn push(self, value: &str, name: &str, out: &mut String) -> Result<(), RenderError> {
        match self {
            Self::Text => out.push_str(value),
            // Encoding cannot help: URL parsers read `%2E` as a dot (WHATWG URL, section 4.4).
            Self::Path if [".", ".."].contains(&value) && begins_segment(out) => {
                let (name, value) = (name.to_owned(), value.to_owned());
                return Err(RenderError::NotForPath { name, value });
            }
            Self::Path => push_encoded(value, out),
            Self::Json => {
                // `to_string` adds quotes, which the template already has.
                let json = serde_json::Value::from(value).to_string();
                out.push_str(&json[1..json.len() - 1]);
            }
            Self::Header => match value.chars().find(|c| !may_be_in_header(*c)) {
                Some(character) => {
                    let name = name.to_owned();
                    return Err(RenderError::NotForHeader { name, character });
                }
                None => out.push_str(value),
            },
            Self::Quoted => return push_quoted(value, name, out),
            // A colon would end the user (RFC 7617, section 2).
            Self::User | Self::Password => {
                let is_wrong = |c: &char| c.is_control() || (self == Self::User && *c == ':');
                if let Some(character) = value.chars().find(is_wrong) {
                    return Err(RenderError::NotForAuth { name: name.to_owned(), character });
                }
                out.push_str(value);
            }
        }
        Ok(())
    }
}

/// Reason why a request cannot be rendered.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RenderError {
    /// The request needs a captured value, but the user has not captured the value yet: no step
    /// that captures the value has succeeded so far.
    #[error("not sent: no value was captured for {{{{ {name} }}}}")]
    NotCaptured {
        /// Name of the captured value.
        name: String,
    },
    /// The request needs an environment variable, but the scenario was loaded for inspection,
    /// without the environment.
    #[error("not sent: the environment variable `{name}` was not read")]
    NotRead {
        /// Name of the environment variable.
        name: String,
    },
    /// A value of `.` or `..` at the start of a path segment would lead to another path.
    #[error(
        "not sent: {{{{ {name} }}}} is `{value}`, which a path cannot contain between two slashes"
    )]
    NotForPath {
        /// Name of the captured value or environment variable.
        name: String,
        /// The value, `.` or `..`.
        value: String,
    },
    /// A header's value has a character that ends the header or that has no agreed encoding.
    #[error("not sent: {{{{ {name} }}}} contains {character:?}, which a header cannot contain")]
    NotForHeader {
        /// Name of the captured value or environment variable.
        name: String,
        /// First character that is not allowed.
        character: char,
    },
    /// A user or a password has a character that HTTP Basic authentication cannot send.
    #[error("not sent: {{{{ {name} }}}} contains {character:?}, which `auth` cannot send")]
    NotForAuth {
        /// Name of the captured value or environment variable.
        name: String,
        /// First character that is not allowed.
        character: char,
    },
}

/// Returns whether a text appended to `before` begins a segment of the path; a query has no
/// segments.
fn begins_segment(before: &str) -> bool {
    before.ends_with('/') && !before.contains('?')
}

/// Returns whether a header's value may have this character. Allowed characters can neither end a
/// line nor depend on an encoding.
pub fn may_be_in_header(c: char) -> bool {
    c == '\t' || c == ' ' || c.is_ascii_graphic()
}

/// Returns `text` with all bytes percent-encoded except unreserved characters.
pub(super) fn percent_encoded(text: &str) -> String {
    let mut out = String::new();
    push_encoded(text, &mut out);
    out
}

/// Appends `value` to `out` and percent-encodes all bytes except unreserved characters (RFC 3986,
/// section 2.3), so that a `/`, `?` or `&` stays part of the value.
#[inline]
fn push_encoded(value: &str, out: &mut String) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a `String` cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

/// Appends `value` to `out`, and escapes the characters that would end the quotation or its line
/// (WHATWG HTML, "multipart/form-data encoding algorithm").
fn push_quoted(value: &str, name: &str, out: &mut String) -> Result<(), RenderError> {
    for character in value.chars() {
        match character {
            '"' => out.push_str("%22"),
            '\r' => out.push_str("%0D"),
            '\n' => out.push_str("%0A"),
            '\t' => out.push('\t'),
            _ if character.is_ascii_control() => {
                return Err(RenderError::NotForHeader { name: name.to_owned(), character });
            }
            _ => out.push(character),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pushed(place: Position, value: &str) -> Result<String, RenderError> {
        let mut out = String::new();
        place.push(value, "v", &mut out).map(|()| out)
    }

    #[test]
    fn no_value_changes_the_path() {
        let after = |before: &str, value: &str| {
            let mut out = before.to_owned();
            Position::Path.push(value, "v", &mut out).map(|()| out)
        };
        for value in [".", ".."] {
            let refused = after("/items/", value).unwrap_err();
            let said = format!(
                "not sent: {{{{ v }}}} is `{value}`, which a path cannot contain between two slashes"
            );
            assert_eq!(refused.to_string(), said);
            for before in ["/items/a", "/items?in=", "/items?in=/"] {
                assert_eq!(after(before, value), Ok(format!("{before}{value}")));
            }
        }
        assert_eq!(after("/items/", "...").as_deref(), Ok("/items/..."));
        assert_eq!(after("/items/", ".a").as_deref(), Ok("/items/.a"));
    }

    #[test]
    fn each_position_escapes_a_value() {
        let value = "a/b c?d&\"é\"";
        assert_eq!(pushed(Position::Text, value).as_deref(), Ok(value));
        assert_eq!(pushed(Position::Path, value).as_deref(), Ok("a%2Fb%20c%3Fd%26%22%C3%A9%22"));
        assert_eq!(pushed(Position::Json, "a\"\\\n\u{1}é").as_deref(), Ok(r#"a\"\\\n\u0001é"#));
        assert_eq!(pushed(Position::Header, "Bearer a\tb").as_deref(), Ok("Bearer a\tb"));
        let refused = |value, character| {
            let name = "v".to_owned();
            let error = RenderError::NotForHeader { name, character };
            assert_eq!(pushed(Position::Header, value), Err(error));
        };
        refused("a\r\nx: b", '\r');
        refused("é", 'é');
        assert_eq!(pushed(Position::Quoted, "a\"\r\n\té%").as_deref(), Ok("a%22%0D%0A\té%"));
        assert!(pushed(Position::Quoted, "a\0").is_err());
        assert_eq!(pushed(Position::Password, "a:é \"").as_deref(), Ok("a:é \""));
        assert!(
            pushed(Position::User, "a:b").is_err() && pushed(Position::Password, "a\n").is_err()
        );
    }

    proptest! {
        #[test]
        fn any_value_in_a_json_string_is_read_back(value: String) {
            let json = format!("\"{}\"", pushed(Position::Json, &value).unwrap());
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), value);
        }

        #[test]
        fn any_value_in_a_path_is_one_segment(value: String) {
            let path = pushed(Position::Path, &value).unwrap();
            prop_assert!(path.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~%".contains(&b)));
            let query = format!("v={path}");
            let (_, read) = url::form_urlencoded::parse(query.as_bytes()).next().unwrap();
            prop_assert_eq!(read, value);
        }
    }
}
