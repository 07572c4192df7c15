//! Tests scenario files: valid files, every way to write a wrong file, and arbitrary text.
#![allow(clippy::unwrap_used, reason = "a failed helper is a failed test")]

mod bodies;
mod calls;
mod faults;
mod files;
mod flows;
mod properties;
mod tls;
