//! How a scenario's requests travel, and what carries them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a scenario asks of HTTP beside its requests. The default is plain HTTP/1.1, in which a
/// redirect is an answer like any other, and nothing is kept from one request to the next.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Http {
    /// The version that is spoken.
    pub version: HttpVersion,
    /// How many redirects in a row a request follows.
    pub redirects: u32,
    /// Whether each user keeps the cookies that it is given.
    pub cookies: bool,
    /// The `http://` or `https://` URL of a proxy that all requests go through.
    pub proxy: Option<String>,
    /// The transport that the file insists on; the one that fits where `None`.
    pub transport: Option<TransportKind>,
}

/// A version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HttpVersion {
    /// HTTP/1.1.
    #[default]
    Http11,
    /// HTTP/2: with prior knowledge for `http://`, where the server agrees for `https://`.
    Http2,
}

/// What carries requests to the server and answers back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransportKind {
    /// Our own, for HTTP/1.1 without TLS: the cheapest for the machine that makes the load.
    Http1,
    /// The `reqwest` crate, which can do everything.
    Reqwest,
}

impl fmt::Display for TransportKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http1 => "http1",
            Self::Reqwest => "reqwest",
        })
    }
}

/// What a scenario may ask for that only [`TransportKind::Reqwest`] can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the fields' of `Http`")]
pub enum HttpFeature {
    Version2,
    Redirects,
    Cookies,
    Proxy,
}

impl HttpFeature {
    /// The key of `[http]` that asks for it.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Version2 => "version",
            Self::Redirects => "redirects",
            Self::Cookies => "cookies",
            Self::Proxy => "proxy",
        }
    }
}

impl fmt::Display for HttpFeature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Version2 => "HTTP/2",
            Self::Redirects => "redirects",
            Self::Cookies => "cookies",
            Self::Proxy => "a proxy",
        })
    }
}

impl Http {
    /// Everything asked for that only [`TransportKind::Reqwest`] can do.
    pub fn beyond_http1(&self) -> Vec<HttpFeature> {
        let asked = [
            (HttpFeature::Version2, self.version == HttpVersion::Http2),
            (HttpFeature::Redirects, self.redirects > 0),
            (HttpFeature::Cookies, self.cookies),
            (HttpFeature::Proxy, self.proxy.is_some()),
        ];
        asked.into_iter().filter_map(|(feature, asked)| asked.then_some(feature)).collect()
    }

    /// What carries the requests to `base_url`: what the file insists on, or else the cheapest that
    /// can do all that is asked for.
    ///
    /// ```
    /// use loadgen_core::scenario::{Http, TransportKind};
    ///
    /// let plain = Http::default();
    /// assert_eq!(plain.transport("http://127.0.0.1:8000"), TransportKind::Http1);
    /// assert_eq!(plain.transport("https://127.0.0.1:8000"), TransportKind::Reqwest);
    ///
    /// let cookies = Http { cookies: true, ..Http::default() };
    /// assert_eq!(cookies.transport("http://127.0.0.1:8000"), TransportKind::Reqwest);
    /// ```
    pub fn transport(&self, base_url: &str) -> TransportKind {
        if let Some(kind) = self.transport {
            kind
        } else if base_url.starts_with("https://") || !self.beyond_http1().is_empty() {
            TransportKind::Reqwest
        } else {
            TransportKind::Http1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "http://127.0.0.1:8000";
    const TLS: &str = "https://127.0.0.1:8000";

    #[test]
    fn each_feature_alone_takes_reqwest() {
        let default = Http::default;
        let cases = [
            (Http { version: HttpVersion::Http2, ..default() }, HttpFeature::Version2),
            (Http { redirects: 1, ..default() }, HttpFeature::Redirects),
            (Http { cookies: true, ..default() }, HttpFeature::Cookies),
            (Http { proxy: Some("http://proxy".to_owned()), ..default() }, HttpFeature::Proxy),
        ];
        for (http, feature) in cases {
            assert_eq!(http.beyond_http1(), [feature]);
            assert_eq!(http.transport(PLAIN), TransportKind::Reqwest, "{feature}");
        }
        assert_eq!(default().beyond_http1(), []);
    }

    #[test]
    fn what_the_file_insists_on_is_taken() {
        for kind in [TransportKind::Http1, TransportKind::Reqwest] {
            for url in [PLAIN, TLS] {
                let http = Http { transport: Some(kind), ..Http::default() };
                assert_eq!(http.transport(url), kind);
            }
        }
    }
}
