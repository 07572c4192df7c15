//! TLS options of a scenario's requests.

use std::io;
use std::path::Path;

use pkcs8::der::pem::LineEnding;
use pkcs8::{EncryptedPrivateKeyInfo, SecretDocument};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde::{Deserialize, Serialize};

use super::bounded::read_at_most;
use super::secret::Secret;

/// TLS options for `https://` URLs. The default checks servers' certificates against those of the
/// system, and shows no certificate of the client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tls {
    /// Whether any certificate of a server is accepted.
    pub insecure: bool,
    /// The only TLS version of handshakes; `None` for TLS 1.3 or else 1.2.
    pub version: Option<TlsVersion>,
    /// Name that is requested from the server (SNI, RFC 6066), and that its certificate must have;
    /// `None` for the host of the URL.
    pub server_name: Option<String>,
    /// Whether a user's later connections resume the session of an earlier one.
    pub resumes: bool,
    /// Certificates of authorities (PEM, RFC 7468) that are trusted besides the system's; `None` for
    /// none.
    ca: Option<String>,
    /// Certificate that clients show to servers; `None` for none.
    identity: Option<Identity>,
}

/// A version of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TlsVersion {
    /// TLS 1.2 (RFC 5246).
    Tls12,
    /// TLS 1.3 (RFC 8446).
    Tls13,
}

/// Largest PEM file, in bytes. The authorities of a system take some 200 kB.
const LARGEST: u64 = 16 << 20;

/// Certificates that a client shows, its own first, and the private key of its own.
pub type Shown = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// Reason why a client cannot show a certificate: a sentence about one of its two files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdentityFault {
    /// Of the certificate.
    Certificate(String),
    /// Of the private key.
    Key(String),
}

/// A client's certificate and its private key, as PEM.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Identity {
    chain: String,
    key: Secret,
}

impl Default for Tls {
    fn default() -> Self {
        Self {
            insecure: false,
            version: None,
            server_name: None,
            resumes: true,
            ca: None,
            identity: None,
        }
    }
}

impl Tls {
    /// Trusts these authorities, too. Returns a sentence if `pem` has no certificate.
    pub fn trust(&mut self, pem: String) -> Result<(), String> {
        certificates(&pem)?;
        self.ca = Some(only_certificates(&pem));
        Ok(())
    }

    /// Shows this certificate to servers: `chain` begins with the client's certificate, and `key` is its
    /// private key, which `password` decrypts if it is encrypted (PKCS #8, RFC 5958). Returns a
    /// sentence if one of the two is not PEM, or if the password does not fit.
    pub fn show(
        &mut self,
        chain: &str,
        key: String,
        password: Option<&str>,
    ) -> Result<(), IdentityFault> {
        certificates(chain).map_err(IdentityFault::Certificate)?;
        let key = decrypted(key, password).map_err(IdentityFault::Key)?;
        private_key(&key).map_err(IdentityFault::Key)?;
        let chain = only_certificates(chain);
        self.identity = Some(Identity { chain, key: Secret::new(key) });
        Ok(())
    }

    /// Returns the certificates of the authorities that are trusted besides the system's.
    pub fn authorities(&self) -> Result<Vec<CertificateDer<'static>>, String> {
        self.ca.as_deref().map_or(Ok(Vec::new()), certificates)
    }

    /// Returns the certificates and the private key that clients show; `None` if they show none.
    pub fn identity(&self) -> Result<Option<Shown>, String> {
        let Some(Identity { chain, key }) = &self.identity else { return Ok(None) };
        Ok(Some((certificates(chain)?, private_key(key.reveal())?)))
    }

    /// Returns the options for another server than the one under load: without the certificate of the client and the
    /// name of the server.
    #[must_use]
    pub fn of_another_server(&self) -> Self {
        Self { identity: None, server_name: None, ..self.clone() }
    }

    /// Returns the options without the private key, for a digest.
    #[must_use]
    pub fn without_key(self) -> Self {
        let identity = self.identity;
        let identity = identity.map(|it| Identity { key: Secret::new(String::new()), ..it });
        Self { identity, ..self }
    }
}

/// Reads a PEM file of at most 16 MiB.
pub fn read_pem(path: &Path) -> io::Result<String> {
    String::from_utf8(read_at_most(LARGEST, path)?).map_err(io::Error::other)
}

fn certificates(pem: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let found = CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<Vec<_>, _>>();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err("has no certificate: PEM begins with -----BEGIN CERTIFICATE-----".to_owned()),
        Err(error) => Err(format!("is not PEM: {error}")),
    }
}

