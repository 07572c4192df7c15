//! Tests the protocol frame by frame.

mod breaches;
mod requests;
mod windows;

use proptest::prelude::*;

use super::fuzzing::{All, Came, begin, http2_foreign};
use super::*;
use crate::transport::http2::frame::{FrameHead, HEAD};

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
        let mut peer = Self { session: Session::new(None), all: All::default() };
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
        self.session.take_output(&mut bytes, &mut self.all);
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
