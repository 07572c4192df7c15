//! Parses the head of a response: where the body ends, and whether the connection stays open
//! (RFC 9112, section 6.3).
//!
//! If the RFC leaves a choice, the parser follows hyper, so that both transports read
//! a server's answers alike.

use std::cell::RefCell;
use std::mem::MaybeUninit;

use httparse::{Header, ParserConfig, Response, Status};

use crate::content_encoding::is_encoded;
use crate::transport::content_length::ContentLength;

/// Maximum number of headers in a response; hyper has the same limit.
pub const MOST_HEADERS: usize = 100;

/// The parts of a head that decide how the rest of the response is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The minor version of HTTP/1.
    pub minor: u8,
    /// The status code.
    pub status: u16,
    /// The rule for where the body ends.
    pub framing: Framing,
    /// Whether the connection may be reused after this response.
    pub keep_alive: bool,
    /// Whether the body has a `content-encoding`.
    pub encoded: bool,
}

/// The rule for where a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// After this number of bytes.
    Sized(u64),
    /// After the last chunk and its trailers.
    Chunked,
    /// At the end of the connection.
    UntilClose,
}

thread_local!(static LAST: RefCell<Option<Known>> = const { RefCell::new(None) });

/// The head that a thread parsed last: its bytes and the result.
struct Known {
    bytes: Vec<u8>,
    no_body: bool,
    head: Head,
}

/// Parses a head with the empty line after it, and returns the length of both. Returns `None` if
/// the head is incomplete. `no_body` marks the response to a HEAD request, which has no body.
///
/// A server's answers to one step mostly differ only in their `date`, which changes
/// once a second. The thread's last head is therefore compared first: if `bytes`
/// begins with the same bytes, the result is the same.
pub fn parse(bytes: &[u8], no_body: bool) -> Result<Option<(usize, Head)>, &'static str> {
    LAST.with_borrow_mut(|last| {
        if let Some(known) = last
            && known.no_body == no_body
            && bytes.starts_with(&known.bytes)
        {
            return Ok(Some((known.bytes.len(), known.head)));
        }
        let parsed = parse_anew(bytes, no_body)?;
        if let Some((length, head)) = parsed {
            let mut known = last.take().map_or_else(Vec::new, |known| known.bytes);
            known.clear();
            known.extend_from_slice(&bytes[..length]);
            *last = Some(Known { bytes: known, no_body, head });
        }
        Ok(parsed)
    })
}

fn parse_anew(bytes: &[u8], no_body: bool) -> Result<Option<(usize, Head)>, &'static str> {
    let mut headers = [const { MaybeUninit::<Header<'_>>::uninit() }; MOST_HEADERS];
    let mut response = Response::new(&mut []);
    let parsed = ParserConfig::default().parse_response_with_uninit_headers(
        &mut response,
        bytes,
        &mut headers,
    );
    let length = match parsed {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) => return Ok(None),
        Err(error) => return Err(fault(error)),
    };
    let (Some(status @ 100..), Some(minor)) = (response.code, response.version) else {
        return Err(fault(httparse::Error::Status));
    };
    let fields = Fields::read(response.headers);
    let framing = fields.framing(status, minor, no_body)?;
    // After a 101, the connection carries another protocol.
    let keep_alive = fields.keep_alive(minor) && status != 101;
    let encoded = fields.encoded;
    Ok(Some((length, Head { minor, status, framing, keep_alive, encoded })))
}

fn fault(error: httparse::Error) -> &'static str {
    match error {
        httparse::Error::Version => "the response is not HTTP/1",
        httparse::Error::Status => "the status line of the response is malformed",
        httparse::Error::TooManyHeaders => "the response has more than 100 headers",
        _ => "a header of the response is malformed",
    }
}

/// The headers that decide framing, reuse of the connection and decompression.
#[derive(Default)]
struct Fields {
    closes: bool,
    keeps_alive: bool,
    length: ContentLength,
    /// Whether `chunked` is the last transfer coding; `None` without a `transfer-encoding` header.
    chunked: Option<bool>,
    encoded: bool,
}

