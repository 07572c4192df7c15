//! `--hosts` over a network: the manager, the host of the workers and the server have a network namespace each, and the
//! host has a real sshd. Its user is not root.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use tokio::task::block_in_place;

use crate::common::machine;
use crate::common::processes::{Started, assert_gone, named};
use crate::common::program::{Finished, Project};
use crate::common::ssh::{self, Setup, WITHIN};
use crate::host::Host;
use crate::namespaces::{Hosts, Link};
use crate::server::{SCENARIO, Server};

/// State of a connection, and of a socket that listens, in `/proc/net/tcp`.
const ESTABLISHED: &str = "01";
const LISTENS: &str = "0A";

/// A manager's host, a host for workers, and a server. The manager's host lets nobody open connections to it.
struct Network {
    manager: Host,
    host: Host,
    server: Server,
    ssh: ssh::Hosts,
    project: Project,
    /// Time of a packet from one host to the other.
    delay: Duration,
    _made: Hosts,
}

impl Network {
    fn new() -> Result<Self, String> {
        let (made, [manager, host, server]) = Hosts::new(["manager", "host", "server"])?;
        let link = Link::between(&manager, &host)?;
        link.opens_one_way()?;
        let mut delay = Duration::from_millis(20);
        if let Err(why) = link.delays(delay) {
            println!("without delay: this machine cannot delay packets: {why}");
            delay = Duration::ZERO;
        }
        for here in [&manager, &host] {
            Link::between(here, &server)?;
        }
        let Host::Namespace { name, address } = &host else { unreachable!("it was made") };
        let network = Some((name.as_str(), *address));
        let ssh = ssh::Hosts::of(&Setup { network, ..Setup::HERE });
        let ssh = ssh.ok_or("there is no sshd")?;
        let project = Project::bare().file("mine.toml", SCENARIO);
        Ok(Self { server: Server::start(&server), ssh, project, delay, manager, host, _made: made })
    }

    /// Starts a run on the manager's host, with its workers on the other.
    fn start(&self, words: &[&str]) -> Started {
        let fixed =
            ["run", "--scenario=mine.toml", "--url", &self.server.url, "--warmup=0s", "--json"];
        let command = self.ssh.command(&self.project, &[&fixed[..], words].concat());
        let mut command = self.manager.command(command);
        Started::of(command.stdout(Stdio::piped()).stderr(Stdio::piped()))
    }

    fn end(&self, started: Started) -> Finished {
        Finished::of(block_in_place(|| started.output()), &self.project.path(""))
    }

    /// Returns whether the host can open a connection to this address.
    fn host_reaches(&self, address: SocketAddr) -> bool {
        let host = self.host.clone();
        let connect = move || {
            host.enter();
            TcpStream::connect_timeout(&address, Duration::from_millis(500)).is_ok()
        };
        std::thread::spawn(connect).join().unwrap()
    }
}

/// Returns both ends of the IPv4 sockets in the network of a process that have this state.
fn sockets(process: u32, state: &str) -> Vec<[SocketAddr; 2]> {
    let table = fs::read_to_string(format!("/proc/{process}/net/tcp")).unwrap();
    let end = |text: &str| {
        let (address, port) = text.split_once(':').unwrap();
        // In the byte order of the machine.
        let address = u32::from_str_radix(address, 16).unwrap().to_ne_bytes();
        SocketAddr::new(IpAddr::from(address), u16::from_str_radix(port, 16).unwrap())
    };
    let rows = table.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.filter(|row| row[3] == state).map(|row| [end(row[1]), end(row[2])]).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_join_through_ssh_where_the_manager_is_not_reachable() {
    let _beside = machine::beside().await;
    let network = or_skip!(Network::new());
    let Network { manager, server, ssh, .. } = &network;
    let words = ["--hosts=one:2,two", "--users=6", "--duration=4s", "--out=run"];
    let started = network.start(&words);
    let there = block_in_place(|| ssh.until_loaded(|| server.requests(), 3));
    // A worker reaches the manager at a port of its own loopback interface, and nothing but sshd has a connection to
    // the manager's host.
    let worker = named(&there, "worker --join - --any-socket")[0];
    let connected = sockets(worker, ESTABLISHED);
    let forwarded = connected.iter().filter(|[_, far]| far.ip() == Ipv4Addr::LOCALHOST);
    assert!(forwarded.count() >= 3, "{connected:?}");
    let direct = connected.iter().filter(|[_, far]| far.ip() == manager.address());
    let near: Vec<u16> = direct.map(|[near, _]| near.port()).collect();
    assert_eq!(near, [22, 22], "{connected:?}");
    // The manager listens on its loopback interface only, and its host lets no connection in.
    let listening = sockets(started.id(), LISTENS);
    assert!(!listening.is_empty(), "the manager listens nowhere");
    for [near, _] in &listening {
        assert_eq!(near.ip(), Ipv4Addr::LOCALHOST, "{listening:?}");
        let address = SocketAddr::new(manager.address(), near.port());
        assert!(!network.host_reaches(address), "{address}");
    }
    let finished = network.end(started);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    let total = &document["targets"][0]["total"];
    let counted = total["requests"].as_u64().unwrap() + total["cancelled"].as_u64().unwrap();
    // One more request is the verification.
    assert_eq!((counted, &total["errors"]), (server.requests() - 1, &0.into()), "{total}");
    for worker in document["targets"][0]["workers"].as_array().unwrap() {
        println!("worker {}: {} ms there and back", worker["worker"], worker["rtt_ms"]);
        assert_eq!(worker["users"], 2, "{worker}");
        let rtt_ms = worker["rtt_ms"].as_f64().unwrap();
        assert!(rtt_ms >= 2.0 * network.delay.as_secs_f64() * 1e3, "{worker}");
    }
    block_in_place(|| assert_gone(&there, WITHIN));
}

#[tokio::test(flavor = "multi_thread")]
async fn too_few_ports_of_a_host_are_told_before_any_load() {
    let _beside = machine::beside().await;
    let network = or_skip!(Network::new());
    let Network { host, server, ssh, .. } = &network;
    let mut narrow = Command::new("sh");
    narrow.args(["-c", "echo 40000 40049 >/proc/sys/net/ipv4/ip_local_port_range"]);
    assert!(host.command(narrow).status().unwrap().success());
    let words = |users| ["--hosts=one:2,two", users, "--iterations=90"];
    let finished = network.end(network.start(&words("--users=76")));
    assert_eq!(finished.code, Some(2), "{}", finished.said());
    let said = "one: its 51 connections need as many local ports, but the host has 50";
    let told = finished.stderr.replace("\n  │ ", " ");
    assert!(told.contains("host_limit_too_low") && told.contains(said), "{told}");
    assert!(!told.contains("two: its"), "{told}");
    assert_eq!(server.requests(), 0);
    assert_gone(&ssh.there(), WITHIN);
}
