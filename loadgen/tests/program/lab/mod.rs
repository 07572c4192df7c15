//! The lab with real processes: the real `loadgen`, the real targets and the real backends.
//!
//! These tests make the targets' Python environment where it is missing. They kill only what they
//! started, by its number, and look for leftovers through `/proc`.
#![cfg(target_os = "linux")]

mod facade;
mod guard;
mod interrupts;
mod strangers;
mod support;
mod up;
