//! Control groups (cgroups) of Linux, version 1 and 2, and how often a limit of CPU has stopped this process.
//!
//! Sources: the kernel's `admin-guide/cgroup-v2.rst` and `scheduler/sched-bwc.rst`.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the path of a process's control group for a controller, from lines of `/proc/PID/cgroup` such as
/// `4:cpu,cpuacct:/path`. An empty `controller` selects the group of version 2.
#[must_use]
pub fn group<'a>(groups: &'a str, controller: &str) -> Option<&'a str> {
    groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        controllers.split(',').any(|one| one == controller).then_some(path)
    })
}

/// Returns the mount point of a controller, from lines of `/proc/PID/mounts` such as
/// `cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0`. An empty `controller` selects control groups of
/// version 2.
#[must_use]
pub fn mount(mounts: &str, controller: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let mut words = line.split(' ').skip(1);
        let (place, kind, options) = (words.next()?, words.next()?, words.next()?);
        let found = match kind {
            "cgroup" => !controller.is_empty() && options.split(',').any(|one| one == controller),
            "cgroup2" => controller.is_empty(),
            _ => false,
        };
        found.then(|| PathBuf::from(place))
    })
}

/// Returns the number that follows `name` at the start of a line of `text`; zero without such a
/// line.
#[must_use]
pub fn field(text: &str, name: &str) -> u64 {
    let value = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok();
    text.lines().find_map(value).unwrap_or(0)
}

/// The file with the counters of this process's limit of CPU.
#[derive(Debug)]
pub(super) struct CpuLimit(Option<PathBuf>);

/// Periods of a limit of CPU, of mostly 100 ms, since the control group was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Periods {
    /// Periods in which the group wanted a CPU. Zero without a limit.
    pub all: u64,
    /// Periods of these in which the group was stopped, because it had used up what it may.
    pub throttled: u64,
}

impl CpuLimit {
    /// Finds the counters; where there are none, nothing is ever counted.
    pub fn find() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let (groups, mounts) = (read("/proc/self/cgroup"), read("/proc/self/mounts"));
        let mut places = places(&groups, &mounts).into_iter();
        Self(places.find(|path| count(path).is_some()))
    }

    /// Returns the counters.
    pub fn periods(&self) -> Periods {
        self.0.as_deref().and_then(count).unwrap_or_default()
    }
}

/// Returns where the counters may be, the likelier places first. A container may see its own group at the mount point,
/// although its path is that on the host.
fn places(groups: &str, mounts: &str) -> Vec<PathBuf> {
    let of = |controller: &str| {
        let (group, mount) = (group(groups, controller)?, mount(mounts, controller)?);
        Some([mount.join(group.trim_start_matches('/')), mount])
    };
    let folders = ["cpu", ""].into_iter().filter_map(of).flatten();
    folders.map(|folder| folder.join("cpu.stat")).collect()
}

/// Reads the counters; `None` if the file has none.
fn count(path: &Path) -> Option<Periods> {
    let text = fs::read_to_string(path).ok()?;
    let has = text.lines().any(|line| line.starts_with("nr_periods "));
    has.then(|| Periods {
        all: field(&text, "nr_periods"),
        throttled: field(&text, "nr_throttled"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(groups: &str, mounts: &str) -> Vec<String> {
        places(groups, mounts).iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn counters_are_looked_for_where_a_container_sees_its_own_group() {
        // containerd on a host with version 1: the path is the host's, the mount shows the container's group.
        let groups = "4:cpu,cpuacct:/kubepods/pod1/ab12\n0::/kubepods/pod1/ab12\n";
        let mounts = "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup ro,cpu,cpuacct 0 0\n";
        assert_eq!(
            shown(groups, mounts),
            [
                "/sys/fs/cgroup/cpu,cpuacct/kubepods/pod1/ab12/cpu.stat",
                "/sys/fs/cgroup/cpu,cpuacct/cpu.stat",
            ]
        );
        // Version 2, with a namespace of its own.
        let own = shown("0::/\n", "cgroup2 /sys/fs/cgroup cgroup2 ro 0 0\n");
        assert_eq!(own, ["/sys/fs/cgroup/cpu.stat"; 2]);
        assert_eq!(shown("", ""), Vec::<String>::new());
    }

    #[test]
    fn counters_are_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "usage_usec 5000\nnr_periods 10\nnr_throttled 4\n").unwrap();
        assert_eq!(count(file.path()), Some(Periods { all: 10, throttled: 4 }));
        // The root group of version 2 has no limit.
        fs::write(file.path(), "usage_usec 5000\n").unwrap();
        assert_eq!(count(file.path()), None);
        assert_eq!(CpuLimit(None).periods(), Periods::default());
    }
}
