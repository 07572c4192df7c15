//! Opens connections to the server: TCP, and TLS for `https://`; or those of a Unix domain socket.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;

use super::addresses::Addresses;
use super::connections::{Tally, handshake};
use super::lifetime::Life;
use super::proxy::Proxy;
use super::stream::Stream;
use super::unix_socket::UnixSocket;
use super::{Failure, tls};
use crate::plan::Plan;
use loadgen_measure::{Connections, ErrorKind};
use loadgen_scenario::{Lifetime, ServerUrl};

/// Opens connections to the server, counts them, and measures how long they take.
pub(super) struct Dialer {
    end: End,
    proxy: Option<Proxy>,
    /// TLS configuration and the server's name; `None` for `http://`.
    tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    resumes: bool,
    lifetime: Option<Lifetime>,
    tally: Tally,
}

/// Where connections lead.
enum End {
    /// Addresses of the server, or of the proxy if there is one.
    Addresses(Addresses),
    Socket(UnixSocket),
}

/// A user's TLS sessions, with which its next connections need shorter handshakes. Another user does
/// not use them, as another browser would not. Empty before the first connection.
#[derive(Default, Clone)]
pub(super) struct Sessions(Option<Arc<ClientConfig>>);

impl Dialer {
    /// Creates the dialer for the server of a plan, without opening a connection. Returns a sentence
    /// if the plan's URL or TLS options cannot be used.
    pub(super) fn new(plan: &Plan, server: &ServerUrl) -> Result<Self, String> {
        let ServerUrl { url, socket } = server;
        let proxy = Proxy::of(plan, url)?;
        let end = match (socket, &proxy) {
            (Some(_), Some(_)) => {
                return Err(format!("{server}: a proxy leads to no socket of this machine"));
            }
            (Some(path), None) => End::Socket(UnixSocket::new(path.clone())),
            (None, _) => {
                let reached = proxy.as_ref().map_or(url, Proxy::url);
                let addresses = Addresses::of(reached).ok_or(format!("{reached}: no host"))?;
                End::Addresses(addresses.for_users(plan.scenario.load.users))
            }
        };
        let options = &plan.scenario.http.tls;
        let tls = match url.scheme() {
            "https" => {
                let mut config = tls::config(options, plan.scenario.http.version)?;
                config.resumption = Resumption::disabled();
                let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
                let name = options.server_name.as_deref().unwrap_or(host).to_owned();
                let server = ServerName::try_from(name.clone());
                let server = server.map_err(|_| format!("{name:?} is no name of a server"))?;
                Some((config.into(), server))
            }
            _ => None,
        };
        let lifetime = plan.scenario.http.connection.lifetime();
        Ok(Self { end, proxy, tls, resumes: options.resumes, lifetime, tally: Tally::default() })
    }

    /// Looks up the server's addresses, unless they are known. A lookup is not a part of opening a
    /// connection.
    pub(super) async fn find(&self) -> Result<(), Failure> {
        match &self.end {
            End::Addresses(addresses) => addresses.find().await.map_err(|e| self.named(e)),
            End::Socket(_) => Ok(()),
        }
    }

    /// Opens a connection for the user with this global number, over which a proxy forwards requests of HTTP/1.1
    /// if `forwards`. Without, and with TLS, it leads to the server itself.
    pub(super) async fn connect(
        &self,
        user: u32,
        forwards: bool,
        sessions: &mut Sessions,
    ) -> Result<Stream, Failure> {
        self.find().await?;
        let begun = Instant::now();
        let opened = match &self.end {
            End::Addresses(addresses) => addresses.connect(user).await.map(Stream::Plain),
            End::Socket(socket) => socket.connect().await.map(Stream::Unix),
        };
        let stream = match (opened.map_err(|e| self.named(e))?, &self.proxy) {
            (Stream::Plain(stream), Some(proxy)) => {
                let passed = proxy.pass(stream, !forwards || self.tls.is_some()).await;
                passed.map_err(|failure| proxy.named(failure))?
            }
            (stream, _) => stream,
        };
        let connected = Instant::now();
        let connect = connected - begun;
        let Some((config, server)) = &self.tls else {
            self.tally.opened(connect, None);
            return Ok(stream);
        };
        let config = if self.resumes { sessions.config(config) } else { config.clone() };
        let (connector, server) = (TlsConnector::from(config), server.clone());
        let opened = match stream {
            Stream::Plain(stream) => {
                connector.connect(server, stream).await.map(|it| Stream::Tls(Box::new(it)))
            }
            Stream::ToProxy(stream) => {
                connector.connect(server, *stream).await.map(|it| Stream::InTls(Box::new(it)))
            }
            // Unreachable: the TLS with the server is opened here, and none over a socket.
            opened @ (Stream::Unix(_) | Stream::Tls(_) | Stream::InTls(_)) => Ok(opened),
        };
        let opened = opened.map_err(|e| tls::of_handshake(&e))?;
        let done = opened.tls().map(|tls| handshake(connected.elapsed(), tls));
        self.tally.opened(connect, done);
        Ok(opened)
    }

    /// The proxy through which connections lead; `None` if there is none.
    pub(super) fn proxy(&self) -> Option<&Proxy> {
        self.proxy.as_ref()
    }

    /// Returns why no connection was opened. Names the proxy if there is one.
    fn named(&self, error: io::Error) -> Failure {
        let failure = Failure::new(ErrorKind::Connect, error.to_string());
        match &self.proxy {
            None => failure,
            Some(proxy) => proxy.named(failure),
        }
    }

    /// Begins the life of a connection that has just been opened; `None` if the scenario does not limit it.
    pub(super) fn life(&self) -> Option<Life> {
        self.lifetime.map(Life::of)
    }

    /// Counts a connection that loadgen ends because of its lifetime.
    pub(super) fn renewed(&self) {
        self.tally.renewed();
    }

    /// Counts a connection by the HTTP version of its first answer.
    pub(super) fn speaks(&self, version: &'static str) {
        self.tally.speaks(version);
    }

    /// Returns the counts of the connections opened so far.
    pub(super) fn connections(&self) -> Connections {
        self.tally.connections(match &self.end {
            // A proxy looks up the addresses of the server.
            End::Addresses(_) if self.proxy.is_some() => Vec::new(),
            End::Addresses(addresses) => addresses.records(),
            End::Socket(socket) => vec![socket.record()],
        })
    }
}

impl Sessions {
    /// Returns the configuration that keeps this user's sessions.
    fn config(&mut self, shared: &Arc<ClientConfig>) -> Arc<ClientConfig> {
        let own = self.0.get_or_insert_with(|| {
            let mut config = ClientConfig::clone(shared);
            // The sessions with one server.
            config.resumption = Resumption::in_memory_sessions(1);
            config.into()
        });
        own.clone()
    }
}
