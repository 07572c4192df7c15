//! Tests flow control.

use super::*;

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
