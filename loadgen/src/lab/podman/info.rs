//! Finds podman, reads podman's report on the machine, and checks whether podman can run a lab.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::process::{Resource, getrlimit};
use serde::Deserialize;
use tokio::process::Command;

use crate::lab::error::LabError;
use crate::lab::service::logs::{MESSAGE_LINES, tail_of};
use crate::lab::service::programs::on_path;

/// Oldest version of podman, as major and minor number, with which loadgen was tested.
const OLDEST: (u32, u32) = (4, 3);

/// Controllers of Linux control groups that limits and measurements of containers need.
const CONTROLLERS: [&str; 3] = ["cpu", "cpuset", "memory"];

/// Paths at which Linux distributions install aardvark-dns, the program that resolves the names of
/// containers.
const NAME_SERVERS: [&str; 3] =
    ["/usr/lib/podman/aardvark-dns", "/usr/libexec/podman/aardvark-dns", "/usr/bin/aardvark-dns"];

/// Limits on the open files and on the processes of a container. Each pair holds the number that
/// compose.yaml gives, unless the machine allows fewer, and the minimum that a container needs.
const OPEN_FILES: (u64, u64) = (16_384, 1_024);
const PROCESSES: (u64, u64) = (4_096, 256);

/// Paths at which Linux distributions install iptables and nft. podman's network program, netavark,
/// needs one of these programs to make containers reachable.
const FIREWALLS: [&str; 4] = ["/usr/sbin/iptables", "/sbin/iptables", "/usr/sbin/nft", "/sbin/nft"];

/// A missing requirement, with its fix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    /// Description of what is wrong.
    pub what: String,
    /// Fix: a command, or the lines of a file.
    pub fix: String,
}

impl Lack {
    pub(super) fn new(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { what: what.into(), fix: fix.into() }
    }
}

impl From<Lack> for LabError {
    fn from(lack: Lack) -> Self {
        Self::Podman { what: lack.what, output: Vec::new(), help: lack.fix }
    }
}

/// Output of `podman info`.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Info {
    host: Host,
    version: Version,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Host {
    #[serde(default)]
    cgroup_controllers: Option<Vec<String>>,
    cgroup_version: String,
    #[serde(default)]
    network_backend: String,
    oci_runtime: OciRuntime,
    security: Security,
}

#[derive(Debug, Clone, Deserialize)]
struct OciRuntime {
    name: String,
}

#[derive(Debug, Clone, Deserialize)]
struct Security {
    rootless: bool,
}

#[derive(Debug, Clone, Deserialize)]
struct Version {
    #[serde(rename = "Version")]
    version: String,
}

/// Finds podman on the PATH.
pub(super) fn find() -> Result<PathBuf, Lack> {
    on_path("podman").ok_or_else(|| {
        let fix =
            "install podman: `apt install podman runc netavark aardvark-dns iptables`, or `dnf install podman`";
        Lack::new("podman is not on the PATH", fix)
    })
}

/// Runs podman until it ends. Returns its output, or the last lines of its error message.
pub(super) async fn podman(program: &Path, words: &[&str]) -> Result<String, Vec<String>> {
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null()).kill_on_drop(true);
    let output = command.output().await.map_err(|error| vec![error.to_string()])?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    Err(tail_of(&String::from_utf8_lossy(&output.stderr), MESSAGE_LINES))
}

impl Info {
    /// Runs `podman info`.
    pub(super) async fn ask(program: &Path) -> Result<Self, LabError> {
        let fault = |output: Vec<String>| LabError::Podman {
            what: "podman does not work".to_owned(),
            output,
            help: "run `podman info`".to_owned(),
        };
        let said = podman(program, &["info", "--format", "json"]).await.map_err(fault)?;
        serde_json::from_str(&said).map_err(|error| fault(vec![error.to_string()]))
    }

    /// Summary in one line, such as `podman 4.3.1, runc, cgroup v1, rootless`.
    pub(super) fn line(&self) -> String {
        let Host { cgroup_version, oci_runtime, security, .. } = &self.host;
        let rootless = if security.rootless { ", rootless" } else { "" };
        let version = &self.version.version;
        format!("podman {version}, {}, cgroup {cgroup_version}{rootless}", oci_runtime.name)
    }

