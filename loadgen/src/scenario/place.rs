//! Where in a request a value stands that nobody has chosen for that place, and what the place
//! makes of it: no value can end what it stands in and begin something else.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

/// A place for a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Place {
    /// A body that is sent as it is.
    Text,
    /// A path or a query.
    Path,
    /// The inside of a JSON string.
    Json,
    /// The value of a header.
    Header,
}

impl Place {
    /// Appends a value as this place needs it, or gives the character that it cannot have.
    pub(super) fn push(self, value: &str, out: &mut String) -> Result<(), char> {
        match self {
            Self::Text => out.push_str(value),
            Self::Path => push_encoded(value, out),
            Self::Json => push_escaped(value, out),
            Self::Header => match value.chars().find(|c| !may_be_in_header(*c)) {
                Some(bad) => return Err(bad),
                None => out.push_str(value),
            },
        }
        Ok(())
    }
}

/// Whether a header's value may have it: no line can be ended, and no encoding be guessed.
pub(super) fn may_be_in_header(c: char) -> bool {
    c == '\t' || c == ' ' || c.is_ascii_graphic()
}

/// Encodes all but what is unreserved (RFC 3986, section 2.3): a `/`, `?` or `&` in a value is a
/// part of it.
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

/// Escapes what a JSON string cannot have (RFC 8259, section 7).
fn push_escaped(value: &str, out: &mut String) {
    for c in value.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\x1f' => {
                // Writing to a `String` cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pushed(place: Place, value: &str) -> Result<String, char> {
        let mut out = String::new();
        place.push(value, &mut out).map(|()| out)
    }

    #[test]
    fn each_place_makes_of_a_value_what_it_needs() {
        let value = "a/b c?d&\"é\"";
        assert_eq!(pushed(Place::Text, value).as_deref(), Ok(value));
        assert_eq!(pushed(Place::Path, value).as_deref(), Ok("a%2Fb%20c%3Fd%26%22%C3%A9%22"));
        assert_eq!(pushed(Place::Json, "a\"\\\n\u{1}é").as_deref(), Ok(r#"a\"\\\n\u0001é"#));
        assert_eq!(pushed(Place::Header, "Bearer a\tb").as_deref(), Ok("Bearer a\tb"));
        assert_eq!(pushed(Place::Header, "a\r\nx: b"), Err('\r'));
        assert_eq!(pushed(Place::Header, "é"), Err('é'));
    }

    proptest! {
        #[test]
        fn any_value_in_a_json_string_is_read_back(value: String) {
            let json = format!("\"{}\"", pushed(Place::Json, &value).unwrap());
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), value);
        }

        #[test]
        fn any_value_in_a_path_is_one_segment(value: String) {
            let path = pushed(Place::Path, &value).unwrap();
            prop_assert!(path.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~%".contains(&b)));
            let query = format!("v={path}");
            let (_, read) = url::form_urlencoded::parse(query.as_bytes()).next().unwrap();
            prop_assert_eq!(read, value);
        }
    }
}
