//! Decides which certificates of servers are accepted.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{DigitallySignedStruct, SignatureScheme};
use rustls_platform_verifier::Verifier;
use webpki::{EndEntityCert, KeyUsage};

/// Accepts certificates of the system's authorities and of the user's `own`, and a server whose
/// certificate is one of `own` itself: OpenSSL makes self-signed certificates that are authorities,
/// which rustls does not accept as those of servers. Checks in any case that the server has the key of
/// its certificate.
#[derive(Debug)]
pub(super) struct Trust {
    pub(super) provider: Arc<CryptoProvider>,
    /// `None` to accept any certificate.
    pub(super) verifier: Option<Verifier>,
    pub(super) own: Vec<CertificateDer<'static>>,
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
