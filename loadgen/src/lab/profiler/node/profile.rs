//! Reads what V8 saw.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::measure::{Doing, Process, Stacks};

/// Name that V8 gives to the samples of a thread that has nothing to do.
const IDLE: &str = "(idle)";

/// Name that V8 gives to the outermost function of all stacks.
const ROOT: &str = "(root)";

/// Answer of a thread of Node.js.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Answered {
    /// A profile.
    Profile {
        /// Folder of the process.
        folder: String,
        /// Functions, by the stacks in which they were seen.
        nodes: Vec<CallNode>,
    },
    /// Why there is none.
    Failed {
        /// The error of V8.
        error: String,
    },
}

/// A function in a stack (Chrome DevTools Protocol, `Profiler.ProfileNode`).
#[derive(Debug, Deserialize)]
pub(super) struct CallNode {
    id: u64,
    /// Name of the function; empty if it has none.
    name: String,
    /// Path of its file, or its name within Node.js, such as `node:net`; empty if it is in no file.
    path: String,
    /// Number of samples at which it was the innermost one.
    hits: u64,
    #[serde(default)]
    children: Vec<u64>,
}

impl Answered {
    /// Returns the stacks of the thread.
    pub(super) fn stacks(self) -> Result<Stacks, String> {
        let (folder, nodes) = match self {
            Self::Profile { folder, nodes } => (folder, nodes),
            Self::Failed { error } => return Err(format!("Node.js cannot be profiled: {error}")),
        };
        let parents: BTreeMap<u64, u64> = nodes
            .iter()
            .flat_map(|node| node.children.iter().map(|child| (*child, node.id)))
            .collect();
        let of_id: BTreeMap<u64, &CallNode> = nodes.iter().map(|node| (node.id, node)).collect();

        let mut process = Process::default();
        for node in nodes.iter().filter(|node| node.hits > 0) {
            let up = std::iter::successors(Some(node.id), |id| parents.get(id).copied());
            // A tree has no path that is longer than the number of its nodes.
            let path = up.take(nodes.len()).filter_map(|id| of_id.get(&id));
            let mut frames: Vec<String> =
                path.filter(|node| node.name != ROOT).map(|node| label(node, &folder)).collect();
            frames.reverse();
            let doing = if node.name == IDLE { Doing::Waiting } else { Doing::OnCpu };
            process.moments += node.hits;
            process.whole_moments += node.hits;
            process.add(frames.join(";"), doing, node.hits);
        }
        Ok(process.into())
    }
}

/// Returns a function as `function (file)`, with the path of the file within its package or its program.
fn label(node: &CallNode, folder: &str) -> String {
    let name = if node.name.is_empty() { "(anonymous)" } else { &node.name };
    let path = node.path.as_str();
    let in_package = path.rsplit_once("node_modules/").map(|(_, path)| path);
    let in_folder = path.strip_prefix(folder).and_then(|path| path.strip_prefix('/'));
    let label = match in_package.or(in_folder).unwrap_or(path) {
        "" => name.to_owned(),
        file => format!("{name} ({file})"),
    };
    label.replace(';', ":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_of_v8_becomes_stacks() {
        let answered = r#"{"folder": "/srv/app", "nodes": [
            {"id": 1, "name": "(root)", "path": "", "hits": 0, "children": [2, 3, 4]},
            {"id": 2, "name": "(idle)", "path": "", "hits": 30},
            {"id": 3, "name": "handle", "path": "/srv/app/node_modules/express/lib/router.js", "hits": 1,
             "children": [5]},
            {"id": 4, "name": "(garbage collector)", "path": "", "hits": 9},
            {"id": 5, "name": "", "path": "/srv/app/shop;1.js", "hits": 60}]}"#;
        let answered: Answered = serde_json::from_str(answered).unwrap();
        let stacks = answered.stacks().unwrap();
        let [process] = stacks.processes.as_slice() else { panic!("{stacks:?}") };
        assert_eq!((process.moments, process.on_cpu(), process.gil_held), (100, 70, None));
        let on_cpu: Vec<_> =
            process.threads.iter().map(|(of, threads)| (of.as_str(), threads.on_cpu)).collect();
        assert_eq!(
            on_cpu,
            [
                ("(garbage collector)", 9),
                ("(idle)", 0),
                ("handle (express/lib/router.js)", 1),
                ("handle (express/lib/router.js);(anonymous) (shop:1.js)", 60),
            ]
        );
        assert_eq!(process.threads["(idle)"].waiting, 30);
    }

    #[test]
    fn a_circle_ends_and_an_error_is_said() {
        let circle = r#"{"folder": "/", "nodes": [{"id": 1, "name": "a", "path": "", "hits": 1, "children": [1]}]}"#;
        let answered: Answered = serde_json::from_str(circle).unwrap();
        assert_eq!(answered.stacks().unwrap().on_cpu(), 1);
        let answered: Answered = serde_json::from_str(r#"{"error": "no inspector"}"#).unwrap();
        assert_eq!(answered.stacks(), Err("Node.js cannot be profiled: no inspector".to_owned()));
    }
}
