//! Copies this program to hosts that lack it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::ssh;
use crate::error::ClusterError;
use crate::hex::hex;
use crate::messages::VERSION;

/// Time limit for a host to say whether it has the program.
const ASK_LIMIT: Duration = Duration::from_secs(30);

/// Time limit for a copy, over a slow network.
const COPY_LIMIT: Duration = Duration::from_secs(600);

/// Folder of the programs on a host, in the words of its shell. Nobody else may write to a user's cache.
pub(super) const FOLDER: &str = r#""${XDG_CACHE_HOME:-$HOME/.cache}/loadgen/programs""#;

/// This program, as it is copied.
#[derive(Debug, Clone)]
pub(super) struct Program {
    bytes: Arc<[u8]>,
    /// Name of the file, which no other program has.
    pub(super) name: String,
    /// System and kind of CPU, as `uname` calls them.
    machine: String,
}

impl Program {
    /// Reads this program.
    ///
    /// # Errors
    /// If its file cannot be read.
    pub(super) async fn own() -> Result<Self, ClusterError> {
        let read = || {
            // The very file that is running, even if a build has replaced it by a newer one.
            let itself = Path::new("/proc/self/exe");
            let other = || std::env::current_exe().and_then(std::fs::read);
            let bytes: Arc<[u8]> = std::fs::read(itself).or_else(|_| other())?.into();
            let digest = hex(&Sha256::digest(&bytes));
            Ok((bytes, digest))
        };
        let spawn = |source| ClusterError::Spawn { program: "loadgen".into(), source };
        let read = tokio::task::spawn_blocking(read).await.map_err(ClusterError::bus)?;
        let (bytes, digest) = read.map_err(spawn)?;
        let system = rustix::system::uname();
        let machine =
            [system.sysname(), system.machine()].map(|word| word.to_string_lossy()).join(" ");
        Ok(Self { bytes, name: format!("loadgen-{VERSION}-{}", &digest[..16]), machine })
    }

    pub(super) fn length(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Asks whether a host has the program, and can run it.
    pub(super) async fn is_there(&self, host: &str) -> Result<bool, String> {
        let Self { name, machine, .. } = self;
        let script = format!(
            "p={FOLDER}/{name}; echo \"machine: $(uname -s) $(uname -m)\"; \
             [ -x \"$p\" ] || exit 0; touch \"$p\"; \"$p\" --version > /dev/null && echo program: runs"
        );
        let printed = ssh::run(host, &[], &script, &[], ASK_LIMIT).await.map_err(|why| {
            // As from a dynamic program where another C library is.
            match why.contains("GLIBC_") || why.contains("not found") {
                true => format!("{why}: this loadgen needs other libraries than it has; use the static program of a release"),
                false => why,
            }
        })?;
        let value = |name: &str| printed.lines().find_map(|line| line.strip_prefix(name));
        match value("machine: ") {
            Some(there) if there == machine => Ok(value("program: ").is_some()),
            Some(there) => Err(format!("it is {there}, but this loadgen is for {machine}")),
            None => Err("it ran no command: its shell printed something else".to_owned()),
        }
    }

    /// Copies the program to a host, and tries it there.
    pub(super) async fn copy_to(&self, host: &str) -> Result<(), String> {
        let (name, length) = (&self.name, self.bytes.len());
        // Programs that were not used for a month are removed.
        let script = format!(
            "umask 077; d={FOLDER}; mkdir -p \"$d\" && t=$(mktemp \"$d/.new.XXXXXX\") || exit 1; \
             if cat > \"$t\" && [ $(wc -c < \"$t\") = {length} ] && chmod 700 \"$t\" && mv -f \"$t\" \"$d/{name}\"; \
             then find \"$d\" -name \"loadgen-*\" -mtime +30 -exec rm -f {{}} +; \
             else rm -f \"$t\"; echo cannot save the whole program in \"$d\" >&2; exit 1; fi"
        );
        ssh::run(host, &["-C"], &script, &self.bytes, COPY_LIMIT).await?;
        match self.is_there(host).await? {
            true => Ok(()),
            false => Err(format!("{FOLDER} does not keep programs")),
        }
    }
}
