//! `[http]`: HTTP options and the transport of requests.

use std::path::Path;

use serde_json::json;
use url::{Host, ParseError, Url};

use super::keys::schema::{Schema, partly, says};
use super::keys::{
    Boolean, Choice, Custom, Defaulted, Integer, Key, Keys, custom, integer, key, matching,
};
use super::reader::{Faults, Table, Value};
use super::{auth, connection, tls};
use crate::body::Body;
use crate::error::Fault;
use crate::http::{Http, HttpVersion, Reuse, TransportKind};
use crate::model::Step;
use crate::overrides::MOST_USERS;

/// Largest number of consecutive redirects: as many as browsers follow.
pub(super) const MOST_REDIRECTS: u64 = 20;

/// Largest number of connections, and of users of one connection: as many as users.
const MOST_SHARED: u64 = MOST_USERS as u64;

const VERSIONS: [(&str, HttpVersion); 2] =
    [("1.1", HttpVersion::Http11), ("2", HttpVersion::Http2)];

const TRANSPORTS: [(&str, Option<TransportKind>); 4] = [
    ("auto", None),
    ("http1", Some(TransportKind::Http1)),
    ("http2", Some(TransportKind::Http2)),
    ("reqwest", Some(TransportKind::Reqwest)),
];

keys! {
    /// options of HTTP
    pub(super) const KEYS: Keys = table("[http]").with(rules);

    /// version of HTTP
    const VERSION: Key<Choice<HttpVersion>> = key("version", Choice(&VERSIONS))
        .otherwise("`\"1.1\"`; `\"2\"` if a step has `grpc`");
    /// number of HTTP/2 connections over all workers, which users share evenly
    const CONNECTIONS: Key<Integer> = key("connections", integer(1, MOST_SHARED))
        .otherwise("one for each user");
    /// most users who share an HTTP/2 connection, and thus most of its concurrent requests
    const STREAMS: Key<Integer> = key("streams", integer(1, MOST_SHARED)).otherwise("no limit");
    /// most consecutive redirects that a request follows, unless its [step](#step) says otherwise
    const REDIRECTS: Defaulted<Integer> = key("redirects", integer(0, MOST_REDIRECTS)).or("0");
    /// whether each user keeps the cookies that it receives, as a browser does
    const COOKIES: Defaulted<Boolean> = key("cookies", Boolean).or("false");
    /// `http://` or `https://` proxy of host and port, without placeholders, such as `"http://10.0.0.1:3128"`
    const PROXY: Key<Custom> = key("proxy", matching("URL", r"^\s*[Hh][Tt][Tt][Pp][Ss]?:"))
        .otherwise("no proxy, also where the environment names one");
    const CONNECTION: Defaulted<Custom> = connection::KEY;
    /// whether a request that the server [never
    /// processed](../explanation/counting.md#requests-that-are-sent-again) is sent again
    const RESEND: Defaulted<Boolean> = key("resend", Boolean).or("true");
    /// implementation that sends the requests: loadgen's own for the version, `http1` or `http2`, or `reqwest` as
    /// a second opinion
    const TRANSPORT: Defaulted<Choice<Option<TransportKind>>> = key("transport", Choice(&TRANSPORTS))
        .or("\"auto\"");
    /// [TLS options](#httptls), for https:// URLs
    const TLS: Key<Custom> = key("tls", custom("table", || tls::KEYS.schema()))
        .otherwise("the defaults of its keys");
    /// [user and password](#user-and-password) of all steps that have neither an `auth` nor a header
    /// `authorization`
    const AUTH: Key<Custom> = key("auth", custom("table", || auth::KEYS.schema()))
        .otherwise("no user and password");
}

