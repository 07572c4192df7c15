//! Builds clients from a scenario's `[http]` table.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, Proxy};
use rustls::ClientConfig;
use rustls::client::Resumption;
use tokio::net::lookup_host;
use url::Url;

use super::counted::{Counted, Opened};
use super::hops::Hops;
use crate::transport::USER_AGENT;
use crate::transport::addresses::Addresses;
use crate::transport::tls;
use loadgen_scenario::{Http, HttpVersion, Reuse};

/// Builds a client for each user. Users with a common connection pool would open more connections
/// than there are users: a request takes whichever connection becomes free first, but the new
/// connection that was begun for this request is opened all the same.
pub(super) struct Clients {
    http: Http,
    is_tls: bool,
    /// TLS configuration, created once: reading the system's
    /// certificates would take 4 ms and 100 KB per user.
    tls: ClientConfig,
    addresses: Option<Arc<Addresses>>,
    /// Path of the socket on which the server listens; `None` for a port.
    socket: Option<String>,
}

impl Clients {
    /// Prepares clients for this base URL.
    pub(super) fn new(
        http: Http,
        base_url: &Url,
        addresses: Option<Arc<Addresses>>,
        socket: Option<String>,
    ) -> Result<Self, String> {
        let is_tls = base_url.scheme() == "https";
        let tls = tls::config(&http.tls, http.version)?;
        Ok(Self { http, is_tls, tls, addresses, socket })
    }

    /// URL of the proxy; `None` if there is none.
    pub(super) fn proxy(&self) -> Option<&str> {
        self.http.proxy.as_deref()
    }

    /// Whether requests that the server did not process are sent again.
    pub(super) fn resends(&self) -> bool {
        self.http.resends
    }

    /// Builds a user's client, without a connection. Ignores proxies from the environment, so that
    /// the named server is measured.
    pub(super) fn client(
        &self,
        user: u32,
        opened: Opened,
        hops: Hops,
    ) -> Result<Client, reqwest::Error> {
        let Self { http, is_tls, tls, addresses, socket } = self;
        let mut tls = tls.clone();
        tls.resumption = match http.tls.resumes {
            true => Resumption::in_memory_sessions(1),
            false => Resumption::disabled(),
        };
        let mut builder = Client::builder()
            .user_agent(USER_AGENT)
            .redirect(hops.policy())
            // As `http1` and `http2`.
            .referer(false)
            .retry(reqwest::retry::never())
            .no_proxy()
            // Bodies are decompressed only to be checked, and never on the wire's account.
            .no_gzip()
            .no_brotli()
            .no_deflate()
            .no_zstd()
            .tcp_nodelay(true)
            .http1_allow_obsolete_multiline_headers_in_responses(true)
            // Leaves the closing of connections to the server, as `http1` does.
            .pool_idle_timeout(None)
            .pool_max_idle_per_host(match http.connection {
                Reuse::KeepAlive | Reuse::Until(_) => usize::MAX,
                Reuse::PerRequest => 0,
            })
            .cookie_store(http.cookies)
            .tls_backend_preconfigured(tls)
            .connector_layer(Counted(opened));
        builder = match http.version {
            HttpVersion::Http11 => builder.http1_only(),
            // The TLS handshake offers both versions, and the server chooses.
            HttpVersion::Http2 if *is_tls => builder,
            HttpVersion::Http2 => builder.http2_prior_knowledge(),
        };
        if let Some(proxy) = &http.proxy {
            builder = builder.proxy(Proxy::all(proxy)?);
        }
        if let Some(addresses) = addresses {
            builder = builder.dns_resolver(Arc::new(OfUser { addresses: addresses.clone(), user }));
        }
        if let Some(socket) = socket {
            builder = builder.unix_socket(socket.as_str());
        }
        builder.build()
    }
}

/// Resolves the server's name to its addresses, the user's own address first. Asks the system for
/// the name of any other host, to which a redirect leads.
struct OfUser {
    addresses: Arc<Addresses>,
    user: u32,
}

