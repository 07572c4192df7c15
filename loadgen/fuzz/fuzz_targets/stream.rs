//! Reads arbitrary bytes as a stream of events. No input may cause a panic, and the events must be the
//! same in pieces of any size.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loadgen::engine::stream_foreign;

fuzz_target!(|data: &[u8]| stream_foreign(data));
