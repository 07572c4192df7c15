//! Follows a redirect to arbitrary bytes, with arbitrary cookies. No input may cause a panic, nor add a field to the next
//! request.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loadgen::engine::journey_foreign;

fuzz_target!(|data: &[u8]| journey_foreign(data));
