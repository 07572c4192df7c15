//! A request to which a redirect leads.

use url::Url;

use crate::transport::fields::Fields;
use crate::transport::request_body::RequestBody;
use crate::transport::{Failure, step_request};
use loadgen_measure::ErrorKind;
use loadgen_scenario::{Method, Step};

/// Fields that tell about the body, and leave with it (Fetch standard, "request-body-header name").
const OF_THE_BODY: [&[u8]; 4] =
    [b"content-encoding", b"content-language", b"content-location", b"content-type"];

/// Fields that only the server may see for which they were meant.
const OF_THE_SERVER: [&[u8]; 4] = [b"authorization", b"cookie", b"host", b"proxy-authorization"];

/// A request, as far as it does not depend on the version of HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::transport) struct Request {
    pub(in crate::transport) method: Method,
    /// Without a fragment and a user.
    pub(in crate::transport) url: Url,
    /// The fields, `host` among them, without `content-length`.
    pub(in crate::transport) fields: Fields,
    pub(in crate::transport) body: RequestBody,
}

impl Request {
    /// Returns the request of `step` to `url`, as it was rendered.
    pub(super) fn of(step: &Step, url: Url, rendered: (Fields, RequestBody)) -> Self {
        let (fields, body) = rendered;
        Self { method: step.method.clone(), url, fields, body }
    }

    /// Returns path and query.
    pub(in crate::transport) fn target(&self) -> &str {
        &self.url[url::Position::BeforePath..url::Position::AfterQuery]
    }

    /// Returns the request to which a redirect with this status leads (RFC 9110, section 15.4). As in browsers,
    /// 301 and 302 turn a POST into a GET, 303 turns everything but a HEAD into one, and other servers get neither
    /// credentials nor a `host` that was meant for this one.
    pub(super) fn redirected(self, status: u16, location: &[u8]) -> Result<Self, Failure> {
        let wrong = |what: &str| {
            // What follows may be a secret, such as a code that grants access.
            let end = location.iter().position(|byte| b"?#".contains(byte));
            let shown = String::from_utf8_lossy(&location[..end.unwrap_or(location.len())]);
            let shown: String = shown.chars().take(200).collect();
            let more = if end.is_some() { "…" } else { "" };
            let message =
                format!("the server redirects to \"{}{more}\", {what}", shown.escape_debug());
            Failure::new(ErrorKind::Protocol, message)
        };
        let text = std::str::from_utf8(location).map_err(|_| wrong("which is not UTF-8"))?;
        let mut url = self.url.join(text).map_err(|_| wrong("which is no URL"))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(wrong(
                "which is no URL of HTTP: `redirects = 0` leaves a redirect as it is",
            ));
        }
        url.set_fragment(None);
        // Neither can fail: the URL has a host.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        let becomes_get = becomes_get(&self.method, status);
        let leaves = !have_one_origin(&url, &self.url);
        let stays_back = |name: &[u8]| {
            (becomes_get && OF_THE_BODY.contains(&name))
                || (leaves && OF_THE_SERVER.contains(&name))
        };
        let mut fields = self.fields;
        if fields.iter().any(|(name, _)| stays_back(name)) {
            let mut kept = Fields::default();
            let all = fields.iter().filter(|(name, _)| !stays_back(name));
            all.for_each(|(name, value)| kept.push(name, value));
            fields = kept;
        }
        if leaves {
            fields.push(b"host", step_request::host(&url).as_bytes());
        }
        let (method, body) = match becomes_get {
            true => (Method::GET, RequestBody::default()),
            false => (self.method, self.body),
        };
        Ok(Self { method, url, fields, body })
    }
}

/// Whether a redirect with this status turns the method into GET, and leaves out the body.
pub(super) fn becomes_get(method: &Method, status: u16) -> bool {
    match status {
        301 | 302 => *method == Method::POST,
        303 => *method != Method::HEAD,
        _ => false,
    }
}

