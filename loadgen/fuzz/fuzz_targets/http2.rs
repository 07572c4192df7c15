//! Reads arbitrary bytes as what an HTTP/2 server sends. No input may cause a panic or far longer answers,
//! and responses must be the same in whatever pieces they come.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loadgen::engine::http2_foreign;

fuzz_target!(|data: &[u8]| http2_foreign(data));
