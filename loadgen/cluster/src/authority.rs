//! Identifies the manager and its workers to each other across hosts. The manager has a certificate
//! authority. No other authority certifies the manager and its workers.
//!
//! A certificate states its holder's role (RFC 5280, section 4.2.1.12): a worker's
//! certificate is not valid for a manager. The manager's certificate also names the manager's
//! address, as TLS requires. In addition each worker has a password, which the manager
//! derives again when needed (HMAC, RFC 2104).

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

/// Name of the file in the manager's folder that stores the certificate authority.
pub(super) const FILE: &str = "authority";

/// A certificate with its private key, and the certificate of the trusted authority; all in PEM.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Certificate of the only authority that the owner of this identity trusts.
    pub authority: String,
    /// Certificate of the owner of this identity: the manager or a worker.
    pub certificate: String,
    /// Private key of the owner's certificate: a secret.
    pub key: String,
}

/// A certificate authority, which certifies the manager and the workers of one run.
pub struct Authority {
    /// Name of the run. The Zenoh keys of all messages begin with `loadgen/` and the run's name.
    pub run: String,
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
    /// Secret key from which the workers' passwords are derived.
    secret: String,
}

/// Contents of the file that stores a certificate authority.
#[derive(Serialize, Deserialize)]
struct Kept {
    run: String,
    certificate: String,
    key: String,
    secret: String,
}

impl Authority {
    /// Loads the certificate authority that is stored in `folder`. Creates and stores a new
    /// authority if the folder has none.
    ///
    /// # Errors
    /// If the file can't be read or written, is not an authority's file, belongs to a user other
    /// than root and this user, or is accessible to others than its owner.
    pub fn of(folder: &Path) -> Result<Self, ClusterError> {
        let path = folder.join(FILE);
        let failed = |why: &dyn std::fmt::Display| ClusterError::File {
            path: path.clone(),
            why: why.to_string(),
        };
        match read_secret(&path, "remove its folder: loadgen then creates a new secret") {
            Ok(text) => Self::parse(&text).map_err(|why| failed(&why)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let kept = Kept::new(random_hex(8)?, random_hex(32)?).map_err(|e| failed(&e))?;
                write_secret(&path, &kept)?;
                Self::from_kept(kept).map_err(|e| failed(&e))
            }
            Err(error) => Err(failed(&error)),
        }
    }

    /// Creates a certificate authority of the run with this name, which is stored nowhere.
    ///
    /// # Errors
    /// If the system has no random bytes, or no key can be made.
    pub fn passing(run: &str) -> Result<Self, ClusterError> {
        let kept = Kept::new(run.to_owned(), random_hex(32)?).map_err(ClusterError::bus)?;
        Self::from_kept(kept).map_err(ClusterError::bus)
    }

    /// Loads the certificate authority that somebody has put into a file for this process, and writes nothing.
    ///
    /// # Errors
    /// See [`Authority::of`]. Of a file of root, the process's group may read, too: who gives secrets to containers
    /// makes them so for users other than root.
    pub fn given(path: &Path) -> Result<Self, ClusterError> {
        let text = read_secret(path, "give it to its owner alone: chmod 600");
        let parsed = text.map_err(|error| error.to_string()).and_then(|text| Self::parse(&text));
        parsed.map_err(|why| ClusterError::File { path: path.to_owned(), why })
    }

    /// Creates a certificate authority, and returns it as the text of a file.
    ///
    /// # Errors
    /// If the system has no random bytes, or no key can be made.
    pub fn new_file() -> Result<(Self, String), ClusterError> {
        let kept = Kept::new(random_hex(8)?, random_hex(32)?).map_err(ClusterError::bus)?;
        let text = serde_json::to_string(&kept).map_err(ClusterError::bus)?;
        Ok((Self::from_kept(kept).map_err(ClusterError::bus)?, text))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let kept: Kept = serde_json::from_str(text).map_err(|error| error.to_string())?;
        Self::from_kept(kept).map_err(|error| error.to_string())
    }

    fn from_kept(kept: Kept) -> Result<Self, rcgen::Error> {
        let Kept { run, certificate, key, secret } = kept;
        let issuer = Issuer::new(of_authority(&run), KeyPair::from_pem(&key)?);
        Ok(Self { run, certificate, issuer, secret })
    }

