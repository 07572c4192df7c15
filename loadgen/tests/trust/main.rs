//! Whether figures can be trusted: what is measured is held against what is known. `make trust` runs
//! it, on a machine that does nothing else; on a busy one its bounds say nothing.
#![allow(clippy::unwrap_used, reason = "a failed helper is a failed test")]
#![allow(clippy::print_stdout, reason = "figures are what it is run for")]

#[path = "../common/mod.rs"]
mod common;

mod equals;
mod handicap;
mod percentiles;
mod pools;
