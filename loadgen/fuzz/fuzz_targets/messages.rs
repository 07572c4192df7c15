//! Any bytes as what workers say in a round: nothing panics, and nothing takes far more memory than
//! it has bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loadgen::cluster::{split_foreign, take_foreign};

fuzz_target!(|data: &[u8]| {
    take_foreign(split_foreign(data));
});
