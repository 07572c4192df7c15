//! Tests the protocol frame by frame.

use proptest::prelude::*;

use super::fuzzing::{All, Came, begin, http2_foreign};
use super::*;
use crate::engine::transport::http2::frame::{FrameHead, HEAD};

/// Folder of the inputs from which the fuzzer starts.
const SEEDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/seeds/http2");

/// `:status: 200`, from HPACK's static table.
const OK: &[u8] = b"\x88";

/// A session, and what has come for its requests.
struct Peer {
    session: Session,
    all: All,
}

impl Peer {
    /// Returns a session whose server has sent these settings.
    fn new(settings: &[(u16, u32)]) -> Self {
        let mut peer = Self { session: Session::new(), all: All::default() };
        let sent = peer.sent();
        assert_eq!(sent.iter().map(|(head, _)| head.kind).collect::<Vec<_>>(), [4, 8]);
        let payload: Vec<_> = settings
            .iter()
            .map(|(key, value)| [&key.to_be_bytes()[..], &value.to_be_bytes()].concat())
            .collect();
        peer.send(kind::SETTINGS, 0, 0, &payload.concat());
        assert_eq!(peer.sent()[0].0.flags, flag::ACK);
        peer
    }

    fn begin(&mut self, method: &str, body: &'static [u8]) -> Token {
        begin(&mut self.session, method, body).unwrap()
    }

    /// Sends a frame to the client.
    fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let mut bytes = Vec::new();
        frame::write(kind, flags, stream, payload, &mut bytes);
        self.session.feed(&bytes, &mut self.all);
    }

    fn headers(&mut self, stream: u32, flags: u8, block: &[u8]) {
        self.send(kind::HEADERS, flag::END_HEADERS | flags, stream, block);
    }

    /// Answers the request on a stream with a body of two bytes.
    fn answer(&mut self, stream: u32) {
        self.headers(stream, 0, OK);
        self.send(kind::DATA, flag::END_STREAM, stream, b"hi");
    }

    /// Takes the frames that the client has sent.
    fn sent(&mut self) -> Vec<(FrameHead, Vec<u8>)> {
        let (mut bytes, mut frames) = (Vec::new(), Vec::new());
        self.session.take_output(&mut bytes);
        let mut rest = bytes.strip_prefix(frame::PREFACE).unwrap_or(&bytes);
        while let Some((head, after)) = rest.split_first_chunk::<HEAD>() {
            let head = FrameHead::read(*head);
            frames.push((head, after[..head.length].to_vec()));
            rest = &after[head.length..];
        }
        frames
    }

    /// Takes the frames of the client, as their types and streams.
    fn kinds(&mut self) -> Vec<(u8, u32)> {
        self.sent().iter().map(|(head, _)| (head.kind, head.stream)).collect()
    }

    fn came(&self, token: Token) -> Came {
        self.all.0.get(token as usize).cloned().unwrap_or_default()
    }

    fn end(&self, token: Token) -> Option<Result<(), String>> {
        self.came(token).end.map(|end| end.map_err(|failure| failure.message.into_owned()))
    }

    /// Returns the message of the failure that ended a request.
    fn failed(&self, token: Token) -> String {
        self.end(token).unwrap().unwrap_err()
    }
}

#[test]
fn a_response_ends_its_request_only() {
    let mut peer = Peer::new(&[]);
    let tokens = [peer.begin("GET", b""), peer.begin("GET", b"")];
    assert_eq!(peer.kinds(), [(kind::HEADERS, 1), (kind::HEADERS, 3)]);
    peer.answer(3);
    assert_eq!((peer.end(tokens[0]), peer.end(tokens[1])), (None, Some(Ok(()))));
    assert_eq!((peer.came(1).status, peer.came(1).body), (Some(200), b"hi".to_vec()));
    peer.answer(1);
    assert_eq!(peer.end(tokens[0]), Some(Ok(())));
    assert!(peer.kinds().is_empty() && peer.session.is_open() && !peer.session.is_over());
}