/// Says which keys do not go together with a transport, or with shared connections.
fn rules(table: Schema) -> Schema {
    let http1 = [("version", json!({ "const": "1.1" }))];
    let http2 = [("version", json!({ "const": "2" }))];
    let shared = [
        ("transport", json!({ "enum": ["auto", "http2"] })),
        ("connection", connection::not_per_request()),
    ];
    let shared: Vec<_> = http2.iter().cloned().chain(shared).collect();
    // A scenario with gRPC calls may leave the version out.
    let shares = json!({ "anyOf": [{ "required": ["connections"] }, { "required": ["streams"] }] });
    let conditions = json!([
        { "if": says("transport", "http1"), "then": partly(http1) },
        { "if": says("transport", "http2"), "then": partly(http2) },
        { "if": shares, "then": partly(shared) },
    ]);
    table.with("allOf", conditions)
}

/// Reads the table into the options `http`, which a file without the table has. Relative paths in the
/// file start at `folder`.
pub(super) fn read(
    value: &Value<'_>,
    mut http: Http,
    folder: &Path,
    faults: &mut Faults<'_>,
) -> Option<Http> {
    let mut table = KEYS.open(value, faults)?;
    let values = table.all();
    let version = VERSION.take(&mut table);
    // The default depends on the steps.
    if let Some(value) = version {
        http.version = value.choice(&VERSIONS, faults).unwrap_or_default();
    }
    http.sharing.connections = read_shared(&CONNECTIONS, &mut table, faults);
    http.sharing.streams = read_shared(&STREAMS, &mut table, faults);
    let redirects = REDIRECTS.read(&mut table, faults);
    http.redirects = redirects.and_then(|n| u32::try_from(n).ok()).unwrap_or_default();
    http.cookies = COOKIES.read(&mut table, faults).unwrap_or_default();
    http.proxy = PROXY.take(&mut table).and_then(|value| read_proxy(&value, faults));
    let reuse = CONNECTION.take(&mut table).and_then(|value| connection::read(&value, faults));
    http.connection = reuse.unwrap_or_default();
    http.resends = RESEND.read(&mut table, faults).unwrap_or(true);
    http.transport = TRANSPORT.read(&mut table, faults).flatten();
    let tls = TLS.take(&mut table);
    http.tls = tls.and_then(|value| tls::read(&value, folder, faults)).unwrap_or_default();
    // Read with the steps, whose names it can use.
    AUTH.take(&mut table);
    table.finish(faults);
    check_transport(&http, &values, faults);
    check_sharing(&http, &values, faults);
    if http.transport() == TransportKind::Reqwest {
        refuse_beyond_reqwest(&http, &values, faults);
    }
    Some(http)
}

fn read_shared(key: &Key<Integer>, table: &mut Table<'_>, faults: &mut Faults<'_>) -> Option<u32> {
    key.read(table, faults).flatten().and_then(|n| u32::try_from(n).ok())
}

