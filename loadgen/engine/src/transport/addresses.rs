//! Resolves the server's name, assigns its addresses to users and counts connections per address.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::net::{TcpStream, lookup_host};
use tokio::sync::OnceCell;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::address_counts::AddressCounts;
use crate::happy_eyeballs::{ATTEMPT_DELAY, TOO_LATE, dial};
use crate::local_ports::{LocalPorts, connect};
use loadgen_measure::AddressRecord;

/// Timeout of the reachability check if no address accepts a connection.
const CHECK_LIMIT: Duration = Duration::from_secs(3);

/// Addresses of the server's name, with counts of the connections to each address in a round.
pub(super) struct Addresses {
    host: String,
    port: u16,
    /// Result of the lookup, which happens only once: a lookup for
    /// each connection would measure the resolver.
    places: OnceCell<Vec<Endpoint>>,
    /// Local ports of the connections; `None` for the system's choice.
    ports: Option<Arc<LocalPorts>>,
}

struct Endpoint {
    address: SocketAddr,
    counts: AddressCounts,
    /// Whether this address was unreachable while another address was
    /// reachable. Users prefer the reachable addresses.
    is_out: AtomicBool,
}

impl Addresses {
    /// Creates the addresses of a URL's host, without a lookup; `None` if the URL has no host.
    pub(super) fn of(url: &Url) -> Option<Self> {
        let (host, port) = (url.host_str()?, url.port_or_known_default()?);
        let host = host.trim_matches(['[', ']']).to_owned();
        Some(Self { host, port, places: OnceCell::new(), ports: None })
    }

    /// Returns the same addresses, to which so many users connect.
    pub(super) fn for_users(self, users: u32) -> Self {
        Self { ports: LocalPorts::of_users(users).map(Arc::new), ..self }
    }

    /// The name to look up, without the brackets of an IPv6 address.
    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// Looks up the server's name and, if the name has several addresses, checks each address. Does
    /// nothing after a successful lookup.
    pub(super) async fn find(&self) -> io::Result<()> {
        self.places().await.map(drop)
    }

    /// Returns all addresses in the order in which this user tries them. The reachable addresses
    /// are assigned to users round-robin.
    pub(super) async fn for_user(&self, user: u32) -> io::Result<Vec<SocketAddr>> {
        Ok(order(self.places().await?, user).into_iter().map(|place| place.address).collect())
    }

    /// Connects a user to its address. If the attempt fails or takes longer than
    /// 250 ms, also tries the next address (RFC 8305).
    pub(super) async fn connect(&self, user: u32) -> io::Result<TcpStream> {
        let places = self.places().await?;
        let (stream, address) = match places.as_slice() {
            [only] => (try_one(only, self.ports.as_deref()).await?, only.address),
            places => {
                let failed = |address, why: &str| {
                    if let Some(place) = places.iter().find(|place| place.address == address) {
                        place.counts.has_failed(why);
                    }
                };
                dial(self.for_user(user).await?, self.ports.as_ref(), &failed).await?
            }
        };
        self.connected(address);
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    /// Counts a connection to this address.
    pub(super) fn connected(&self, address: SocketAddr) {
        let mut places = self.places.get().into_iter().flatten();
        if let Some(place) = places.find(|place| place.address == address) {
            place.counts.connected();
        }
    }

    /// Returns the connections and failures of each address. Empty before the lookup.
    pub(super) fn records(&self) -> Vec<AddressRecord> {
        let places = self.places.get().into_iter().flatten();
        places.map(|place| place.counts.record(place.address.to_string())).collect()
    }

    async fn places(&self) -> io::Result<&Vec<Endpoint>> {
        let find = async || {
            let found = lookup_host((self.host.as_str(), self.port)).await?.collect();
            let places: Vec<Endpoint> = by_turns(found).into_iter().map(Endpoint::new).collect();
            if places.is_empty() {
                return Err(io::Error::other("the server's name has no address"));
            }
            check(&places).await;
            Ok(places)
        };
        self.places.get_or_try_init(find).await
    }
}

impl Endpoint {
    fn new(address: SocketAddr) -> Self {
        Self { address, counts: AddressCounts::default(), is_out: AtomicBool::new(false) }
    }
}

/// Orders addresses so that IPv6 and IPv4 alternate, starting with the family of the first address,
/// and removes duplicates (RFC 8305, section 4).
fn by_turns(found: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first_is_ipv6 = found.first().is_some_and(SocketAddr::is_ipv6);
    let (mut one, mut other): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|address| address.is_ipv6() == first_is_ipv6);
    one.reverse();
    other.reverse();
    let mut all: Vec<SocketAddr> = Vec::new();
    while !(one.is_empty() && other.is_empty()) {
        let two = [one.pop(), other.pop()];
        all.extend(two.into_iter().flatten().filter(|new| !all.contains(new)).collect::<Vec<_>>());
    }
    all
}

/// Returns the addresses in the order in which the user tries them: the reachable addresses,
/// starting with the user's own, and then the unreachable addresses.
fn order(places: &[Endpoint], user: u32) -> Vec<&Endpoint> {
    let (out, mut usable): (Vec<&Endpoint>, Vec<&Endpoint>) =
        places.iter().partition(|place| place.is_out.load(Ordering::Relaxed));
    if !usable.is_empty() {
        let first = user as usize % usable.len();
        usable.rotate_left(first);
    }
    usable.extend(out);
    usable
}

