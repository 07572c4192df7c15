//! Parts that the servers of loadgen share: the address at which each serves, a listener with a bounded number of
//! connections, and a thread beside the load.

mod address;
mod bounded;

use std::io;
use std::net::TcpListener;
use std::thread::{self, JoinHandle};

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

/// Starts a thread that serves beside the load, on Linux at the lowest priority.
///
/// # Errors
/// If the system refuses a thread.
pub(super) fn in_background<T: Send + 'static>(
    name: &str,
    serve: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let serve = move || {
        // On Linux this is the priority of the thread alone.
        #[cfg(target_os = "linux")]
        let _ = rustix::process::nice(19);
        serve()
    };
    thread::Builder::new().name(name.to_owned()).spawn(serve)
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
