//! Hosts that a test makes: network namespaces, with links that can be cut.
//! Namespaces need Linux, root, and `ip` of iproute2.

use std::net::IpAddr;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::host::Host;

/// Network namespaces with an address each, deleted when dropped.
/// Only a [`Link`] connects two namespaces.
pub struct Hosts(Vec<Host>);

impl Hosts {
    /// Creates one host for each name. Returns the reason if this machine cannot create hosts.
    pub fn new<const N: usize>(names: [&str; N]) -> Result<(Self, [Host; N]), String> {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let (mut hosts, set) = (Self(Vec::new()), MADE.fetch_add(1, Ordering::Relaxed));
        for (n, name) in (1..).zip(names) {
            let name = format!("loadgen-{}-{set}-{name}", std::process::id());
            ip(&format!("netns add {name}"))?;
            let address = IpAddr::from([10, 99, 0, n]);
            hosts.0.push(Host::Namespace { name: name.clone(), address });
            ip(&format!("-n {name} link set lo up"))?;
            ip(&format!("-n {name} address add {address}/32 dev lo"))?;
        }
        let array = std::array::from_fn(|n| hosts.0[n].clone());
        Ok((hosts, array))
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for host in &self.0 {
            let _ = ip(&format!("netns delete {}", name(host)));
        }
    }
}

/// A virtual cable between two hosts.
pub struct Link<'a>(&'a Host, &'a Host);

impl<'a> Link<'a> {
    /// Creates a link, which is up.
    pub fn between(one: &'a Host, other: &'a Host) -> Result<Self, String> {
        let (a, b) = (name(one), name(other));
        let (to_a, to_b) = (device(one), device(other));
        ip(&format!("link add {to_b} netns {a} type veth peer name {to_a} netns {b}"))?;
        let link = Self(one, other);
        link.up()?;
        Ok(link)
    }

    /// Takes the link down.
    pub fn down(&self) -> Result<(), String> {
        ip(&format!("-n {} link set {} down", name(self.0), device(self.1)))
    }

    /// Brings the link up, with its routes.
    pub fn up(&self) -> Result<(), String> {
        for (here, there) in [(self.0, self.1), (self.1, self.0)] {
            ip(&format!("-n {} link set {} up", name(here), device(there)))?;
        }
        for (here, there) in [(self.0, self.1), (self.1, self.0)] {
            let (to, from) = (there.address(), here.address());
            let device = device(there);
            ip(&format!("-n {} route replace {to}/32 dev {device} src {from}", name(here)))?;
        }
        Ok(())
    }

    /// Delays each packet by `delay`, in each direction.
    pub fn delays(&self, delay: Duration) -> Result<(), String> {
        for (here, there) in [(self.0, self.1), (self.1, self.0)] {
            let what = format!("tc qdisc add dev {} root netem", device(there));
            let how = format!("delay {}ms limit 10000", delay.as_millis());
            ip(&format!("netns exec {} {what} {how}", name(here)))?;
        }
        Ok(())
    }

    /// Lets the first host open connections to the second, and not the second to the first.
    pub fn opens_one_way(&self) -> Result<(), String> {
        let what = format!("-A INPUT -i {} -p tcp --syn -j DROP", device(self.1));
        ip(&format!("netns exec {} iptables {what}", name(self.0)))
    }

    /// Drops this share of the packets (0 to 1), in each direction.
    pub fn loses(&self, share: f64) -> Result<(), String> {
        for (here, there) in [(self.0, self.1), (self.1, self.0)] {
            let what = format!("-A INPUT -i {} -m statistic --mode random", device(there));
            let how = format!("--probability {share} -j DROP");
            ip(&format!("netns exec {} iptables {what} {how}", name(here)))?;
        }
        Ok(())
    }
}

fn name(host: &Host) -> &str {
    match host {
        Host::Here => unreachable!("this host is linked with nothing"),
        Host::Namespace { name, .. } => name,
    }
}

/// Returns the name of the device on another host that leads to this host: at most 15 letters.
fn device(host: &Host) -> &str {
    name(host).rsplit_once("-").unwrap().1
}

/// Calls `ip` with these arguments, separated by spaces.
fn ip(arguments: &str) -> Result<(), String> {
    let output = Command::new("ip").args(arguments.split(' ')).output();
    let output = output.map_err(|error| format!("there is no `ip`: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("`ip {arguments}`: {}", said.trim().replace('\n', "; ")))
        }
    }
}
