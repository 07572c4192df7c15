//! Any bytes as a response: nothing panics, no more body is counted than bytes came, and a
//! response that is whole is the same in whatever pieces it comes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loadgen::engine::read_foreign;

fuzz_target!(|data: &[u8]| read_foreign(data));
