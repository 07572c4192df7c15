//! Listens for the manager at all addresses of a name.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use rustix::io::Errno;
use tokio::net::{TcpListener, TcpSocket, TcpStream, lookup_host};

/// Maximum number of connections that wait to be accepted at each address. With a lower limit, a
/// burst of strangers would make the system drop workers' connections, which retry after a second.
const BACKLOG: u32 = 4_096;

/// Listening sockets at several addresses.
pub(crate) struct Listeners {
    all: Vec<TcpListener>,
    /// Counter that selects the listener to poll first, so that many connections to one address
    /// don't block connections to another address.
    first: AtomicUsize,
}

/// Listens at `HOST:PORT`: at all addresses of `HOST` that this host has.
///
/// # Errors
/// Returns the system's error. If this host has none of the addresses,
/// returns the error of the last address.
pub(crate) async fn listen(address: &str) -> io::Result<Listeners> {
    let mut addresses: Vec<SocketAddr> = lookup_host(address).await?.collect();
    addresses.sort();
    addresses.dedup();
    listen_at(&addresses)
}

fn listen_at(addresses: &[SocketAddr]) -> io::Result<Listeners> {
    let mut all = Vec::new();
    let mut absent = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses {
        match listen_at_one(*address) {
            Ok(listener) => all.push(listener),
            Err(error) if is_not_here(&error) => absent = error,
            Err(error) if addresses.len() == 1 => return Err(error),
            Err(error) => return Err(io::Error::new(error.kind(), format!("{address}: {error}"))),
        }
    }
    if all.is_empty() { Err(absent) } else { Ok(Listeners::from(all)) }
}

fn listen_at_one(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // Connections of an earlier manager may still be closing.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Returns whether listening failed because this host does not have the address. A name may stand
/// for addresses that the host lacks, for example an IPv6 address where IPv6 is off.
fn is_not_here(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrNotAvailable
        || error.raw_os_error() == Some(Errno::AFNOSUPPORT.raw_os_error())
}

impl Listeners {
    /// Returns the addresses at which the sockets listen.
    #[must_use]
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.all.iter().filter_map(|listener| listener.local_addr().ok()).collect()
    }

    /// Accepts the next connection to any of the addresses.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        poll_fn(|context| self.poll_accept(context)).await
    }

    fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        let first = self.first.fetch_add(1, Ordering::Relaxed);
        let (before, after) = self.all.split_at(first % self.all.len().max(1));
        for listener in after.iter().chain(before) {
            if let ready @ Poll::Ready(_) = listener.poll_accept(context) {
                return ready;
            }
        }
        Poll::Pending
    }
}

impl From<Vec<TcpListener>> for Listeners {
    fn from(all: Vec<TcpListener>) -> Self {
        Self { all, first: AtomicUsize::new(0) }
    }
}

impl From<TcpListener> for Listeners {
    fn from(one: TcpListener) -> Self {
        Self::from(vec![one])
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    /// Returns a port that is free on all loopback addresses.
    fn free_port() -> u16 {
        std::net::TcpListener::bind("0.0.0.0:0").unwrap().local_addr().unwrap().port()
    }

    #[tokio::test]
    async fn a_flood_at_one_address_does_not_block_the_others() {
        let port = free_port();
        let addresses = ["127.0.0.1", "127.0.1.1"].map(|host| at(&format!("{host}:{port}")));
        // The second address belongs to nobody (RFC 5737).
        let named = [addresses[0], at(&format!("192.0.2.1:{port}")), addresses[1]];
        let listeners = listen_at(&named).unwrap();
        assert_eq!(listeners.addresses(), addresses);
        let mut flood = Vec::new();
        for _ in 0..20 {
            flood.push(TcpStream::connect(addresses[0]).await.unwrap());
        }
        let other = TcpStream::connect(addresses[1]).await.unwrap();
        let mut heard = Vec::new();
        for _ in 0..3 {
            let next = tokio::time::timeout(Duration::from_secs(5), listeners.accept()).await;
            heard.push(next.unwrap().unwrap().1);
        }
        assert!(heard.contains(&other.local_addr().unwrap()), "{heard:?}");
    }

    #[tokio::test]
    async fn a_used_address_is_named_and_a_foreign_one_alone_is_an_error() {
        // Free on both: other tests listen at 127.0.0.1.
        let port = free_port();
        let [other, taken] = ["127.0.0.1", "127.0.1.1"].map(|host| at(&format!("{host}:{port}")));
        let _listening = std::net::TcpListener::bind(taken).unwrap();
        let error = listen_at(&[other, taken]).err().unwrap().to_string();
        assert!(error.starts_with(&format!("{taken}: ")) && error.contains("in use"), "{error}");
        let error = listen_at(&[at("192.0.2.1:7447")]).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::AddrNotAvailable);
    }
}
