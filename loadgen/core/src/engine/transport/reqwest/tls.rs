//! TLS of the `reqwest` transport.

use std::error::Error;
use std::io;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, SignatureScheme};
use rustls_platform_verifier::Verifier;

use crate::scenario::{HttpVersion, Tls};

/// Returns the TLS configuration, with the crypto provider that `reqwest` uses. Certificates are
/// verified against those of the system, or of `SSL_CERT_FILE` and `SSL_CERT_DIR`, and those of `tls`.
/// Returns a sentence if that is not possible.
pub(super) fn config(tls: &Tls, version: HttpVersion) -> Result<ClientConfig, String> {
    let said = |error: rustls::Error| error.to_string();
    let provider = CryptoProvider::get_default().cloned();
    let provider = provider.unwrap_or_else(|| Arc::new(aws_lc_rs::default_provider()));
    let verifier: Arc<dyn ServerCertVerifier> = if tls.insecure {
        Arc::new(Anyone(provider.clone()))
    } else {
        let authorities = tls.authorities()?;
        Arc::new(Verifier::new_with_extra_roots(authorities, provider.clone()).map_err(said)?)
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(said)?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let mut config = match tls.identity()? {
        Some((chain, key)) => config.with_client_auth_cert(chain, key).map_err(said)?,
        None => config.with_no_client_auth(),
    };
    config.alpn_protocols = match version {
        HttpVersion::Http11 => vec![b"http/1.1".to_vec()],
        HttpVersion::Http2 => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
    };
    Ok(config)
}

/// Accepts the certificate of any server, but checks that the server has its key.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _chain: &[CertificateDer<'_>],
        _server: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Returns what is wrong with a server's certificate, in one sentence, if an error is about that.
pub(super) fn certificate_fault(error: &(dyn Error + 'static)) -> Option<String> {
    let mut inner = error;
    // An I/O error may hold another one, which is none of its sources.
    while let Some(io) = inner.downcast_ref::<io::Error>() {
        inner = io.get_ref()?;
    }
    let rustls::Error::InvalidCertificate(fault) = inner.downcast_ref::<rustls::Error>()? else {
        return None;
    };
    let what = match fault {
        CertificateError::UnknownIssuer => {
            "is signed by an authority that this machine does not know: name it as `ca` in [http.tls], \
             or with --cacert"
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "has expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "is not valid yet"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "is for another host name"
        }
        CertificateError::Revoked => "was revoked",
        other => return Some(format!("the server's certificate is refused: {other:?}")),
    };
    Some(format!("the server's certificate {what}"))
}
