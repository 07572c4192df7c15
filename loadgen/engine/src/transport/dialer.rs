//! Opens connections to the server: TCP, and TLS for `https://`.

use std::sync::Arc;
use std::time::Instant;

use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;
use url::Url;

use super::addresses::Addresses;
use super::connections::{Tally, handshake};
use super::stream::Stream;
use super::{Failure, tls};
use crate::plan::Plan;
use loadgen_measure::{Connections, ErrorKind};

/// Opens connections to the server, counts them, and measures how long they take.
pub(super) struct Dialer {
    addresses: Addresses,
    /// TLS configuration and the server's name; `None` for `http://`.
    tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    resumes: bool,
    tally: Tally,
}

/// A user's TLS sessions, with which its next connections need shorter handshakes. Another user does
/// not use them, as another browser would not. Empty before the first connection.
#[derive(Default, Clone)]
pub(super) struct Sessions(Option<Arc<ClientConfig>>);

impl Dialer {
    /// Creates the dialer for the server of a plan, without opening a connection. Returns a sentence
    /// if the plan's URL or TLS options cannot be used.
    pub(super) fn new(plan: &Plan, url: &Url) -> Result<Self, String> {
        let addresses = Addresses::of(url).ok_or(format!("{}: no host", plan.base_url))?;
        let options = &plan.scenario.http.tls;
        let tls = match url.scheme() {
            "https" => {
                let mut config = tls::config(options, plan.scenario.http.version)?;
                config.resumption = Resumption::disabled();
                let name = options.server_name.as_deref().unwrap_or(addresses.host()).to_owned();
                let server = ServerName::try_from(name.clone());
                let server = server.map_err(|_| format!("{name:?} is no name of a server"))?;
                Some((config.into(), server))
            }
            _ => None,
        };
        Ok(Self { addresses, tls, resumes: options.resumes, tally: Tally::default() })
    }

    /// Looks up the server's addresses, unless they are known. A lookup is not a part of opening a
    /// connection.
    pub(super) async fn find(&self) -> Result<(), Failure> {
        self.addresses.find().await.map_err(|e| Failure::new(ErrorKind::Connect, e.to_string()))
    }

    /// Opens a connection for the user with this global number.
    pub(super) async fn connect(
        &self,
        user: u32,
        sessions: &mut Sessions,
    ) -> Result<Stream, Failure> {
        self.find().await?;
        let begun = Instant::now();
        let stream = self.addresses.connect(user).await;
        let stream = stream.map_err(|e| Failure::new(ErrorKind::Connect, e.to_string()))?;
        let connected = Instant::now();
        let connect = connected - begun;
        let Some((config, server)) = &self.tls else {
            self.tally.opened(connect, None);
            return Ok(Stream::Plain(stream));
        };
        let config = if self.resumes { sessions.config(config) } else { config.clone() };
        let opening = TlsConnector::from(config).connect(server.clone(), stream);
        let stream = opening.await.map_err(|e| tls::of_handshake(&e))?;
        let done = handshake(connected.elapsed(), stream.get_ref().1);
        self.tally.opened(connect, Some(done));
        Ok(Stream::Tls(Box::new(stream)))
    }

    /// Counts a connection by the HTTP version of its first answer.
    pub(super) fn speaks(&self, version: &'static str) {
        self.tally.speaks(version);
    }

    /// Returns the counts of the connections opened so far.
    pub(super) fn connections(&self) -> Connections {
        self.tally.connections(Some(&self.addresses))
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
