//! Which servers a worker may load: a worker is a weapon in the wrong hands.

use std::str::FromStr;

use url::Url;

/// The servers that a worker may load; all of them, where none is named.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allowed(Vec<AllowedTarget>);

/// A server that may be loaded: a host, on one port or on any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedTarget {
    host: String,
    port: Option<u16>,
}

impl From<Vec<AllowedTarget>> for Allowed {
    fn from(targets: Vec<AllowedTarget>) -> Self {
        Self(targets)
    }
}

impl FromStr for AllowedTarget {
    type Err = String;

    /// Reads `HOST` or `HOST:PORT`, where the host is a name or an address.
    fn from_str(text: &str) -> Result<Self, String> {
        // As a URL has them, so that each is written in one way only.
        let url = Url::parse(&format!("http://{text}/"));
        let url = url.map_err(|error| format!("it is no HOST or HOST:PORT: {error}"))?;
        let plain = url.path() == "/"
            && url.username().is_empty()
            && url.query().is_none()
            && url.fragment().is_none();
        let host = url.host_str().filter(|host| plain && !host.is_empty());
        let host = host.ok_or("it is no HOST or HOST:PORT")?.to_owned();
        // The URL forgets its scheme's own port.
        let has_port = text.rsplit_once(':').is_some_and(|(_, port)| !port.contains(']'));
        Ok(Self { host, port: url.port_or_known_default().filter(|_| has_port) })
    }
}

impl Allowed {
    /// Whether the server at this URL may be loaded.
    ///
    /// # Errors
    /// A sentence that says what may be.
    pub fn check(&self, base_url: &str) -> Result<(), String> {
        let url = Url::parse(base_url).map_err(|error| format!("{base_url}: {error}"))?;
        let is_it = |target: &AllowedTarget| {
            url.host_str() == Some(target.host.as_str())
                && target.port.is_none_or(|port| url.port_or_known_default() == Some(port))
        };
        if self.0.is_empty() || self.0.iter().any(is_it) {
            return Ok(());
        }
        let host = url.host_str().unwrap_or(base_url);
        Err(format!("it may not load {host}: --allow-target does not name it"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(targets: &[&str]) -> Allowed {
        Allowed(targets.iter().map(|text| text.parse().unwrap()).collect())
    }

    #[test]
    fn only_what_is_named_may_be_loaded_and_everything_where_nothing_is() {
        assert_eq!(allowed(&[]).check("http://any.example:8000"), Ok(()));
        let some = allowed(&["app-host", "10.0.0.7:8000", "[::1]:80", "web:80"]);
        for url in [
            "http://app-host:8000",
            "https://APP-HOST/",
            "http://10.0.0.7:8000",
            "http://[::1]",
            "http://web",
        ] {
            assert_eq!(some.check(url), Ok(()), "{url}");
        }
        for url in [
            "http://app-host.evil.example",
            "http://10.0.0.7:8001",
            "http://10.0.0.70:8000",
            "http://app-host@other:8000",
            "https://web",
            "http://[::2]",
        ] {
            assert!(some.check(url).unwrap_err().contains("--allow-target"), "{url}");
        }
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for text in ["", "a/b", "http://a", "a b", "a:99999", "user@host", "a?b", "a#b"] {
            assert!(text.parse::<AllowedTarget>().is_err(), "{text:?}");
        }
    }
}
