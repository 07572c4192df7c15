//! HTTP options and the transport of a scenario's requests.

use std::fmt;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use url::Url;

use super::sharing::Sharing;
use super::tls::Tls;

/// HTTP options of a scenario. The default is plain HTTP/1.1: a redirect is an answer like any
/// other, and no state is kept between requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Http {
    /// HTTP version of all requests.
    pub version: HttpVersion,
    /// Largest number of consecutive redirects that a request follows, unless its step says otherwise; 0 follows none.
    pub redirects: u32,
    /// Whether each user keeps the cookies that it receives.
    pub cookies: bool,
    /// URL (`http://` or `https://`) of a proxy for all requests; `None` uses no proxy.
    pub proxy: Option<String>,
    /// Connections of users of HTTP/2.
    pub sharing: Sharing,
    /// Whether a user's requests share a connection.
    pub connection: Reuse,
    /// Whether requests that the server did not process are sent again.
    pub resends: bool,
    /// Transport that the file requires; `None` chooses a suitable transport.
    pub transport: Option<TransportKind>,
    /// TLS options, for `https://` URLs.
    pub tls: Tls,
}

/// A version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HttpVersion {
    /// HTTP/1.1.
    #[default]
    Http11,
    /// HTTP/2. For `http://`, requests assume HTTP/2 without negotiation ("prior knowledge"). For
    /// `https://`, requests use HTTP/2 if the server agrees.
    Http2,
}

/// How long a connection is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reuse {
    /// All requests of a user, as long as the server keeps the connection open.
    #[default]
    KeepAlive,
    /// One request, so that each latency includes the time to connect.
    PerRequest,
    /// All requests of a user, until loadgen ends the connection.
    Until(Lifetime),
}

impl Reuse {
    /// Returns when loadgen ends a connection that carries several requests; `None` if it ends none.
    pub fn lifetime(self) -> Option<Lifetime> {
        match self {
            Self::Until(limit) => Some(limit),
            Self::KeepAlive | Self::PerRequest => None,
        }
    }
}

/// When loadgen ends a connection: at the limit that it reaches first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Lifetime {
    /// Number of requests that the connection carries; `None` for no limit.
    pub requests: Option<u32>,
    /// Time after its opening from which the connection begins no request; `None` for no limit.
    pub age: Option<Duration>,
}

/// Implementation that sends requests and receives answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransportKind {
    /// Built-in implementation for HTTP/1.1, which costs the load generator least.
    Http1,
    /// Built-in implementation for HTTP/2.
    Http2,
    /// The `reqwest` crate, a second opinion, which supports all options except shared connections.
    Reqwest,
}

impl fmt::Display for TransportKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http1 => "http1",
            Self::Http2 => "http2",
            Self::Reqwest => "reqwest",
        })
    }
}

impl Default for Http {
    fn default() -> Self {
        Self {
            version: HttpVersion::default(),
            redirects: 0,
            cookies: false,
            proxy: None,
            sharing: Sharing::default(),
            connection: Reuse::default(),
            resends: true,
            transport: None,
            tls: Tls::default(),
        }
    }
}

impl Http {
    /// Returns the user and the password in the URL of the proxy, decoded; `None` if it has none.
    pub fn proxy_credentials(&self) -> Option<(String, String)> {
        let url = Url::parse(self.proxy.as_deref()?).ok()?;
        let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let has_some = !url.username().is_empty() || url.password().is_some();
        has_some.then(|| (decoded(url.username()), decoded(url.password().unwrap_or_default())))
    }

    /// Returns the transport of the requests: the one that the file requires, or else that of the version.
    ///
    /// ```
    /// use loadgen_scenario::{Http, HttpVersion, TransportKind};
    ///
    /// assert_eq!(Http::default().transport(), TransportKind::Http1);
    ///
    /// let http2 = Http { version: HttpVersion::Http2, ..Http::default() };
    /// assert_eq!(http2.transport(), TransportKind::Http2);
    /// ```
    pub fn transport(&self) -> TransportKind {
        match (self.transport, self.version) {
            (Some(kind), _) => kind,
            (None, HttpVersion::Http11) => TransportKind::Http1,
            (None, HttpVersion::Http2) => TransportKind::Http2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transport_of_the_file_is_used() {
        for kind in [TransportKind::Http1, TransportKind::Http2, TransportKind::Reqwest] {
            let http = Http { transport: Some(kind), ..Http::default() };
            assert_eq!(http.transport(), kind);
        }
    }
}
