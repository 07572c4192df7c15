//! Gives access to the headers of an answer.

use http::HeaderMap;

use super::fields::Fields;
use super::http1::read_head;

/// The headers of an answer.
#[derive(Debug, Clone, Copy)]
pub enum Headers<'a> {
    /// Not kept, because nothing reads the headers.
    Unkept,
    /// The bytes as received, from the status line to the empty line.
    Head(&'a [u8]),
    /// The fields of HTTP/2.
    Fields(&'a Fields),
    /// The fields of HTTP/2, and the trailers after the body.
    WithTrailers(&'a Fields, &'a Fields),
    /// Headers that a library has parsed.
    Map(&'a HeaderMap),
}

impl<'a> Headers<'a> {
    /// Returns the value of the first header with this name.
    #[must_use]
    pub fn first(self, name: &str) -> Option<&'a [u8]> {
        match self {
            Self::Unkept => None,
            Self::Head(bytes) => {
                let found = read_head(bytes, |head| {
                    let mut headers = head.headers.iter();
                    headers.find(|it| it.name.eq_ignore_ascii_case(name)).map(|it| it.value)
                });
                // Well-formed: the head was parsed before, to find the end of the body.
                found.ok()??.1
            }
            Self::Map(map) => map.get(name).map(|value| value.as_bytes()),
            Self::Fields(fields) => fields.first(name),
            Self::WithTrailers(head, trailers) => head.first(name).or_else(|| trailers.first(name)),
        }
    }

    /// Returns the values of all headers with this name, joined by commas (RFC 9110, section 5.3).
    #[must_use]
    pub fn joined(self, name: &str) -> String {
        let same = |(other, _): &(String, Vec<u8>)| other.eq_ignore_ascii_case(name);
        let values = self.all().into_iter().filter(same);
        let values = values.map(|(_, value)| String::from_utf8_lossy(&value).into_owned());
        values.collect::<Vec<_>>().join(", ")
    }

    /// Returns the names and values of all headers, as received.
    #[must_use]
    pub fn all(self) -> Vec<(String, Vec<u8>)> {
        let owned = |name: &str, value: &[u8]| (name.to_owned(), value.to_vec());
        match self {
            Self::Unkept => Vec::new(),
            Self::Head(bytes) => {
                let all = read_head(bytes, |head| {
                    head.headers.iter().map(|it| owned(it.name, it.value)).collect()
                });
                all.ok().flatten().map(|(_, all)| all).unwrap_or_default()
            }
            Self::Map(map) => {
                map.iter().map(|(name, value)| owned(name.as_str(), value.as_bytes())).collect()
            }
            Self::Fields(fields) => {
                // The status is no header.
                let named = fields.iter().filter(|(name, _)| !name.starts_with(b":"));
                named.map(|(name, value)| owned(&String::from_utf8_lossy(name), value)).collect()
            }
            Self::WithTrailers(head, trailers) => {
                [Headers::Fields(head).all(), Headers::Fields(trailers).all()].concat()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_several_equal_headers_counts() {
        let head = b"HTTP/1.1 200 OK\r\nX-A: 1\r\nx-b:  two \r\nx-a: 3\r\n\r\n";
        let map: HeaderMap = [("x-a", "1"), ("x-b", "two")]
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .into_iter()
            .collect();
        for headers in [Headers::Head(head), Headers::Map(&map)] {
            assert_eq!(headers.first("x-a"), Some(&b"1"[..]));
            assert_eq!(headers.first("x-b"), Some(&b"two"[..]));
            assert_eq!(headers.first("x-c"), None);
            assert_eq!(headers.joined("x-c"), "");
        }
        assert_eq!(Headers::Head(head).joined("x-a"), "1, 3");
        assert_eq!(Headers::Unkept.first("x-a"), None);
        let all: Vec<(String, Vec<u8>)> = [("X-A", "1"), ("x-b", "two"), ("x-a", "3")]
            .map(|(name, value)| (name.to_owned(), value.into()))
            .into();
        assert_eq!((Headers::Head(head).all(), Headers::Unkept.all()), (all, Vec::new()));
        assert_eq!(Headers::Map(&map).all()[0], ("x-a".to_owned(), b"1".to_vec()));
        let fields = |all: &[(&str, &str)]| {
            let mut fields = Fields::default();
            all.iter().for_each(|(name, value)| fields.push(name.as_bytes(), value.as_bytes()));
            fields
        };
        let head = fields(&[(":status", "200"), ("x-a", "1"), ("x-b", "two"), ("x-a", "3")]);
        let trailers = fields(&[("x-b", "4"), ("x-c", "5")]);
        let both = Headers::WithTrailers(&head, &trailers);
        assert_eq!(
            ["x-b", "x-c", "x-d"].map(|name| both.first(name)),
            [Some(&b"two"[..]), Some(b"5"), None]
        );
        assert_eq!(both.all().len(), 5);
        assert_eq!(Headers::Fields(&head).joined("x-a"), "1, 3");
    }
}
