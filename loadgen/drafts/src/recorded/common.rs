//! Parts of a draft that all recorded requests share.

use std::collections::{HashMap, HashSet};

use crate::Entry;
use crate::secrets::{is_secret, is_token_like};

/// Names of steps that are in use.
#[derive(Debug, Default)]
pub(crate) struct Names {
    taken: HashSet<String>,
    /// Numbers that the names had last.
    numbers: HashMap<String, u64>,
}

impl Names {
    /// Returns a name that no step has yet: the wanted one, or the same with a number.
    pub(crate) fn unique(&mut self, wanted: &str) -> String {
        let wanted: String = wanted.chars().filter(|c| !c.is_control()).take(200).collect();
        let mut name = wanted.clone();
        while self.taken.contains(&name) {
            let number = self.numbers.entry(wanted.clone()).or_insert(1);
            *number += 1;
            name = format!("{wanted} ({number})");
        }
        self.taken.insert(name.clone());
        name
    }
}

/// Returns a load to begin with.
pub(crate) fn load() -> Vec<Entry> {
    vec![Entry::new("users", 10_i64), Entry::new("duration", "30s")]
}

/// Returns the names and values of a header `cookie`.
pub(crate) fn cookies(header: &str) -> impl Iterator<Item = (&str, &str)> {
    header.split(';').filter_map(|pair| pair.trim().split_once('='))
}

/// Whether a cookie is likely a secret, and no preference.
pub(crate) fn is_secret_cookie(name: &str, value: &str) -> bool {
    is_secret(name) || name.to_ascii_lowercase().ends_with("sid") || is_token_like(value)
}