    /// Checks the output of `podman info`, and the limits of this process, against the requirements
    /// of containers. Returns the name and the result of each check.
    pub(super) fn checks(&self) -> [(&'static str, Result<String, Lack>); 5] {
        [
            ("podman", self.version()),
            ("container runtime", self.runtime()),
            ("control groups", self.control_groups()),
            ("network", self.network(&NAME_SERVERS, &FIREWALLS)),
            ("ulimits", ulimits(hard(Resource::Nofile), hard(Resource::Nproc))),
        ]
    }

    fn version(&self) -> Result<String, Lack> {
        let version = &self.version.version;
        let mut numbers = version.split(['.', '-']).map_while(|part| part.parse().ok());
        let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        if found >= OLDEST {
            return Ok(version.clone());
        }
        let what = format!("podman {version} is older than {}.{}", OLDEST.0, OLDEST.1);
        Err(Lack::new(
            what,
            "install a newer version: Debian 12, Ubuntu 24.04 and Fedora provide one",
        ))
    }

    fn runtime(&self) -> Result<String, Lack> {
        let name = &self.host.oci_runtime.name;
        if name == "crun" && self.host.cgroup_version == "v1" {
            let what = "crun starts no containers with control groups of version 1";
            let fix = "`apt install runc`, and set runtime = \"runc\" under [engine] in /etc/containers/containers.conf";
            return Err(Lack::new(what, fix));
        }
        Ok(name.clone())
    }

    fn control_groups(&self) -> Result<String, Lack> {
        let Host { cgroup_version, cgroup_controllers, security, .. } = &self.host;
        if security.rootless && cgroup_version == "v1" {
            let what = "podman without root sets no limits with control groups of version 1";
            return Err(Lack::new(
                what,
                "run loadgen as root, or switch the machine to version 2: systemd.unified_cgroup_hierarchy=1",
            ));
        }
        let there = cgroup_controllers.as_deref().unwrap_or_default();
        let missing: Vec<&str> =
            CONTROLLERS.into_iter().filter(|one| !there.iter().any(|name| name == one)).collect();
        if missing.is_empty() {
            return Ok(format!("version {}, {}", &cgroup_version[1..], CONTROLLERS.join(", ")));
        }
        let what =
            format!("podman may not use the control group controllers {}", missing.join(", "));
        let fix = if security.rootless {
            "as root: `mkdir -p /etc/systemd/system/user@.service.d && printf '[Service]\\nDelegate=cpu cpuset io memory pids\\n' > /etc/systemd/system/user@.service.d/delegate.conf && systemctl daemon-reload`, and log in again"
        } else {
            "the kernel has disabled these controllers: see `cat /proc/cgroups`"
        };
        Err(Lack::new(what, fix))
    }

    fn network(&self, name_servers: &[&str], firewalls: &[&str]) -> Result<String, Lack> {
        let backend = &self.host.network_backend;
        if !backend.is_empty() && backend != "netavark" {
            let what = format!(
                "podman uses the network {backend}, in which containers cannot find each other by name"
            );
            let fix = "`apt install netavark aardvark-dns`, set network_backend = \"netavark\" under [network] in /etc/containers/containers.conf, and run `podman system reset`";
            return Err(Lack::new(what, fix));
        }
        let is_one_there = |paths: &[&str]| paths.iter().any(|path| Path::new(path).exists());
        if !is_one_there(firewalls) {
            let what = "netavark cannot make containers reachable: iptables is missing";
            return Err(Lack::new(what, "`apt install iptables`"));
        }
        if !is_one_there(name_servers) {
            let what = "containers cannot find each other by name: aardvark-dns is missing";
            return Err(Lack::new(what, "`apt install aardvark-dns`"));
        }
        Ok("netavark".to_owned())
    }
}

fn hard(resource: Resource) -> u64 {
    getrlimit(resource).maximum.unwrap_or(u64::MAX)
}

/// Checks that a container can have the open files and the processes that it needs.
fn ulimits(files: u64, processes: u64) -> Result<String, Lack> {
    let short = |what: &str, option: &str, most: u64, least: u64| {
        let what = format!("a process may have at most {most} {what}");
        Lack::new(
            what,
            format!("raise the limit to {least} or more: `ulimit -{option} {least}` as root"),
        )
    };
    if files < OPEN_FILES.1 {
        return Err(short("open files", "Hn", files, OPEN_FILES.1));
    }
    if processes < PROCESSES.1 {
        return Err(short("processes", "Hu", processes, PROCESSES.1));
    }
    let [files, processes] = given(files, processes);
    Ok(format!("{files} open files, {processes} processes"))
}

fn given(files: u64, processes: u64) -> [u64; 2] {
    [files.min(OPEN_FILES.0), processes.min(PROCESSES.0)]
}

/// Returns the limits on open files and on processes that a container gets. podman's own defaults
/// are not used, because some machines do not allow so many even for root.
pub(in crate::lab) fn container_ulimits() -> [u64; 2] {
    given(hard(Resource::Nofile), hard(Resource::Nproc))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(json: &str) -> Info {
        serde_json::from_str(json).unwrap()
    }

    const HERE: &str = r#"{"host": {"cgroupControllers": ["cpuset", "cpu", "memory"], "cgroupVersion": "v2",
        "networkBackend": "netavark", "ociRuntime": {"name": "crun", "path": "/usr/bin/crun"},
        "security": {"rootless": true}}, "version": {"Version": "5.4.2-dev"}}"#;

    #[test]
    fn a_complete_machine_lacks_nothing() {
        let info = info(HERE);
        assert_eq!(info.line(), "podman 5.4.2-dev, crun, cgroup v2, rootless");
        assert_eq!(info.version(), Ok("5.4.2-dev".to_owned()));
        assert_eq!(info.runtime(), Ok("crun".to_owned()));
        assert_eq!(info.control_groups(), Ok("version 2, cpu, cpuset, memory".to_owned()));
        assert_eq!(info.network(&["/"], &["/"]), Ok("netavark".to_owned()));
        assert_eq!(ulimits(20_000, u64::MAX), Ok("16384 open files, 4096 processes".to_owned()));
    }

    /// Returns the fault and the fix that `check` reports for the sample output `HERE` of
    /// `podman info`, in which `to` replaces `from`.
    fn lack(from: &str, to: &str, check: fn(&Info) -> Result<String, Lack>) -> String {
        let lack = check(&info(&HERE.replace(from, to))).unwrap_err();
        format!("{}\n{}", lack.what, lack.fix)
    }

    #[test]
    fn each_missing_part_names_its_fix() {
        let said = lack("5.4.2-dev", "4.2.9", Info::version);
        assert!(said.contains("4.2.9 is older than 4.3"), "{said}");
        let said = lack("v2", "v1", Info::runtime);
        assert!(said.contains("apt install runc"), "{said}");
        let said = lack("v2", "v1", Info::control_groups);
        assert!(said.contains("as root"), "{said}");
        let said = lack("\"cpuset\", ", "", Info::control_groups);
        assert!(said.contains("controllers cpuset\n") && said.contains("Delegate="), "{said}");
        let said = lack("netavark", "cni", |info| info.network(&["/"], &["/"]));
        assert!(said.contains("network_backend"), "{said}");
        let said = info(HERE).network(&["/nowhere"], &["/"]).unwrap_err();
        assert_eq!(said.fix, "`apt install aardvark-dns`");
        let said = info(HERE).network(&["/"], &["/nowhere"]).unwrap_err();
        assert_eq!(said.fix, "`apt install iptables`");
        assert!(ulimits(100, 10_000).unwrap_err().fix.contains("ulimit -Hn 1024"));
        assert!(ulimits(10_000, 100).unwrap_err().fix.contains("ulimit -Hu 256"));
    }
}
