//! Finds out which process listens on a port of loopback: the lab's service, or another process
//! that had the port first.
//!
//! Another process may take a free port between the moment when the port is found and the moment
//! when a service binds it. That process may answer just as the service would, and must not be
//! mistaken for the service.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::net::Ipv4Addr;

use rustix::process::Pid;
use tokio::net::TcpStream;

use super::guard::descendants;

/// State `LISTEN` in `/proc/net/tcp` (proc_net_tcp(5)).
const LISTEN: &str = "0A";

/// Fault of a service that does not listen, as a phrase that follows "it".
pub(in crate::lab) const NOT_ACCEPTED: &str = "did not accept a connection";

/// Returns an error unless a process listens on the port.
pub(in crate::lab) async fn listens(port: u16) -> Result<(), String> {
    let connected = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await;
    connected.map(drop).map_err(|_| NOT_ACCEPTED.to_owned())
}

/// Names a process that accepts connections on this port and is not a descendant of the process
/// `guard`.
///
/// Returns `None` if no such process exists or if the owner of the port cannot be determined:
/// outside Linux, or where processes of other users are hidden.
pub(in crate::lab) fn stranger(port: u16, guard: u32) -> Option<String> {
    let guard = Pid::from_raw(guard.cast_signed())?;
    let mut sockets = listening(port);
    for pid in descendants(guard) {
        for own in sockets_of(pid.as_raw_nonzero().get())? {
            sockets.remove(&own);
        }
    }
    let foreign = sockets.into_iter().next()?;
    Some(owner(&foreign).unwrap_or_else(|| "another process".to_owned()))
}

/// Returns the inodes of the sockets that accept connections to this port of 127.0.0.1.
fn listening(port: u16) -> HashSet<String> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string);
    tables.iter().flatten().flat_map(|table| inodes(table, port)).collect()
}

fn inodes(table: &str, port: u16) -> Vec<String> {
    let all = sockets(table).into_iter();
    all.filter(|(_, its_port)| *its_port == port).map(|(inode, _)| inode).collect()
}

/// Returns the ports of 127.0.0.1 on which descendants of a process accept connections, sorted. Empty where the owner
/// of a port cannot be determined.
pub fn ports_below(pid: u32) -> Vec<u16> {
    let Some(pid) = Pid::from_raw(pid.cast_signed()) else { return Vec::new() };
    let below =
        descendants(pid).into_iter().filter_map(|pid| sockets_of(pid.as_raw_nonzero().get()));
    let own: HashSet<String> = below.flatten().collect();
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string);
    let all = tables.iter().flatten().flat_map(|table| sockets(table));
    let ports = all.filter(|(inode, _)| own.contains(inode)).map(|(_, port)| port);
    BTreeSet::from_iter(ports).into_iter().collect()
}

/// Returns the inode and the port of each socket that accepts connections to 127.0.0.1.
fn sockets(table: &str) -> Vec<(String, u16)> {
    let loopback = format!("{:08X}", u32::from_ne_bytes([127, 0, 0, 1]));
    let socket = |line: &str| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let (address, its_port) = fields.next()?.split_once(':')?;
        let state = fields.nth(1)?;
        let is_here = address.bytes().all(|digit| digit == b'0') || address.ends_with(&loopback);
        let port = u16::from_str_radix(its_port, 16).ok().filter(|_| is_here && state == LISTEN)?;
        Some((fields.nth(5)?.to_owned(), port))
    };
    table.lines().skip(1).filter_map(socket).collect()
}

/// Returns the inodes of a process's sockets: `None` without permission to read them, and an empty
/// list for a process that has ended.
pub(in crate::lab) fn sockets_of(pid: i32) -> Option<Vec<String>> {
    let files = match fs::read_dir(format!("/proc/{pid}/fd")) {
        Ok(files) => files,
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return None,
        Err(_) => return Some(Vec::new()),
    };
    let links = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
    let socket = |link: std::path::PathBuf| {
        let inode = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
        Some(inode.to_owned())
    };
    Some(links.filter_map(socket).collect())
}

/// Names the owner of a socket, such as "process 77 (redis-server)"; `None`
/// without permission to see it.
fn owner(inode: &str) -> Option<String> {
    let processes = fs::read_dir("/proc").ok()?;
    let mut pids = processes.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok());
    let pid: i32 =
        pids.find(|pid| sockets_of(*pid).is_some_and(|own| own.iter().any(|one| one == inode)))?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some(format!("process {pid} ({})", name.trim().escape_debug()))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn only_sockets_that_listen_on_loopback_count() {
        let loopback = format!("{:08X}", u32::from_ne_bytes([127, 0, 0, 1]));
        let other = format!("{:08X}", u32::from_ne_bytes([10, 0, 0, 1]));
        let line = |address: &str, state: &str, inode: u32| {
            format!("  0: {address}:1F90 00000000:0000 {state} 0:0 00:0 0 0 0 {inode} 1 0\n")
        };
        let table = format!(
            "header\n{}{}{}{}",
            line(&loopback, "0A", 1),
            line("00000000", "0A", 2),
            line(&other, "0A", 3),
            line(&loopback, "01", 4),
        );
        assert_eq!(inodes(&table, 8080), ["1", "2"]);
        assert!(inodes(&table, 8081).is_empty());
        let mapped =
            format!("header\n{}", line(&format!("0000000000000000FFFF0000{loopback}"), "0A", 5));
        assert_eq!(inodes(&mapped, 8080), ["5"]);
    }

    #[test]
    fn the_ports_of_descendants_are_known() {
        let code = "import socket, time; s = socket.create_server(('127.0.0.1', 0)); \
                    print(s.getsockname()[1], flush=True); time.sleep(60)";
        let mut command = std::process::Command::new("python3");
        let mut child =
            command.args(["-c", code]).stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut output, &mut line).unwrap();
        let port: u16 = line.trim().parse().unwrap();
        assert!(ports_below(std::process::id()).contains(&port));
        assert!(!ports_below(child.id()).contains(&port), "it is no descendant of itself");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_foreign_listener_is_named_unless_it_is_a_child() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let named = stranger(port, child.id()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(named.starts_with(&format!("process {} (", std::process::id())), "{named}");
        drop(listener);
        assert_eq!(stranger(port, std::process::id()), None);
    }
}