/// Reads the URL of the proxy. Uses the transport's URL parser, so that the transport reads the URL
/// in the same way.
fn read_proxy(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<String> {
    let text = value.text(faults)?;
    if text.contains("{{") {
        let help = "write the URL of the proxy; one that wants a user can be passed by a local proxy that has the \
                    password";
        return value.fault("`proxy` has no placeholders", "sent as it is written", help, faults);
    }
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

/// Adds a fault if the file requires a transport together with options that it does not support.
fn check_transport(http: &Http, values: &[Value<'_>], faults: &mut Faults<'_>) {
    let value = |key| values.iter().find(|value| value.key == key);
    let (Some(kind), Some(forced)) = (http.transport, value("transport")) else { return };
    let beyond: &[&str] = match (kind, http.version) {
        (TransportKind::Http1, HttpVersion::Http2) => &["version"],
        (TransportKind::Http1, HttpVersion::Http11)
        | (TransportKind::Http2, HttpVersion::Http2) => &[],
        (TransportKind::Http2, HttpVersion::Http11) => {
            let message = "the transport `http2` needs `version = \"2\"`";
            let help = "add `version = \"2\"`, or leave out `transport`";
            return forced.fault::<()>(message, "chosen here", help, faults).unwrap_or_default();
        }
        (TransportKind::Reqwest, _) => &["connections", "streams"],
    };
    let beyond: Vec<_> = beyond.iter().filter_map(|key| value(key)).collect();
    if beyond.is_empty() {
        return;
    }
    let message = format!("the transport `{kind}` does not support all options in [http]");
    let fault = Fault::new(message)
        .at(forced.place(), "chosen here")
        .help("leave out `transport`: loadgen then uses the transport that the options need");
    faults.add(beyond.iter().fold(fault, |fault, value| fault.at(value.place(), "needs http2")));
}

/// Adds a fault if users are to share connections where they cannot.
fn check_sharing(http: &Http, values: &[Value<'_>], faults: &mut Faults<'_>) {
    let shared = |value: &&Value<'_>| ["connections", "streams"].contains(&value.key);
    let Some(first) = values.iter().find(shared) else { return };
    if http.version == HttpVersion::Http11 {
        let message =
            format!("`{}` has no effect in HTTP/1.1: each user has a connection", first.key);
        let help = "add `version = \"2\"`, or leave the key out";
        return first.fault::<()>(message, "only in HTTP/2", help, faults).unwrap_or_default();
    }
    if http.connection == Reuse::PerRequest
        && let Some(other) = values.iter().find(|value| value.key == "connection")
    {
        let message = format!("`{}` has no effect if each request opens a connection", first.key);
        let fault =
            Fault::new(message).at(first.place(), "no effect").at(other.place(), "chosen here");
        faults.add(fault.help("leave one of them out"));
    }
}

/// Adds a fault if connections carry fewer requests at a time than `users` users send. `value` is the
/// table [http].
pub(super) fn check_users(value: &Value<'_>, http: &Http, users: u32, faults: &mut Faults<'_>) {
    let Err(error) = http.sharing.check(users) else { return };
    let Some(mut table) = value.table("[http]", faults) else { return };
    let fault = Fault::new(error.to_string())
        .help("use more connections or streams, or leave one of the two keys out");
    let places = table.take_any(["connections", "streams"]);
    faults.add(places.iter().fold(fault, |fault, value| fault.at(value.place(), "too few")));
}

/// Adds a fault if `reqwest` would have to send a file that is not in memory. `value` is the table [http].
pub(super) fn refuse_files_on_disk<'a>(
    http: &Http,
    mut steps: impl Iterator<Item = &'a Step>,
    value: &Value<'_>,
    faults: &mut Faults<'_>,
) {
    let is_large = |step: &Step| {
        let mut files = step.body.iter().flat_map(Body::files);
        files.any(|file| file.on_disk().is_some())
    };
    if http.transport() == TransportKind::Reqwest
        && let Some(step) = steps.find(|step| is_large(step))
    {
        let message = format!(
            "the transport `reqwest` sends no file of more than 16 MiB, as the step `{}` does",
            step.name
        );
        faults.add_beside(Fault::new(message).help("leave out `transport`"), Some(value));
    }
}

/// Adds a fault for each key that `reqwest` cannot obey: it always asks for the host of the URL, and chooses itself
/// when it ends a connection.
fn refuse_beyond_reqwest(http: &Http, values: &[Value<'_>], faults: &mut Faults<'_>) {
    let beyond = [
        ("tls", "server_name", "`server_name`", http.tls.server_name.is_some()),
        (
            "connection",
            "connection",
            "a limit of `connection`",
            http.connection.lifetime().is_some(),
        ),
    ];
    for (key, name, what, _) in beyond.into_iter().filter(|(.., is_set)| *is_set) {
        let fault = Fault::new(format!("the transport `reqwest` does not support {what}"))
            .help(format!("leave out `{name}` or `transport`"));
        let set = values.iter().filter(|value| value.key == key).map(|value| (value, "named here"));
        let asking = values.iter().filter(|value| value.key == TRANSPORT.name());
        let places = set.chain(asking.map(|value| (value, "chosen here")));
        faults.add(places.fold(fault, |fault, (value, label)| fault.at(value.place(), label)));
    }
}
