//! Reads arbitrary bytes as a response. No input may cause a panic, no more of a body may be
//! counted than came, and a whole response must be the same in whatever pieces it comes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loadgen::engine::read_foreign;

fuzz_target!(|data: &[u8]| read_foreign(data));