/// Returns the certificates of a file that may also have a private key, which must never be shown.
fn only_certificates(pem: &str) -> String {
    const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
    const END: &str = "-----END CERTIFICATE-----";
    let sections = pem.split(BEGIN).skip(1).filter_map(|rest| rest.split_once(END));
    sections.map(|(section, _)| format!("{BEGIN}{section}{END}\n")).collect()
}

/// Returns the PEM of a private key, decrypted if it is encrypted.
fn decrypted(pem: String, password: Option<&str>) -> Result<String, String> {
    const BEGIN: &str = "-----BEGIN ENCRYPTED PRIVATE KEY-----";
    const END: &str = "-----END ENCRYPTED PRIVATE KEY-----";
    if pem.contains("Proc-Type: 4,ENCRYPTED") {
        let remedy = "openssl pkey -in FILE -out NEW";
        return Err(format!("is encrypted in the old way of OpenSSL: decrypt it with `{remedy}`"));
    }
    // The file may also have certificates.
    let Some(begin) = pem.find(BEGIN) else { return Ok(pem) };
    let end = pem.find(END).map_or(pem.len(), |at| at + END.len());
    let Some(password) = password else {
        let remedy = "[http.tls]: password = \"{{ env NAME }}\"";
        return Err(format!("is encrypted: name its password in {remedy}"));
    };
    let section = pem.get(begin..end).unwrap_or_default();
    let (_, document) =
        SecretDocument::from_pem(section).map_err(|e| format!("is not PEM: {e}"))?;
    let encrypted = EncryptedPrivateKeyInfo::try_from(document.as_bytes());
    let encrypted = encrypted.map_err(|e| format!("has no private key: {e}"))?;
    let key = encrypted.decrypt(password).map_err(|_| "has another password".to_owned())?;
    let key = key.to_pem("PRIVATE KEY", LineEnding::LF).map_err(|e| e.to_string())?;
    Ok(key.to_string())
}

fn private_key(pem: &str) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_slice(pem.as_bytes()).map_err(|_| {
        "has no private key: PEM has a line such as -----BEGIN PRIVATE KEY-----".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_key(shown: Result<(), IdentityFault>) -> String {
        match shown {
            Err(IdentityFault::Key(why)) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_no_pem_is_refused_with_a_reason() {
        let mut tls = Tls::default();
        assert!(tls.trust("hello".to_owned()).unwrap_err().contains("has no certificate"));
        let certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert_eq!(tls.trust(certificate.to_owned()), Ok(()));
        assert_eq!(tls.authorities().unwrap().len(), 1);
        let shown = tls.show(certificate, certificate.to_owned(), None);
        assert!(of_key(shown).contains("has no private key"));
        let encrypted =
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
        let shown = tls.show(certificate, encrypted.to_owned(), None);
        assert!(of_key(shown).contains("is encrypted"));
        let shown = tls.show(certificate, encrypted.to_owned(), Some("secret"));
        assert!(of_key(shown).contains("is not PEM"));
        let shown = tls.show("hello", encrypted.to_owned(), None);
        assert!(matches!(shown, Err(IdentityFault::Certificate(_))), "{shown:?}");
        assert!(matches!(tls.identity(), Ok(None)));
    }

    /// A key that `openssl genpkey -algorithm ed25519 -aes256` encrypted with the password `secret`.
    const KEY: &str = include_str!("tls_key.pem");

    #[test]
    fn an_encrypted_key_needs_its_password() {
        let mut tls = Tls::default();
        let certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let both = format!("{certificate}{KEY}");
        let wrong = tls.show(certificate, both.clone(), Some("other"));
        assert_eq!(of_key(wrong), "has another password");
        tls.show(certificate, both, Some("secret")).unwrap();
        let (_, key) = tls.identity().unwrap().unwrap();
        // The key begins with the algorithm (RFC 8410, section 7).
        assert!(matches!(key, PrivateKeyDer::Pkcs8(_)));
        assert_eq!(key.secret_der().len(), 48);
    }

    #[test]
    fn a_digest_does_not_have_the_key() {
        let mut tls = Tls::default();
        let certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let key = "-----BEGIN PRIVATE KEY-----\nBBBB\n-----END PRIVATE KEY-----\n";
        let both = format!("{certificate}{key}");
        tls.show(&both, both.clone(), None).unwrap();
        tls.trust(both).unwrap();
        assert!(!format!("{tls:?}").contains("BBBB"), "{tls:?}");
        let text = serde_json::to_string(&tls.without_key()).unwrap();
        assert!(text.contains("AAAA") && !text.contains("BBBB"), "{text}");
    }
}
