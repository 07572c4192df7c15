//! Reads the settings of the machine that change what is measured, from `/sys` and `/proc` of Linux.

mod cpus;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use self::cpus::{numa_nodes, shared_cores};
use crate::lab::Layout;
use crate::record::SystemRecord;

/// Reads the settings of this machine, and its load at present. `layout` has the CPUs of each part of
/// the test.
pub fn system(layout: &Layout) -> SystemRecord {
    Tree(Path::new("/")).system(layout)
}

/// A tree of files that contains `/sys` and `/proc`. Files that do not exist or cannot be read are
/// unknown.
#[derive(Clone, Copy)]
struct Tree<'a>(&'a Path);

impl Tree<'_> {
    fn system(self, layout: &Layout) -> SystemRecord {
        let parts = [
            ("target", &layout.target),
            ("backends", &layout.backends),
            ("generator", &layout.generator),
            ("probe", &layout.probe),
        ];
        let governors = self.of_cpus(layout, "cpufreq/scaling_governor");
        SystemRecord {
            governor: (!governors.is_empty())
                .then(|| governors.into_iter().collect::<Vec<_>>().join(", ")),
            frequency_mhz: self.frequency_mhz(layout),
            turbo: self.turbo(),
            smt: self.flag("sys/devices/system/cpu/smt/active"),
            shared_cores: shared_cores(self, parts),
            numa_nodes: numa_nodes(self, parts),
            transparent_huge_pages: self.chosen("sys/kernel/mm/transparent_hugepage/enabled"),
            mitigations: self.mitigations(),
            virtualization: self.virtualization(),
            clock_source: self
                .text("sys/devices/system/clocksource/clocksource0/current_clocksource"),
            load_average: self
                .text("proc/loadavg")
                .and_then(|text| text.split(' ').next()?.parse().ok()),
        }
    }

    /// Returns the content of a file without blanks at its ends; `None` if nothing remains.
    fn text(self, path: &str) -> Option<String> {
        let text = fs::read_to_string(self.0.join(path)).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// Returns whether a file contains the number 1; `None` unless it contains 0 or 1.
    fn flag(self, path: &str) -> Option<bool> {
        match &*self.text(path)? {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        }
    }

    /// Returns the word in brackets in a file that lists all possible words.
    fn chosen(self, path: &str) -> Option<String> {
        let text = self.text(path)?;
        let (_, rest) = text.split_once('[')?;
        Some(rest.split_once(']')?.0.to_owned())
    }

    /// Returns the different contents of a file of each CPU of the test, or of all CPUs if none is
    /// pinned.
    fn of_cpus(self, layout: &Layout, file: &str) -> BTreeSet<String> {
        let pinned = layout.all();
        let cpus = match pinned.is_empty() {
            true => self.text("sys/devices/system/cpu/online").map(|list| cpus::parsed(&list)),
            false => Some(pinned),
        };
        let path = |cpu: usize| format!("sys/devices/system/cpu/cpu{cpu}/{file}");
        cpus.unwrap_or_default().into_iter().filter_map(|cpu| self.text(&path(cpu))).collect()
    }

    fn frequency_mhz(self, layout: &Layout) -> Option<[f64; 2]> {
        let khz = |file: &str| -> Vec<f64> {
            let all = self.of_cpus(layout, file);
            all.iter().filter_map(|text| text.parse().ok()).collect()
        };
        let low = khz("cpufreq/scaling_min_freq").into_iter().reduce(f64::min)?;
        let high = khz("cpufreq/scaling_max_freq").into_iter().reduce(f64::max)?;
        Some([low / 1e3, high / 1e3])
    }

    /// Returns whether the driver of Intel's CPUs, or else any other driver, allows turbo.
    fn turbo(self) -> Option<bool> {
        let off = self.flag("sys/devices/system/cpu/intel_pstate/no_turbo");
        off.map(|off| !off).or_else(|| self.flag("sys/devices/system/cpu/cpufreq/boost"))
    }

    fn mitigations(self) -> BTreeMap<String, String> {
        let folder = self.0.join("sys/devices/system/cpu/vulnerabilities");
        let files = fs::read_dir(folder).into_iter().flatten().flatten();
        let state = |file: fs::DirEntry| {
            let state = fs::read_to_string(file.path()).ok()?.trim().to_owned();
            let name = file.file_name().to_string_lossy().into_owned();
            (!state.is_empty() && state != "Not affected").then_some((name, state))
        };
        files.filter_map(state).collect()
    }

    /// Returns the maker and model of a virtual machine; `none` for a physical one. The flag
    /// `hypervisor` exists on x86 only: elsewhere, the result is `None` unless Xen says its name.
    fn virtualization(self) -> Option<String> {
        let kind = self.text("sys/hypervisor/type");
        let flags = self.text("proc/cpuinfo");
        let mut flags = flags.iter().flat_map(|text| text.lines());
        let flags = flags.find(|line| line.starts_with("flags")).unwrap_or_default();
        if kind.is_none() && !flags.split_whitespace().any(|flag| flag == "hypervisor") {
            return (!flags.is_empty()).then(|| "none".to_owned());
        }
        let of_firmware = |name| self.text(&format!("sys/class/dmi/id/{name}"));
        let names = ["sys_vendor", "product_name"].into_iter().filter_map(of_firmware);
        let names: Vec<String> = names.collect();
        Some(match (names.is_empty(), kind) {
            (false, _) => names.join(" "),
            (true, Some(kind)) => kind,
            (true, None) => "unknown hypervisor".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests;
