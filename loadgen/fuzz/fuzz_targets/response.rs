//! Any bytes as a response: nothing panics, no more body is counted than bytes came, and a
//! response that is whole is the same in whatever pieces it comes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loadgen::engine::{Keep, read_pieces};

/// The first bytes say how the rest is read and split, so that the fuzzer can vary that as well.
const SAYS: usize = 4;

fuzz_target!(|data: &[u8]| {
    let Some((says, response)) = data.split_at_checked(SAYS) else { return };
    let (closes, no_body) = (says[0] & 1 != 0, says[0] & 2 != 0);
    let keep = [Keep::Nothing, Keep::Beginning, Keep::All][usize::from(says[0] >> 2) % 3];
    let whole = read_pieces([response], closes, no_body, keep);

    let (first, rest) = response.split_at(usize::from(says[1]).min(response.len()));
    let pieces = [first].into_iter().chain(rest.chunks(1 + usize::from(says[2])));
    let split = read_pieces(pieces, closes, no_body, keep);
    let bytewise = read_pieces(response.chunks(1), closes, no_body, keep);

    for other in [&split, &bytewise] {
        match (&whole, other) {
            (Ok(whole), Ok(other)) => assert_eq!(whole, other),
            // A line without an end may be found malformed sooner or later.
            (Err(_), Err(_)) => {}
            (Ok(came), Err(_)) | (Err(_), Ok(came)) => assert!(!came.whole, "{came:?}"),
        }
    }
    if let Ok(came) = whole {
        assert!(came.bytes <= response.len() as u64);
        assert!(came.body.len() as u64 <= came.bytes);
        assert!(keep != Keep::All || came.body.len() as u64 == came.bytes);
    }
});
