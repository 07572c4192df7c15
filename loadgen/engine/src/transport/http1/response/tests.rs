use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::fuzzing::{Response, read_foreign, read_pieces};
use super::*;
use crate::transport::answer::{BEGINNING, LONGEST_KEPT, SAMPLE};

/// A valid response as sent, and the expected result.
#[derive(Debug, Clone)]
struct Sent {
    bytes: Vec<u8>,
    body: Vec<u8>,
    status: u16,
    keep_alive: bool,
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        vec(any::<u8>(), 0..40),
        // Looks like the bytes around a body.
        "(\r|\n|0|5;|HTTP/1.1 200 OK|:){0,20}".prop_map(String::into_bytes),
        vec(any::<u8>(), 0..3 * BEGINNING),
    ]
}

/// Returns the last header of a chunked response, and `body` in chunks that are cut at `cuts`.
fn chunked(body: &[u8], cuts: &[Index], extension: &str, trailers: &str) -> Vec<u8> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(body.len() + 1)).collect();
    cuts.extend([0, body.len()]);
    cuts.sort_unstable();
    cuts.dedup();
    let mut bytes = b"Transfer-Encoding: chunked\r\n\r\n".to_vec();
    for ends in cuts.windows(2) {
        bytes.extend(format!("{:x}{extension}\r\n", ends[1] - ends[0]).bytes());
        bytes.extend(&body[ends[0]..ends[1]]);
        bytes.extend(b"\r\n");
    }
    bytes.extend(format!("0{extension}\r\n{trailers}\r\n").bytes());
    bytes
}

prop_compose! {
    fn response()(
        body in body(),
        cuts in vec(any::<Index>(), 0..5),
        extension in "(;[a-z]{0,9}(=[a-z]{1,9})?)?",
        trailers in "(x-[a-z]{1,9}: [!-~]{1,9}\r\n){0,3}",
        framing in 0..3,
        status in prop_oneof![200u16..204, 205u16..304, 400u16..600],
        before in "(HTTP/1\\.1 10[023] X\r\n(a: b\r\n)?\r\n){0,2}",
        closes: bool,
    ) -> Sent {
        let connection = if closes { "connection: close\r\n" } else { "" };
        let mut bytes = format!("{before}HTTP/1.1 {status} X\r\n{connection}").into_bytes();
        match framing {
            0 => bytes.extend(chunked(&body, &cuts, &extension, &trailers)),
            1 => {
                bytes.extend(format!("Content-Length: {}\r\n\r\n", body.len()).bytes());
                bytes.extend(&body);
            }
            _ => {
                bytes.extend(b"\r\n");
                bytes.extend(&body);
            }
        }
        Sent { bytes, body, status, keep_alive: !closes && framing < 2 }
    }
}

/// Cuts `bytes` into pieces at `cuts`.
fn split<'a>(bytes: &'a [u8], cuts: &[Index]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    cuts.extend([0, bytes.len()]);
    cuts.sort_unstable();
    cuts.windows(2).map(|ends| &bytes[ends[0]..ends[1]]).collect()
}

fn keep() -> impl Strategy<Value = Keep> {
    prop_oneof![Just(Keep::Nothing), Just(Keep::Beginning), Just(Keep::Sample), Just(Keep::All)]
}

/// Returns the expected result of reading `sent`.
fn expected(sent: &Sent, keep: Keep) -> Response {
    let kept = match keep {
        Keep::Nothing => 0,
        Keep::Beginning => sent.body.len().min(BEGINNING),
        Keep::Sample => sent.body.len().min(SAMPLE),
        Keep::All => sent.body.len(),
    };
    Response {
        whole: true,
        status: sent.status,
        bytes: sent.body.len() as u64,
        body: sent.body[..kept].to_vec(),
        keep_alive: sent.keep_alive,
    }
}

