//! Well-behaved and ill-behaved servers against both transports: they give the same outcomes.
//!
//! `server.rs` is the server, `case.rs` runs a case against both transports; the other files are
//! the cases.

mod bodies;
mod captures;
mod case;
mod connections;
mod faults;
mod framing;
mod requests;
mod server;
