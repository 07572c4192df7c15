//! A running container, whose resource usage is read from its control group (cgroup), version 1 or 2.
//!
//! Sources: the kernel's `admin-guide/cgroup-v1/` and `admin-guide/cgroup-v2.rst`. The counters of
//! a cgroup include every process that ever ran in the container, up to the end of the process.

use std::fs;
use std::path::{Path, PathBuf};

use crate::engine::control_group::{field, group, mount};

/// A running container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// ID of the container's first process on this machine; 0 while the container does not run.
    pub pid: u32,
    /// Control group of the container; `None` if the group cannot be determined.
    pub group: Option<Cgroup>,
}

/// Folders of a container's control group. Version 1 of control groups has a separate folder for
/// each controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cgroup {
    /// Control group of version 1, with a folder for each controller.
    V1 {
        /// Folder of the controller that limits CPU time.
        cpu: PathBuf,
        /// Folder of the controller that counts used CPU time.
        cpuacct: PathBuf,
        /// Folder of the memory controller.
        memory: PathBuf,
        /// Folder of the controller of block devices.
        blkio: PathBuf,
    },
    /// Control group of version 2, with one folder for all controllers.
    V2(PathBuf),
}

/// Resources that a container has used since its start, and its current memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// CPU time, user and system, in ns.
    pub cpu_ns: u64,
    /// Time for which the container was denied CPUs because its CPU quota was used up, in ns;
    /// summed over CPUs.
    pub throttled_ns: u64,
    /// Number of periods of the CPU quota in which the container wanted a CPU.
    pub periods: u64,
    /// Number of periods of the CPU quota in which the container was denied a CPU.
    pub throttled_periods: u64,
    /// Memory in use, without inactive pages of the file cache, in bytes.
    pub memory: u64,
    /// Bytes read from block devices.
    pub read: u64,
    /// Bytes written to block devices.
    pub written: u64,
}

impl Cgroup {
    /// Finds the control group of the container with this ID, in which the process `pid` runs.
    /// Returns `None` if the group cannot be determined.
    pub fn of(pid: u32, id: &str) -> Option<Self> {
        let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
        let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
        Self::find(&groups, &mounts, id)
    }

    fn find(groups: &str, mounts: &str, id: &str) -> Option<Self> {
        let folder = |controller: &str| {
            let path = container_path(group(groups, controller)?, id);
            Some(mount(mounts, controller)?.join(path.trim_start_matches('/')))
        };
        match folder("cpu") {
            Some(cpu) => Some(Self::V1 {
                cpu,
                cpuacct: folder("cpuacct")?,
                memory: folder("memory")?,
                blkio: folder("blkio")?,
            }),
            None => folder("").map(Self::V2),
        }
    }

    /// Reads the resources that the container has used so far. A value that cannot be read is zero.
    pub fn usage(&self) -> Usage {
        let read =
            |folder: &Path, file: &str| fs::read_to_string(folder.join(file)).unwrap_or_default();
        match self {
            Self::V1 { cpu, cpuacct, memory, blkio } => usage_v1(&Files {
                cpu: read(cpu, "cpu.stat"),
                cpuacct: read(cpuacct, "cpuacct.usage"),
                memory: read(memory, "memory.usage_in_bytes"),
                memory_stat: read(memory, "memory.stat"),
                io: read(blkio, "blkio.throttle.io_service_bytes"),
            }),
            Self::V2(folder) => usage_v2(&Files {
                cpu: read(folder, "cpu.stat"),
                cpuacct: String::new(),
                memory: read(folder, "memory.current"),
                memory_stat: read(folder, "memory.stat"),
                io: read(folder, "io.stat"),
            }),
        }
    }
}

/// Contents of a control group's files.
struct Files {
    cpu: String,
    cpuacct: String,
    memory: String,
    memory_stat: String,
    io: String,
}

fn usage_v1(files: &Files) -> Usage {
    // Lines such as "8:0 Read 4096".
    let io = |direction: &str| {
        let amount = |line: &str| {
            let mut words = line.split_ascii_whitespace().skip(1);
            (words.next()? == direction).then(|| words.next()?.parse::<u64>().ok())?
        };
        files.io.lines().filter_map(amount).sum()
    };
    Usage {
        cpu_ns: number(&files.cpuacct),
        throttled_ns: field(&files.cpu, "throttled_time"),
        periods: field(&files.cpu, "nr_periods"),
        throttled_periods: field(&files.cpu, "nr_throttled"),
        memory: number(&files.memory)
            .saturating_sub(field(&files.memory_stat, "total_inactive_file")),
        read: io("Read"),
        written: io("Write"),
    }
}

