//! Parses the head of a response: where the body ends, and whether the connection stays open
//! (RFC 9112, section 6.3).
//!
//! If the RFC leaves a choice, the parser follows hyper, so that both transports read
//! a server's answers alike; only the number of headers is not limited here.

use std::borrow::Cow;
use std::cell::RefCell;
use std::mem::MaybeUninit;

use httparse::{Header, ParserConfig, Response, Status};

use crate::content_encoding::is_encoded;
use crate::transport::content_length::ContentLength;

/// Number of headers for which there is room on the stack. A response may have more: only the length of its head is
/// limited, as in HTTP/2.
const USUAL_HEADERS: usize = 100;

/// Most headers that fit into the longest head.
const MOST_HEADERS: usize = super::LONGEST_HEAD / "a:\r\n".len();

/// Why a head cannot be read.
type Fault = Cow<'static, str>;

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
    /// Number of seconds after which the server closes the idle connection; `None` if it does not say so.
    pub idle_s: Option<u32>,
    /// Whether the body has a `content-encoding`.
    pub encoded: bool,
    /// Whether there is a `set-cookie`.
    pub sets_cookies: bool,
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

/// Number of heads that a thread remembers. Users of one thread are at different steps of their journeys.
const REMEMBERED: usize = 4;

thread_local!(static RECENT: RefCell<Recent> = const { RefCell::new(Recent { heads: Vec::new(), oldest: 0 }) });

/// The heads that a thread parsed most recently.
struct Recent {
    heads: Vec<Known>,
    /// Index of the head to forget next, once there are [`REMEMBERED`].
    oldest: usize,
}

/// A head that was parsed: its bytes and the result.
struct Known {
    bytes: Vec<u8>,
    no_body: bool,
    head: Head,
}

impl Recent {
    fn find(&self, bytes: &[u8], no_body: bool) -> Option<(usize, Head)> {
        let is_known = |it: &&Known| it.no_body == no_body && bytes.starts_with(&it.bytes);
        self.heads.iter().find(is_known).map(|known| (known.bytes.len(), known.head))
    }

    fn remember(&mut self, bytes: &[u8], no_body: bool, head: Head) {
        if self.heads.len() < REMEMBERED {
            return self.heads.push(Known { bytes: bytes.to_vec(), no_body, head });
        }
        let known = &mut self.heads[self.oldest];
        known.bytes.clear();
        known.bytes.extend_from_slice(bytes);
        (known.no_body, known.head) = (no_body, head);
        self.oldest = (self.oldest + 1) % REMEMBERED;
    }
}

/// Parses a head with the empty line after it, and returns the length of both. Returns `None` if
/// the head is incomplete. `no_body` marks the response to a HEAD request, which has no body.
///
/// A server's answers to one step mostly differ only in their `date`, which changes
/// once a second. The thread's recent heads are therefore compared first: if `bytes`
/// begins with the same bytes, the result is the same.
pub fn parse(bytes: &[u8], no_body: bool) -> Result<Option<(usize, Head)>, Fault> {
    RECENT.with_borrow_mut(|recent| {
        if let Some(known) = recent.find(bytes, no_body) {
            return Ok(Some(known));
        }
        let parsed = parse_anew(bytes, no_body)?;
        if let Some((length, head)) = parsed {
            recent.remember(&bytes[..length], no_body, head);
        }
        Ok(parsed)
    })
}

fn parse_anew(bytes: &[u8], no_body: bool) -> Result<Option<(usize, Head)>, Fault> {
    let parsed = read(bytes, |response| {
        let (Some(status @ 100..), Some(minor)) = (response.code, response.version) else {
            return Err(Fault::from(MALFORMED_STATUS));
        };
        let fields = Fields::read(response.headers);
        let framing = fields.framing(status, minor, no_body)?;
        // After a 101, the connection carries another protocol.
        let keep_alive = fields.keep_alive(minor) && status != 101;
        let Fields { idle_s, encoded, sets_cookies, .. } = fields;
        Ok(Head { minor, status, framing, keep_alive, idle_s, encoded, sets_cookies })
    });
    match parsed {
        Ok(Some((length, head))) => Ok(Some((length, head?))),
        Ok(None) => Ok(None),
        Err(error) => Err(fault(error, bytes)),
    }
}

