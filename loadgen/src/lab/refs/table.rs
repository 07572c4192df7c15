//! Checks the table of a target at a ref, before anything is built: its words must not lead to the user's
//! working tree.

use std::env;

use super::elsewhere::Elsewhere;
use crate::lab::error::LabError;
use crate::lab::manifest::TargetSpec;

/// Variables of the user's that name folders in which programs look for code. `PYTHONPATH` is checked for
/// Python only: see `shared_code`.
const SEARCH_PATHS: [&str; 6] =
    ["CLASSPATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "NODE_PATH", "PERL5LIB", "RUBYLIB"];

const RELATIVE: &str = "write paths relative to the folder of loadgen.toml, where each ref has its own files; \
                        what all refs share must be outside of the repository";

/// Returns an error if a word of the command or of the build, or a variable of the target, has a path to the
/// working tree or to another ref.
pub fn check(target: &TargetSpec, elsewhere: &Elsewhere) -> Result<(), LabError> {
    let entry = &target.entry;
    let shared = |what: String, help: String| {
        Err(LabError::SharedCode { target: target.name.clone(), what, help })
    };
    for word in entry.prepare.iter().flatten() {
        if let Some(path) = elsewhere.first_in(word) {
            return shared(format!("`build` has the path {}", path.display()), RELATIVE.to_owned());
        }
    }
    let command = entry.command.iter().map(|word| ("command", word));
    let env = entry.env.iter().map(|(name, value)| (name.as_str(), value));
    for (of, word) in command.chain(env) {
        if let Some(path) = elsewhere.first_code_in(word) {
            return shared(format!("`{of}` has the path {}", path.display()), RELATIVE.to_owned());
        }
    }
    for name in SEARCH_PATHS.into_iter().filter(|name| !entry.env.contains_key(*name)) {
        let value = env::var(name).unwrap_or_default();
        if let Some(path) = elsewhere.first_code_in(&value) {
            let what = format!("the variable {name} has the path {}", path.display());
            return shared(what, format!("unset {name}, or set it in `env` of the target"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::lab::manifest::own_targets;

    #[test]
    fn paths_to_the_working_tree_are_refused_in_every_language() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        fs::create_dir_all(path("shop/.venv/bin")).unwrap();
        let elsewhere =
            Elsewhere::new(&path("shop"), &path("refs"), &path("refs/1"), &path("shop/.venv"));
        let said = |more: &str| {
            let table = "[target.shop]\nlanguage = \"Go\"\ncommand = [\"WORD\", \"{port}\"]\n";
            let (word, more) = match more.split_once(" = ") {
                Some(_) => ("serve", more),
                None => (more, ""),
            };
            let table = format!("{}{more}", table.replace("WORD", word));
            let table = table.replace("TOP", path("shop").to_str().unwrap());
            let error = check(&own_targets(&table)[0], &elsewhere).err();
            error.map(|error| error.to_string()).unwrap_or_default()
        };
        assert_eq!(said("bin/serve"), "");
        assert_eq!(said("TOP/.venv/bin/serve"), "");
        assert!(said("TOP/bin/serve").contains("`command` has the path /"), "{}", said("TOP/bin"));
        assert!(said("env = { DATA = \"TOP/data\" }").contains("`DATA` has the path /"));
        assert_eq!(said("env = { DATA = \"data:/srv/data\" }"), "");
        assert!(said("build = [\"make\", \"-C\", \"TOP\"]").contains("`build` has the path /"));
        // A build must not change the user's environment.
        let uv = "build = [\"uv\", \"pip\", \"install\", \"--python=TOP/.venv/bin/python\", \".\"]";
        assert!(said(uv).contains("`build` has the path /"));
        assert_eq!(said("build = [\"make\"]"), "");
    }
}