    /// Issues a certificate and a private key to the manager. `host` is the name
    /// or address of the manager's host.
    ///
    /// # Errors
    /// If `host` cannot be the name or address of a host, or the certificate cannot be made.
    pub fn manager(&self, host: &str) -> Result<Identity, ClusterError> {
        let params = CertificateParams::new([host.to_owned()]).map_err(ClusterError::bus)?;
        self.certify(params, "manager", ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// Issues a certificate and a private key to the worker with the user name `user`.
    ///
    /// # Errors
    /// If no key or certificate can be made.
    pub fn worker(&self, user: &str) -> Result<Identity, ClusterError> {
        self.certify(CertificateParams::default(), user, ExtendedKeyUsagePurpose::ClientAuth)
    }

    /// Derives the password of the worker with the user name `user`. Every call returns the
    /// same password for the same user name.
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

/// Returns the parameters of the authority's own certificate. The parameters depend on `run` only,
/// so that the authority's name never changes.
fn of_authority(run: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, format!("loadgen {run}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params
}

/// Reads a secret file. Rejects a file that belongs to a user other than root and this user, and a
/// file that others may have read: anyone who knows the secret could command the workers.
fn read_secret(path: &Path, remedy: &str) -> io::Result<String> {
    let mut file = fs::File::open(path)?;
    let found = file.metadata()?;
    let own = rustix::process::geteuid().as_raw();
    if !is_private(found.uid(), found.mode(), own) {
        return Err(io::Error::other(format!(
            "its owner (user {}) or permissions ({:o}) let others read this secret; {remedy}",
            found.uid(),
            found.mode() & 0o777
        )));
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

/// Returns whether a file of `owner` with these permissions is a secret of the user `own`. Where root gives a file to
/// another user through a group, as the secrets of containers, root has chosen who is in the group.
fn is_private(owner: u32, mode: u32, own: u32) -> bool {
    let of_others = mode & 0o077;
    let is_for_group = owner == 0 && own != 0 && of_others == 0o040;
    is_for_group || ((owner == own || owner == 0) && of_others == 0)
}

/// Writes a file that only its owner may read (0600), and replaces any existing file.
pub(super) fn write_secret(path: &Path, value: &impl Serialize) -> Result<(), ClusterError> {
    let write = || -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        // A new folder is for its owner alone.
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        // Write a new file and rename it: an existing file might be
        // readable by others, or be a link.
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
    fn an_authority_is_created_once_and_private() {
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
    fn an_invalid_authority_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        write_secret(&folder.path().join(FILE), &serde_json::json!({})).unwrap();
        let error = Authority::of(folder.path()).err().unwrap().to_string();
        assert!(error.contains("authority") && error.contains("missing field"), "{error}");
    }

    #[test]
    fn an_authority_that_is_given_is_only_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0");
        let (made, text) = Authority::new_file().unwrap();
        fs::write(&path, &text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
        let given = Authority::given(&path).unwrap();
        assert_eq!((&given.run, &given.certificate), (&made.run, &made.certificate));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let missing = Authority::given(&folder.path().join("1")).err().unwrap().to_string();
        assert!(missing.contains("/1"), "{missing}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        let refused = Authority::given(&path).err().unwrap().to_string();
        assert!(refused.contains("(444) let others read this secret"), "{refused}");
    }

    #[test]
    fn a_secret_is_for_its_user_or_for_the_group_that_root_chose() {
        for (owner, mode, own, expected) in [
            (1_000, 0o100_600, 1_000, true),
            (1_000, 0o100_640, 1_000, false),
            (0, 0o100_400, 1_000, true),
            (0, 0o100_440, 65_534, true),
            (0, 0o100_460, 65_534, false),
            (0, 0o100_444, 65_534, false),
            (0, 0o100_440, 0, false),
            (1_000, 0o100_600, 0, false),
            (1_001, 0o100_600, 1_000, false),
        ] {
            assert_eq!(is_private(owner, mode, own), expected, "{owner} {mode:o} {own}");
        }
    }

    #[test]
    fn an_authority_readable_by_others_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("join");
        Authority::of(&folder).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        let file = folder.join(FILE);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        let error = Authority::of(&folder).err().unwrap().to_string();
        assert!(error.contains("permissions (640) let others read this secret"), "{error}");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        Authority::of(&folder).unwrap();
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&file, Some(65_534), None).unwrap();
            let error = Authority::of(&folder).err().unwrap().to_string();
            assert!(error.contains("its owner (user 65534)"), "{error}");
        }
    }
}