#[test]
fn a_request_waits_while_the_server_allows_no_further_stream() {
    let mut peer = Peer::new(&[(setting::MAX_CONCURRENT_STREAMS, 1)]);
    for _ in 0..4 {
        peer.begin("GET", b"");
    }
    assert_eq!(peer.kinds(), [(kind::HEADERS, 1)]);
    // One that waits is abandoned: the server never sees it.
    peer.session.abandon(1);
    peer.answer(1);
    assert_eq!(peer.kinds(), [(kind::HEADERS, 3)]);
    peer.session.abandon(2);
    assert_eq!(peer.kinds(), [(kind::RST_STREAM, 3), (kind::HEADERS, 5)]);
    peer.answer(5);
    assert_eq!((peer.end(1), peer.end(2), peer.end(3)), (None, None, Some(Ok(()))));
    let more = [0, 3, 0, 0, 0, 9];
    peer.begin("GET", b"");
    peer.begin("GET", b"");
    assert_eq!(peer.kinds(), [(kind::HEADERS, 7)]);
    peer.send(kind::SETTINGS, 0, 0, &more);
    assert_eq!(peer.kinds(), [(kind::SETTINGS, 0), (kind::HEADERS, 9)]);
    // A lower limit ends nothing, and counts from then on. The table of the headers is gone.
    peer.send(kind::SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0]);
    peer.begin("GET", b"");
    assert_eq!(peer.kinds(), [(kind::SETTINGS, 0)]);
    peer.answer(7);
    assert!(peer.kinds().is_empty());
    peer.answer(9);
    let (head, block) = peer.sent().remove(0);
    assert_eq!((head.kind, head.stream, block[0]), (kind::HEADERS, 11, 0x20));
}

#[test]
fn only_the_server_limits_the_streams() {
    let mut peer = Peer { session: Session::new(), all: All::default() };
    (0..150).for_each(|_| assert!(peer.begin("GET", b"") < 150));
    let headers =
        |peer: &mut Peer| peer.kinds().iter().filter(|(kind, _)| *kind == kind::HEADERS).count();
    assert_eq!(headers(&mut peer), 100);
    peer.send(kind::SETTINGS, 0, 0, &[]);
    assert_eq!(headers(&mut peer), 50);
    (0..1_000).for_each(|_| assert!(peer.begin("GET", b"") >= 150));
    assert_eq!(headers(&mut peer), 1_000);
}

#[test]
fn goaway_ends_what_the_server_has_not_seen() {
    let mut peer = Peer::new(&[(setting::MAX_CONCURRENT_STREAMS, 2)]);
    for _ in 0..3 {
        peer.begin("POST", b"body");
    }
    peer.send(kind::GOAWAY, 0, 0, b"\0\0\0\x01\0\0\0\x0bslow\ndown");
    let said = "the server sent GOAWAY: ENHANCE_YOUR_CALM (slow\\ndown)";
    assert_eq!((peer.end(0), peer.failed(1), peer.failed(2)), (None, said.into(), said.into()));
    assert!(!peer.session.is_open() && !peer.session.is_over());
    assert_eq!(begin(&mut peer.session, "GET", b"").unwrap_err().message, said);
    // The server did not stop at once: what it answers all the same is ignored.
    peer.sent();
    peer.headers(3, flag::END_STREAM, OK);
    assert!(peer.kinds().is_empty());
    peer.answer(1);
    assert_eq!(peer.end(0), Some(Ok(())));
    assert!(peer.session.is_over());
}

