//! Counts the connections that a process opened in a round, their versions, and how long opening
//! them took.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustls::{CipherSuite, ClientConnection, HandshakeKind, ProtocolVersion};

use loadgen_measure::{AddressRecord, Connections, Handshake};

/// Counts the connections of all users of a process. A request on an open connection changes no
/// count, and costs nothing here.
#[derive(Default)]
pub(super) struct Tally(Mutex<Connections>);

/// Describes the completed handshake of `connection`, which took `time`.
pub(super) fn handshake(time: Duration, connection: &ClientConnection) -> Handshake {
    let version = match connection.protocol_version() {
        Some(ProtocolVersion::TLSv1_3) => "TLS 1.3".to_owned(),
        Some(ProtocolVersion::TLSv1_2) => "TLS 1.2".to_owned(),
        other => format!("{other:?}"),
    };
    let suite = connection.negotiated_cipher_suite().map(|suite| name(suite.suite()));
    let suite = format!("{version}, {}", suite.unwrap_or_default());
    let is_resumed = connection.handshake_kind() == Some(HandshakeKind::Resumed);
    Handshake { time, suite, is_resumed }
}

/// The name of a cipher suite as IANA registers it, without the words before its ciphers.
fn name(suite: CipherSuite) -> String {
    let name = format!("{suite:?}");
    name.strip_prefix("TLS13_").or_else(|| name.strip_prefix("TLS_")).unwrap_or(&name).to_owned()
}

impl Tally {
    /// Counts a connection that took `connect` to open, and then a TLS handshake; `None` without TLS.
    pub(super) fn opened(&self, connect: Duration, handshake: Option<Handshake>) {
        self.with(|all| all.opened(connect, handshake));
    }

    /// Counts an opened connection, of which nothing else is known.
    pub(super) fn one_more(&self) {
        self.with(|all| all.opened += 1);
    }

    /// Counts a connection that loadgen ends because of its lifetime.
    pub(super) fn renewed(&self) {
        self.with(|all| all.renewed += 1);
    }

    /// Counts a connection by the HTTP version of its first answer.
    pub(super) fn speaks(&self, version: &'static str) {
        self.with(|all| *all.versions.entry(version.to_owned()).or_default() += 1);
    }

    /// Returns all counts so far, with those of each address.
    pub(super) fn connections(&self, addresses: Vec<AddressRecord>) -> Connections {
        Connections { addresses, ..self.with(|all| all.clone()) }
    }

    fn with<T>(&self, change: impl FnOnce(&mut Connections) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
