//! Saves the stacks of profiling rounds, for people and for the programs that show them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use inferno::flamegraph::{Options, from_lines};

use super::folder::RunFolder;
use super::observe::{Event, Observe};
use crate::lab::file_name;
use crate::measure::Stacks;
use crate::record::{ProfileDifference, RunRecord, StoppedEarly};
use crate::text::say;

/// Observer that saves the stacks of each contender after each profiling round, of all rounds together.
pub struct Profiles<'a> {
    folder: &'a RunFolder,
    /// Stacks so far, by contender.
    stacks: BTreeMap<String, Stacks>,
}

impl<'a> Profiles<'a> {
    /// Creates an observer that saves into `folder`.
    pub fn new(folder: &'a RunFolder) -> Self {
        Self { folder, stacks: BTreeMap::new() }
    }
}

impl Observe for Profiles<'_> {
    fn observe(&mut self, event: &mut Event<'_>) -> ControlFlow<StoppedEarly> {
        match event {
            Event::Profiled(name, stacks) => {
                let all = self.stacks.entry((*name).to_owned()).or_default();
                all.merge((*stacks).clone());
                for (kind, text) in files(name, all) {
                    save(self.folder, &format!("{}.{kind}", profile_file(name)), &text);
                }
            }
            Event::ProfilesOver(record) => {
                for difference in &record.profile_differences {
                    if let Some(svg) = self.difference_graph(record, difference) {
                        save(self.folder, &format!("{}.svg", difference.file), &svg);
                    }
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Saves a file. The figures are in the record: a full disk costs only these files.
fn save(folder: &RunFolder, file: &str, text: &str) {
    if let Err(error) = folder.save_as(file, text) {
        say(format_args!("cannot save {file}: {error}"));
    }
}

impl Profiles<'_> {
    /// Returns the flame graph of the second target of a difference, coloured by its difference from the first one: red
    /// where a stack takes more CPU time per request, blue where it takes less.
    fn difference_graph(&self, record: &RunRecord, of: &ProfileDifference) -> Option<String> {
        let [one, other] = &of.targets;
        let [one_ns, other_ns] = [self.nanoseconds(record, one)?, self.nanoseconds(record, other)?];
        let stacks: BTreeSet<&&str> = one_ns.keys().chain(other_ns.keys()).collect();
        let ns = |of: &BTreeMap<&str, f64>, stack| of.get(stack).map_or(0.0, |ns| ns.round());
        let lines: String = stacks
            .into_iter()
            .map(|stack| format!("{stack} {} {}\n", ns(&one_ns, stack), ns(&other_ns, stack)))
            .collect();
        let title =
            format!("{other}: CPU time per request, red where it is more than that of {one}");
        flame_graph(&title, "ns", &lines)
    }

    /// Returns the CPU time per request of each stack of a target, in ns.
    fn nanoseconds(&self, record: &RunRecord, target: &str) -> Option<BTreeMap<&str, f64>> {
        let mut targets = record.targets.iter();
        let profile = targets.find(|of| of.name == target)?.profile.as_ref()?;
        let stacks = self.stacks.get(target)?;
        let each = 1_000.0 * profile.cpu_us_per_request / stacks.on_cpu().max(1) as f64;
        Some(stacks.ran().into_iter().map(|(of, samples)| (of, samples as f64 * each)).collect())
    }
}

/// Returns the beginning of the names of the files with a contender's stacks.
pub fn profile_file(name: &str) -> String {
    format!("profile-{}", file_name(name))
}

/// Returns the beginning of the name of the file with the difference of two contenders.
pub fn difference_file([one, other]: &[String; 2]) -> String {
    format!("profile-difference-{}-{}", file_name(one), file_name(other))
}

/// Returns the files of a contender's stacks, each with the end of its name.
fn files(name: &str, stacks: &Stacks) -> Vec<(&'static str, String)> {
    let collapsed = collapsed(stacks);
    let title = format!("{name}: CPU time");
    let graph = flame_graph(&title, "samples", &collapsed).map(|svg| ("svg", svg));
    let others = [("collapsed", collapsed), ("speedscope.json", speedscope(name, stacks))];
    graph.into_iter().chain(others).collect()
}

/// Returns a flame graph (Brendan Gregg, "The Flame Graph", CACM 59, 2016) that can be searched and zoomed; `None` without
/// a sample. With two numbers in a line, the second is shown, coloured by its difference from the first.
fn flame_graph(title: &str, unit: &str, collapsed: &str) -> Option<String> {
    let mut options = Options::default();
    options.title = title.to_owned();
    options.count_name = unit.to_owned();
    options.font_type = "sans-serif".to_owned();
    options.min_width = 0.1;
    let mut svg = Vec::new();
    from_lines(&mut options, collapsed.lines(), &mut svg).ok()?;
    String::from_utf8(svg).ok()
}

/// Returns the stacks with their samples as lines, as flamegraph.pl, inferno and Firefox Profiler read them.
fn collapsed(stacks: &Stacks) -> String {
    stacks.ran().into_iter().map(|(stack, samples)| format!("{stack} {samples}\n")).collect()
}

/// Returns the stacks in the format of <https://www.speedscope.app>.
fn speedscope(name: &str, stacks: &Stacks) -> String {
    let (mut frames, mut numbers) = (Vec::new(), BTreeMap::new());
    let (mut samples, mut weights) = (Vec::new(), Vec::new());
    for (stack, times) in stacks.ran() {
        let number = |label: &str| -> usize {
            let next = numbers.len();
            *numbers.entry(label.to_owned()).or_insert_with(|| {
                frames.push(serde_json::json!({ "name": label }));
                next
            })
        };
        samples.push(stack.split(';').map(number).collect::<Vec<_>>());
        weights.push(times);
    }
    let end: u64 = weights.iter().sum();
    serde_json::json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": name,
        "exporter": concat!("loadgen ", env!("CARGO_PKG_VERSION")),
        "shared": { "frames": frames },
        "profiles": [{
            "type": "sampled",
            "name": name,
            "unit": "none",
            "startValue": 0,
            "endValue": end,
            "samples": samples,
            "weights": weights,
        }],
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Doing, Process};

    #[test]
    fn only_threads_on_a_cpu_are_saved() {
        let mut process = Process::default();
        process.add("main (a.py);wait (b.py)".to_owned(), Doing::Waiting, 1);
        process.add("main (a.py);work (a.py)".to_owned(), Doing::OnCpu, 3);
        process.add("main (a.py)".to_owned(), Doing::OnCpu, 1);
        let stacks = Stacks::from(process);
        assert_eq!(collapsed(&stacks), "main (a.py) 1\nmain (a.py);work (a.py) 3\n");
        let svg = flame_graph("shop: CPU time", "samples", &collapsed(&stacks)).unwrap();
        assert!(
            svg.contains("shop: CPU time") && svg.contains("work (a.py) (3 samples, 75.00%)"),
            "{svg}"
        );
        assert_eq!(flame_graph("shop", "samples", ""), None);
        let file: serde_json::Value = serde_json::from_str(&speedscope("shop", &stacks)).unwrap();
        let names = serde_json::json!([{ "name": "main (a.py)" }, { "name": "work (a.py)" }]);
        assert_eq!(file["shared"]["frames"], names);
        assert_eq!(file["profiles"][0]["samples"], serde_json::json!([[0], [0, 1]]));
        assert_eq!(file["profiles"][0]["weights"], serde_json::json!([1, 3]));
        assert_eq!(file["profiles"][0]["endValue"], serde_json::json!(4));
    }
}
