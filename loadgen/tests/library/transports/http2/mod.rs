//! Tests the transport `http2` against servers that send single frames, most of them wrong, and
//! against a server that speaks HTTP/1.1, too, to compare transports.
//!
//! `peer.rs` is the server of frames, `echo.rs` a gRPC server. The other files hold the cases.

mod calls;
mod connections;
mod echo;
mod equality;
mod faults;
mod floods;
mod headers;
pub(crate) mod peer;
pub(crate) mod run;
mod sharing;
mod streams;
mod tls;