impl Resolve for OfUser {
    fn resolve(&self, name: Name) -> Resolving {
        let (addresses, user) = (self.addresses.clone(), self.user);
        Box::pin(async move {
            let found: Vec<SocketAddr> = match name.as_str() == addresses.host() {
                true => addresses.for_user(user).await?,
                // The URL's port replaces the 0.
                false => lookup_host((name.as_str(), 0)).await?.collect(),
            };
            Ok::<Addrs, Box<dyn Error + Send + Sync>>(Box::new(found.into_iter()))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use axum::Router;
    use axum::extract::{ConnectInfo, Path, Request};
    use axum::http::{HeaderMap, HeaderName, header};
    use axum::response::Redirect;
    use axum::routing::get;
    use reqwest::Version;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    fn client(http: &Http, base_url: &str) -> Result<Client, reqwest::Error> {
        let clients =
            Clients::new(http.clone(), &Url::parse(base_url).unwrap(), None, None).unwrap();
        let hops = Hops::default();
        hops.begin(http.redirects);
        clients.client(0, Opened::default(), hops)
    }

    /// Starts a server that speaks HTTP/1.1 and HTTP/2. `/redirect/3` redirects to `/redirect/2`
    /// and so on, `/give/NAME` sets a cookie, `/cookies` returns the cookies of the request,
    /// `/version` the HTTP version of the request, and `/caller` the client's address.
    async fn server() -> String {
        let app = Router::new()
            .route("/redirect/0", get(|| async { "arrived" }))
            .route("/redirect/{left}", get(redirect_on))
            .route("/give/{name}", get(give))
            .route("/cookies", get(cookies))
            .route("/version", get(|request: Request| async move { version(&request) }))
            .route("/caller", get(|ConnectInfo(caller)| async move { address(caller) }));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let app = app.into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        url
    }

    async fn redirect_on(Path(left): Path<u32>) -> Redirect {
        Redirect::temporary(&format!("/redirect/{}", left - 1))
    }

    async fn give(Path(name): Path<String>) -> ([(HeaderName, String); 1], Redirect) {
        let cookie = format!("user={name}; Path=/; HttpOnly");
        ([(header::SET_COOKIE, cookie)], Redirect::to("/cookies"))
    }

    async fn cookies(headers: HeaderMap) -> String {
        let sent = headers.get(header::COOKIE);
        sent.map_or("none", |value| value.to_str().unwrap()).to_owned()
    }

    fn version(request: &Request) -> String {
        format!("{:?}", request.version())
    }

    fn address(caller: SocketAddr) -> String {
        caller.to_string()
    }

    async fn text(client: &Client, url: &str, path: &str) -> String {
        client.get(format!("{url}{path}")).send().await.unwrap().text().await.unwrap()
    }

    #[tokio::test]
    async fn redirects_are_followed_up_to_the_limit() {
        let url = server().await;
        let with = |redirects| client(&Http { redirects, ..Http::default() }, &url).unwrap();
        let answer = with(0).get(format!("{url}/redirect/1")).send().await.unwrap();
        assert_eq!(answer.status(), 307, "with 0 a redirect is an answer like any other");
        for redirects in [1, 3, 20] {
            let client = with(redirects);
            assert_eq!(text(&client, &url, &format!("/redirect/{redirects}")).await, "arrived");
            let one_more = format!("{url}/redirect/{}", redirects + 1);
            assert!(client.get(one_more).send().await.unwrap_err().is_redirect(), "{redirects}");
        }
    }

    #[tokio::test]
    async fn users_keep_their_own_cookies() {
        let url = server().await;
        let clients = Clients::new(
            Http { cookies: true, ..Http::default() },
            &Url::parse(&url).unwrap(),
            None,
            None,
        )
        .unwrap();
        let client = |user| clients.client(user, Opened::default(), Hops::default()).unwrap();
        let [anna, bert] = [0, 1].map(client);
        tokio::join!(text(&anna, &url, "/give/anna"), text(&bert, &url, "/give/bert"));
        assert_eq!(text(&anna, &url, "/cookies").await, "user=anna");
        assert_eq!(text(&bert, &url, "/cookies").await, "user=bert");
        text(&anna, &url, "/give/clara").await;
        assert_eq!(text(&anna, &url, "/cookies").await, "user=clara");
    }

    #[tokio::test]
    async fn a_cookie_from_a_redirect_is_kept() {
        let url = server().await;
        let client =
            client(&Http { cookies: true, redirects: 1, ..Http::default() }, &url).unwrap();
        assert_eq!(text(&client, &url, "/give/anna").await, "user=anna");
    }

    #[tokio::test]
    async fn no_cookie_is_kept_by_default() {
        let url = server().await;
        let client = client(&Http::default(), &url).unwrap();
        text(&client, &url, "/give/anna").await;
        assert_eq!(text(&client, &url, "/cookies").await, "none");
    }

    #[tokio::test]
    async fn http_2_is_spoken_with_prior_knowledge() {
        let url = server().await;
        let with = |version| client(&Http { version, ..Http::default() }, &url).unwrap();
        assert_eq!(text(&with(HttpVersion::Http11), &url, "/version").await, "HTTP/1.1");
        let client = with(HttpVersion::Http2);
        assert_eq!(text(&client, &url, "/version").await, "HTTP/2.0");
        let answer = client.get(format!("{url}/version")).send().await.unwrap();
        assert_eq!(answer.version(), Version::HTTP_2);
    }

    #[tokio::test]
    async fn one_client_has_one_http_2_connection() {
        let url = server().await;
        let http = Http { version: HttpVersion::Http2, ..Http::default() };
        let client = client(&http, &url).unwrap();
        let mut callers = tokio::task::JoinSet::new();
        for _ in 0..20 {
            let (client, url) = (client.clone(), url.clone());
            callers.spawn(async move { text(&client, &url, "/caller").await });
        }
        let connections: BTreeSet<String> = callers.join_all().await.into_iter().collect();
        assert_eq!(connections.len(), 1, "{connections:?}");
    }

    /// Returns the first TLS message that a client of this HTTP version sends to a server.
    async fn tls_hello(version: HttpVersion) -> Vec<u8> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let client = client(&Http { version, ..Http::default() }, &url).unwrap();
        let request = tokio::spawn(client.get(url).send());
        let (mut connection, _) = listener.accept().await.unwrap();
        // A record's header holds the length of the rest (RFC 8446, section 5.1).
        let mut header = [0; 5];
        connection.read_exact(&mut header).await.unwrap();
        let mut hello = vec![0; usize::from(u16::from_be_bytes([header[3], header[4]]))];
        connection.read_exact(&mut hello).await.unwrap();
        drop(connection);
        request.await.unwrap().unwrap_err();
        hello
    }

    #[tokio::test]
    async fn tls_offers_http_2_only_if_requested() {
        // Each protocol name in the handshake follows its length (RFC 7301, section 3.1).
        let offers = |hello: &[u8], name: &[u8]| hello.windows(name.len()).any(|part| part == name);
        let hello = tls_hello(HttpVersion::Http2).await;
        assert!(offers(&hello, b"\x02h2\x08http/1.1"));
        let hello = tls_hello(HttpVersion::Http11).await;
        assert!(offers(&hello, b"\x08http/1.1") && !offers(&hello, b"\x02h2"));
    }

    #[tokio::test]
    async fn a_proxy_is_sent_the_whole_url() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = format!("http://{}", listener.local_addr().unwrap());
        let url = "http://target.invalid:81";
        let client = client(&Http { proxy: Some(proxy), ..Http::default() }, url).unwrap();
        let answer = tokio::spawn(async move { text(&client, url, "/items?n=1").await });
        let (mut connection, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            request.push(connection.read_u8().await.unwrap());
        }
        connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nproxy").await.unwrap();
        assert_eq!(answer.await.unwrap(), "proxy");
        let request = String::from_utf8(request).unwrap();
        assert!(request.starts_with("GET http://target.invalid:81/items?n=1 HTTP/1.1\r\n"));
    }

    #[test]
    fn an_invalid_proxy_makes_no_client() {
        let http = Http { proxy: Some("http://".to_owned()), ..Http::default() };
        let error = client(&http, "http://127.0.0.1").unwrap_err();
        assert!(error.is_builder() && error.source().is_some());
    }
}
