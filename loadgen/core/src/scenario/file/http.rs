//! `[http]`: HTTP options and the transport of requests.

use std::path::Path;

use url::{Host, ParseError, Url};

use super::reader::{Faults, Value};
use super::tls;
use crate::scenario::error::Fault;
use crate::scenario::http::{Http, HttpVersion, Reuse, TransportKind};

/// Largest number of consecutive redirects: as many as browsers follow.
pub(super) const MOST_REDIRECTS: u64 = 20;

const KEYS: [&str; 8] =
    ["version", "redirects", "cookies", "proxy", "connection", "transport", "tls", "auth"];

pub(super) const VERSIONS: [(&str, HttpVersion); 2] =
    [("1.1", HttpVersion::Http11), ("2", HttpVersion::Http2)];

pub(super) const TRANSPORTS: [(&str, Option<TransportKind>); 3] = [
    ("auto", None),
    ("http1", Some(TransportKind::Http1)),
    ("reqwest", Some(TransportKind::Reqwest)),
];

pub(super) const CONNECTIONS: [(&str, Reuse); 2] =
    [("keep-alive", Reuse::KeepAlive), ("per-request", Reuse::PerRequest)];

/// Reads the table. Relative paths in the file start at `folder`.
pub(super) fn read(value: &Value<'_>, folder: &Path, faults: &mut Faults<'_>) -> Option<Http> {
    let mut table = value.table("[http]", faults)?;
    let values = table.take_any(KEYS);
    table.finish(faults);
    let mut http = Http::default();
    for value in &values {
        read_key(value, folder, &mut http, faults);
    }
    if http.transport == Some(TransportKind::Http1) {
        check_http1(&http, &values, faults);
    }
    if http.transport() == TransportKind::Reqwest && http.tls.server_name.is_some() {
        refuse_server_name(&http, &values, faults);
    }
    Some(http)
}

/// Reads one key of `[http]` into `http`; a key with a fault keeps its default value.
fn read_key(value: &Value<'_>, folder: &Path, http: &mut Http, faults: &mut Faults<'_>) {
    match value.key {
        "version" => http.version = value.choice(&VERSIONS, faults).unwrap_or_default(),
        "redirects" => {
            let redirects = value.integer(0..=MOST_REDIRECTS, faults);
            http.redirects = redirects.and_then(|n| u32::try_from(n).ok()).unwrap_or_default();
        }
        "cookies" => http.cookies = value.boolean(faults).unwrap_or_default(),
        "proxy" => http.proxy = read_proxy(value, faults),
        "connection" => http.connection = value.choice(&CONNECTIONS, faults).unwrap_or_default(),
        // Read with the steps, whose names it can use.
        "auth" => {}
        "tls" => http.tls = tls::read(value, folder, faults).unwrap_or_default(),
        _ => http.transport = value.choice(&TRANSPORTS, faults).flatten(),
    }
}

/// Reads the URL of the proxy. Uses the transport's URL parser, so that the transport reads the URL
/// in the same way.
fn read_proxy(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<String> {
    let text = value.text(faults)?;
    let label = match Url::parse(text) {
        Err(ParseError::RelativeUrlWithoutBase) => "no scheme".to_owned(),
        Err(reason) => reason.to_string(),
        Ok(url) if !matches!(url.scheme(), "http" | "https") => "unsupported scheme".to_owned(),
        Ok(url) if !url.host().is_some_and(is_host) => "invalid host".to_owned(),
        Ok(url) if url.path() != "/" || url.query().is_some() || url.fragment().is_some() => {
            "more than a host and a port".to_owned()
        }
        Ok(_) => return Some(text.to_owned()),
    };
    let message = "`proxy` must be the http:// or https:// URL of a proxy";
    value.fault(message, label, "write a URL such as \"http://10.0.0.1:3128\"", faults)
}

/// Returns whether the transport can connect to a proxy's host. A URL can have host names with
/// quotes or braces, but the transport silently ignores a proxy with such a name.
fn is_host(host: Host<&str>) -> bool {
    match host {
        Host::Domain(name) => name.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c)),
        Host::Ipv4(_) | Host::Ipv6(_) => true,
    }
}

/// Adds a fault if the file requires http1 together with options that http1 does not support.
fn check_http1(http: &Http, values: &[Value<'_>], faults: &mut Faults<'_>) {
    let features = http.beyond_http1();
    let value = |key| values.iter().find(|value| value.key == key);
    if features.is_empty() {
        return;
    }
    let fault = Fault::new("the transport `http1` does not support all options in [http]")
        .help("leave out `transport`: loadgen then uses reqwest where an option needs reqwest");
    let forced = value("transport").map(|value| (value, "chosen here"));
    let asking = features.iter().filter_map(|feature| value(feature.key()));
    let places = forced.into_iter().chain(asking.map(|value| (value, "needs reqwest")));
    faults.add(places.fold(fault, |fault, (value, label)| fault.at(value.place(), label)));
}

/// Adds a fault: `reqwest` always asks for the host of the URL.
fn refuse_server_name(http: &Http, values: &[Value<'_>], faults: &mut Faults<'_>) {
    let fault = Fault::new("the transport `reqwest` does not support `server_name`")
        .help("leave out `server_name`, or the options that need reqwest");
    let features = http.beyond_http1();
    let asking = values.iter().filter(|value| {
        value.key == "transport" || features.iter().any(|feature| feature.key() == value.key)
    });
    let tls = values.iter().filter(|value| value.key == "tls").map(|value| (value, "named here"));
    let places = tls.chain(asking.map(|value| (value, "needs reqwest")));
    faults.add(places.fold(fault, |fault, (value, label)| fault.at(value.place(), label)));
}