proptest! {
    #[test]
    fn a_response_is_read_alike_in_any_pieces(
        sent in response(), cuts in vec(any::<Index>(), 0..8), keep in keep(),
    ) {
        let whole = expected(&sent, keep);
        prop_assert_eq!(read_pieces([&sent.bytes[..]], true, false, keep), Ok(whole.clone()));
        let pieces = split(&sent.bytes, &cuts);
        prop_assert_eq!(read_pieces(pieces, true, false, keep), Ok(whole.clone()));
        prop_assert_eq!(read_pieces(sent.bytes.chunks(1), true, false, keep), Ok(whole));
    }

    #[test]
    fn bytes_after_a_response_are_not_part_of_it(
        sent in response(), after in vec(any::<u8>(), 1..40), cuts in vec(any::<Index>(), 0..8),
    ) {
        prop_assume!(sent.keep_alive);
        let bytes = [&sent.bytes[..], &after].concat();
        let came = read_pieces(split(&bytes, &cuts), false, false, Keep::All);
        let expected = Response { keep_alive: false, ..expected(&sent, Keep::All) };
        prop_assert_eq!(came, Ok(expected));
    }

    #[test]
    fn a_truncated_response_is_never_complete(
        sent in response(), cut in any::<Index>(), keep in keep(),
    ) {
        prop_assume!(sent.keep_alive);
        let part = &sent.bytes[..cut.index(sent.bytes.len())];
        let came = read_pieces([part], false, false, keep).unwrap();
        prop_assert!(!came.whole && came.bytes <= sent.body.len() as u64);
        prop_assert_eq!(read_pieces([part], true, false, keep).unwrap_err().kind, ErrorKind::Reset);
    }

    #[test]
    fn a_mutated_response_is_read_alike_in_any_pieces(
        sent in response(),
        changes in vec((any::<Index>(), prop_oneof![any::<u8>(), Just(b'\r'), Just(b'\n')]), 0..4),
        cuts in vec(any::<Index>(), 0..8),
        closes: bool,
        no_body: bool,
        keep in keep(),
    ) {
        let mut bytes = sent.bytes;
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let whole = read_pieces([&bytes[..]], closes, no_body, keep);
        let split = read_pieces(split(&bytes, &cuts), closes, no_body, keep);
        match (&whole, &split) {
            (Ok(whole), Ok(split)) => prop_assert_eq!(whole, split),
            // The pieces decide how soon a line without an end is found to be malformed.
            (Err(_), Err(_)) => {}
            (Ok(came), Err(_)) | (Err(_), Ok(came)) => prop_assert!(!came.whole),
        }
        if let Ok(came) = whole {
            prop_assert!(came.bytes <= bytes.len() as u64);
            prop_assert!(came.body.len() as u64 <= came.bytes);
        }
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(
        bytes in vec(any::<u8>(), 0..300), size in 1usize..20, closes: bool, keep in keep(),
    ) {
        if let Ok(came) = read_pieces(bytes.chunks(size), closes, false, keep) {
            prop_assert!(came.bytes <= bytes.len() as u64);
        }
    }
}

#[test]
fn a_head_has_the_length_limit_of_hyper_however_it_is_split() {
    for (length, ends_well) in [(LONGEST_HEAD, true), (LONGEST_HEAD + 1, false)] {
        let (begin, end) = ("HTTP/1.1 204 X\r\nx: ", "\r\n\r\n");
        let head = format!("{begin}{}{end}", "x".repeat(length - begin.len() - end.len()));
        for size in [1_000, 64 << 10, 1 << 20] {
            let came = read_pieces(head.as_bytes().chunks(size), false, false, Keep::Nothing);
            assert_eq!(came.is_ok_and(|came| came.whole), ends_well, "{length}, {size}");
        }
    }
}

#[test]
fn lines_and_trailers_of_chunks_have_a_limit_however_they_are_split() {
    let head = "HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n";
    for (begin, end) in [("5;", "\r\nhello\r\n0\r\n\r\n"), ("0\r\nx: ", "\r\n\r\n")] {
        for (length, ends_well) in [(LONGEST_LINE - 9, true), (LONGEST_LINE + 1, false)] {
            let text = format!("{head}{begin}{}{end}", "x".repeat(length));
            for size in [1_000, 64 << 10] {
                let came = read_pieces(text.as_bytes().chunks(size), false, false, Keep::Nothing);
                assert_eq!(came.is_ok_and(|came| came.whole), ends_well, "{length}, {size}");
            }
        }
    }
}

#[test]
fn only_kept_bodies_have_a_length_limit() {
    let text = |length: usize| {
        let head = format!("HTTP/1.1 200 X\r\ncontent-length: {length}\r\n\r\n");
        [head.into_bytes(), vec![b'x'; length]].concat()
    };
    let read = |bytes: &[u8], keep| read_pieces(bytes.chunks(64 << 10), false, false, keep);
    assert_eq!(read(&text(LONGEST_KEPT), Keep::All).unwrap().body.len(), LONGEST_KEPT);
    let longer = text(LONGEST_KEPT + 1);
    assert_eq!(read(&longer, Keep::All).unwrap_err().kind, ErrorKind::Expectation);
    let counted = read(&longer, Keep::Nothing).unwrap();
    assert_eq!((counted.bytes, counted.body.len()), (LONGEST_KEPT as u64 + 1, 0));
}

#[test]
fn a_reader_can_begin_again() {
    let mut reader = Reader::default();
    for (answer, whole) in [
        (&b"HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n4"[..], false),
        (b"HTTP/1.1 200 X\r\ncontent-length: 3\r\n\r\nde", false),
        (b"HTTP/1.1 201 X\r\ncontent-length: 2\r\n\r\nfg", true),
    ] {
        reader.begin(false);
        assert_eq!((reader.bytes(), reader.kept()), (0, &[][..]));
        let progress = reader.feed(answer, |_| Keep::All).unwrap();
        assert_eq!(matches!(progress, Progress::Whole { .. }), whole);
    }
    assert_eq!((reader.status(), reader.bytes()), (201, 2));
}

/// Folder of the inputs from which the fuzzer starts.
const SEEDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/seeds/response");

#[test]
fn every_seed_of_the_fuzzer_is_read_alike_in_any_pieces() {
    for seed in std::fs::read_dir(SEEDS).unwrap() {
        read_foreign(&std::fs::read(seed.unwrap().path()).unwrap());
    }
}

#[test]
fn seeds_of_complete_responses_are_read_to_their_ends() {
    for (name, bytes) in
        [("content-length", 13), ("chunked", 11), ("until-the-end", 11), ("head", 0)]
    {
        let seed = std::fs::read(format!("{SEEDS}/{name}")).unwrap();
        let (closes, no_body) = (name == "until-the-end", name == "head");
        let came = read_pieces([&seed[4..]], closes, no_body, Keep::Nothing).unwrap();
        assert!(came.whole && came.bytes == bytes, "{name}: {came:?}");
    }
}
