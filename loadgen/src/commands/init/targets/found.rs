//! A server that was found in a folder.

use std::collections::BTreeMap;

/// Words that loadgen replaces in commands and variables of `loadgen.toml`. No escape exists for them.
pub(super) const WORDS: [&str; 8] = [
    "{host}",
    "{port}",
    "{workers}",
    "{pool_size}",
    "{folder}",
    "{socket}",
    "{redis}",
    "{postgres}",
];

/// A server that was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Name of its target.
    pub(super) name: String,
    /// Framework or program, as people call it.
    pub(super) title: String,
    /// File in which it was found.
    pub(super) place: String,
    /// Sentences for people, which become comments.
    pub(super) notes: Vec<String>,
    /// Command line of the target.
    pub(super) command: Vec<String>,
    /// Variables of the target.
    pub(super) env: BTreeMap<String, String>,
    /// Command line that builds the target.
    pub(super) build: Option<Vec<String>>,
    /// Python module or script that is served, to recognize the same server in two places; `None` if unknown.
    pub(super) app: Option<String>,
}

impl Found {
    /// Returns what was found, and where.
    pub(super) fn about(&self) -> String {
        format!("{}, in {}", self.title, self.place)
    }

    /// Passes the port in the variable `PORT`, which the server must read.
    pub(super) fn listens_on_port_variable(&mut self) {
        self.env.insert("PORT".to_owned(), "{port}".to_owned());
        self.notes.push("it must listen on the port in the variable PORT".to_owned());
    }

    /// Returns whether both serve the same module or script, by their commands. A module may be named
    /// from a folder above.
    pub(super) fn serves_same(&self, other: &Self) -> bool {
        let ends = |long: &str, short: &str| {
            long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        match (&self.app, &other.app) {
            (Some(one), Some(other)) => ends(one, other) || ends(other, one),
            // `flask run` names no module.
            (None, Some(_)) | (Some(_), None) => self.title.eq_ignore_ascii_case(&other.title),
            (None, None) => self.command == other.command,
        }
    }
}

/// Returns words as an owned list.
pub(super) fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
