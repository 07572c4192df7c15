//! Parses the URL of a server, which may listen on a Unix domain socket.

use std::fmt;
use std::os::unix::net::SocketAddr;
use std::path::Path;

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use url::{Position, Url};

/// Beginning of the URL of a server on a socket, as in gunicorn.
const UNIX: &str = "unix:";

/// The same as nginx writes it.
const OF_NGINX: &str = "http://unix:/";

/// Beginning of the URL in Python's clients of HTTP, before the percent-encoded path of the socket.
const HTTP_UNIX: &str = "http+unix://";

/// Scheme and host that requests to a socket name, as those of `curl --unix-socket` commonly do.
const NAME: &str = "http://localhost";

/// A server: the URL that requests name, and the place to which connections lead.
///
/// A server on a Unix domain socket is written as `unix:/run/app.sock`, with a path of requests as
/// `unix:/run/app.sock:/api`, or as `http+unix://%2Frun%2Fapp.sock/api`. `Display` shows the first form.
///
/// ```
/// use loadgen_scenario::ServerUrl;
///
/// let server = ServerUrl::parse("http+unix://%2Frun%2Fapp.sock/api").unwrap();
/// assert_eq!(server.url.as_str(), "http://localhost/api");
/// assert_eq!(server.socket.as_deref(), Some("/run/app.sock"));
/// assert_eq!(server.to_string(), "unix:/run/app.sock:/api");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerUrl {
    /// Scheme, host and port that requests name, and the beginning of their paths. The host is
    /// `localhost` if the server listens on a socket.
    pub url: Url,
    /// Path of the socket, absolute; `None` if the server listens on a port.
    pub socket: Option<String>,
}

impl ServerUrl {
    /// Parses a URL of a server. A path of a socket that is not absolute begins at the current folder.
    ///
    /// # Errors
    /// A phrase that says what is wrong with the URL.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = without_scheme(text);
        let (origin, path) = Self::split(text).unwrap_or((text, ""));
        let socket = if let Some(path) = origin.strip_prefix(UNIX) {
            // As a file: URL, with an empty host.
            path.strip_prefix("//").filter(|path| path.starts_with('/')).unwrap_or(path).to_owned()
        } else if let Some(host) = origin.strip_prefix(HTTP_UNIX) {
            let path = percent_decode_str(host).decode_utf8();
            path.map_err(|_| "the path of the socket is not UTF-8")?.into_owned()
        } else {
            let url = Url::parse(text).map_err(|error| error.to_string())?;
            return Ok(Self { url, socket: None });
        };
        if socket.is_empty() {
            return Err("there is no path of a socket".to_owned());
        }
        if socket.starts_with('@') {
            let what = "abstract sockets are not supported; write ./@NAME for a file of this name";
            return Err(what.to_owned());
        }
        let socket = std::path::absolute(Path::new(&socket)).map_err(|error| error.to_string())?;
        SocketAddr::from_pathname(&socket)
            .map_err(|_| "the system allows no path of a socket as long as this one".to_owned())?;
        let url = Url::parse(&format!("{NAME}{path}")).map_err(|error| error.to_string())?;
        // Made of UTF-8 above, and of the current folder.
        Ok(Self { url, socket: Some(socket.to_string_lossy().into_owned()) })
    }

    /// Returns the URL of a server on the socket at an absolute path.
    #[must_use]
    pub fn of_socket(path: &Path) -> String {
        shown(&path.to_string_lossy())
    }

    /// Splits a URL as written: into the server, and the path with the query. `None` if the text begins
    /// with no scheme.
    pub fn split(text: &str) -> Option<(&str, &str)> {
        let text = without_scheme(text);
        if let Some(path) = text.strip_prefix(UNIX) {
            // The path of the socket ends at a colon.
            let end = path.find(":/").map(|at| UNIX.len() + at);
            return Some(end.map_or((text, ""), |end| (&text[..end], &text[end + 1..])));
        }
        let host = text.find("://")? + "://".len();
        Some(text.split_at(text[host..].find(['/', '?', '#']).map_or(text.len(), |at| host + at)))
    }

    /// Returns this URL with a path and a query after those that it has, as text.
    #[must_use]
    pub fn with_path(&self, path: &str) -> String {
        let path = format!("{}{path}", self.url.path().trim_end_matches('/'));
        let slash = if path.starts_with('?') { "/" } else { "" };
        match &self.socket {
            None => format!("{}{path}", &self.url[..Position::BeforePath]),
            Some(socket) => {
                let colon = if path.is_empty() || !is_plain(socket) { "" } else { ":" };
                format!("{}{colon}{slash}{path}", shown(socket))
            }
        }
    }
}

