//! Address at which loadgen serves something.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Host and port at which loadgen serves something, such as the live page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServeAddress {
    /// Name or address of a network interface of this host.
    pub host: String,
    /// Port; 0 chooses a free port.
    pub port: u16,
}

impl FromStr for ServeAddress {
    type Err = String;

    /// Parses `HOST:PORT`, `PORT` of this host only, or `HOST` with a free port. An IPv6 address with a
    /// port is in brackets.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            let write = "write HOST:PORT, such as 0.0.0.0:8089, with a port up to 65535";
            format!("\"{text}\" is no address: {write}")
        };
        if let Ok(port) = text.parse() {
            return Ok(Self { host: Ipv4Addr::LOCALHOST.to_string(), port });
        }
        if text.parse::<Ipv6Addr>().is_ok() {
            return Ok(Self { host: text.to_owned(), port: 0 });
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().map_err(|_| wrong())?),
            None => (text, 0),
        };
        if let Some(bare) = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
            let address: Ipv6Addr = bare.parse().map_err(|_| wrong())?;
            return Ok(Self { host: address.to_string(), port });
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        // A number is a port that is too great.
        let is_number = host.bytes().all(|byte| byte.is_ascii_digit());
        if host.is_empty() || is_number || !host.chars().all(is_name) {
            return Err(wrong());
        }
        Ok(Self { host: host.to_owned(), port })
    }
}

impl fmt::Display for ServeAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_a_port_or_both_are_an_address() {
        let said = |text: &str| text.parse::<ServeAddress>().map(|address| address.to_string());
        for (text, address) in [
            ("8089", "127.0.0.1:8089"),
            ("0.0.0.0:8089", "0.0.0.0:8089"),
            ("load.example.net", "load.example.net:0"),
            ("[::1]:80", "[::1]:80"),
            ("::", "[::]:0"),
        ] {
            assert_eq!(said(text).as_deref(), Ok(address));
        }
        for text in [
            "",
            ":80",
            "host:",
            "host:http",
            "http://host:80",
            "host:99999",
            "80890",
            "[a]:80",
            "a b",
            "host/",
        ] {
            assert!(said(text).is_err(), "{text}");
        }
    }
}
