//! Scenario files: those that are right, every way to get one wrong, and any text at all.
#![allow(clippy::unwrap_used, reason = "a failed helper is a failed test")]

mod faults;
mod files;
mod properties;
