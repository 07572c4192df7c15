//! Tests both transports, also with TLS, against well-behaved and
//! ill-behaved servers: the outcomes must be the same.
//!
//! `server.rs` is the server, and `case.rs` runs a case
//! over both transports. The other files hold the cases.

mod bodies;
mod captures;
mod case;
mod connections;
mod faults;
mod first_byte;
mod framing;
mod go_ahead;
pub(crate) mod http2;
mod journeys;
mod lifetimes;
mod proxies;
mod requests;
mod resend;
mod server;
mod sockets;
mod streams;
mod tls;
mod tracing;
mod uploads;
mod websocket;
