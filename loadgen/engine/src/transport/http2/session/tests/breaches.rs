//! Tests servers that break the protocol.

use super::*;

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
            let mut peer = Peer { session: Session::new(None), all: All::default() };
            peer.begin("GET", b"");
            first.chunks(size).for_each(|part| peer.session.feed(part, &mut peer.all));
            assert!(peer.failed(0).contains(said), "{}", peer.failed(0));
        }
    }
    let mut peer = Peer { session: Session::new(None), all: All::default() };
    peer.begin("GET", b"");
    peer.session.closed(&mut peer.all);
    assert_eq!(peer.failed(0), "the server closed the connection without a word of HTTP/2");
}