#[test]
fn a_body_is_sent_as_the_windows_allow() {
    let mut peer = Peer::new(&[(setting::INITIAL_WINDOW_SIZE, 5)]);
    peer.begin("POST", &[1; 20_000]);
    let lengths = |peer: &mut Peer| -> Vec<(usize, u8)> {
        let sent = peer.sent();
        let data = sent.iter().filter(|(head, _)| head.kind == kind::DATA);
        data.map(|(head, _)| (head.length, head.flags)).collect()
    };
    assert_eq!(lengths(&mut peer), [(5, 0)]);
    peer.send(kind::WINDOW_UPDATE, 0, 1, &3_u32.to_be_bytes());
    assert_eq!(lengths(&mut peer), [(3, 0)]);
    // Of the first window, eight bytes are used: two are left, and three too many after the next change.
    peer.send(kind::SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 7]);
    assert_eq!(lengths(&mut peer), [(2, 0)]);
    peer.send(kind::SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 4]);
    peer.send(kind::WINDOW_UPDATE, 0, 1, &3_u32.to_be_bytes());
    assert_eq!(lengths(&mut peer), []);
    peer.send(kind::SETTINGS, 0, 0, &[0, 4, 0, 1, 0, 0]);
    assert_eq!(lengths(&mut peer), [(16_384, 0), (3_606, flag::END_STREAM)]);
    // The window of the connection had 65,535 bytes.
    peer.begin("POST", &[2; 60_000]);
    assert_eq!(lengths(&mut peer).iter().map(|(length, _)| length).sum::<usize>(), 45_535);
    peer.send(kind::WINDOW_UPDATE, 0, 0, &1_000_000_u32.to_be_bytes());
    assert_eq!(lengths(&mut peer), [(14_465, flag::END_STREAM)]);
}

#[test]
fn an_early_response_ends_the_request_with_its_body() {
    let mut peer = Peer::new(&[(setting::INITIAL_WINDOW_SIZE, 5)]);
    peer.begin("POST", &[1; 20_000]);
    peer.answer(1);
    assert_eq!(peer.end(0), Some(Ok(())));
    let kinds = peer.kinds();
    assert_eq!(kinds.last(), Some(&(kind::RST_STREAM, 1)));
    peer.send(kind::RST_STREAM, 0, 1, &[0; 4]);
    peer.send(kind::WINDOW_UPDATE, 0, 1, &[0, 0, 0, 9]);
    assert!(peer.kinds().is_empty() && peer.session.is_open());
}

#[test]
fn late_frames_of_an_abandoned_request_are_ignored() {
    let mut peer = Peer::new(&[]);
    peer.begin("GET", b"");
    peer.begin("GET", b"");
    peer.session.abandon(0);
    // The header section adds a field to the table, to which the next one refers.
    peer.headers(1, 0, b"\x88\x40\x01x\x011");
    peer.send(kind::DATA, flag::END_STREAM, 1, b"late");
    peer.headers(3, flag::END_STREAM, b"\x88\xbe");
    assert_eq!((peer.came(0), peer.end(1)), (Came::default(), Some(Ok(()))));
    assert_eq!(peer.came(1).fields.first("x"), Some(&b"1"[..]));
    // One that comes after the end of its stream is refused, once.
    peer.sent();
    peer.send(kind::DATA, 0, 1, b"after the end");
    peer.headers(3, 0, OK);
    peer.send(kind::DATA, 0, 3, b"after the end");
    assert_eq!(peer.kinds(), [(kind::RST_STREAM, 1), (kind::RST_STREAM, 3)]);
    assert!(peer.session.is_open());
}

#[test]
fn the_window_of_the_connection_is_opened_again_also_for_abandoned_requests() {
    let mut peer = Peer::new(&[]);
    peer.session.receive_window = ReceiveWindow::new(100_000);
    (0..3).for_each(|token| assert_eq!(peer.begin("GET", b""), token));
    peer.session.abandon(0);
    peer.sent();
    peer.headers(3, 0, OK);
    for _ in 0..100 {
        peer.send(kind::DATA, 0, 1, &[0; 1_000]);
        peer.send(kind::DATA, flag::PADDED, 3, &[&[99][..], &[0; 900], &[0; 99]].concat());
    }
    let sent = peer.sent();
    let opened = sent.iter().filter(|(head, _)| head.stream == 0);
    let opened: u32 = opened.filter_map(|(_, payload)| frame::number(payload)).sum();
    assert!((175_001..=200_000).contains(&opened), "{opened}");
    assert_eq!((peer.came(0), peer.came(1).body.len()), (Came::default(), 90_000));
    // A window that the server was not told of.
    peer.session.receive_window = ReceiveWindow::new(1_000);
    peer.send(kind::DATA, 0, 3, &[0; 1_001]);
    assert!(peer.failed(2).contains("FLOW_CONTROL_ERROR"), "{}", peer.failed(2));
}

