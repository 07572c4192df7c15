//! TLS of all transports: the versions, protocols and certificates of a handshake.

mod fault;
mod trust;

use std::sync::{Arc, Mutex, PoisonError};

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::{ClientConfig, SupportedProtocolVersion, version};
use rustls_platform_verifier::Verifier;

pub(super) use self::fault::{certificate_fault, of_exchange, of_handshake};
use self::trust::Trust;
use loadgen_scenario::{HttpVersion, Tls, TlsVersion};

/// The options of the last configuration, and the configuration: reading the certificates of the system takes
/// milliseconds, and each server of a redirect needs them.
static LAST: Mutex<Option<(Tls, HttpVersion, ClientConfig)>> = Mutex::new(None);

/// Returns the TLS configuration, with the crypto provider that `reqwest` uses. Certificates are
/// verified against those of the system, or of `SSL_CERT_FILE` and `SSL_CERT_DIR`, and those of
/// `tls`. The handshake offers `http`, and HTTP/1.1 with HTTP/2. Returns a sentence if that is not
/// possible.
pub(super) fn config(tls: &Tls, http: HttpVersion) -> Result<ClientConfig, String> {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, _, config)) =
        last.as_ref().filter(|(of, version, _)| of == tls && *version == http)
    {
        return Ok(config.clone());
    }
    let config = new_config(tls, http)?;
    *last = Some((tls.clone(), http, config.clone()));
    Ok(config)
}

fn new_config(tls: &Tls, http: HttpVersion) -> Result<ClientConfig, String> {
    let said = |error: rustls::Error| error.to_string();
    let provider = CryptoProvider::get_default().cloned();
    let provider = provider.unwrap_or_else(|| Arc::new(aws_lc_rs::default_provider()));
    let own = tls.authorities()?;
    let verifier = match tls.insecure {
        true => None,
        false => Some(Verifier::new_with_extra_roots(own.clone(), provider.clone()).map_err(said)?),
    };
    let trust = Arc::new(Trust { provider: provider.clone(), verifier, own });
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&versions(tls.version))
        .map_err(said)?
        .dangerous()
        .with_custom_certificate_verifier(trust);
    let mut config = match tls.identity()? {
        Some((chain, key)) => {
            config.with_client_auth_cert(chain, key).map_err(fault::of_identity)?
        }
        None => config.with_no_client_auth(),
    };
    config.alpn_protocols = match http {
        HttpVersion::Http11 => vec![b"http/1.1".to_vec()],
        HttpVersion::Http2 => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
    };
    Ok(config)
}

fn versions(only: Option<TlsVersion>) -> Vec<&'static SupportedProtocolVersion> {
    match only {
        None => vec![&version::TLS13, &version::TLS12],
        Some(TlsVersion::Tls12) => vec![&version::TLS12],
        Some(TlsVersion::Tls13) => vec![&version::TLS13],
    }
}
