//! Tests the lab with real processes: the real `loadgen`, the real targets and the real backends.
//!
//! These tests create the targets' Python environment if it is missing. They kill only processes
//! that they started, by process id, and look for leftovers through `/proc`.
#![cfg(target_os = "linux")]

mod facade;
mod guard;
mod interrupts;
mod strangers;
mod support;
mod up;