#[test]
fn a_second_goaway_says_where_the_server_really_ends() {
    let mut peer = Peer::new(&[]);
    peer.begin("GET", b"");
    peer.begin("GET", b"");
    peer.send(kind::GOAWAY, 0, 0, b"\x7f\xff\xff\xff\0\0\0\0");
    assert_eq!((peer.end(0), peer.end(1), peer.session.is_open()), (None, None, false));
    peer.send(kind::GOAWAY, 0, 0, b"\0\0\0\x01\0\0\0\0");
    assert_eq!(peer.failed(1), "the server sent GOAWAY: NO_ERROR");
    peer.answer(1);
    assert_eq!((peer.end(0), peer.session.is_over()), (Some(Ok(())), true));
}

/// The reason that a server gives is not hidden by the end of the connection that follows.
#[test]
fn the_reason_of_goaway_is_kept() {
    let mut peer = Peer::new(&[]);
    peer.begin("GET", b"");
    peer.send(kind::GOAWAY, 0, 0, b"\0\0\0\x01\0\0\0\x0bcalm");
    let reset = Failure::new(ErrorKind::Reset, "Connection reset by peer");
    peer.session.broken(reset, &mut peer.all);
    assert_eq!(peer.failed(0), "the server sent GOAWAY: ENHANCE_YOUR_CALM (calm)");
}

/// Only so many reset streams are remembered. Of older ones, late frames are ignored without a word.
#[test]
fn late_frames_of_very_many_abandoned_requests_are_ignored() {
    let mut peer = Peer::new(&[]);
    for token in 0..70_000 {
        assert_eq!(peer.begin("GET", b""), token);
        peer.session.abandon(token);
    }
    peer.sent();
    for stream in [1, 9, 139_999] {
        peer.headers(stream, 0, OK);
        peer.send(kind::DATA, flag::END_STREAM, stream, b"late");
    }
    assert!(peer.kinds().is_empty() && peer.session.is_open());
}

/// The wire stops to read before the answers fill the memory.
#[test]
fn answers_are_counted_until_they_are_sent() {
    let mut peer = Peer::new(&[]);
    peer.begin("POST", &[7; 9_000]);
    assert_eq!(peer.session.answers(), 0);
    peer.send(kind::PING, 0, 0, &[1; 8]);
    peer.send(kind::SETTINGS, 0, 0, &[]);
    peer.session.abandon(0);
    assert_eq!(peer.session.answers(), 17 + 9 + 13);
    peer.sent();
    assert_eq!(peer.session.answers(), 0);
}

/// Sends each of these frames to a client with one request in flight. Returns the failure of the request.
fn refused(frames: &[(u8, u8, u32, &[u8])]) -> (String, bool) {
    let mut peer = Peer::new(&[]);
    peer.begin("GET", b"");
    peer.sent();
    for (kind, flags, stream, payload) in frames {
        peer.send(*kind, *flags, *stream, payload);
    }
    let is_over = peer.session.is_over();
    let sent = peer.sent();
    let last = sent.iter().map(|(head, _)| head.kind).next_back();
    assert_eq!(last, Some(if is_over { kind::GOAWAY } else { kind::RST_STREAM }));
    (peer.failed(0), is_over)
}

