//! What the servers of loadgen share: the address at which each serves, and a listener with a bounded number of
//! connections.

mod address;
mod bounded;

use std::io;
use std::net::TcpListener;

pub use address::ServeAddress;
pub(super) use bounded::{Bounded, Time};

/// An address at which something is served.
pub(super) struct Bound {
    /// Listener that does not block.
    pub listener: TcpListener,
    /// Address for others, with the port that was chosen.
    pub shown: ServeAddress,
    /// Name of this host.
    pub own_name: String,
}

impl ServeAddress {
    /// Begins to listen at this address.
    ///
    /// # Errors
    /// If the address cannot be used.
    pub(super) fn bind(&self) -> io::Result<Bound> {
        let listener = TcpListener::bind((self.host.as_str(), self.port))?;
        listener.set_nonblocking(true)?;
        let bound = listener.local_addr()?;
        let own_name = rustix::system::uname().nodename().to_string_lossy().into_owned();
        // All interfaces have no name that others know: this host's own name is one.
        let host = if bound.ip().is_unspecified() { own_name.clone() } else { self.host.clone() };
        Ok(Bound { listener, shown: Self { host, port: bound.port() }, own_name })
    }
}
