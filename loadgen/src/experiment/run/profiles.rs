//! Saves the stacks of profiling rounds, for people and for the programs that show them.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use inferno::flamegraph::{Options, from_lines};

use crate::experiment::folder::RunFolder;
use crate::experiment::observe::{Event, Observe};
use crate::lab::file_name;
use crate::measure::Stacks;
use crate::record::StoppedEarly;
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
        if let Event::Profiled(name, stacks) = event {
            let all = self.stacks.entry((*name).to_owned()).or_default();
            all.merge((*stacks).clone());
            for (kind, text) in files(name, all) {
                let file = format!("{}.{kind}", profile_file(name));
                // The figures are in the record: a full disk costs only these files.
                if let Err(error) = self.folder.save_as(&file, &text) {
                    say(format_args!("cannot save {file}: {error}"));
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// Returns the beginning of the names of the files with a contender's stacks.
pub fn profile_file(name: &str) -> String {
    format!("profile-{}", file_name(name))
}

/// Returns the files of a contender's stacks, each with the end of its name.
fn files(name: &str, stacks: &Stacks) -> Vec<(&'static str, String)> {
    let collapsed = collapsed(stacks);
    let graph = flame_graph(name, &collapsed).map(|svg| ("svg", svg));
    let others = [("collapsed", collapsed), ("speedscope.json", speedscope(name, stacks))];
    graph.into_iter().chain(others).collect()
}

/// Returns a flame graph (Brendan Gregg, "The Flame Graph", CACM 59, 2016) that can be searched and zoomed; `None` without
/// a sample.
fn flame_graph(name: &str, collapsed: &str) -> Option<String> {
    let mut options = Options::default();
    options.title = format!("{name}: CPU time");
    options.count_name = "samples".to_owned();
    options.font_type = "sans-serif".to_owned();
    options.min_width = 0.1;
    let mut svg = Vec::new();
    from_lines(&mut options, collapsed.lines(), &mut svg).ok()?;
    String::from_utf8(svg).ok()
}

/// Returns the stacks with their samples as lines, as flamegraph.pl, inferno and Firefox Profiler read them.
fn collapsed(stacks: &Stacks) -> String {
    let on_cpu = stacks.threads.iter().filter(|(_, threads)| threads.on_cpu > 0);
    on_cpu.map(|(stack, threads)| format!("{stack} {}\n", threads.on_cpu)).collect()
}

/// Returns the stacks in the format of <https://www.speedscope.app>.
fn speedscope(name: &str, stacks: &Stacks) -> String {
    let (mut frames, mut numbers) = (Vec::new(), BTreeMap::new());
    let (mut samples, mut weights) = (Vec::new(), Vec::new());
    for (stack, threads) in stacks.threads.iter().filter(|(_, threads)| threads.on_cpu > 0) {
        let number = |label: &str| -> usize {
            let next = numbers.len();
            *numbers.entry(label.to_owned()).or_insert_with(|| {
                frames.push(serde_json::json!({ "name": label }));
                next
            })
        };
        samples.push(stack.split(';').map(number).collect::<Vec<_>>());
        weights.push(threads.on_cpu);
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

    #[test]
    fn only_threads_on_a_cpu_are_saved() {
        let mut stacks = Stacks::default();
        stacks.add("main (a.py);wait (b.py)".to_owned(), false, false);
        for _ in 0..3 {
            stacks.add("main (a.py);work (a.py)".to_owned(), true, true);
        }
        stacks.add("main (a.py)".to_owned(), true, true);
        assert_eq!(collapsed(&stacks), "main (a.py) 1\nmain (a.py);work (a.py) 3\n");
        let svg = flame_graph("shop", &collapsed(&stacks)).unwrap();
        assert!(
            svg.contains("shop: CPU time") && svg.contains("work (a.py) (3 samples, 75.00%)"),
            "{svg}"
        );
        assert_eq!(flame_graph("shop", ""), None);
        let file: serde_json::Value = serde_json::from_str(&speedscope("shop", &stacks)).unwrap();
        let names = serde_json::json!([{ "name": "main (a.py)" }, { "name": "work (a.py)" }]);
        assert_eq!(file["shared"]["frames"], names);
        assert_eq!(file["profiles"][0]["samples"], serde_json::json!([[0], [0, 1]]));
        assert_eq!(file["profiles"][0]["weights"], serde_json::json!([1, 3]));
        assert_eq!(file["profiles"][0]["endValue"], serde_json::json!(4));
    }
}
