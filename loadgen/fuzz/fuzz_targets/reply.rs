//! Reads arbitrary bytes as the response to a gRPC call. No input may cause a panic, or take more memory
//! than the limit, and the beginning of a body must suffice to tell whether it is one message.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loadgen::engine::reply_foreign;

fuzz_target!(|data: &[u8]| reply_foreign(data));
