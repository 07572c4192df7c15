//! Hosts that ssh reaches, with a real sshd.
#![allow(clippy::print_stdout, reason = "a test that cannot be made here says why")]

use std::collections::HashSet;
use std::env;
use std::fs;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::geteuid;
use tempfile::TempDir;
use tokio::task::block_in_place;

use super::processes::{Started, named};
use super::program::{Finished, Project};
use super::proxy::{Line, Proxy};

/// User of the hosts, if the test may become another one.
const USER: u32 = 4_711;

/// Generous, because a busy machine may take its time to copy the program.
pub const WITHIN: Duration = Duration::from_secs(60);

/// Hosts `one` and `two`, to which an `ssh` leads that is first in the PATH.
pub struct Hosts {
    folder: TempDir,
    /// Address of sshd.
    address: SocketAddr,
    _sshd: Started,
}

/// How the hosts differ from this machine.
pub struct Setup<'a> {
    /// Further settings of their sshd.
    pub of_sshd: &'a str,
    /// Further settings of ssh.
    pub of_ssh: &'a str,
    /// Further commands of root before sshd starts, in a mount namespace of the hosts' own. `$home` is the home of their
    /// user.
    pub mounts: &'a str,
    /// Name of their network namespace, if they have one of their own, and their address there.
    pub network: Option<(&'a str, IpAddr)>,
}

impl Setup<'_> {
    /// Hosts that are this machine.
    pub const HERE: Self = Self { of_sshd: "", of_ssh: "", mounts: "", network: None };
}

impl Hosts {
    /// Starts the hosts, with further settings of their sshd and of ssh; `None`, with a word why, if it cannot be done.
    pub fn start(of_sshd: &str, of_ssh: &str) -> Option<Self> {
        Self::of(&Setup { of_sshd, of_ssh, ..Setup::HERE })
    }

    /// Starts the hosts; `None`, with a word why, if it cannot be done.
    pub fn of(setup: &Setup<'_>) -> Option<Self> {
        Self::made(setup).map_err(|why| println!("skipped: {why}")).ok()
    }

