//! Local ports of connections: those that the system gives, and the choice among them for thousands of users.
//!
//! For connections, Linux gives every second port of its range first. When all of these are taken, it looks at each of them for
//! each further connection to the same address (`__inet_hash_connect` in net/ipv4/inet_hashtables.c), which takes forty times
//! as long as before, and its thread does nothing else meanwhile. Thousands of users therefore leave half of their
//! connections to Linux, and choose the ports of the others themselves, among those that Linux gives last. Linux gives a port that
//! was chosen so to no other program, not even for another address: of the ports that it gives first, none is chosen.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use rand::TryRng as _;
use rand::rngs::SysRng;
use tokio::net::{TcpSocket, TcpStream};

/// Share of the system's ports, as a divisor, from which users choose ports. Others have connections, too.
const SHARE: u32 = 4;

/// Number of tries before the system chooses. With 19 of 20 ports taken, one of seven hundred connections needs more.
const TRIES: usize = 128;

/// Returns the ports that the system gives to connections, and to listeners that ask for any port;
/// `None` if the system does not report them.
pub fn local_ports() -> Option<Range<u32>> {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let mut ends = range.split_ascii_whitespace().map(str::parse::<u32>);
    let (first, last) = (ends.next()?.ok()?, ends.next()?.ok()?);
    Some(first..last.checked_add(1)?)
}

/// Ports among which half of the connections choose theirs at random.
#[derive(Debug)]
pub struct LocalPorts {
    /// First of the ports, each second of which is one of them.
    first: u16,
    count: u16,
    /// Number of connections so far.
    connections: AtomicU32,
}

impl LocalPorts {
    /// Returns the ports for so many users; `None` if they leave the choice to the system: they are few, or the system
    /// keeps ports for programs that do not run yet, which it leaves out.
    pub(crate) fn of_users(users: u32) -> Option<Self> {
        let reserved = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_reserved_ports");
        let has_reserved = reserved.is_ok_and(|ports| !ports.trim().is_empty());
        Self::among(&local_ports().filter(|_| !has_reserved)?, users)
    }

    fn among(system: &Range<u32>, users: u32) -> Option<Self> {
        let all = system.end.checked_sub(system.start)?;
        // The system gives ports with the parity of its first one before the others.
        let first = u16::try_from(system.start.checked_add(1)?).ok()?;
        let count = u16::try_from(all / 2).ok().filter(|count| *count > 0)?;
        (users > all / SHARE).then_some(Self { first, count, connections: AtomicU32::new(0) })
    }

    /// Returns ports to try for a connection; none if the system chooses.
    fn choice(&self) -> impl Iterator<Item = u16> {
        let is_ours = !self.connections.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
        (0..if is_ours { TRIES } else { 0 }).map_while(|_| self.random())
    }

    fn random(&self) -> Option<u16> {
        let random = SysRng.try_next_u32().ok()? % u32::from(self.count);
        u16::try_from(2 * random + u32::from(self.first)).ok()
    }
}

/// Connects to an address, from one of these ports.
///
/// # Errors
/// See [`TcpStream::connect`].
pub(crate) async fn connect(
    address: SocketAddr,
    ports: Option<&LocalPorts>,
) -> io::Result<TcpStream> {
    for port in ports.into_iter().flat_map(LocalPorts::choice) {
        let Ok(socket) = from(port, address) else { continue };
        match socket.connect(address).await {
            // It was connected to this address a moment ago.
            Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => {}
            connected => return connected,
        }
    }
    TcpStream::connect(address).await
}

/// Returns a socket with this local port. Fails if another program has it, or a connection has it that the system chose.
fn from(port: u16, address: SocketAddr) -> io::Result<TcpSocket> {
    let (socket, any): (_, IpAddr) = match address {
        SocketAddr::V4(_) => (TcpSocket::new_v4()?, Ipv4Addr::UNSPECIFIED.into()),
        SocketAddr::V6(_) => (TcpSocket::new_v6()?, Ipv6Addr::UNSPECIFIED.into()),
    };
    // Two connections may have one port if they lead to different addresses, or if one of them has ended.
    socket.set_reuseaddr(true)?;
    socket.bind((any, port).into())?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::net::TcpListener;

    use super::*;

    const SYSTEM: Range<u32> = 32_768..61_000;

    fn of(first: u16, count: u16) -> LocalPorts {
        LocalPorts { first, count, connections: AtomicU32::new(0) }
    }

    #[test]
    fn only_many_users_choose_ports_of_those_that_the_system_gives_last() {
        let among =
            |system, users| LocalPorts::among(&system, users).map(|of| (of.first, of.count));
        assert_eq!(among(SYSTEM, 7_058), None);
        assert_eq!(among(SYSTEM, 7_059), Some((32_769, 14_116)));
        assert_eq!(among(Range { start: 9, end: 8 }, 7_059), None);
        assert_eq!(among(9..10, 7_059), None);
    }

    #[test]
    fn each_second_port_may_be_chosen_for_each_second_connection() {
        let ports = of(65_531, 3);
        let chosen: BTreeSet<u16> = (0..200).filter_map(|_| ports.random()).collect();
        assert_eq!(chosen, [65_531, 65_533, 65_535].into());
        let choices: Vec<usize> = (0..4).map(|_| ports.choice().count()).collect();
        assert_eq!(choices, [0, TRIES, 0, TRIES]);
    }

    #[tokio::test]
    async fn connections_have_ports_of_their_own_until_all_are_taken() {
        for host in ["127.0.0.1", "::1"] {
            let Ok(server) = TcpListener::bind((host, 0)) else { continue };
            let address = server.local_addr().unwrap();
            // Below those of the system, and above those of most services.
            let ports = of(23_501, 4);
            let mut open = Vec::new();
            for _ in 0..16 {
                open.push(connect(address, Some(&ports)).await.unwrap());
            }
            let locals = open.iter().map(|of| of.local_addr().unwrap().port());
            let (own, other): (Vec<u16>, Vec<u16>) =
                locals.partition(|port| (23_501..23_509).contains(port));
            // Another program may have one of them.
            assert!(own.len() >= 3 && other.len() >= 12, "{own:?} {other:?}");
        }
    }

    #[tokio::test]
    async fn a_refusal_is_told_as_it_is() {
        let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let ports = of(23_601, 4);
        for _ in 0..2 {
            let refused = connect(closed, Some(&ports)).await.unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        }
    }
}
