//! Workers in real processes, a server that counts, and the promises of the cluster between them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a failing test panics, and the figures are printed"
)]

mod ends;
mod figures;
mod joining;
mod loss;
mod rounds;
mod support;
