//! Finds the processes of a server that runs already on this machine: those that listen on its
//! port or socket, and those to which they have connected.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;

use super::unix_listeners::listening_at;
use crate::lab::machine::{cpus, process_stat};
use crate::lab::service::listener::sockets_of;
use crate::scenario::ServerUrl;

/// States in `/proc/net/tcp` (proc_net_tcp(5)).
const ESTABLISHED: &str = "01";
const LISTEN: &str = "0A";

/// Programs that pass connections on to a server elsewhere, such as in a container. A server behind
/// one of them cannot be told by its port. A name may go on: pasta.avx2, rootlesskit-doc.
const FORWARDERS: [&str; 9] = [
    "docker-proxy",
    "rootless",
    "slirp4netns",
    "pasta",
    "ssh",
    "sshd",
    "socat",
    "kubectl",
    "systemd",
];

/// Returns whether a program of this name passes connections on.
fn is_forwarder(name: &str) -> bool {
    FORWARDERS.iter().any(|forwarder| name.starts_with(forwarder))
}

/// Where a server on this machine listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LocalServer {
    /// A port.
    Port(u16),
    /// The path of a Unix domain socket.
    Socket(PathBuf),
}

/// Returns where the server of `url` listens, if all of its addresses are this machine's own.
pub async fn local_server(url: &str) -> Option<LocalServer> {
    let ServerUrl { url, socket } = ServerUrl::parse(url).ok()?;
    if let Some(path) = socket {
        return Some(LocalServer::Socket(path.into()));
    }
    let port = url.port_or_known_default()?;
    let host = url.host_str()?.trim_matches(['[', ']']);
    let all: Vec<SocketAddr> = tokio::net::lookup_host((host, port)).await.ok()?.collect();
    (!all.is_empty() && all.iter().all(|address| is_own(address.ip())))
        .then_some(LocalServer::Port(port))
}

/// Returns whether an address is one of this machine: only such an address can be bound.
fn is_own(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

/// Returns the roots of the processes that serve here, and of the programs to which they have
/// connected on this machine, such as a database. `None` if they cannot all be told: outside Linux,
/// where processes of other users are hidden, and behind a program that passes connections on. Also
/// `None` if they may use CPUs that loadgen may not use.
pub(super) fn serving(server: &LocalServer) -> Option<BTreeSet<u32>> {
    let sockets = sockets();
    let owners = owners();
    let listening: Vec<String> = match server {
        LocalServer::Port(port) => {
            let is_it = |it: &&Socket| it.state == LISTEN && it.local.port() == *port;
            sockets.iter().filter(is_it).map(|socket| socket.inode.clone()).collect()
        }
        LocalServer::Socket(path) => listening_at(path, &owners),
    };
    let mut open: Vec<u32> = Vec::new();
    for inode in &listening {
        open.extend(owners.get(inode)?);
    }
    let own = std::process::id();
    let mut roots = BTreeSet::new();
    while let Some(pid) = open.pop() {
        if pid == own || !roots.insert(pid) {
            continue;
        }
        if is_forwarder(&name(pid)?) {
            return None;
        }
        for inode in connected(&sockets, &socket_inodes(pid)) {
            let peers = owners.get(inode)?;
            open.extend(peers.iter().map(|peer| first_of_its_name(*peer)));
        }
    }
    // The CPU time of a server on other CPUs says nothing about those that loadgen may use.
    let here: BTreeSet<usize> = cpus::available().into_iter().collect();
    let is_here = |pid: &u32| cpus::allowed_to(Some(*pid)).iter().all(|cpu| here.contains(cpu));
    (!roots.is_empty() && roots.iter().all(is_here)).then_some(roots)
}

/// A TCP socket of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Socket {
    local: SocketAddr,
    remote: SocketAddr,
    state: String,
    inode: String,
}

fn sockets() -> Vec<Socket> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string);
    tables.iter().flatten().flat_map(|table| parse(table)).collect()
}

fn parse(table: &str) -> Vec<Socket> {
    let socket = |line: &str| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let local = address(fields.next()?)?;
        let remote = address(fields.next()?)?;
        let state = fields.next()?.to_owned();
        let inode = fields.nth(5)?.to_owned();
        Some(Socket { local, remote, state, inode })
    };
    table.lines().skip(1).filter_map(socket).collect()
}

/// Parses `0100007F:1F90`: groups of four bytes, each in the machine's byte order, and a port.
fn address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let group = |at: usize| {
        let digits = address.get(8 * at..8 * at + 8)?;
        Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes())
    };
    let ip = match address.len() {
        8 => IpAddr::from(Ipv4Addr::from(group(0)?)),
        32 => {
            let bytes = [group(0)?, group(1)?, group(2)?, group(3)?].concat();
            let bytes: [u8; 16] = bytes.try_into().ok()?;
            // An IPv4 connection of an IPv6 socket is in the other table as IPv4.
            Ipv6Addr::from(bytes).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

/// Returns the inodes of the sockets on this machine to which `own` sockets have connected. Sockets
/// of a port on which `own` sockets listen belong to clients.
fn connected<'a>(all: &'a [Socket], own: &HashSet<String>) -> Vec<&'a String> {
    let of_own = || all.iter().filter(|socket| own.contains(&socket.inode));
    let ports: HashSet<u16> =
        of_own().filter(|it| it.state == LISTEN).map(|it| it.local.port()).collect();
    let outward =
        of_own().filter(|it| it.state == ESTABLISHED && !ports.contains(&it.local.port())).filter(
            |it| all.iter().any(|it2| it2.state == LISTEN && it2.local.port() == it.remote.port()),
        );
    let ends: HashMap<(SocketAddr, SocketAddr), &String> =
        all.iter().map(|socket| ((socket.local, socket.remote), &socket.inode)).collect();
    let peers = outward.filter_map(|it| ends.get(&(it.remote, it.local)).copied());
    // A connection that its program has not accepted yet has no inode.
    peers.filter(|inode| *inode != "0").collect()
}

