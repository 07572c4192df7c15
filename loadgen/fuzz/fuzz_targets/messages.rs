//! Reads arbitrary bytes as the messages of a round's workers. No input may cause a panic, or take
//! far more memory than the input has bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loadgen::cluster::{split_foreign, take_foreign};

fuzz_target!(|data: &[u8]| {
    take_foreign(split_foreign(data));
});
