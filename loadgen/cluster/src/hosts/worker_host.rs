//! A host on which workers are started.

use std::fmt;
use std::str::FromStr;

/// A host, and the number of workers on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerHost {
    /// Destination as `ssh` takes it: a name of its configuration, a host, or `USER@HOST`.
    pub name: String,
    /// Number of workers, at least one. Each has an equal share of the load.
    pub workers: u32,
}

impl WorkerHost {
    /// Returns the name without the user.
    #[must_use]
    pub fn machine(&self) -> &str {
        self.name.rsplit_once('@').map_or(&self.name, |(_, host)| host)
    }
}

impl FromStr for WorkerHost {
    type Err = String;

    /// Parses `[USER@]HOST[:WORKERS]`. An IPv6 address is in brackets.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            |why: &str| format!("{text:?}: {why}; write [USER@]HOST[:WORKERS], such as load-1:4");
        let is_outside = |(_, workers): &(&str, &str)| !workers.contains(']');
        let (name, workers) = match text.rsplit_once(':').filter(is_outside) {
            Some((name, workers)) => {
                let number = workers.parse().ok().filter(|number| (1..=1_000).contains(number));
                (name, number.ok_or_else(|| wrong("a host has 1 to 1000 workers"))?)
            }
            None => (text, 1),
        };
        let (user, host) = name.rsplit_once('@').map_or(("", name), |(user, host)| (user, host));
        let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        if inner.is_none() && host.contains([':', '[', ']']) {
            return Err(wrong("an IPv6 address is in brackets"));
        }
        let host = inner.unwrap_or(host);
        // A word that begins with a hyphen would be an option of ssh.
        let is_odd = |c: char| c.is_whitespace() || c.is_control();
        if host.is_empty()
            || name.starts_with('-')
            || host.starts_with('-')
            || name.contains(is_odd)
        {
            return Err(wrong("this is no name of a host"));
        }
        let name = match name.contains('@') {
            true => format!("{user}@{host}"),
            false => host.to_owned(),
        };
        Ok(Self { name, workers })
    }
}

impl fmt::Display for WorkerHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_a_destination_and_a_number_of_workers() {
        for (text, name, workers) in [
            ("load-1", "load-1", 1),
            ("load-1:4", "load-1", 4),
            ("me@10.0.0.7:16", "me@10.0.0.7", 16),
            ("[fd00::1]:2", "fd00::1", 2),
            ("me@[fd00::1]", "me@fd00::1", 1),
        ] {
            let host: WorkerHost = text.parse().unwrap();
            assert!(!host.machine().contains('@') && name.ends_with(host.machine()), "{host:?}");
            assert_eq!(host, WorkerHost { name: name.to_owned(), workers });
        }
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for text in
            ["", ":4", "load-1:0", "load-1:x", "load-1:1001", "-oProxyCommand=x", "a b", "fd00::1"]
        {
            let refused = text.parse::<WorkerHost>().unwrap_err();
            assert!(refused.contains("write [USER@]HOST"), "{refused}");
        }
        assert!("me@-oX".parse::<WorkerHost>().is_err());
    }
}