/// Returns the processes of each visible socket, by the socket's inode.
fn owners() -> BTreeMap<String, Vec<u32>> {
    let mut owners: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) {
        for inode in socket_inodes(pid) {
            owners.entry(inode).or_default().push(pid);
        }
    }
    owners
}

fn socket_inodes(pid: u32) -> HashSet<String> {
    sockets_of(pid.cast_signed()).into_iter().flatten().collect()
}

fn name(pid: u32) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

/// Returns the highest ancestor of a process whose name, like those of all between, is that of the
/// process: for a process of PostgreSQL that serves one connection, the server's first process.
fn first_of_its_name(mut pid: u32) -> u32 {
    let parent = |pid: u32| -> Option<u32> {
        process_stat::fields(&process_stat::stat(pid)?)?.nth(1)?.parse().ok()
    };
    while let Some(above) = parent(pid).filter(|above| *above > 1 && name(*above) == name(pid)) {
        pid = above;
    }
    pid
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixListener;
    use std::path::Path;
    use std::process::{Command, Stdio};

    use super::*;

    fn line(local: &str, remote: &str, state: &str, inode: u32) -> String {
        format!("  0: {local} {remote} {state} 0:0 00:0 0 0 0 {inode} 1 0\n")
    }

    #[test]
    fn only_servers_to_which_a_server_has_connected_belong_to_it() {
        let loopback = format!("{:08X}", u32::from_ne_bytes([127, 0, 0, 1]));
        let at = |port: u16| format!("{loopback}:{port:04X}");
        let mapped = |port: u16| format!("0000000000000000FFFF0000{}", at(port));
        let v4 = [
            line(&at(8000), "00000000:0000", LISTEN, 1),
            line(&at(5432), "00000000:0000", LISTEN, 2),
            // A client of the server, and the server's end.
            line(&at(40000), &at(8000), ESTABLISHED, 3),
            line(&at(8000), &at(40000), ESTABLISHED, 4),
            // The database's end of the server's connection.
            line(&at(5432), &at(40001), ESTABLISHED, 6),
        ];
        let v6 = [line(&mapped(40001), &mapped(5432), ESTABLISHED, 5)];
        let mut all = parse(&format!("header\n{}", v4.concat()));
        all.extend(parse(&format!("header\n{}", v6.concat())));
        assert_eq!(all.len(), 6);
        let own: HashSet<String> = ["1", "4", "5"].map(str::to_owned).into();
        assert_eq!(connected(&all, &own), ["6"]);
        let database: HashSet<String> = ["2", "6"].map(str::to_owned).into();
        assert!(connected(&all, &database).is_empty());
    }

    #[test]
    fn the_process_that_listens_is_found() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        // A child that has the socket is the server, and this process is a client.
        let socket = std::os::fd::OwnedFd::from(listener);
        let mut child = Command::new("sleep").arg("60").stdin(Stdio::from(socket)).spawn().unwrap();
        let found = serving(&LocalServer::Port(port));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found, Some(BTreeSet::from([child.id()])));
        assert_eq!(serving(&LocalServer::Port(port)), None);
        TcpStream::connect(("127.0.0.1", port)).unwrap_err();
    }

    #[test]
    fn the_process_that_listens_on_a_socket_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("an app.sock"), folder.path().join("link"));
        std::os::unix::fs::symlink(folder.path(), &link).unwrap();
        let socket = std::os::fd::OwnedFd::from(UnixListener::bind(&path).unwrap());
        let mut child = Command::new("sleep").arg("60").stdin(Stdio::from(socket)).spawn().unwrap();
        let at = |path: &Path| serving(&LocalServer::Socket(path.to_owned()));
        let of_file = folder.path().join("current");
        std::os::unix::fs::symlink(&path, &of_file).unwrap();
        let found = [at(&path), at(&link.join("an app.sock")), at(&of_file), at(&link)];
        child.kill().unwrap();
        child.wait().unwrap();
        let it = Some(BTreeSet::from([child.id()]));
        assert_eq!(found, [it.clone(), it.clone(), it, None]);
        assert_eq!(at(&path), None);
    }

    #[tokio::test]
    async fn only_urls_of_this_machine_have_a_port() {
        let port = |port| Some(LocalServer::Port(port));
        assert_eq!(local_server("http://127.0.0.1:8000/a").await, port(8000));
        assert_eq!(local_server("https://localhost").await, port(443));
        let socket = Some(LocalServer::Socket("/run/a.sock".into()));
        assert_eq!(local_server("unix:/run/a.sock:/b").await, socket);
        // Addresses for documentation, which no machine has.
        assert_eq!(local_server("http://192.0.2.1:8000").await, None);
    }
}