fn usage_v2(files: &Files) -> Usage {
    // Lines such as "8:0 rbytes=4096 wbytes=0 …".
    let io = |key: &str| {
        let words = files.io.split_ascii_whitespace();
        words.filter_map(|word| word.strip_prefix(key)?.parse::<u64>().ok()).sum()
    };
    Usage {
        cpu_ns: field(&files.cpu, "usage_usec") * 1_000,
        throttled_ns: field(&files.cpu, "throttled_usec") * 1_000,
        periods: field(&files.cpu, "nr_periods"),
        throttled_periods: field(&files.cpu, "nr_throttled"),
        memory: number(&files.memory).saturating_sub(field(&files.memory_stat, "inactive_file")),
        read: io("rbytes="),
        written: io("wbytes="),
    }
}

fn number(text: &str) -> u64 {
    text.trim().parse().unwrap_or(0)
}

/// Shortens the path of a control group to the container's own group, whose name contains `id`.
/// This group has the container's limits, while the container's processes may be in groups further
/// below.
fn container_path<'a>(path: &'a str, id: &str) -> &'a str {
    match path.find(id) {
        Some(start) => {
            let rest = &path[start..];
            &path[..start + rest.find('/').unwrap_or(rest.len())]
        }
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_1_has_a_folder_for_each_controller() {
        let groups = "4:memory:/libpod_parent/libpod-ab12\n3:blkio:/libpod_parent/libpod-ab12\n\
                      2:cpu,cpuacct:/libpod_parent/libpod-ab12\n0::/libpod_parent/libpod-ab12\n";
        let mounts = "cgroup /cg/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n\
                      cgroup /cg/memory cgroup rw,memory 0 0\ncgroup /cg/blkio cgroup rw,blkio 0 0\n\
                      cgroup2 /cg/unified cgroup2 rw 0 0\n";
        let cpu = PathBuf::from("/cg/cpu,cpuacct/libpod_parent/libpod-ab12");
        let found = Cgroup::find(groups, mounts, "ab12").unwrap();
        assert_eq!(
            found,
            Cgroup::V1 {
                cpu: cpu.clone(),
                cpuacct: cpu,
                memory: "/cg/memory/libpod_parent/libpod-ab12".into(),
                blkio: "/cg/blkio/libpod_parent/libpod-ab12".into(),
            }
        );
    }

    #[test]
    fn version_2_has_one_folder_above_the_processes() {
        let groups = "0::/user.slice/libpod-ab12.scope/container\n";
        let mounts = "cgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate 0 0\n";
        let folder = "/sys/fs/cgroup/user.slice/libpod-ab12.scope".into();
        assert_eq!(Cgroup::find(groups, mounts, "ab12"), Some(Cgroup::V2(folder)));
        assert_eq!(Cgroup::find(groups, "tmpfs /tmp tmpfs rw 0 0\n", "ab12"), None);
    }

    fn files(cpu: &str, cpuacct: &str, memory: &str, memory_stat: &str, io: &str) -> Files {
        let [cpu, cpuacct, memory, memory_stat, io] =
            [cpu, cpuacct, memory, memory_stat, io].map(str::to_owned);
        Files { cpu, cpuacct, memory, memory_stat, io }
    }

    #[test]
    fn both_versions_give_the_same_usage() {
        let v1 = usage_v1(&files(
            "nr_periods 10\nnr_throttled 4\nthrottled_time 2000000\n",
            "5000000\n",
            "900\n",
            "inactive_file 1\ntotal_inactive_file 300\n",
            "8:0 Read 70\n8:0 Write 7\n8:16 Read 1\n8:0 Total 77\nTotal 78\n",
        ));
        let v2 = usage_v2(&files(
            "usage_usec 5000\nuser_usec 1\nnr_periods 10\nnr_throttled 4\nthrottled_usec 2000\n",
            "",
            "900\n",
            "anon 5\ninactive_file 300\n",
            "8:0 rbytes=70 wbytes=7 rios=1\n8:16 rbytes=1 wbytes=0\n",
        ));
        let expected = Usage {
            cpu_ns: 5_000_000,
            throttled_ns: 2_000_000,
            periods: 10,
            throttled_periods: 4,
            memory: 600,
            read: 71,
            written: 7,
        };
        assert_eq!((v1, v2), (expected, expected));
    }

    #[test]
    fn a_removed_group_has_no_usage() {
        assert_eq!(Cgroup::V2("/nowhere".into()).usage(), Usage::default());
    }
}
