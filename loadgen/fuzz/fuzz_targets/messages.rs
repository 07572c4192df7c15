//! Any bytes as what workers say in a round: nothing panics, and nothing takes far more memory than
//! it has bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loadgen::cluster::take_foreign;

fuzz_target!(|data: &[u8]| {
    // The first byte says how many messages the rest is.
    let Some((count, data)) = data.split_first() else { return };
    let length = data.len() / (1 + usize::from(*count % 8)) + 1;
    take_foreign(data.chunks(length));
});