#[test]
fn what_breaks_the_connection_is_named() {
    let long = vec![0; 16_385];
    let grown = 0x7fff_ffff_u32.to_be_bytes();
    for (frames, said) in [
        (&[(kind::PUSH_PROMISE, 0, 1, &[0; 4][..])][..], "PROTOCOL_ERROR (PUSH_PROMISE"),
        (&[(kind::DATA, 0, 0, b"x")], "PROTOCOL_ERROR (DATA on a stream that"),
        (&[(kind::DATA, 0, 2, b"x")], "PROTOCOL_ERROR (DATA on a stream that"),
        (&[(kind::HEADERS, 4, 3, OK)], "PROTOCOL_ERROR (HEADERS on a stream that"),
        (&[(kind::DATA, 8, 1, b"\x05x")], "PROTOCOL_ERROR (padding"),
        (&[(kind::DATA, 8, 1, b"\x01")], "PROTOCOL_ERROR (padding"),
        (&[(kind::DATA, 8, 1, b"")], "PROTOCOL_ERROR (padding"),
        (&[(kind::HEADERS, 12, 1, b"\x05x")], "PROTOCOL_ERROR (padding"),
        (&[(kind::HEADERS, 0x24, 1, b"\0\0\0")], "FRAME_SIZE_ERROR"),
        (&[(kind::HEADERS, 4, 1, b"\x80")], "COMPRESSION_ERROR"),
        (&[(kind::HEADERS, 0, 1, OK), (kind::PING, 0, 0, &[0; 8])], "inside a header section"),
        (&[(kind::HEADERS, 0, 1, OK), (kind::CONTINUATION, 4, 3, b"")], "CONTINUATION outside"),
        (&[(kind::CONTINUATION, 4, 1, b"")], "CONTINUATION outside"),
        (&[(kind::RST_STREAM, 0, 1, b"")], "FRAME_SIZE_ERROR"),
        (&[(kind::RST_STREAM, 0, 5, &[0; 4])], "RST_STREAM on a stream that"),
        (&[(kind::PING, 0, 0, &[0; 7])], "FRAME_SIZE_ERROR"),
        (&[(kind::PING, 0, 1, &[0; 8])], "PING on a stream"),
        (&[(kind::GOAWAY, 0, 0, &[0; 7])], "FRAME_SIZE_ERROR"),
        (&[(kind::GOAWAY, 0, 1, &[0; 8])], "GOAWAY on a stream"),
        (&[(kind::SETTINGS, 0, 0, &[0; 5])], "FRAME_SIZE_ERROR"),
        (&[(kind::SETTINGS, 1, 0, &[0; 6])], "FRAME_SIZE_ERROR"),
        (&[(kind::SETTINGS, 0, 1, &[])], "SETTINGS on a stream"),
        (&[(kind::SETTINGS, 0, 0, &[0, 2, 0, 0, 0, 1])], "a setting that only clients have"),
        (&[(kind::SETTINGS, 0, 0, &[0, 5, 0, 0, 0, 1])], "a setting out of its range"),
        (&[(kind::SETTINGS, 0, 0, &[0, 4, 0x80, 0, 0, 0])], "FLOW_CONTROL_ERROR"),
        (&[(kind::WINDOW_UPDATE, 0, 0, &[0; 4])], "WINDOW_UPDATE by 0"),
        (&[(kind::WINDOW_UPDATE, 0, 0, &grown)], "FLOW_CONTROL_ERROR"),
        (&[(kind::WINDOW_UPDATE, 0, 0, &[0; 3])], "FRAME_SIZE_ERROR"),
        (&[(kind::WINDOW_UPDATE, 0, 7, &[0, 0, 0, 1])], "WINDOW_UPDATE on a stream that"),
        (&[(kind::PRIORITY, 0, 0, &[0; 5])], "PRIORITY without a stream"),
        (&[(0x77, 0, 0, &long)], "FRAME_SIZE_ERROR (a frame of more than 16,384 bytes)"),
    ] {
        let (message, is_over) = refused(frames);
        assert!(message.starts_with("the server breaks HTTP/2: "), "{message}");
        assert!(message.contains(said), "{message}, not {said}");
        assert!(is_over, "{message}");
    }
}