/// Passes the head at the beginning of `bytes` to `read`. Returns its length with what `read` returns; `None` if the
/// head is incomplete.
pub fn read<'b, T>(
    bytes: &'b [u8],
    read: impl Fn(&Response<'_, 'b>) -> T,
) -> Result<Option<(usize, T)>, httparse::Error> {
    let into = |headers: &mut [MaybeUninit<Header<'b>>]| {
        let mut response = Response::new(&mut []);
        let mut parser = ParserConfig::default();
        // A header may go on in the next line, which begins with a space (RFC 9112, section 5.2).
        parser.allow_obsolete_multiline_headers_in_responses(true);
        let parsed = parser.parse_response_with_uninit_headers(&mut response, bytes, headers)?;
        Ok(match parsed {
            Status::Complete(length) => Some((length, read(&response))),
            Status::Partial => None,
        })
    };
    let mut parsed = into(&mut [const { MaybeUninit::uninit() }; USUAL_HEADERS]);
    let mut room = USUAL_HEADERS;
    while let Err(httparse::Error::TooManyHeaders) = parsed
        && room < MOST_HEADERS
    {
        room *= 8;
        parsed = into(&mut vec![MaybeUninit::uninit(); room]);
    }
    parsed
}

const MALFORMED_STATUS: &str = "the status line of the response is malformed";

fn fault(error: httparse::Error, bytes: &[u8]) -> Fault {
    match error {
        httparse::Error::Version => "the response is not HTTP/1".into(),
        httparse::Error::Status => MALFORMED_STATUS.into(),
        _ => {
            let lines = bytes.split_inclusive(|byte| *byte == b'\n').skip(1);
            let mut lines = lines.take_while(|line| !line.trim_ascii().is_empty());
            let what = "a header of the response is malformed";
            lines.find(|line| is_malformed(line)).map_or(what.into(), |line| {
                let text = String::from_utf8_lossy(line.trim_ascii());
                let shown: String =
                    text.chars().take(LONGEST_SHOWN).flat_map(char::escape_debug).collect();
                let more = if text.chars().count() > LONGEST_SHOWN { "…" } else { "" };
                format!("{what}: {shown}{more}").into()
            })
        }
    }
}

/// Longest part of a malformed header that is shown, in characters.
const LONGEST_SHOWN: usize = 80;

/// Whether a line alone is no header.
fn is_malformed(line: &[u8]) -> bool {
    let folds = line.first().is_some_and(|first| b" \t".contains(first));
    let alone = [b"HTTP/1.1 200 OK\r\n", line, b"\r\n"].concat();
    !folds && read(&alone, |_| ()).is_err()
}

/// The headers that decide framing, reuse of the connection and decompression.
#[derive(Default)]
struct Fields {
    closes: bool,
    keeps_alive: bool,
    /// See [`Head::idle_s`].
    idle_s: Option<u32>,
    length: ContentLength,
    /// Whether `chunked` is the last transfer coding; `None` without a `transfer-encoding` header.
    chunked: Option<bool>,
    encoded: bool,
    sets_cookies: bool,
}

