//! Restricts the servers on which a worker may put load: a worker in the wrong hands could attack
//! any server.

use std::str::FromStr;

use url::Url;

use loadgen_engine::Plan;
use loadgen_scenario::Scenario;

/// Servers on which a worker may put load. An empty list allows all servers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allowed(Vec<AllowedTarget>);

/// A server on which a worker may put load: one port of a host, or all ports of the host.
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

    /// Parses `HOST` or `HOST:PORT`. The host is a name or an address.
    fn from_str(text: &str) -> Result<Self, String> {
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
        Ok(Self { host, port: url.port_or_known_default().filter(|_| has_port) })
    }
}

impl Allowed {
    /// Checks that a plan puts load on allowed servers only.
    ///
    /// # Errors
    /// Returns a sentence that says what is not allowed.
    pub fn check(&self, plan: &Plan) -> Result<(), String> {
        if self.0.is_empty() {
            return Ok(());
        }
        self.check_url(&plan.base_url)?;
        let Scenario { http, steps, .. } = &plan.scenario;
        if let Some(proxy) = &http.proxy {
            self.check_url(proxy).map_err(|why| format!("proxy: {why}"))?;
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

    /// Checks that the server of `base_url` is allowed. Returns an
    /// error message if the server is not.
    fn check_url(&self, base_url: &str) -> Result<(), String> {
        let url = Url::parse(base_url).map_err(|error| format!("{base_url}: {error}"))?;
        let is_it = |target: &AllowedTarget| {
            url.host_str() == Some(target.host.as_str())
                && target.port.is_none_or(|port| url.port_or_known_default() == Some(port))
        };
        if self.0.iter().any(is_it) {
            return Ok(());
        }
        let host = url.host_str().unwrap_or(base_url);
        let port = url.port().map_or(String::new(), |port| format!(":{port}"));
        Err(format!(
            "this worker may not load {host}{port}: --allow-target does not name this server"
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use loadgen_engine::Share;
    use loadgen_scenario::{self as scenario, Template};

    fn allowed(targets: &[&str]) -> Allowed {
        Allowed(targets.iter().map(|text| text.parse().unwrap()).collect())
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
        for text in ["", "a/b", "http://a", "a b", "a:99999", "user@host", "a?b", "a#b"] {
            assert!(text.parse::<AllowedTarget>().is_err(), "{text:?}");
        }
    }
}
