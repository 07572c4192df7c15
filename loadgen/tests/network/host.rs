//! The hosts on which a test runs its processes: this host, or hosts that the test makes.

use std::net::IpAddr;
#[cfg(target_os = "linux")]
use std::os::fd::AsFd;
use std::process::{Command, Stdio};

/// A host of a test.
#[derive(Clone)]
pub enum Host {
    /// This host, over loopback.
    Here,
    /// A network namespace with this name and address.
    Namespace { name: String, address: IpAddr },
}

impl Host {
    pub fn address(&self) -> IpAddr {
        match self {
            Self::Here => IpAddr::from([127, 0, 0, 1]),
            Self::Namespace { address, .. } => *address,
        }
    }

    /// Wraps a command so that it runs on this host.
    pub fn command(&self, command: Command) -> Command {
        let Self::Namespace { name, .. } = self else { return command };
        let mut there = Command::new("ip");
        there.args(["netns", "exec", name]).arg(command.get_program()).args(command.get_args());
        if let Some(folder) = command.get_current_dir() {
            there.current_dir(folder);
        }
        there.envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
        there.stdin(Stdio::null());
        there
    }

    /// Moves the calling thread into this host's network.
    pub fn enter(&self) {
        #[cfg(target_os = "linux")]
        if let Self::Namespace { name, .. } = self {
            use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
            let namespace = std::fs::File::open(format!("/run/netns/{name}")).unwrap();
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
        }
    }
}
