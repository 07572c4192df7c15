//! Says what went wrong with TLS.

use std::error::Error;
use std::io;

use rustls::{AlertDescription, CertificateError, InconsistentKeys, InvalidMessage};

use crate::transport::Failure;
use loadgen_measure::ErrorKind;

/// Returns why a client's certificate cannot be shown to servers.
pub(super) fn of_identity(error: rustls::Error) -> String {
    const WHOSE: &str = "the client's certificate (`cert` in [http.tls], or --cert)";
    match &error {
        rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
            "the client's private key (`key` in [http.tls], or --key) is not that of its certificate"
                .to_owned()
        }
        _ if is_webpki(&error, |it| matches!(it, webpki::Error::UnsupportedCertVersion)) => {
            format!("{WHOSE} is of X.509 version 1: issue it with version 3 extensions")
        }
        _ => format!("{WHOSE} is refused: {error}"),
    }
}

/// Returns why a handshake failed.
pub(in crate::transport) fn of_handshake(error: &io::Error) -> Failure {
    let what = said(error).unwrap_or_else(|| match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            "the server closed the connection during the TLS handshake".to_owned()
        }
        _ => format!("{error}, during the TLS handshake"),
    });
    Failure::new(ErrorKind::Connect, what)
}

/// Returns why a connection broke after its handshake, if the reason is in a message of TLS.
pub(in crate::transport) fn of_exchange(error: &io::Error) -> Option<Failure> {
    said(error).map(|what| Failure::new(ErrorKind::Protocol, what))
}

/// Describes a fault of TLS in one sentence; `None` if an error is about something else.
fn said(error: &io::Error) -> Option<String> {
    if let Some(what) = certificate_fault(error) {
        return Some(what);
    }
    Some(match cause(error)? {
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "the server does not speak TLS".to_owned()
        }
        rustls::Error::InvalidMessage(_) | rustls::Error::DecryptError => {
            "the server sent a malformed TLS message".to_owned()
        }
        rustls::Error::AlertReceived(
            AlertDescription::CertificateRequired | AlertDescription::NoCertificate,
        ) => "the server requires a certificate of the client: name `cert` and `key` in [http.tls]"
            .to_owned(),
        rustls::Error::AlertReceived(alert) => {
            format!("the server refused the TLS connection: alert {alert:?}")
        }
        rustls::Error::PeerIncompatible(why) => {
            format!("the server and loadgen have no TLS version or cipher in common: {why:?}")
        }
        rustls::Error::NoApplicationProtocol => {
            "the server accepts no HTTP version that was offered".to_owned()
        }
        other => format!("TLS: {other}"),
    })
}

/// Returns the error of rustls within an error.
fn cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let mut inner = error;
    // An I/O error may hold another one, which is none of its sources.
    while let Some(io) = inner.downcast_ref::<io::Error>() {
        inner = io.get_ref()?;
    }
    inner.downcast_ref::<rustls::Error>()
}

/// Returns whether a certificate is refused because it is that of an authority.
fn is_authority(error: &rustls::Error) -> bool {
    is_webpki(error, |it| matches!(it, webpki::Error::CaUsedAsEndEntity))
}

/// Returns whether a certificate is refused for a reason that only webpki tells.
fn is_webpki(error: &rustls::Error, is: impl Fn(&webpki::Error) -> bool) -> bool {
    let rustls::Error::InvalidCertificate(CertificateError::Other(other)) = error else {
        return false;
    };
    other.0.downcast_ref::<webpki::Error>().is_some_and(is)
}

/// Says for which hosts a certificate is, from the names that it presents.
fn hosts(presented: &[String]) -> String {
    if presented.is_empty() {
        return "names no host: it has no subject alternative name".to_owned();
    }
    // rustls shows a name as `DnsName("example.org")`.
    let bare = |name: &String| {
        let quoted = name.split_once('(').map_or(name.as_str(), |(_, rest)| rest);
        quoted.trim_end_matches(')').trim_matches('"').to_owned()
    };
    let names: Vec<String> = presented.iter().map(bare).collect();
    format!("is for another host name: it is for {}", names.join(", "))
}

/// Returns what is wrong with a server's certificate, in one sentence, if an error is about that.
pub(in crate::transport) fn certificate_fault(error: &(dyn Error + 'static)) -> Option<String> {
    let error = cause(error)?;
    let rustls::Error::InvalidCertificate(fault) = error else { return None };
    let what = match fault {
        CertificateError::UnknownIssuer => {
            "is signed by an authority that this machine does not know: name it as `ca` in [http.tls], \
             or with --cacert; or accept any certificate, with --insecure"
        }
        _ if is_authority(error) => {
            "is its own authority, which this machine does not know: name it as `ca` in [http.tls], \
             or with --cacert; or accept any certificate, with --insecure"
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "has expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "is not valid yet"
        }
        CertificateError::NotValidForNameContext { presented, .. } => {
            return Some(format!("the server's certificate {}", hosts(presented)));
        }
        CertificateError::NotValidForName => "is for another host name",
        CertificateError::Revoked => "was revoked",
        other => return Some(format!("the server's certificate is refused: {other:?}")),
    };
    Some(format!("the server's certificate {what}"))
}
