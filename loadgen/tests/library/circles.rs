//! Checks that files do not import each other in a circle, except a module and its descendants. Nor do the
//! parts of the lab.

use std::collections::{BTreeMap, BTreeSet};

use crate::sources::{CRATES, code, sources};

/// Path of a module in its crate, after the crate's name if it is not the program's, such as `["engine", "gate"]`.
type Place = Vec<String>;

/// Modules of all crates, with the data needed to resolve their imports.
struct Modules {
    /// Code of each module, without comments and tests.
    code: BTreeMap<Place, String>,
    /// Paths of re-exported items, by the re-exporting module and the exported name.
    exports: BTreeMap<(Place, String), Place>,
}

impl Modules {
    fn read() -> Self {
        let mut modules = Self { code: BTreeMap::new(), exports: BTreeMap::new() };
        for (file, text) in sources() {
            if let Some(place) = module(&file) {
                let lines = code(&text).flat_map(|(_, line)| [line, "\n"]);
                modules.code.entry(place).or_default().extend(lines);
            }
        }
        for (place, text) in &modules.code {
            for (tree, is_public) in uses(text) {
                for (path, name) in leaves(&tree).into_iter().filter(|_| is_public) {
                    let target = absolute(place, &path);
                    modules.exports.insert((place.clone(), name), target);
                }
            }
        }
        modules
    }

    /// Returns the module that holds the item at `path`, following re-exports.
    fn home(&self, path: &[String]) -> Option<Place> {
        let length = (0..=path.len()).rev().find(|n| self.code.contains_key(&path[..*n]))?;
        let (module, rest) = path.split_at(length);
        let exported =
            rest.first().and_then(|name| self.exports.get(&(module.to_vec(), name.clone())));
        match exported {
            Some(target) if target != path => self.home(target),
            _ => Some(module.to_vec()),
        }
    }

    /// Returns the modules that each module imports, except its ancestors and descendants.
    fn imports(&self) -> BTreeMap<&Place, BTreeSet<Place>> {
        let is_kin = |one: &Place, other: &Place| one.starts_with(other) || other.starts_with(one);
        let of = |place: &Place, text: &str| -> BTreeSet<Place> {
            let paths = uses(text).into_iter().flat_map(|(tree, _)| leaves(&tree));
            let homes = paths.filter_map(|(path, _)| self.home(&absolute(place, &path)));
            homes.filter(|home| !is_kin(place, home)).collect()
        };
        self.code.iter().map(|(place, text)| (place, of(place, text))).collect()
    }
}

/// Returns the module that a source file holds, or `None` for a file of tests.
fn module(file: &str) -> Option<Place> {
    let mut place: Place = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    match place.last()?.as_str() {
        "tests" => return None,
        "mod" | "lib" => _ = place.pop(),
        _ => {}
    }
    Some(place)
}

/// Returns the text between each `use` and its `;`, and whether the import is public.
fn uses(text: &str) -> Vec<(String, bool)> {
    let mut all = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("use ") {
        let before = rest[..at].rsplit('\n').next().unwrap().trim();
        rest = &rest[at + 4..];
        let is_public = before == "pub" || before.starts_with("pub(") && before.ends_with(')');
        if before.is_empty() || is_public {
            let tree = rest.split(';').next().unwrap();
            let words: Vec<&str> = tree.split_whitespace().collect();
            all.push((words.join(" "), is_public));
        }
    }
    all
}

/// Returns each path of a `use` tree, with the name that the path has in the importing module.
fn leaves(tree: &str) -> Vec<(String, String)> {
    let Some((prefix, inner)) = tree.split_once('{') else {
        let (path, alias) = tree.split_once(" as ").unwrap_or((tree, ""));
        let path = path.trim().trim_end_matches("::self").to_owned();
        let name = path.rsplit("::").next().unwrap().to_owned();
        return vec![(path, if alias.is_empty() { name } else { alias.trim().to_owned() })];
    };
    let inner = inner.trim_end().strip_suffix('}').unwrap();
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for c in inner.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        match c {
            ',' if depth == 0 => parts.push(String::new()),
            c => parts.last_mut().unwrap().push(c),
        }
    }
    let parts = parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty());
    parts.flat_map(|part| leaves(&format!("{}{part}", prefix.trim()))).collect()
}

/// Resolves a path that the module at `place` imports to a path from the root of all crates.
fn absolute(place: &Place, path: &str) -> Place {
    let mut words: Vec<String> = path.split("::").map(|word| word.trim().to_owned()).collect();
    let mut base = place.clone();
    if words[0] == "crate" {
        let is_crate = place.first().is_some_and(|name| CRATES.contains(&name.as_str()));
        base.truncate(usize::from(is_crate));
        base.extend(words.split_off(1));
        return base;
    }
    while ["self", "super"].contains(&words[0].as_str()) && words.len() > 1 {
        if words.remove(0) == "super" {
            base.pop();
        }
    }
    base.extend(words);
    base
}

/// Returns whether the imports of `from` lead to `to`, directly or through other modules.
fn leads(imports: &BTreeMap<&Place, BTreeSet<Place>>, from: &Place, to: &Place) -> bool {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        for next in imports.get(module).into_iter().flatten() {
            if next == to {
                return true;
            }
            if seen.insert(next) {
                open.push(next);
            }
        }
    }
    false
}

fn assert_no_circles(imports: &BTreeMap<&Place, BTreeSet<Place>>) {
    let mut faults = Vec::new();
    for (module, imported) in imports {
        for other in imported.iter().filter(|other| leads(imports, other, module)) {
            faults.push(format!("{} imports {}", module.join("/"), other.join("/")));
        }
    }
    assert!(faults.is_empty(), "each leads back to where it began:\n{}", faults.join("\n"));
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    assert_no_circles(&Modules::read().imports());
}

/// The lab has a part for each file and each folder in `lab/`.
#[test]
fn no_parts_of_the_lab_import_each_other_in_a_circle() {
    let part = |place: &Place| {
        let is_in_lab = place.first().is_some_and(|layer| layer == "lab");
        place.get(..2).filter(|_| is_in_lab).map(<[_]>::to_vec)
    };
    let modules = Modules::read();
    let mut imports: BTreeMap<Place, BTreeSet<Place>> = BTreeMap::new();
    for (module, imported) in modules.imports() {
        let Some(from) = part(module) else { continue };
        let to = imported.iter().filter_map(part).filter(|to| *to != from);
        imports.entry(from.clone()).or_default().extend(to);
    }
    assert!(imports.len() > 10, "the parts are where this test looks for them: {imports:?}");
    assert_no_circles(&imports.iter().map(|(part, imported)| (part, imported.clone())).collect());
}

#[test]
fn imports_in_use_trees_are_found() {
    let of = |tree: &str| leaves(tree).into_iter().map(|(path, _)| path).collect::<Vec<_>>();
    assert_eq!(
        of("super::a::{self, b, c::{D, E as F}}"),
        ["super::a", "super::a::b", "super::a::c::D", "super::a::c::E"]
    );
    let place = ["x", "y"].map(str::to_owned).to_vec();
    assert_eq!(absolute(&place, "super::a::B"), ["x", "a", "B"]);
    assert_eq!(absolute(&place, "crate::a::B"), ["a", "B"]);
    let place = ["engine", "gate"].map(str::to_owned).to_vec();
    assert_eq!(absolute(&place, "crate::a::B"), ["engine", "a", "B"]);
    let place = ["x", "y"].map(str::to_owned).to_vec();
    assert_eq!(absolute(&place, "self::z"), ["x", "y", "z"]);
}