impl Fields {
    fn read(headers: &[Header<'_>]) -> Self {
        let mut fields = Self::default();
        for Header { name, value } in headers {
            if name.eq_ignore_ascii_case("connection") {
                fields.closes |= has_token(value, b"close");
                fields.keeps_alive |= has_token(value, b"keep-alive");
            } else if name.eq_ignore_ascii_case("content-length") {
                fields.length.read(value);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                let last = list(value).last().unwrap_or_default();
                fields.chunked = Some(last.eq_ignore_ascii_case(b"chunked"));
            } else if name.eq_ignore_ascii_case("content-encoding") {
                fields.encoded |= is_encoded(value);
            }
        }
        fields
    }

    fn framing(&self, status: u16, minor: u8, no_body: bool) -> Result<Framing, &'static str> {
        match (self.chunked, self.length) {
            _ if no_body || matches!(status, 100..=199 | 204 | 304) => Ok(Framing::Sized(0)),
            (Some(_), _) if minor == 0 => Err("the response is HTTP/1.0 with a transfer-encoding"),
            (Some(true), _) => Ok(Framing::Chunked),
            (Some(false), _) | (None, ContentLength::Unknown) => Ok(Framing::UntilClose),
            (None, ContentLength::Bytes(length)) => Ok(Framing::Sized(length)),
            (None, ContentLength::Malformed) => {
                Err("the content-length of the response is malformed")
            }
        }
    }

    /// Whether the connection may be reused. Connections persist by default
    /// from HTTP/1.1 on (RFC 9112, section 9.3).
    fn keep_alive(&self, minor: u8) -> bool {
        !self.closes && (minor == 1 || self.keeps_alive)
    }
}

fn has_token(value: &[u8], token: &[u8]) -> bool {
    list(value).any(|part| part.eq_ignore_ascii_case(token))
}

fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|b| *b == b',').map(<[u8]>::trim_ascii)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Framing::{Chunked, Sized, UntilClose};

    fn framing(head: &str, no_body: bool) -> Result<Framing, &'static str> {
        let bytes = format!("{}\r\n\r\n", head.replace('\n', "\r\n"));
        let (length, head) = parse(bytes.as_bytes(), no_body)?.expect("a whole head");
        assert_eq!(length, bytes.len());
        Ok(head.framing)
    }

    fn keep_alive(head: &str) -> bool {
        let bytes = format!("{}\r\n\r\n", head.replace('\n', "\r\n"));
        parse(bytes.as_bytes(), false).unwrap().expect("a whole head").1.keep_alive
    }

    #[test]
    fn the_head_defines_the_end_of_the_body() {
        for (head, expected) in [
            ("HTTP/1.1 200 OK\nContent-Length: 27", Ok(Sized(27))),
            ("HTTP/1.1 200\ncontent-length: 5, 5\nContent-Length: 5", Ok(Sized(5))),
            ("HTTP/1.1 200 OK\nTransfer-Encoding: gzip, Chunked", Ok(Chunked)),
            ("HTTP/1.1 200 OK\ncontent-length: 5\ntransfer-encoding: chunked", Ok(Chunked)),
            ("HTTP/1.1 200 OK\ncontent-length: x\ntransfer-encoding: chunked", Ok(Chunked)),
            ("HTTP/1.1 200 OK\ntransfer-encoding: chunked, gzip", Ok(UntilClose)),
            ("HTTP/1.1 200 OK", Ok(UntilClose)),
            ("HTTP/1.1 204 No Content\ncontent-length: 5", Ok(Sized(0))),
            ("HTTP/1.1 304 Not Modified\ntransfer-encoding: chunked", Ok(Sized(0))),
        ] {
            assert_eq!(framing(head, false), expected, "{head}");
        }
        assert_eq!(framing("HTTP/1.1 200 OK\ncontent-length: 5", true), Ok(Sized(0)));
    }

    #[test]
    fn an_invalid_length_is_refused() {
        for length in ["", "-1", "+5", "5 5", "0x5", "5, 6", "18446744073709551616", "5,"] {
            let head = format!("HTTP/1.1 200 OK\ncontent-length: {length}");
            assert!(framing(&head, false).is_err(), "{length}");
        }
        assert!(framing("HTTP/1.0 200 OK\ntransfer-encoding: chunked", false).is_err());
        assert!(framing("HTTP/1.1 099 OK", false).is_err());
    }

    #[test]
    fn the_connection_stays_open_unless_the_head_closes_it() {
        assert!(keep_alive("HTTP/1.1 200 OK"));
        assert!(!keep_alive("HTTP/1.1 200 OK\nConnection: upgrade, Close"));
        assert!(!keep_alive("HTTP/1.1 200 OK\nconnection: close\nconnection: keep-alive"));
        assert!(!keep_alive("HTTP/1.1 101 Switching Protocols"));
        assert!(!keep_alive("HTTP/1.0 200 OK"));
        assert!(keep_alive("HTTP/1.0 200 OK\nConnection: Keep-Alive"));
    }
}
