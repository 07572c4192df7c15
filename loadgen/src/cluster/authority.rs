//! Who is who between hosts: an authority of the manager's own, which certifies the manager and its
//! workers, and nobody else does.
//!
//! A certificate tells what its holder may be (RFC 5280, section 4.2.1.12): a worker's is no good for
//! a manager. The manager's also names its address, as TLS wants it. Each worker has a password besides,
//! which its manager knows again (HMAC, RFC 2104).

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

use hmac::{Hmac, Mac};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::error::ClusterError;
use super::hex::{hex, random_hex};

/// The file of an authority in its folder.
const FILE: &str = "authority";

/// What proves who somebody is; all in PEM.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The certificate of the authority, the only one that is believed.
    pub authority: String,
    /// The certificate of who this is.
    pub certificate: String,
    /// The private key of that certificate: a secret.
    pub key: String,
}

/// An authority, and the run that it is for.
pub struct Authority {
    /// The name of the run: what the keys of all messages begin with.
    pub run: String,
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
    /// What passwords are made of.
    secret: String,
}

/// As it is kept in its file.
#[derive(Serialize, Deserialize)]
struct Kept {
    run: String,
    certificate: String,
    key: String,
    secret: String,
}

impl Authority {
    /// The authority of this folder, made if there is none.
    ///
    /// # Errors
    /// Where its file can't be read or written, or is no such file, or others than its owner had access to it.
    pub fn of(folder: &Path) -> Result<Self, ClusterError> {
        let path = folder.join(FILE);
        let failed = |why: &dyn std::fmt::Display| ClusterError::File {
            path: path.clone(),
            why: why.to_string(),
        };
        match read_secret(&path) {
            Ok(text) => {
                let kept: Kept = serde_json::from_str(&text).map_err(|e| failed(&e))?;
                Self::from_kept(kept).map_err(|e| failed(&e))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let kept = Kept::new(random_hex(8)?, random_hex(32)?).map_err(|e| failed(&e))?;
                write_secret(&path, &kept)?;
                Self::from_kept(kept).map_err(|e| failed(&e))
            }
            Err(error) => Err(failed(&error)),
        }
    }

    fn from_kept(kept: Kept) -> Result<Self, rcgen::Error> {
        let Kept { run, certificate, key, secret } = kept;
        let issuer = Issuer::new(of_authority(&run), KeyPair::from_pem(&key)?);
        Ok(Self { run, certificate, issuer, secret })
    }

    /// What proves the manager at this host, a name or an address.
    ///
    /// # Errors
    /// For what can be no host.
    pub fn manager(&self, host: &str) -> Result<Identity, ClusterError> {
        let params = CertificateParams::new([host.to_owned()]).map_err(ClusterError::bus)?;
        self.certify(params, "manager", ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// What proves this worker.
    ///
    /// # Errors
    /// Where no key can be made.
    pub fn worker(&self, user: &str) -> Result<Identity, ClusterError> {
        self.certify(CertificateParams::default(), user, ExtendedKeyUsagePurpose::ClientAuth)
    }

    /// The password of this worker, always the same.
    #[must_use]
    pub fn password(&self, user: &str) -> String {
        #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
        let mut code = Hmac::<Sha256>::new_from_slice(self.secret.as_bytes()).expect("any length");
        code.update(user.as_bytes());
        hex(&code.finalize().into_bytes())
    }

    fn certify(
        &self,
        mut params: CertificateParams,
        name: &str,
        purpose: ExtendedKeyUsagePurpose,
    ) -> Result<Identity, ClusterError> {
        params.distinguished_name.push(DnType::CommonName, name);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![purpose];
        let key = KeyPair::generate().map_err(ClusterError::bus)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(ClusterError::bus)?;
        Ok(Identity {
            authority: self.certificate.clone(),
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }
}

impl Kept {
    fn new(run: String, secret: String) -> Result<Self, rcgen::Error> {
        let key = KeyPair::generate()?;
        let certificate = of_authority(&run).self_signed(&key)?.pem();
        Ok(Self { run, certificate, key: key.serialize_pem(), secret })
    }
}

/// What the authority's own certificate says; the same each time, so that its name is.
fn of_authority(run: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, format!("loadgen {run}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params
}

/// Reads what was written as a secret of this user's. One that another user has made, or may have read, is
/// none: whoever knows it could command the workers.
fn read_secret(path: &Path) -> io::Result<String> {
    let mut file = fs::File::open(path)?;
    let found = file.metadata()?;
    let owners = [0, rustix::process::geteuid().as_raw()];
    if !owners.contains(&found.uid()) || found.mode() & 0o077 != 0 {
        return Err(io::Error::other(format!(
            "its owner (user {}) or permissions ({:o}) let others know this secret; remove its folder, so that \
             there is a new one",
            found.uid(),
            found.mode() & 0o777
        )));
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

/// Writes what only the owner may read (0600), whatever was there before.
pub fn write_secret(path: &Path, value: &impl Serialize) -> Result<(), ClusterError> {
    let write = || -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        // Where it is new, nobody else has anything to do with it.
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        // A new file, then a rename: an old one might be readable for others, or be a link.
        let mut new = tempfile::Builder::new()
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))
            .tempfile_in(folder)?;
        serde_json::to_writer(&mut new, value)?;
        new.write_all(b"\n")?;
        new.persist(path)?;
        Ok(())
    };
    write().map_err(|error| ClusterError::File { path: path.to_owned(), why: error.to_string() })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn an_authority_is_made_once_and_kept_for_the_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (made, found) =
            (Authority::of(folder.path()).unwrap(), Authority::of(folder.path()).unwrap());
        assert_eq!((&made.run, &made.certificate), (&found.run, &found.certificate));
        let mode = fs::metadata(folder.path().join(FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let (one, other) = (made.worker("worker-0").unwrap(), found.worker("worker-0").unwrap());
        assert_eq!(one.authority, other.authority);
        assert_ne!(one.key, other.key, "a key of its own each time");
        assert!(one.key.contains("PRIVATE KEY") && !one.certificate.contains("PRIVATE"));
    }

    #[test]
    fn a_file_that_is_no_authority_is_named() {
        let folder = tempfile::tempdir().unwrap();
        write_secret(&folder.path().join(FILE), &serde_json::json!({})).unwrap();
        let error = Authority::of(folder.path()).err().unwrap().to_string();
        assert!(error.contains("authority") && error.contains("missing field"), "{error}");
    }

    #[test]
    fn an_authority_that_others_may_know_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("join");
        Authority::of(&folder).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        let file = folder.join(FILE);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        let error = Authority::of(&folder).err().unwrap().to_string();
        assert!(error.contains("permissions (640) let others know this secret"), "{error}");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        Authority::of(&folder).unwrap();
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&file, Some(65_534), None).unwrap();
            let error = Authority::of(&folder).err().unwrap().to_string();
            assert!(error.contains("its owner (user 65534)"), "{error}");
        }
    }
}
