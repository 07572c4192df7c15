//! Restricts the servers on which a worker may put load: a worker in the wrong hands could attack
//! any server.

use std::str::FromStr;

use url::Url;

use loadgen_engine::Plan;
use loadgen_scenario::{Scenario, ServerUrl};

/// Servers on which a worker may put load. An empty list allows all servers but those on sockets of the worker's host:
/// some, such as Docker's, give control of the host to each program that connects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allowed {
    named: Vec<AllowedTarget>,
    any_socket: bool,
}

/// A server on which a worker may put load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AllowedTarget {
    /// A port of a host, or all of its ports.
    Host {
        /// Name or address, as in a URL.
        host: String,
        /// `None` for all ports.
        port: Option<u16>,
    },
    /// The path of a Unix domain socket.
    Socket(String),
}

impl From<Vec<AllowedTarget>> for Allowed {
    fn from(targets: Vec<AllowedTarget>) -> Self {
        Self { named: targets, any_socket: false }
    }
}

impl FromStr for AllowedTarget {
    type Err = String;

    /// Parses `HOST`, `HOST:PORT` or `unix:PATH`. The host is a name or an address.
    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with("unix:") {
            let server = ServerUrl::parse(text)?;
            let socket = server.socket.filter(|_| server.url.path() == "/");
            return socket.map(Self::Socket).ok_or("not unix:PATH".to_owned());
        }
        // Parsing as a URL normalizes the host, so that each host has one spelling only.
        let url = Url::parse(&format!("http://{text}/"));
        let url = url.map_err(|error| format!("not HOST or HOST:PORT: {error}"))?;
        let plain = url.path() == "/"
            && url.username().is_empty()
            && url.query().is_none()
            && url.fragment().is_none();
        let host = url.host_str().filter(|host| plain && !host.is_empty());
        let host = host.ok_or("not HOST or HOST:PORT")?.to_owned();
        // `Url` drops the default port of its scheme, so the text tells whether a port was given.
        let has_port = text.rsplit_once(':').is_some_and(|(_, port)| !port.contains(']'));
        Ok(Self::Host { host, port: url.port_or_known_default().filter(|_| has_port) })
    }
}

impl Allowed {
    /// Allows all servers, for a worker whose manager is on the same host and has the same rights.
    #[must_use]
    pub fn everything() -> Self {
        Self { named: Vec::new(), any_socket: true }
    }

    /// Checks that a plan puts load on allowed servers only.
    ///
    /// # Errors
    /// Returns a sentence that says what is not allowed.
    pub fn check(&self, plan: &Plan) -> Result<(), String> {
        let server = plan.server()?;
        if self.named.is_empty() && (self.any_socket || server.socket.is_none()) {
            return Ok(());
        }
        self.check_server(&server)?;
        let Scenario { http, steps, .. } = &plan.scenario;
        if let Some(proxy) = &http.proxy {
            let named = ServerUrl::parse(proxy).and_then(|proxy| self.check_server(&proxy));
            named.map_err(|why| format!("proxy: {why}"))?;
        }
        if plan.scenario.follows_redirects() {
            return Err("this worker may not follow redirects, which may lead to servers that \
                        --allow-target does not name"
                .to_owned());
        }
        // A path without a leading `/` could change the host that it is appended to.
        match steps.iter().find(|step| !step.path.can_follow_host()) {
            Some(step) => Err(format!("the path of {} does not begin with /", step.name)),
            None => Ok(()),
        }
    }

