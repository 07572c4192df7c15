//! Names that no two things of a draft share.

use std::collections::{HashMap, HashSet};

use loadgen_scenario::PLACEHOLDERS;

/// Names that are in use.
#[derive(Debug, Default)]
pub(crate) struct Names {
    taken: HashSet<String>,
    /// The last number of each name that was wanted several times.
    numbers: HashMap<String, u64>,
}

impl Names {
    /// Names of captured values, which no placeholder has either.
    pub(crate) fn of_captures() -> Self {
        Self { taken: PLACEHOLDERS.map(str::to_owned).into(), numbers: HashMap::new() }
    }

    /// Returns whether a name is in use.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.taken.contains(name)
    }

    /// Takes the name of a step or a flow: the wanted one, or the same with a number, such as `GET / (2)`.
    pub(crate) fn take_title(&mut self, wanted: &str) -> String {
        let wanted: String = wanted.chars().filter(|c| !c.is_control()).take(200).collect();
        self.take(wanted, |name, number| format!("{name} ({number})"))
    }

    /// Takes the name of a value, a variable or a file: the wanted one, or the same with a number, such as `id_2`.
    pub(crate) fn take_word(&mut self, wanted: &str) -> String {
        self.take(wanted.to_owned(), |name, number| format!("{name}_{number}"))
    }

    fn take(&mut self, wanted: String, numbered: impl Fn(&str, u64) -> String) -> String {
        let mut name = wanted.clone();
        while self.taken.contains(&name) {
            let number = self.numbers.entry(wanted.clone()).or_insert(1);
            *number += 1;
            name = numbered(&wanted, *number);
        }
        self.taken.insert(name.clone());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_steps_are_numbered() {
        let mut names = Names::default();
        let begin = std::time::Instant::now();
        assert_eq!(names.take_title("a"), "a");
        assert_eq!(names.take_title("a (2)"), "a (2)");
        assert_eq!(names.take_title("a"), "a (3)");
        (0..50_000).for_each(|_| drop(names.take_title("a")));
        assert!(begin.elapsed().as_secs() < 60, "{:?}", begin.elapsed());
    }

    #[test]
    fn captures_have_no_names_of_placeholders() {
        let mut names = Names::of_captures();
        assert_eq!(names.take_word("uuid"), "uuid_2");
        assert_eq!(names.take_word("id"), "id");
        assert_eq!(names.take_word("id"), "id_2");
    }
}
