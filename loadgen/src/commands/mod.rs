//! One file for each subcommand.

pub mod guard;
pub mod lab;