impl Fields {
    fn read(headers: &[Header<'_>]) -> Self {
        let mut fields = Self::default();
        for Header { name, value } in headers {
            if name.eq_ignore_ascii_case("connection") {
                fields.closes |= has_token(value, b"close");
                fields.keeps_alive |= has_token(value, b"keep-alive");
            } else if name.eq_ignore_ascii_case("keep-alive") {
                fields.read_keep_alive(value);
            } else if name.eq_ignore_ascii_case("content-length") {
                fields.length.read(value);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                let last = list(value).last().unwrap_or_default();
                fields.chunked = Some(last.eq_ignore_ascii_case(b"chunked"));
            } else if name.eq_ignore_ascii_case("content-encoding") {
                fields.encoded |= is_encoded(value);
            } else if name.eq_ignore_ascii_case("set-cookie") {
                fields.sets_cookies = true;
            }
        }
        fields
    }

    /// Reads how long and for how many requests the server keeps the connection (RFC 2068, section 19.7.1.1, and
    /// draft-thomson-hybi-http-timeout). Servers understand `max=1` in two ways: one request more, or none. The
    /// second is safe.
    fn read_keep_alive(&mut self, value: &[u8]) {
        for parameter in list(value) {
            let Some(at) = memchr::memchr(b'=', parameter) else { continue };
            let (name, number) = (parameter[..at].trim_ascii(), parameter[at + 1..].trim_ascii());
            let number = std::str::from_utf8(number).ok().and_then(|text| text.parse().ok());
            if name.eq_ignore_ascii_case(b"timeout") {
                self.idle_s = number.or(self.idle_s);
            } else if name.eq_ignore_ascii_case(b"max") {
                self.closes |= number.is_some_and(|most: u32| most <= 1);
            }
        }
    }

    fn framing(&self, status: u16, minor: u8, no_body: bool) -> Result<Framing, Fault> {
        match (self.chunked, self.length) {
            _ if no_body || matches!(status, 100..=199 | 204 | 304) => Ok(Framing::Sized(0)),
            (Some(_), _) if minor == 0 => {
                Err("the response is HTTP/1.0 with a transfer-encoding".into())
            }
            (Some(true), _) => Ok(Framing::Chunked),
            (Some(false), _) | (None, ContentLength::Unknown) => Ok(Framing::UntilClose),
            (None, ContentLength::Bytes(length)) => Ok(Framing::Sized(length)),
            (None, ContentLength::Malformed) => {
                Err("the content-length of the response is malformed".into())
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

    fn framing(head: &str, no_body: bool) -> Result<Framing, Fault> {
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
    fn a_malformed_header_is_named() {
        let said = |head: &str| framing(head, false).unwrap_err().into_owned();
        assert_eq!(
            said("HTTP/1.1 200 OK\nserver: x\nbad header: 1\nx: 2"),
            "a header of the response is malformed: bad header: 1"
        );
        assert_eq!(
            said("HTTP/1.1 200 OK\nno colon"),
            "a header of the response is malformed: no colon"
        );
        let long = said(&format!("HTTP/1.1 200 OK\n{}", "(".repeat(200)));
        assert!(long.ends_with("((((…") && long.len() < 140, "{long}");
        assert_eq!(said("HTTP/1.1 2x0 OK"), MALFORMED_STATUS);
    }

    #[test]
    fn a_header_may_go_on_in_the_next_line() {
        let head = "HTTP/1.1 200 OK\nx-long: a\n  b\ncontent-length: 5";
        assert_eq!(framing(head, false), Ok(Sized(5)));
    }

    #[test]
    fn only_the_length_of_a_head_is_limited() {
        for count in [USUAL_HEADERS, USUAL_HEADERS + 1, 5_000] {
            let headers: String = (0..count).map(|n| format!("\nx-{n}: {n}")).collect();
            let head = format!("HTTP/1.1 200 OK{headers}\ncontent-length: 5");
            assert_eq!(framing(&head, false), Ok(Sized(5)), "{count}");
        }
    }

    #[test]
    fn the_connection_stays_open_unless_the_head_closes_it() {
        assert!(keep_alive("HTTP/1.1 200 OK"));
        assert!(!keep_alive("HTTP/1.1 200 OK\nConnection: upgrade, Close"));
        assert!(!keep_alive("HTTP/1.1 200 OK\nconnection: close\nconnection: keep-alive"));
        assert!(!keep_alive("HTTP/1.1 101 Switching Protocols"));
        assert!(!keep_alive("HTTP/1.0 200 OK"));
        assert!(keep_alive("HTTP/1.0 200 OK\nConnection: Keep-Alive"));
        assert!(keep_alive("HTTP/1.1 200 OK\nKeep-Alive: timeout=5, max=2"));
        assert!(!keep_alive("HTTP/1.1 200 OK\nKeep-Alive: timeout=5, max=1"));
        assert!(!keep_alive("HTTP/1.1 200 OK\nconnection: keep-alive\nkeep-alive: MAX = 0"));
    }

    #[test]
    fn the_head_may_tell_how_long_an_idle_connection_stays_open() {
        let idle_s = |value: &str| {
            let bytes = format!("HTTP/1.1 200 OK\r\nkeep-alive: {value}\r\n\r\n");
            parse(bytes.as_bytes(), false).unwrap().expect("a whole head").1.idle_s
        };
        assert_eq!(idle_s("timeout=5"), Some(5));
        assert_eq!(idle_s("max=9 , Timeout = 60"), Some(60));
        for value in
            ["", "5", "timeout", "timeout=", "timeout=x", "timeout=-1", "timeout=99999999999"]
        {
            assert_eq!(idle_s(value), None, "{value}");
        }
    }
}