/// Whether two URLs of HTTP lead to one server (RFC 6454, section 5). Without the copies of [`Url::origin`].
pub(super) fn have_one_origin(one: &Url, other: &Url) -> bool {
    let port = Url::port_or_known_default;
    one.scheme() == other.scheme() && one.host_str() == other.host_str() && port(one) == port(other)
}

/// Statuses of redirects that can be followed.
pub const REDIRECTS: [u16; 5] = [301, 302, 303, 307, 308];

/// Whether a response with this status is a redirect that can be followed.
pub fn is_redirect(status: u16) -> bool {
    REDIRECTS.contains(&status)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: Method) -> Request {
        let mut fields = Fields::default();
        for (name, value) in [
            ("host", "shop.example"),
            ("authorization", "Bearer x"),
            ("accept", "*/*"),
            ("content-type", "text/plain"),
            ("cookie", "a=1"),
        ] {
            fields.push(name.as_bytes(), value.as_bytes());
        }
        let url = Url::parse("http://127.0.0.1:8000/a/b?c=d").unwrap();
        Request { method, url, fields, body: bytes::Bytes::from_static(b"body").into() }
    }

    fn names(request: &Request) -> String {
        let names = request.fields.iter().map(|(name, _)| String::from_utf8_lossy(name));
        names.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_redirect_changes_the_method_as_in_browsers() {
        let after = |method: Method, status| {
            let next = request(method).redirected(status, b"/x").unwrap();
            format!("{} {}", next.method, next.body.length())
        };
        for status in [301, 302] {
            assert_eq!(after(Method::POST, status), "GET 0");
            assert_eq!(after(Method::PUT, status), "PUT 4");
        }
        assert_eq!(after(Method::PUT, 303), "GET 0");
        assert_eq!(after(Method::HEAD, 303), "HEAD 4");
        for status in [307, 308] {
            assert_eq!(after(Method::POST, status), "POST 4");
        }
    }

    #[test]
    fn a_location_is_relative_to_the_url_before() {
        for (location, expected) in [
            ("x", "http://127.0.0.1:8000/a/x"),
            ("?y=1", "http://127.0.0.1:8000/a/b?y=1"),
            ("/z#part", "http://127.0.0.1:8000/z"),
            ("//other:1/p", "http://other:1/p"),
            ("https://u:p@other/", "https://other/"),
            ("http://127.0.0.1:8000/é", "http://127.0.0.1:8000/%C3%A9"),
        ] {
            let next = request(Method::GET).redirected(302, location.as_bytes()).unwrap();
            assert_eq!(next.url.as_str(), expected, "{location}");
        }
        let next = request(Method::GET).redirected(302, b"/z?q#part").unwrap();
        assert_eq!(next.target(), "/z?q");
    }

    #[test]
    fn another_server_gets_no_credentials() {
        let here = request(Method::POST).redirected(307, b"/x").unwrap();
        assert_eq!(names(&here), "host authorization accept content-type cookie");
        assert_eq!(here.fields.first("host"), Some(&b"shop.example"[..]));
        for location in
            ["http://127.0.0.1:8001/", "https://127.0.0.1:8000/", "http://localhost:8000"]
        {
            let there = request(Method::POST).redirected(307, location.as_bytes()).unwrap();
            assert_eq!(names(&there), "accept content-type host", "{location}");
        }
        let there = request(Method::POST).redirected(303, b"http://other/").unwrap();
        assert_eq!(names(&there), "accept host");
        assert_eq!(there.fields.first("host"), Some(&b"other"[..]));
    }

    #[test]
    fn a_redirect_that_cannot_be_followed_says_why() {
        let said = |location: &[u8]| {
            request(Method::GET).redirected(302, location).unwrap_err().message.into_owned()
        };
        assert_eq!(
            said(b"myapp://callback?code=1"),
            "the server redirects to \"myapp://callback…\", which is no URL of HTTP: `redirects = 0` leaves \
             a redirect as it is"
        );
        assert_eq!(said(b"http://"), "the server redirects to \"http://\", which is no URL");
        assert_eq!(said(b"\xff"), "the server redirects to \"\u{fffd}\", which is not UTF-8");
        assert!(said("x://".repeat(100).as_bytes()).len() < 400);
    }
}