#[test]
fn what_breaks_a_stream_leaves_the_connection_alone() {
    let grown = 0x7fff_ffff_u32.to_be_bytes();
    for (frames, said) in [
        (&[(kind::DATA, 0, 1, &b"x"[..])][..], "a body without a head"),
        (&[(kind::DATA, 1, 1, b"")], "a body without a head"),
        (&[(kind::HEADERS, 5, 1, b"")], "does not begin with its status"),
        (&[(kind::HEADERS, 5, 1, b"\x08\x03103")], "ends without a response"),
        (&[(kind::HEADERS, 4, 1, OK), (kind::HEADERS, 4, 1, b"")], "a second header section"),
        (&[(kind::HEADERS, 4, 1, OK), (kind::HEADERS, 5, 1, OK)], "a pseudo-header field"),
        (&[(kind::HEADERS, 4, 1, b"\x88\x5c\x015"), (kind::DATA, 1, 1, b"shor")], "is shorter"),
        (&[(kind::HEADERS, 4, 1, b"\x88\x5c\x013"), (kind::DATA, 0, 1, b"long")], "is longer"),
        (&[(kind::HEADERS, 4, 1, b"\x89"), (kind::DATA, 1, 1, b"null")], "the status has none"),
        (&[(kind::HEADERS, 4, 1, b"\x8b"), (kind::DATA, 0, 1, b"x")], "the status has none"),
        (&[(kind::WINDOW_UPDATE, 0, 1, &[0; 4])], "PROTOCOL_ERROR (WINDOW_UPDATE by 0"),
        (&[(kind::WINDOW_UPDATE, 0, 1, &grown)], "FLOW_CONTROL_ERROR (a window"),
    ] {
        let (message, is_over) = refused(frames);
        assert!(message.starts_with("the server breaks HTTP/2: "), "{message}");
        assert!(message.contains(said), "{message}, not {said}");
        assert!(!is_over, "{message}");
    }
}

#[test]
fn only_settings_may_come_first() {
    for (first, said) in [
        (&b"HTTP/1.1 400 Bad Request\r\n"[..], "the server answers in HTTP/1.1"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "the first frame has no settings"),
        (b"\0\0\x08\x06\0\0\0\0\0\0\0\0\0\0\0\0\0", "the first frame has no settings"),
        (b"\0\0\0\x04\x01\0\0\0\0", "the first frame has no settings"),
    ] {
        for size in [1, first.len()] {
            let mut peer = Peer { session: Session::new(), all: All::default() };
            peer.begin("GET", b"");
            first.chunks(size).for_each(|part| peer.session.feed(part, &mut peer.all));
            assert!(peer.failed(0).contains(said), "{}", peer.failed(0));
        }
    }
    let mut peer = Peer { session: Session::new(), all: All::default() };
    peer.begin("GET", b"");
    peer.session.closed(&mut peer.all);
    assert_eq!(peer.failed(0), "the server closed the connection without a word of HTTP/2");
}

#[test]
fn a_response_without_a_body_may_announce_one() {
    let mut peer = Peer::new(&[]);
    peer.begin("HEAD", b"");
    peer.headers(1, flag::END_STREAM, b"\x88\x5c\x015");
    peer.begin("GET", b"");
    peer.headers(3, flag::END_STREAM, b"\x8b\x5c\x015");
    assert_eq!((peer.end(0), peer.end(1)), (Some(Ok(())), Some(Ok(()))));
    peer.begin("HEAD", b"");
    peer.headers(5, 0, b"\x88\x5c\x015");
    peer.send(kind::DATA, flag::END_STREAM, 5, b"hello");
    assert!(peer.failed(2).contains("a body, though the method"), "{}", peer.failed(2));
}

/// Padding counts against the windows, and is not part of the body.
#[test]
fn windows_are_opened_again_also_for_padding() {
    let mut peer = Peer::new(&[]);
    peer.begin("GET", b"");
    peer.headers(1, 0, OK);
    peer.sent();
    let frame = [&[255][..], &[b'x'; 1_000], &[0; 255]].concat();
    for _ in 0..40_000 {
        peer.send(kind::DATA, flag::PADDED, 1, &frame);
    }
    peer.send(kind::DATA, flag::END_STREAM, 1, b"");
    assert_eq!((peer.end(0), peer.came(0).body.len()), (Some(Ok(())), 40_000_000));
    let opened: u32 = peer.sent().iter().filter_map(|(_, payload)| frame::number(payload)).sum();
    let came = 40_000 * 1_256;
    assert!((came - STREAM_WINDOW / 4..=came).contains(&opened), "{opened} of {came}");
}

