//! Decompresses arbitrary bytes. No input may cause a panic, or take more memory than the limit.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loadgen::engine::decompress_foreign;

fuzz_target!(|data: &[u8]| decompress_foreign(data));