/// Marks the unreachable addresses, so that users are spread over the reachable
/// addresses: connects once to each address, if there are several. If no address is
/// reachable, marks none, and users try all addresses.
async fn check(places: &[Endpoint]) {
    if places.len() < 2 {
        return;
    }
    let mut attempts = JoinSet::new();
    for (index, place) in places.iter().enumerate() {
        let address = place.address;
        attempts.spawn(async move { (index, TcpStream::connect(address).await) });
    }
    let mut reached = vec![false; places.len()];
    let mut told = vec![false; places.len()];
    let mut deadline = Instant::now() + CHECK_LIMIT;
    while let Ok(Some(Ok((index, connected)))) = timeout_at(deadline, attempts.join_next()).await {
        told[index] = true;
        match connected {
            Ok(_) if reached.contains(&true) => reached[index] = true,
            Ok(_) => {
                reached[index] = true;
                deadline = deadline.min(Instant::now() + ATTEMPT_DELAY);
            }
            Err(error) => places[index].counts.has_failed(&error.to_string()),
        }
    }
    for (index, place) in places.iter().enumerate() {
        if !told[index] {
            place.counts.has_failed(TOO_LATE);
        }
        let is_out = reached.contains(&true) && !reached[index];
        place.is_out.store(is_out, Ordering::Relaxed);
    }
}

async fn try_one(place: &Endpoint, ports: Option<&LocalPorts>) -> io::Result<TcpStream> {
    let connected = connect(place.address, ports).await;
    connected.inspect_err(|error| place.counts.has_failed(&error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    fn addresses(places: Vec<SocketAddr>) -> Addresses {
        let places = places.into_iter().map(Endpoint::new).collect();
        Addresses {
            host: "test".to_owned(),
            port: 1,
            places: OnceCell::new_with(Some(places)),
            ports: None,
        }
    }

    fn local(port: u16) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, port).into()
    }

    #[test]
    fn thousands_of_users_choose_their_local_ports() {
        let url = Url::parse("http://127.0.0.1:1/").unwrap();
        let choose = |users| Addresses::of(&url).unwrap().for_users(users).ports.is_some();
        assert!(!choose(1));
        assert_eq!(choose(60_000), LocalPorts::of_users(60_000).is_some());
    }

    #[test]
    fn address_families_alternate_without_duplicates() {
        let six = |n| SocketAddr::from((Ipv6Addr::from(n), 1));
        let found = vec![six(1), six(2), six(1), local(1), local(2), local(3)];
        let turns = [six(1), local(1), six(2), local(2), local(3)];
        assert_eq!(by_turns(found), turns);
        assert_eq!(by_turns(vec![local(2), local(2)]), [local(2)]);
    }

    #[tokio::test]
    async fn users_are_spread_over_the_addresses() {
        let all = addresses((1..=3).map(local).collect());
        for (user, ports) in [(0, [1, 2, 3]), (1, [2, 3, 1]), (5, [3, 1, 2])] {
            assert_eq!(all.for_user(user).await.unwrap(), ports.map(local));
        }
    }

    #[tokio::test]
    async fn a_refusing_address_is_reported_and_its_users_take_the_next() {
        // Bound, so that nobody else listens there.
        let closed = tokio::net::TcpSocket::new_v4().unwrap();
        closed.bind(local(0)).unwrap();
        let here = closed.local_addr().unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let all = addresses(vec![here, listener.local_addr().unwrap()]);
        // One connection before the check of the addresses, and two after the check.
        let began = Instant::now();
        all.connect(0).await.unwrap();
        check(all.places.get().unwrap()).await;
        all.connect(0).await.unwrap();
        all.connect(1).await.unwrap();
        assert!(began.elapsed() < ATTEMPT_DELAY, "it is refused at once");
        let [refused, open] = &all.records()[..] else { panic!() };
        assert_eq!((refused.connections, refused.failed), (0, 2));
        assert!(refused.error.as_ref().unwrap().contains("refused"), "{refused:?}");
        assert_eq!((open.connections, open.failed, &open.error), (3, 0, &None));
    }

    /// The silent address is a listener whose backlog is full: Linux drops further handshakes.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_silent_address_delays_users_only_briefly() {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(local(0)).unwrap();
        let silent = socket.listen(0).unwrap();
        let full = TcpStream::connect(silent.local_addr().unwrap()).await.unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let all = addresses(vec![silent.local_addr().unwrap(), listener.local_addr().unwrap()]);
        let began = Instant::now();
        all.connect(0).await.unwrap();
        assert!(
            (ATTEMPT_DELAY..2 * ATTEMPT_DELAY + Duration::from_secs(1)).contains(&began.elapsed())
        );
        check(all.places.get().unwrap()).await;
        assert_eq!(all.for_user(0).await.unwrap()[0], listener.local_addr().unwrap());
        let records = all.records();
        assert_eq!(records[0].error.as_deref(), Some(TOO_LATE));
        assert_eq!((records[0].connections, records[1].connections), (0, 1));
        drop((silent, full));
    }
}
