//! Reads how CPUs belong to cores and to NUMA nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::Tree;
use crate::record::SharedCoreRecord;

/// Parts of the test, each with its CPUs.
type Parts<'a> = [(&'static str, &'a Vec<usize>); 4];

/// Returns the numbers in a list of the kernel, such as `0-3,8`. Leaves out what is no number.
pub(super) fn parsed(list: &str) -> BTreeSet<usize> {
    /// More CPUs than any machine has: a greater number would only take time.
    const MOST: usize = 1 << 16;
    let numbers = |part: &str| -> Option<std::ops::RangeInclusive<usize>> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let last = last.trim().parse::<usize>().ok()?.min(MOST);
        Some(first.trim().parse().ok()?..=last)
    };
    list.split(',').filter_map(numbers).flatten().collect()
}

/// Returns each two CPUs of different parts that are hardware threads of one core. CPUs that two
/// parts have in common are not meant: they are one CPU.
pub(super) fn shared_cores(tree: Tree<'_>, parts: Parts<'_>) -> Vec<SharedCoreRecord> {
    let siblings = |cpu: usize| -> BTreeSet<usize> {
        let path = format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        tree.text(&path).map(|list| parsed(&list)).unwrap_or_default()
    };
    let mut shared = Vec::new();
    for (index, (part, cpus)) in parts.iter().enumerate() {
        for &cpu in *cpus {
            let siblings = siblings(cpu);
            for (other, others) in &parts[index + 1..] {
                let of_core = others.iter().filter(|it| **it != cpu && siblings.contains(it));
                shared.extend(of_core.map(|&sibling| SharedCoreRecord {
                    parts: [(*part).to_owned(), (*other).to_owned()],
                    cpus: [cpu, sibling],
                }));
            }
        }
    }
    shared
}

/// Returns the NUMA nodes of each part's CPUs. Leaves out parts that are not pinned, or of whose CPUs
/// no node is known.
pub(super) fn numa_nodes(tree: Tree<'_>, parts: Parts<'_>) -> BTreeMap<String, Vec<usize>> {
    let folder = fs::read_dir(tree.0.join("sys/devices/system/node"));
    let number = |name: &str| name.strip_prefix("node")?.parse::<usize>().ok();
    let nodes: BTreeMap<usize, BTreeSet<usize>> = folder
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| number(&entry.file_name().to_string_lossy()))
        .filter_map(|node| {
            let list = tree.text(&format!("sys/devices/system/node/node{node}/cpulist"))?;
            Some((node, parsed(&list)))
        })
        .collect();
    let of = |cpus: &Vec<usize>| -> Vec<usize> {
        let has = |all: &BTreeSet<usize>| cpus.iter().any(|cpu| all.contains(cpu));
        nodes.iter().filter(|(_, all)| has(all)).map(|(node, _)| *node).collect()
    };
    let known = parts.into_iter().map(|(part, cpus)| (part.to_owned(), of(cpus)));
    known.filter(|(_, nodes)| !nodes.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_the_kernel_are_read() {
        let read = |list| parsed(list).into_iter().collect::<Vec<_>>();
        assert_eq!(read("0-3,8"), [0, 1, 2, 3, 8]);
        assert_eq!(read("5\n"), [5]);
        assert_eq!(read(""), [0; 0]);
        assert_eq!(read("a,3-1,2"), [2]);
        assert!(parsed("0-99999999999").len() <= 1 << 17);
    }
}
