//! Copies this program to hosts that lack it.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use loadgen_text::in_one_line;
use sha2::{Digest as _, Sha256};

use super::ssh;
use crate::error::ClusterError;
use crate::hex::hex;
use crate::host_fault::HostFault;
use crate::messages::VERSION;

/// Time limit for a host to say whether it has the program.
const ASK_LIMIT: Duration = Duration::from_secs(30);

/// Time limit for a copy, over a slow network.
const COPY_LIMIT: Duration = Duration::from_secs(600);

/// Folder of the programs on a host, in the words of its shell. Only the user may change it and its parent.
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

    /// Returns the program, compressed for the way.
    ///
    /// # Errors
    /// If the process is about to end.
    pub(super) async fn packed(&self) -> Result<Arc<[u8]>, ClusterError> {
        let bytes = self.bytes.clone();
        let pack = move || {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            // Writes to memory don't fail.
            let _ = encoder.write_all(&bytes);
            encoder.finish().unwrap_or_default().into()
        };
        tokio::task::spawn_blocking(pack).await.map_err(ClusterError::bus)
    }

    /// Asks whether a host has the program.
    pub(super) async fn is_there(&self, host: &str) -> Result<bool, HostFault> {
        // One that does not run may be damaged.
        Ok(matches!(self.ask(host).await?, Found::Runs))
    }

    /// Copies the program, which is `packed`, to a host, and tries it there.
    pub(super) async fn copy_to(&self, host: &str, packed: &[u8]) -> Result<(), HostFault> {
        let (name, length) = (&self.name, self.bytes.len());
        let megabytes = length.div_ceil(1_000_000);
        // Programs that were not used for a month are removed, and copies that were cut short.
        let script = format!(
            "umask 077; d={FOLDER}; mkdir -p \"$d\" && t=$(mktemp \"$d/.new.XXXXXX\") || exit 1; \
             if gzip -dc > \"$t\" && [ $(wc -c < \"$t\") = {length} ] && chmod 700 \"$t\" && mv -f \"$t\" \"$d/{name}\"; \
             then find \"$d\" -name \"loadgen-*\" -mtime +30 -exec rm -f {{}} +; \
             find \"$d\" -name \".new.*\" -mtime +1 -exec rm -f {{}} +; \
             else rm -f \"$t\"; \
             echo \"cannot save the whole program of {megabytes} MB in $d: make room there\" >&2; exit 1; fi"
        );
        ssh::run(host, &[], &script, packed, COPY_LIMIT).await?;
        match self.ask(host).await? {
            Found::Runs => Ok(()),
            Found::Absent => Err("its cache does not keep the program".to_owned().into()),
            // Only its owner may do anything with the file, and may run it.
            Found::Broken(why) if why.contains("Permission denied") => Err(format!(
                "its cache is where no program may run, such as a file system mounted with noexec: {why}. Set \
                 XDG_CACHE_HOME to another folder of your own for its ssh sessions: SetEnv in its sshd_config"
            )
            .into()),
            Found::Broken(why) => Err(format!(
                "it cannot run the program: {why}. The program of a release needs no libraries"
            )
            .into()),
        }
    }

    async fn ask(&self, host: &str) -> Result<Found, HostFault> {
        let Self { name, machine, .. } = self;
        let length = self.bytes.len();
        let script = format!(
            "d={FOLDER}; p=\"$d/{name}\"; echo; echo \"machine: $(uname -s) $(uname -m)\"; \
             for o in \"${{d%/*}}\" \"$d\" \"$p\"; do \
             [ ! -e \"$o\" ] || [ -n \"$(find \"$o\" -prune -user \"$(id -u)\" ! -type l ! -perm -002)\" ] || \
             {{ echo \"foreign: $o\"; exit 0; }}; done; \
             [ -f \"$p\" ] && [ $(wc -c < \"$p\") = {length} ] || exit 0; touch \"$p\"; set -f; \
             if said=$(\"$p\" --version 2>&1); then echo \"program: $said\"; else echo broken: $said; fi"
        );
        let printed = ssh::run(host, &[], &script, &[], ASK_LIMIT).await?;
        let value = |name: &str| printed.lines().find_map(|line| line.strip_prefix(name));
        match value("machine: ") {
            Some(there) if there == machine => {}
            Some(there) => {
                return Err(format!(
                    "it is {there}, but this loadgen is for {machine}. Its workers need {}, and are started by hand: \
                     see loadgen manager",
                    archive(there)
                )
                .into());
            }
            None => {
                let last = printed.lines().map(str::trim).rfind(|line| !line.is_empty());
                let what =
                    last.map_or_else(|| "nothing".to_owned(), |line| format!("{line:?} instead"));
                return Err(format!(
                    "it ran no command: its shell printed {what}. Without a terminal, a file such as .bashrc must not exit"
                )
                .into());
            }
        }
        if let Some(folder) = value("foreign: ") {
            return Err(format!(
                "another user could replace the program: {} is not the user's own, is a link, or all may write to it. \
                 Set XDG_CACHE_HOME to a folder of your own for its ssh sessions: SetEnv in its sshd_config",
                in_one_line(folder)
            )
            .into());
        }
        Ok(match (value("program: "), value("broken: ")) {
            (Some(said), _) if said.starts_with("loadgen ") => Found::Runs,
            (_, Some(why)) => Found::Broken(in_one_line(why).into_owned()),
            _ => Found::Absent,
        })
    }
}

/// Returns the name of the release's archive for a machine, as `uname` calls its system and its kind of CPU.
fn archive(machine: &str) -> String {
    let (system, cpu) = machine.split_once(' ').unwrap_or((machine, ""));
    let system = match system {
        "Linux" => Some("unknown-linux-musl"),
        "Darwin" => Some("apple-darwin"),
        _ => None,
    };
    let cpu = match cpu {
        "x86_64" => Some("x86_64"),
        "aarch64" | "arm64" => Some("aarch64"),
        _ => None,
    };
    match system.zip(cpu) {
        Some((system, cpu)) => format!("loadgen-{VERSION}-{cpu}-{system}.tar.gz of the release"),
        None => "a loadgen that was built there".to_owned(),
    }
}

/// Result of a look for the program on a host.
enum Found {
    Runs,
    Absent,
    /// It does not run. Holds what the host said.
    Broken(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_machine_has_its_archive() {
        for (machine, triple) in [
            ("Linux aarch64", "aarch64-unknown-linux-musl"),
            ("Linux x86_64", "x86_64-unknown-linux-musl"),
            ("Darwin arm64", "aarch64-apple-darwin"),
        ] {
            assert_eq!(
                archive(machine),
                format!("loadgen-{VERSION}-{triple}.tar.gz of the release")
            );
        }
        for machine in ["Linux riscv64", "FreeBSD amd64", ""] {
            assert_eq!(archive(machine), "a loadgen that was built there");
        }
    }
}
