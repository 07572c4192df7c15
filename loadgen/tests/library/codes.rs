//! Checks that the reference page of errors lists the codes of the source, and no others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use regex::Regex;

use crate::sources::{package, sources};

/// Calls whose second argument, after an exit code, is the code of an error.
const CALLS: [&str; 2] = ["Failure::message(", "ControlError::new("];

/// Returns the codes that the page lists: in the first cell of a table's row.
fn listed() -> BTreeSet<String> {
    let text = fs::read_to_string(package().join("../docs/reference/errors.md")).unwrap();
    let code = Regex::new(r"(?m)^\|\s*`(\w+)`\s*\|").unwrap();
    code.captures_iter(&text).map(|found| found[1].to_owned()).collect()
}

/// Returns the error codes of a source file, or the faults in naming the codes. A diagnostic names
/// its code first; a diagnostic that is transparent has the code of its inner error.
fn error_codes(text: &str) -> (Vec<String>, Vec<String>) {
    let (mut codes, mut faults) = (Vec::new(), Vec::new());
    let diagnostic =
        Regex::new(r"#\[diagnostic\(\s*(?:transparent\s*\)|code\(\s*(\w+)\s*\))?").unwrap();
    for found in diagnostic.captures_iter(text) {
        match found.get(1) {
            Some(code) => codes.push(code.as_str().to_owned()),
            None if found[0].contains("transparent") => {}
            None => faults.push("a #[diagnostic] does not begin with its code".to_owned()),
        }
    }
    let second = Regex::new(r#"^\s*[\w:.]+,\s*"(\w+)"\s*,"#).unwrap();
    for call in CALLS {
        for (begin, _) in text.match_indices(call) {
            match second.captures(&text[begin + call.len()..]) {
                Some(found) => codes.push(found[1].to_owned()),
                None => faults.push(format!("the second argument of {call}…) is not a literal")),
            }
        }
    }
    (codes, faults)
}

#[test]
fn the_reference_lists_each_error_code() {
    let mut used: BTreeMap<String, String> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        let (codes, faults) = error_codes(&text);
        wrong.extend(faults.iter().map(|fault| format!("{name}: {fault}")));
        used.extend(codes.into_iter().map(|code| (code, name.clone())));
    }
    assert!(used.len() > 30, "too few codes were found: {used:?}");
    let listed = listed();
    for (code, file) in used.iter().filter(|(code, _)| !listed.contains(*code)) {
        wrong.push(format!("docs/reference/errors.md lacks `{code}`, which is in {file}"));
    }
    for code in listed.iter().filter(|code| !used.contains_key(*code)) {
        wrong.push(format!("docs/reference/errors.md lists `{code}`, which no source has"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
