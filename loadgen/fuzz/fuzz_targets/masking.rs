//! Hides arbitrary secrets in arbitrary texts. No input may cause a panic, take long, or leave the secret in the text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loadgen::scenario::mask_foreign;

fuzz_target!(|data: &[u8]| mask_foreign(data));
