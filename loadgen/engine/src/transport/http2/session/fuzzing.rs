//! Reads arbitrary bytes as what a server sends, without a socket, for tests and fuzzers.

use bytes::Bytes;

use super::{Piece, Session, Sink, Token};
use crate::transport::Failure;
use crate::transport::fields::Fields;
use crate::transport::http2::frame::{self, kind, setting};
use crate::transport::http2::hpack::Head;

/// A response, as far as it has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Came {
    pub(super) status: Option<u16>,
    pub(super) fields: Fields,
    pub(super) body: Vec<u8>,
    pub(super) trailers: Fields,
    pub(super) end: Option<Result<(), Failure>>,
}

/// Collects the responses, in the order of their requests.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct All(pub(super) Vec<Came>);

impl Sink for All {
    const READS: bool = true;

    /// # Panics
    /// Panics if something comes in the wrong order, or after the end.
    fn take(&mut self, token: Token, piece: Piece<'_>) {
        let all = &mut self.0;
        if all.len() <= token as usize {
            all.resize(token as usize + 1, Came::default());
        }
        let came = &mut all[token as usize];
        assert_eq!(came.end, None, "{piece:?} after the end");
        match piece {
            Piece::Head(status, fields) => {
                assert_eq!(came.status.replace(status), None);
                assert!(status >= 200);
                came.fields = fields.clone();
            }
            Piece::Data(bytes) => {
                assert!(came.status.is_some() && !bytes.is_empty());
                came.body.extend_from_slice(bytes);
            }
            Piece::Trailers(fields) => {
                assert!(came.status.is_some());
                came.trailers = fields.clone();
            }
            Piece::End(how) => {
                assert!(came.status.is_some() || how.is_err());
                came.end = Some(how);
            }
        }
    }
}

/// Like [`All`], but the bytes of bodies are read later.
struct Later {
    all: All,
    /// Number of bytes that came and are not read, with the request for which they came.
    unread: Vec<(Token, usize)>,
}

impl Sink for Later {
    const READS: bool = false;

    fn take(&mut self, token: Token, piece: Piece<'_>) {
        if let Piece::Data(bytes) = &piece {
            self.unread.push((token, bytes.len()));
        }
        self.all.take(token, piece);
    }
}

/// Returns the fields of a request.
pub(super) fn request(method: &str) -> Fields {
    let mut fields = Fields::default();
    for (name, value) in [(":method", method), (":scheme", "http"), (":path", "/")] {
        fields.push(name.as_bytes(), value.as_bytes());
    }
    fields
}

/// Begins a request with this method and body.
pub(super) fn begin(
    session: &mut Session,
    method: &str,
    body: &'static [u8],
) -> Result<Token, Failure> {
    let fields = request(method);
    let added = Fields::default();
    let head = Head { fields: &fields, constant: 3, step: None, added: &added };
    session.begin(head, Bytes::from_static(body).into())
}

/// Reads a fuzzer's input as what a server sends to a client with some requests in flight. The first three
/// bytes say how the rest is read and split.
///
/// # Panics
/// Panics if what comes of it depends on the pieces in which the bytes come, if more body bytes are
/// counted than came, or if the client answers with far more bytes than it has read.
pub fn http2_foreign(data: &[u8]) {
    let Some(([says, first, size], frames)) = data.split_first_chunk() else { return };
    let read = |pieces: &mut dyn Iterator<Item = &[u8]>| {
        let mut session = Session::new(None);
        let mut sink = Later { all: All::default(), unread: Vec::new() };
        session.take_output(&mut Vec::new(), &mut sink);
        if says & 8 != 0 {
            // Perhaps with a limit of one stream, so that the other requests wait.
            let limit = [0, setting::MAX_CONCURRENT_STREAMS as u8, 0, 0, 0, 1];
            let mut settings = Vec::new();
            let payload = if *size & 1 == 0 { &[][..] } else { &limit };
            frame::write(kind::SETTINGS, 0, 0, payload, &mut settings);
            session.feed(&settings, &mut sink);
        }
        for request in 0..says % 4 {
            let method = if request == 2 { "HEAD" } else { "POST" };
            // The session is open.
            let token = begin(&mut session, method, if request == 1 { &[7; 70_000] } else { b"" });
            assert_eq!(token, Ok(request.into()));
        }
        let abandoned = (says & 4 != 0).then_some(Token::from(says >> 5 & 3));
        abandoned.iter().for_each(|token| session.abandon(*token));
        let before = session.out.len();
        for piece in pieces {
            if says & 128 != 0 {
                session.feed(piece, &mut sink.all);
                continue;
            }
            session.feed(piece, &mut sink);
            sink.unread.drain(..).for_each(|(token, length)| session.release(token, length));
        }
        let answers = session.out.len() - before;
        assert!(answers <= 100 + 4 * frames.len(), "{answers} bytes");
        let mut sent = Vec::new();
        session.take_output(&mut sent, &mut sink.all);
        if says & 16 != 0 {
            session.closed(&mut sink.all);
        }
        let Later { all: All(mut came), .. } = sink;
        came.resize((says % 4).into(), Came::default());
        for (token, came) in (0..).zip(&came) {
            if abandoned == Some(token) {
                assert_eq!(*came, Came::default());
            } else if session.is_over() {
                assert!(came.end.is_some(), "a request without an end");
            }
        }
        (came, sent, [session.is_open(), session.is_over()])
    };
    let whole = read(&mut [frames].into_iter());
    let bodies: usize = whole.0.iter().map(|came| came.body.len()).sum();
    assert!(bodies <= frames.len());
    let (first, rest) = frames.split_at(usize::from(*first).min(frames.len()));
    let split = read(&mut [first].into_iter().chain(rest.chunks(1 + usize::from(*size))));
    let bytewise = read(&mut frames.chunks(1));
    assert!(whole == split && whole == bytewise, "{:?}\n{:?}\n{:?}", whole.0, split.0, bytewise.0);
}
