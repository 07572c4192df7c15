//! Handles the manager's two addresses, `HOST:PORT` each: the address at which the manager listens,
//! and the address at which workers find the manager. The two may differ.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use tokio_rustls::rustls::pki_types::ServerName;

/// Returns the host in an address `HOST:PORT`, without the brackets of an IPv6 address.
pub(super) fn host(address: &str) -> &str {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host.trim_start_matches('[').trim_end_matches(']')
}

fn port(address: &str) -> &str {
    address.rsplit_once(':').map_or("", |(_, port)| port)
}

/// Returns the address at which workers find a manager that listens at `listen`. `advertise` takes
/// precedence; its port defaults to that of `listen`. Without `advertise` the address is `listen`,
/// with this host's name in place of a wildcard host.
///
/// # Errors
/// Returns an error message if a worker could not connect to the address, or could not
/// verify a certificate for its host.
pub fn advertised(listen: &str, advertise: Option<&str>) -> Result<String, String> {
    let (host, port) = match advertise {
        Some(text) => split(text, port(listen)),
        None if is_wildcard(host(listen)) => (host_name(), port(listen)),
        None => (host(listen).to_owned(), port(listen)),
    };
    if is_wildcard(&host) {
        return Err(format!("workers cannot connect to the address {host}"));
    }
    if port.parse::<u16>().is_ok_and(|port| port > 0) && ServerName::try_from(&*host).is_ok() {
        return Ok(match host.parse::<Ipv6Addr>() {
            Ok(_) => format!("[{host}]:{port}"),
            Err(_) => format!("{host}:{port}"),
        });
    }
    Err(format!("workers cannot connect to {host}:{port}, which is not a valid HOST:PORT"))
}

/// Splits `text` into host and port; a missing port becomes `port`.
fn split<'a>(text: &'a str, port: &'a str) -> (String, &'a str) {
    let is_bare = text.parse::<Ipv6Addr>().is_ok() || !text.contains(':') || text.ends_with(']');
    match text.rsplit_once(':') {
        Some((_, port)) if !is_bare => (host(text).to_owned(), port),
        _ => (text.trim_start_matches('[').trim_end_matches(']').to_owned(), port),
    }
}

/// Returns the name of this host, as `uname -n` prints it.
pub(super) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

fn is_wildcard(host: &str) -> bool {
    host.parse::<IpAddr>().is_ok_and(|address| address.is_unspecified())
}

/// Returns whether a host name or address means the local host on every host, such as `localhost`
/// or a loopback address (RFC 6761, section 6.3).
#[must_use]
pub fn means_itself(host: &str) -> bool {
    let name = host.trim_end_matches('.').to_ascii_lowercase();
    match host.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => name == "localhost" || name.ends_with(".localhost"),
    }
}

/// Returns a warning, with advice, if only workers on this host can join a manager
/// that listens at `listening` and is advertised as `advertised`. Returns `None`
/// if workers on other hosts can join.
#[must_use]
pub fn only_here(listening: &[SocketAddr], advertised: &str) -> Option<String> {
    let host = host(advertised);
    let why = if listening.iter().all(|address| address.ip().to_canonical().is_loopback()) {
        let all: Vec<String> = listening.iter().map(SocketAddr::to_string).collect();
        format!("the manager listens only at {}, on the loopback interface", all.join(" and "))
    } else if means_itself(host) {
        format!("workers look for the manager at {host}, which is each worker's own host")
    } else {
        return None;
    };
    let name = match means_itself(host) {
        true => "HOST, a name or address of this host that these workers can reach",
        false => host,
    };
    let port = port(advertised);
    Some(format!(
        "{why}: workers on other hosts cannot join. For workers on other hosts: --listen 0.0.0.0:{port} --advertise {name}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_the_part_before_the_port() {
        assert_eq!(host("load-1:7447"), "load-1");
        assert_eq!(host("10.0.0.1:7447"), "10.0.0.1");
        assert_eq!(host("[fd00::1]:7447"), "fd00::1");
    }

    #[test]
    fn workers_use_the_advertised_or_the_listening_address() {
        let here = format!("{}:7447", host_name());
        for (listen, advertise, expected) in [
            ("load-1:7447", None, "load-1:7447"),
            ("[fd00::1]:7447", None, "[fd00::1]:7447"),
            ("0.0.0.0:7447", None, here.as_str()),
            ("[::]:7447", None, here.as_str()),
            ("0.0.0.0:7447", Some("load-1"), "load-1:7447"),
            ("0.0.0.0:7447", Some("gate.example:443"), "gate.example:443"),
            ("[::]:7447", Some("fd00::1"), "[fd00::1]:7447"),
            ("[::]:7447", Some("[fd00::1]"), "[fd00::1]:7447"),
            ("[::]:7447", Some("[fd00::1]:443"), "[fd00::1]:443"),
            ("10.0.0.1:7447", Some("192.0.2.7"), "192.0.2.7:7447"),
        ] {
            let advertised = advertised(listen, advertise);
            assert_eq!(advertised.as_deref(), Ok(expected), "{listen} {advertise:?}");
        }
    }

    #[test]
    fn an_unreachable_advertised_address_is_refused() {
        let wildcard = |host| format!("workers cannot connect to the address {host}");
        assert_eq!(advertised("load-1:1", Some("0.0.0.0")), Err(wildcard("0.0.0.0")));
        assert_eq!(advertised("load-1:1", Some("[::]:7447")), Err(wildcard("::")));
        for wrong in ["", "a b", "load-1:0", "load-1:http", ":7447", "[fd00::1", "http://load-1"] {
            let refused = advertised("load-1:1", Some(wrong)).unwrap_err();
            assert!(refused.ends_with("which is not a valid HOST:PORT"), "{refused}");
        }
    }

    #[test]
    fn an_address_of_this_host_alone_causes_a_warning_with_advice() {
        let at = |addresses: &[&str]| -> Vec<SocketAddr> {
            addresses.iter().map(|address| address.parse().unwrap()).collect()
        };
        assert_eq!(
            only_here(&at(&["127.0.1.1:7447"]), "load-1:7447").unwrap(),
            "the manager listens only at 127.0.1.1:7447, on the loopback interface: workers on other hosts \
             cannot join. For workers on other hosts: --listen 0.0.0.0:7447 --advertise load-1"
        );
        assert_eq!(
            only_here(&at(&["127.0.0.1:1", "[::1]:1"]), "localhost:1").unwrap(),
            "the manager listens only at 127.0.0.1:1 and [::1]:1, on the loopback interface: workers on other \
             hosts cannot join. For workers on other hosts: --listen 0.0.0.0:1 --advertise HOST, a name or \
             address of this host that these workers can reach"
        );
        assert_eq!(
            only_here(&at(&["0.0.0.0:7447"]), "127.0.0.1:7447").unwrap(),
            "workers look for the manager at 127.0.0.1, which is each worker's own host: workers on other \
             hosts cannot join. For workers on other hosts: --listen 0.0.0.0:7447 --advertise HOST, a name \
             or address of this host that these workers can reach"
        );
        assert!(only_here(&at(&["[::ffff:127.0.0.1]:1"]), "load-1:1").is_some());
        for (addresses, name) in [
            (&["0.0.0.0:7447"][..], "load-1:7447"),
            (&["[::]:7447"], "[fd00::1]:7447"),
            (&["127.0.1.1:7447", "10.0.0.1:7447"], "load-1:7447"),
        ] {
            assert_eq!(only_here(&at(addresses), name), None, "{addresses:?}");
        }
    }
}