#[test]
fn a_server_that_sends_more_than_a_window_allows_is_refused() {
    struct Slow;
    impl Sink for Slow {
        const READS: bool = false;
        fn take(&mut self, _: Token, _: Piece<'_>) {}
    }
    let mut peer = Peer::new(&[]);
    peer.begin("GET", b"");
    peer.headers(1, 0, OK);
    let mut bytes = Vec::new();
    frame::write(kind::DATA, 0, 1, &[0; 16_384], &mut bytes);
    for _ in 0..STREAM_WINDOW / 16_384 {
        peer.session.feed(&bytes, &mut Slow);
    }
    assert!(peer.session.is_open());
    peer.session.release(0, 4 << 20);
    assert_eq!(peer.kinds().last(), Some(&(kind::WINDOW_UPDATE, 1)));
    for _ in 0..(4 << 20) / 16_384 {
        peer.session.feed(&bytes, &mut Slow);
    }
    assert!(peer.session.is_open());
    peer.session.feed(&bytes, &mut Slow);
    assert!(peer.session.is_over());
}

#[test]
fn every_seed_of_the_fuzzer_is_read() {
    let seeds = std::fs::read_dir(SEEDS).unwrap();
    let seeds: Vec<_> = seeds.map(|seed| std::fs::read(seed.unwrap().path()).unwrap()).collect();
    assert!(seeds.len() >= 8, "{}", seeds.len());
    seeds.iter().for_each(|seed| http2_foreign(seed));
}

/// Frames, most of them valid for a client with three requests in flight.
fn frames() -> impl Strategy<Value = Vec<u8>> {
    let block = prop_oneof![
        Just(b"\x88".to_vec()),
        Just(b"\x88\x40\x01x\x01y\xbe".to_vec()),
        Just(b"\x88\x5c\x013".to_vec()),
        Just(b"\x40\x01t\x01z".to_vec()),
        proptest::collection::vec(any::<u8>(), 0..20),
    ];
    let headers = (prop_oneof![Just(4_u8), Just(5), Just(0), Just(12)], 0..6_u32, block)
        .prop_map(|(flags, stream, block)| (kind::HEADERS, flags, stream, block));
    let data =
        (prop_oneof![Just(0_u8), Just(1), Just(8)], 0..6_u32).prop_flat_map(|(flags, stream)| {
            let payload = proptest::collection::vec(0..4_u8, 0..30);
            payload.prop_map(move |payload| (kind::DATA, flags, stream, payload))
        });
    let small = prop_oneof![Just(0_usize), Just(4), Just(5), Just(6), Just(8), Just(12)];
    let other =
        (2..12_u8, 0..3_u8, 0..6_u32, small).prop_flat_map(|(kind, flags, stream, size)| {
            let payload = proptest::collection::vec(0..9_u8, size);
            payload
                .prop_map(move |payload| (kind, flags, if kind < 4 { stream } else { 0 }, payload))
        });
    let frame = prop_oneof![3 => headers, 3 => data, 2 => other];
    proptest::collection::vec(frame, 0..12).prop_map(|frames| {
        let mut bytes = Vec::new();
        for (kind, flags, stream, payload) in frames {
            frame::write(kind, flags, stream, &payload, &mut bytes);
        }
        bytes
    })
}

proptest! {
    #[test]
    fn frames_mean_the_same_in_pieces_of_any_size(
        says in (any::<u8>(), any::<u8>(), any::<u8>()),
        frames in frames(),
        cut in any::<proptest::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let end = if is_cut { cut.index(frames.len() + 1) } else { frames.len() };
        http2_foreign(&[&[says.0, says.1, says.2][..], &frames[..end]].concat());
    }

    #[test]
    fn arbitrary_bytes_are_read_or_refused(data in any::<Vec<u8>>()) {
        http2_foreign(&data);
    }
}
