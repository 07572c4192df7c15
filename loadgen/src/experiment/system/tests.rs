use std::path::PathBuf;

use super::*;
use crate::record::SharedCoreRecord;

/// Two sockets of two cores with two hardware threads each: CPUs 0 and 4 are one core.
const TWO_SOCKETS: &[(&str, &str)] = &[
    ("sys/devices/system/cpu/online", "0-7\n"),
    ("sys/devices/system/cpu/smt/active", "1\n"),
    ("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0,4\n"),
    ("sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "1,5\n"),
    ("sys/devices/system/cpu/cpu2/topology/thread_siblings_list", "2,6\n"),
    ("sys/devices/system/cpu/cpu3/topology/thread_siblings_list", "3,7\n"),
    ("sys/devices/system/cpu/cpu4/topology/thread_siblings_list", "0,4\n"),
    ("sys/devices/system/cpu/cpu5/topology/thread_siblings_list", "1,5\n"),
    ("sys/devices/system/cpu/cpu6/topology/thread_siblings_list", "2,6\n"),
    ("sys/devices/system/cpu/cpu7/topology/thread_siblings_list", "3,7\n"),
    ("sys/devices/system/node/node0/cpulist", "0-1,4-5\n"),
    ("sys/devices/system/node/node1/cpulist", "2-3,6-7\n"),
    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_min_freq", "800000\n"),
    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", "3900000\n"),
    ("sys/devices/system/cpu/cpu7/cpufreq/scaling_governor", "performance\n"),
    ("sys/devices/system/cpu/cpu7/cpufreq/scaling_min_freq", "1200000\n"),
    ("sys/devices/system/cpu/cpu7/cpufreq/scaling_max_freq", "3600000\n"),
    ("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n"),
    ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
    ("sys/devices/system/cpu/vulnerabilities/meltdown", "Mitigation: PTI\n"),
    ("sys/devices/system/cpu/vulnerabilities/retbleed", "Not affected\n"),
    ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
    ("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme tsc\n\nprocessor\t: 1\n"),
    ("proc/loadavg", "0.42 0.30 0.20 1/345 6789\n"),
];

/// A folder with these files, which is removed at the end.
struct Files(tempfile::TempDir);

impl Files {
    fn with(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path: PathBuf = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self(folder)
    }

    fn read(&self, layout: &Layout) -> SystemRecord {
        Tree(self.0.path()).system(layout)
    }
}

fn layout(target: &[usize], backends: &[usize], generator: &[usize]) -> Layout {
    let [target, backends, generator] = [target, backends, generator].map(<[usize]>::to_vec);
    Layout { target, backends, generator, ..Layout::default() }
}

#[test]
fn settings_of_a_physical_machine_are_read() {
    let read = Files::with(TWO_SOCKETS).read(&layout(&[6, 7], &[5], &[0, 1]));
    let shared =
        |parts: [&str; 2], cpus| SharedCoreRecord { parts: parts.map(str::to_owned), cpus };
    let expected = SystemRecord {
        governor: Some("performance, powersave".to_owned()),
        frequency_mhz: Some([800.0, 3_900.0]),
        turbo: Some(true),
        smt: Some(true),
        shared_cores: vec![shared(["backends", "generator"], [5, 1])],
        numa_nodes: [("target", 1), ("backends", 0), ("generator", 0)]
            .map(|(part, node)| (part.to_owned(), vec![node]))
            .into(),
        transparent_huge_pages: Some("madvise".to_owned()),
        mitigations: [("meltdown".to_owned(), "Mitigation: PTI".to_owned())].into(),
        virtualization: Some("none".to_owned()),
        clock_source: Some("tsc".to_owned()),
        load_average: Some(0.42),
    };
    assert_eq!(read, expected);
}

#[test]
fn parts_on_one_cpu_share_no_core_by_threads() {
    let files = Files::with(TWO_SOCKETS);
    assert_eq!(files.read(&layout(&[1], &[0], &[0])).shared_cores, []);
    assert_eq!(files.read(&layout(&[4], &[0], &[0])).shared_cores.len(), 2);
    assert_eq!(files.read(&Layout::unpinned()).shared_cores, []);
    let of_all = files.read(&Layout::unpinned());
    assert_eq!(of_all.governor.as_deref(), Some("performance, powersave"));
    assert_eq!(of_all.numa_nodes, BTreeMap::new());
}

#[test]
fn virtual_machines_have_the_name_of_their_maker() {
    let flags = ("proc/cpuinfo", "flags\t\t: fpu hypervisor\n");
    let of = |files: &[(&str, &str)]| Files::with(files).read(&Layout::unpinned()).virtualization;
    assert_eq!(of(&[flags]).as_deref(), Some("unknown hypervisor"));
    let amazon = [
        flags,
        ("sys/class/dmi/id/sys_vendor", "Amazon EC2\n"),
        ("sys/class/dmi/id/product_name", "c7i.large\n"),
    ];
    assert_eq!(of(&amazon).as_deref(), Some("Amazon EC2 c7i.large"));
    assert_eq!(of(&[("sys/hypervisor/type", "xen\n")]).as_deref(), Some("xen"));
    assert_eq!(of(&[("proc/cpuinfo", "Features\t: fp asimd\n")]), None, "not x86");
}

#[test]
fn what_cannot_be_read_is_unknown() {
    assert_eq!(Files::with(&[]).read(&layout(&[1], &[0], &[0])), SystemRecord::default());
    let odd = [
        ("sys/devices/system/cpu/smt/active", "\n"),
        ("sys/devices/system/cpu/cpufreq/boost", "2\n"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "always\n"),
        ("proc/loadavg", "many\n"),
        ("sys/devices/system/cpu/cpu1/cpufreq/scaling_min_freq", "<unsupported>\n"),
    ];
    assert_eq!(Files::with(&odd).read(&layout(&[1], &[0], &[0])), SystemRecord::default());
}

#[test]
fn this_machine_can_be_read() {
    let read = system(&Layout::unpinned());
    assert_eq!(read.load_average.is_some(), cfg!(target_os = "linux"), "{read:?}");
}