/// Returns the URL without the scheme that nginx writes before the path of a socket.
fn without_scheme(text: &str) -> &str {
    if text.starts_with(OF_NGINX) { &text["http://".len()..] } else { text }
}

/// Whether nothing in the path of a socket could be taken for its end.
fn is_plain(socket: &str) -> bool {
    !socket.contains(":/")
}

/// Returns the URL of a server on this socket.
fn shown(socket: &str) -> String {
    match is_plain(socket) {
        true => format!("{UNIX}{socket}"),
        false => format!("{HTTP_UNIX}{}", utf8_percent_encode(socket, NON_ALPHANUMERIC)),
    }
}

impl fmt::Display for ServerUrl {
    /// Writes the URL without a slash at the end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.with_path(""))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_form_of_a_url_is_read_and_shown() {
        for (text, url, socket, shown) in [
            ("http://a:1/", "http://a:1/", None, "http://a:1"),
            ("https://a/b/", "https://a/b/", None, "https://a/b"),
            ("unix:/run/a.sock", "http://localhost/", Some("/run/a.sock"), "unix:/run/a.sock"),
            ("unix:///run/a.sock", "http://localhost/", Some("/run/a.sock"), "unix:/run/a.sock"),
            (
                "unix:/run/a.sock:/api/",
                "http://localhost/api/",
                Some("/run/a.sock"),
                "unix:/run/a.sock:/api",
            ),
            ("http://unix:/a:/b?c", "http://localhost/b?c", Some("/a"), "unix:/a:/b"),
            ("http+unix://%2Fa%20b", "http://localhost/", Some("/a b"), "unix:/a b"),
            ("http+unix://%2Fa/b", "http://localhost/b", Some("/a"), "unix:/a:/b"),
            (
                "http+unix://%2Fa:%2Fb/c",
                "http://localhost/c",
                Some("/a:/b"),
                "http+unix://%2Fa%3A%2Fb/c",
            ),
        ] {
            let server = ServerUrl::parse(text).unwrap();
            assert_eq!((server.url.as_str(), server.socket.as_deref()), (url, socket), "{text}");
            assert_eq!(server.to_string(), shown);
            let url = url.split('?').next().unwrap();
            let path = url.trim_end_matches('/').replace("http://localhost", "");
            if socket.is_some() {
                assert!(server.with_path("/x").ends_with(&format!("{path}/x")), "{text}");
            }
        }
        let here = ServerUrl::parse("unix:a.sock").unwrap().socket.unwrap();
        assert_eq!(Path::new(&here), std::env::current_dir().unwrap().join("a.sock"));
    }

    #[test]
    fn a_socket_without_a_usable_path_is_refused() {
        let long = format!("unix:/{}", "a".repeat(200));
        for (text, why) in [
            ("unix:", "no path"),
            ("unix:@a", "abstract"),
            ("unix:/a\0b", "no path of a socket"),
            (long.as_str(), "as long as"),
            ("http+unix://", "no path"),
            ("http+unix://%FF", "not UTF-8"),
        ] {
            let error = ServerUrl::parse(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn a_shown_url_is_the_same_server(socket in "/[a-z:/ %.é]{1,20}", path in "(/[a-z]{1,3}){0,3}") {
            let encoded = utf8_percent_encode(&socket, NON_ALPHANUMERIC);
            let url = format!("{HTTP_UNIX}{encoded}{path}");
            let server = ServerUrl::parse(&url).unwrap();
            prop_assert_eq!(ServerUrl::parse(&server.to_string()).unwrap(), server);
        }
    }
}