    /// Checks that a server is allowed. Returns an error message if it is not.
    fn check_server(&self, server: &ServerUrl) -> Result<(), String> {
        let ServerUrl { url, socket } = server;
        let is_it = |target: &AllowedTarget| match target {
            AllowedTarget::Socket(path) => socket.as_ref() == Some(path),
            AllowedTarget::Host { host, port } => {
                socket.is_none()
                    && url.host_str() == Some(host.as_str())
                    && port.is_none_or(|port| url.port_or_known_default() == Some(port))
            }
        };
        if self.named.iter().any(is_it) {
            return Ok(());
        }
        let host = url.host_str().unwrap_or_default();
        let server = match (socket, url.port()) {
            (Some(path), _) => format!("unix:{path}"),
            (None, Some(port)) => format!("{host}:{port}"),
            (None, None) => host.to_owned(),
        };
        Err(format!("this worker may not load {server}: --allow-target does not name this server"))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use loadgen_engine::Share;
    use loadgen_scenario::{self as scenario, Template};

    fn allowed(targets: &[&str]) -> Allowed {
        targets.iter().map(|text| text.parse().unwrap()).collect::<Vec<_>>().into()
    }

    fn plan(base_url: &str, http: &str) -> Plan {
        let text = format!("{http}\n[[step]]\nname = \"a\"\nget = \"/items\"\n");
        Plan {
            scenario: scenario::parse("test", "test.toml", &text).unwrap(),
            base_url: base_url.to_owned(),
            warmup: Duration::ZERO,
            seed: 1,
            known: Vec::new(),
            first_user: 0,
            trace_one_in: None,
            share: Share::WHOLE,
        }
    }

    #[test]
    fn only_named_targets_are_allowed_or_all_if_none_is_named() {
        let check = |allowed: &Allowed, url| allowed.check(&plan(url, ""));
        assert_eq!(check(&allowed(&[]), "http://any.example:8000"), Ok(()));
        let some = allowed(&["app-host", "10.0.0.7:8000", "[::1]:80", "web:80"]);
        for url in [
            "http://app-host:8000",
            "https://APP-HOST/",
            "http://10.0.0.7:8000",
            "http://[::1]",
            "http://web",
        ] {
            assert_eq!(check(&some, url), Ok(()), "{url}");
        }
        for url in [
            "http://app-host.evil.example",
            "http://10.0.0.7:8001",
            "http://10.0.0.70:8000",
            "http://app-host@other:8000",
            "https://web",
            "http://[::2]",
        ] {
            assert!(check(&some, url).unwrap_err().contains("--allow-target"), "{url}");
        }
    }

    #[test]
    fn a_socket_is_allowed_only_by_name_or_on_the_same_host() {
        let docker = plan("unix:/var/run/docker.sock", "");
        for some in [allowed(&[]), allowed(&["localhost"]), allowed(&["unix:/run/app.sock"])] {
            let refused = some.check(&docker).unwrap_err();
            assert!(refused.contains("may not load unix:/var/run/docker.sock"), "{refused}");
        }
        assert_eq!(Allowed::everything().check(&docker), Ok(()));
        let named = allowed(&["app-host", "unix:/run/app.sock"]);
        for url in ["unix:/run/app.sock", "http+unix://%2Frun%2Fapp.sock/api", "http://app-host"] {
            assert_eq!(named.check(&plan(url, "")), Ok(()), "{url}");
        }
        assert!(named.check(&plan("http://localhost", "")).is_err());
    }

    #[test]
    fn proxies_must_be_named_and_redirects_are_refused() {
        let (any, some) = (allowed(&[]), allowed(&["app", "proxy:3128"]));
        let check = |allowed: &Allowed, http| allowed.check(&plan("http://app:8000", http));
        for (http, reason) in [
            (
                "http = { proxy = \"http://victim:80\" }",
                "proxy: this worker may not load victim: --allow-target",
            ),
            (
                "http = { proxy = \"http://proxy:80\" }",
                "proxy: this worker may not load proxy: --allow-target",
            ),
            ("http = { redirects = 1 }", "this worker may not follow redirects"),
        ] {
            assert_eq!(check(&any, http), Ok(()), "{http}");
            let refused = check(&some, http).unwrap_err();
            assert!(refused.starts_with(reason), "{refused}");
        }
        assert_eq!(check(&some, "http = { proxy = \"http://proxy:3128\" }"), Ok(()));
        // No scenario file can contain such a path; a manager's message can.
        for path in ["@victim/", ".victim/", ":80@victim/"] {
            let mut plan = plan("http://app", "");
            plan.scenario.steps[0].path = Template::literal(path);
            let refused = some.check(&plan).unwrap_err();
            assert_eq!(refused, "the path of a does not begin with /", "{path}");
        }
    }

    #[test]
    fn an_invalid_host_is_refused() {
        for text in [
            "",
            "a/b",
            "http://a",
            "a b",
            "a:99999",
            "user@host",
            "a?b",
            "a#b",
            "unix:",
            "unix:/a:/b",
        ] {
            assert!(text.parse::<AllowedTarget>().is_err(), "{text:?}");
        }
    }
}