    fn made(setup: &Setup<'_>) -> Result<Self, String> {
        let program = "/usr/sbin/sshd";
        if !Path::new(program).is_file() {
            return Err(format!(
                "there is no {program}; on Debian as root, `make setup` installs it"
            ));
        }
        let is_root = geteuid().is_root();
        if !is_root && (!setup.mounts.is_empty() || setup.network.is_some()) {
            return Err("only root may mount file systems and make networks".to_owned());
        }
        // All may enter, because sshd reads the keys as the user.
        let mut folder = tempfile::Builder::new();
        let folder = folder.permissions(fs::Permissions::from_mode(0o755));
        let folder = folder.tempdir_in("/tmp").unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        for name in ["host", "key"] {
            let words = ["-q", "-t", "ed25519", "-N", "", "-f"];
            assert!(
                Command::new("ssh-keygen").args(words).arg(path(name)).status().unwrap().success()
            );
        }
        fs::create_dir(path("home")).unwrap();
        let address = match setup.network {
            // No other program is there.
            Some((_, address)) => SocketAddr::new(address, 22),
            None => TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap(),
        };
        let text = format!(
            "ListenAddress {address}\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\n\
             PidFile none\nSetEnv LOADGEN_TEST={} XDG_CACHE_HOME={}\n{}",
            path("host"),
            path("key.pub"),
            folder.path().display(),
            path("home/cache"),
            setup.of_sshd
        );
        fs::write(path("sshd_config"), text).unwrap();
        let user = if is_root { "loadgen-test".to_owned() } else { own_name() };
        if is_root {
            chown(path("home"), Some(USER), Some(USER)).unwrap();
            let users = fs::read_to_string("/etc/passwd").unwrap();
            let user = format!("{user}:x:{USER}:{USER}::{}:/bin/sh\n", path("home"));
            fs::write(path("passwd"), format!("{users}{user}")).unwrap();
            // Where sshd looks for it as root.
            fs::create_dir_all("/run/sshd").unwrap();
        }
        let log = fs::File::create(path("log")).unwrap();
        let mut command = sshd(program, &path(""), setup, is_root);
        let sshd = Started::of(command.stdout(Stdio::null()).stderr(log));
        let text = format!(
            "{}\nHost one two\n HostName {}\n Port {}\n User {user}\n IdentityFile {}\n \
             IdentitiesOnly yes\n UserKnownHostsFile {}\n StrictHostKeyChecking accept-new\n",
            setup.of_ssh,
            address.ip(),
            address.port(),
            path("key"),
            path("known")
        );
        fs::write(path("config"), text).unwrap();
        fs::create_dir(path("bin")).unwrap();
        let text = format!("#!/bin/sh\nexec /usr/bin/ssh -F {} \"$@\"\n", path("config"));
        fs::write(path("bin/ssh"), text).unwrap();
        fs::set_permissions(path("bin/ssh"), fs::Permissions::from_mode(0o755)).unwrap();
        let begun = Instant::now();
        while !fs::read_to_string(path("log")).unwrap().contains("Server listening") {
            let said = fs::read_to_string(path("log")).unwrap();
            assert!(begun.elapsed() < WITHIN, "{said}");
            if said.contains("unshare") || said.contains("mount") {
                return Err(format!(
                    "this machine does not let a test become another user, or mount: {said}"
                ));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(Self { folder, address, _sshd: sshd })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Starts a line to the hosts, on which each byte arrives after this time, and leads ssh through it.
    pub async fn farther_by(&self, delay: Duration) -> Proxy {
        let line = Line::Open { delay, bytes_per_s: None };
        let proxy = Proxy::before(&self.address.to_string(), line).await;
        let config = fs::read_to_string(self.path("config")).unwrap();
        let port = |port: u16| format!(" Port {port}\n");
        let through = config.replace(&port(self.address.port()), &port(proxy.address.port()));
        assert_ne!(through, config);
        fs::write(self.path("config"), through).unwrap();
        proxy
    }

    pub fn command(&self, project: &Project, words: &[&str]) -> Command {
        let mut command = project.command(words);
        let path = env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", self.path("bin").display()));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn run(&self, project: &Project, words: &[&str]) -> Finished {
        let output = block_in_place(|| self.command(project, words).output().unwrap());
        Finished::of(output, &project.path(""))
    }

    /// Returns the processes on the hosts.
    pub fn there(&self) -> HashSet<u32> {
        let mark = format!("LOADGEN_TEST={}", self.folder.path().display());
        let has_mark = |pid: &u32| {
            let of = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            String::from_utf8_lossy(&of).split('\0').any(|variable| variable == mark)
        };
        let all = fs::read_dir("/proc").unwrap().flatten();
        all.filter_map(|of| of.file_name().to_str()?.parse().ok()).filter(has_mark).collect()
    }

    /// Waits until workers run on the hosts, as the hosts' user, and returns all processes there.
    pub fn until_loaded(&self, requests: impl Fn() -> u64, workers: usize) -> HashSet<u32> {
        let begun = Instant::now();
        while requests() < 100 {
            assert!(begun.elapsed() < WITHIN, "no load");
            std::thread::sleep(Duration::from_millis(20));
        }
        let there = self.there();
        assert!(named(&there, "worker --join -").len() >= workers, "{there:?}");
        if geteuid().is_root() {
            for pid in &there {
                use std::os::unix::fs::MetadataExt as _;
                assert_eq!(fs::metadata(format!("/proc/{pid}")).unwrap().uid(), USER);
            }
        }
        there
    }
}

/// Returns the command that runs sshd with the files of this folder. As root, the hosts have the user of the test.
fn sshd(program: &str, folder: &str, setup: &Setup<'_>, is_root: bool) -> Command {
    if !is_root {
        let mut command = Command::new(program);
        command.args(["-D", "-e", "-f", &format!("{folder}sshd_config")]);
        return command;
    }
    let mut command = match setup.network {
        Some((name, _)) => {
            let mut command = Command::new("ip");
            command.args(["netns", "exec", name, "unshare"]);
            command
        }
        None => Command::new("unshare"),
    };
    let script = format!(
        "set -e; home=$1home; mount --bind \"$1passwd\" /etc/passwd; {}\nexec {program} -D -e -f \"$1sshd_config\"",
        setup.mounts
    );
    command.args(["--mount", "sh", "-c", &script, "sh", folder]);
    command
}

/// Returns the name of the user of the test.
fn own_name() -> String {
    let said = Command::new("id").arg("-un").output().unwrap().stdout;
    String::from_utf8(said).unwrap().trim().to_owned()
}
