//! TLS of the `reqwest` transport.

use std::error::Error;
use std::io;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, SignatureScheme};
use rustls_platform_verifier::Verifier;
use webpki::{EndEntityCert, KeyUsage};

use crate::scenario::{HttpVersion, Tls};

/// Returns the TLS configuration, with the crypto provider that `reqwest` uses. Certificates are
/// verified against those of the system, or of `SSL_CERT_FILE` and `SSL_CERT_DIR`, and those of `tls`.
/// Returns a sentence if that is not possible.
pub(super) fn config(tls: &Tls, version: HttpVersion) -> Result<ClientConfig, String> {
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
        .with_safe_default_protocol_versions()
        .map_err(said)?
        .dangerous()
        .with_custom_certificate_verifier(trust);
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

/// Accepts certificates of the system's authorities and of the user's `own`, and a server whose
/// certificate is one of `own` itself: OpenSSL makes self-signed certificates that are authorities,
/// which rustls does not accept as those of servers. Checks in any case that the server has the key of
/// its certificate.
#[derive(Debug)]
struct Trust {
    provider: Arc<CryptoProvider>,
    /// `None` to accept any certificate.
    verifier: Option<Verifier>,
    own: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        server: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(verifier) = &self.verifier else { return Ok(ServerCertVerified::assertion()) };
        if self.own.contains(certificate) && is_valid_authority(certificate, now) {
            verify_server_name(&ParsedCertificate::try_from(certificate)?, server)?;
            return Ok(ServerCertVerified::assertion());
        }
        verifier.verify_server_cert(certificate, chain, server, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Returns whether a certificate is that of an authority, and valid at this time.
fn is_valid_authority(certificate: &CertificateDer<'_>, now: UnixTime) -> bool {
    let Ok(certificate) = EndEntityCert::try_from(certificate) else { return false };
    let usage = KeyUsage::server_auth();
    // This fault is found after the time of validity was checked, and before the signature would be.
    let fault = certificate.verify_for_usage(&[], &[], &[], now, usage, None, None).err();
    fault == Some(webpki::Error::CaUsedAsEndEntity)
}

/// Returns whether a certificate is refused because it is that of an authority.
fn is_authority(error: &rustls::Error) -> bool {
    let rustls::Error::InvalidCertificate(CertificateError::Other(other)) = error else {
        return false;
    };
    let fault = other.0.downcast_ref::<webpki::Error>();
    matches!(fault, Some(webpki::Error::CaUsedAsEndEntity))
}

/// Returns what is wrong with a server's certificate, in one sentence, if an error is about that.
pub(super) fn certificate_fault(error: &(dyn Error + 'static)) -> Option<String> {
    let mut inner = error;
    // An I/O error may hold another one, which is none of its sources.
    while let Some(io) = inner.downcast_ref::<io::Error>() {
        inner = io.get_ref()?;
    }
    let error = inner.downcast_ref::<rustls::Error>()?;
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
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "is for another host name"
        }
        CertificateError::Revoked => "was revoked",
        other => return Some(format!("the server's certificate is refused: {other:?}")),
    };
    Some(format!("the server's certificate {what}"))
}
