//! Sends arbitrary names and values in a query, a form and a multipart form. Parsers of other authors
//! must read back the same names and values.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loadgen::scenario::encode_foreign;

fuzz_target!(|data: &[u8]| encode_foreign(data));
