//! What the servers of loadgen share: the address at which each serves, and a listener with a bounded number of
//! connections.

mod address;
mod bounded;

pub use address::ServeAddress;
pub(super) use bounded::Bounded;
