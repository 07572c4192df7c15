//! Decides who may see the page, and who may change the load.

use std::fmt;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};

/// Answer of the command to a request: what it did, or why it refused.
pub type Answer = Result<String, String>;

/// Function that carries out a request, which is the JSON that `loadgen ctl` sends.
type CarryOut = Arc<dyn Fn(String) -> Pin<Box<dyn Future<Output = Answer> + Send>> + Send + Sync>;

/// Means to change the load from the page.
#[derive(Clone)]
pub struct Controls {
    /// Secret that the URL of those has who may change the load.
    pub token: String,
    /// Whether the load can change; if not, requests can only end the command.
    pub can_change: bool,
    /// Carries out requests.
    pub carry_out: CarryOut,
}

impl fmt::Debug for Controls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controls").finish_non_exhaustive()
    }
}

impl Controls {
    /// Returns whether a request has the token.
    pub(super) fn allow(&self, headers: &HeaderMap) -> bool {
        let given = headers.get(AUTHORIZATION).map(|value| value.as_bytes());
        let token = given.and_then(|value| value.strip_prefix(b"Bearer ")).unwrap_or_default();
        let wanted = self.token.as_bytes();
        // Takes as long for each wrong token of the right length.
        let differs = token.iter().zip(wanted).fold(0, |differs, (a, b)| differs | (a ^ b));
        token.len() == wanted.len() && differs == 0
    }
}

/// Returns why a request is refused, if it is.
///
/// A site in the viewer's browser could otherwise read the page of a port that only the viewer reaches:
/// its own name would lead there (DNS rebinding). So the name must be one of ours: an IP address,
/// `localhost`, or one of `names`. A request that another site made is refused, too.
pub(super) fn refusal(headers: &HeaderMap, names: &[String]) -> Option<&'static str> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let host = text(HOST).unwrap_or_default();
    if !is_ours(host, names) {
        return Some(
            "This host is not known by that name. Use its IP address, or start loadgen with --web=NAME:PORT.",
        );
    }
    let is_own = text(ORIGIN).is_none_or(|origin| origin.strip_prefix("http://") == Some(host));
    (!is_own).then_some("Other sites may not use this page.")
}

fn is_ours(host: &str, names: &[String]) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, port),
        _ => (host, ""),
    };
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    let is_address = bare.unwrap_or(name).parse::<IpAddr>().is_ok();
    let is_named = names.iter().any(|known| known.eq_ignore_ascii_case(name));
    let is_localhost = name.eq_ignore_ascii_case("localhost");
    port.bytes().all(|byte| byte.is_ascii_digit()) && (is_address || is_localhost || is_named)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(host: &str, origin: Option<&str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_str(host).unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, HeaderValue::from_str(origin).unwrap());
        }
        headers
    }

    #[test]
    fn only_names_of_this_host_and_the_page_itself_are_served() {
        let names = ["load.example.net".to_owned()];
        let refused =
            |host: &str, origin: Option<&str>| refusal(&headers(host, origin), &names).is_some();
        for host in ["127.0.0.1:80", "[::1]:80", "10.0.0.1", "localhost:9", "LOAD.example.net:80"] {
            assert!(!refused(host, None), "{host}");
            let own = format!("http://{host}");
            assert!(!refused(host, Some(&own)), "{host}");
        }
        for host in
            ["evil.example.net:80", "", "127.0.0.1.evil.net", "localhost:evil.net", "localhost."]
        {
            assert!(refused(host, None), "{host}");
        }
        for origin in
            ["http://evil.example.net", "null", "https://localhost:9", "http://localhost:8"]
        {
            assert!(refused("localhost:9", Some(origin)), "{origin}");
        }
        assert!(refusal(&HeaderMap::new(), &names).is_some());
    }

    #[test]
    fn the_whole_token_is_needed() {
        let carry_out: CarryOut = Arc::new(|_| Box::pin(async { Ok(String::new()) }));
        let controls = Controls { token: "abc".to_owned(), can_change: true, carry_out };
        let allowed = |value: &str| {
            let mut headers = headers("localhost", None);
            headers.insert(AUTHORIZATION, HeaderValue::from_str(value).unwrap());
            controls.allow(&headers)
        };
        assert!(allowed("Bearer abc"));
        for value in ["Bearer ab", "Bearer abcd", "Bearer abd", "Bearer ", "abc", "Basic abc"] {
            assert!(!allowed(value), "{value}");
        }
        assert!(!controls.allow(&HeaderMap::new()));
    }
}
