//! Looks up the versions of what targets consist of.

use std::collections::BTreeMap;

use crate::lab::Lab;
use crate::lab::manifest::TargetSpec;

impl Lab {
    /// Returns the versions of the programs that the target required, by name; empty in containers.
    pub fn tools(&self, target: &str) -> BTreeMap<String, String> {
        let tools = self.tools.get(target).into_iter().flatten();
        tools.map(|(tool, version)| (tool.clone(), version.to_string())).collect()
    }

    /// Returns the versions of the target's Python packages in the target's environment, by name, and,
    /// for a target at a ref, that of its `python`. Omits packages that are not installed.
    pub fn versions(&self, target: &TargetSpec) -> BTreeMap<String, String> {
        let packages = &target.entry.packages;
        match self.refs.python(&target.name) {
            Some(python) => {
                let version = python.version().map(|version| ("python".to_owned(), version));
                python.versions(packages).into_iter().chain(version).collect()
            }
            None => self.runner.versions(packages).1,
        }
    }

    /// Version of the targets' Python; `None` if unknown.
    pub fn python_version(&self) -> Option<String> {
        self.runner.versions(&[]).0
    }
}
