//! Tests how requests begin, wait and end.

use super::*;

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
    let mut peer = Peer { session: Session::new(None), all: All::default() };
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
