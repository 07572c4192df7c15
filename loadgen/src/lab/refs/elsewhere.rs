//! Tells whether a path leads from the folder of a ref to the user's working tree or to another ref.

use std::env;
use std::path::{Path, PathBuf};

use super::real_path::real;

/// The folders that a ref must not use, and its own.
#[derive(Debug, Clone)]
pub struct Elsewhere {
    /// Top folder of the user's working tree, and the folder with the files of all refs.
    foreign: [PathBuf; 2],
    /// Folder of the ref, as other paths have it, and without links.
    own: [PathBuf; 2],
    /// Folder of the user's Python environment, which a ref may use.
    environment: PathBuf,
}

impl Elsewhere {
    /// Returns the folders for a ref: the top folder of the working tree, the folder with the files of all
    /// refs, that of the ref in it, and the folder of the user's Python environment.
    pub fn new(top: &Path, all: &Path, own: &Path, environment: &Path) -> Self {
        Self {
            foreign: [top, all].map(real),
            own: [own.to_owned(), real(own)],
            environment: real(environment),
        }
    }

    /// Whether a path, which may be missing, leads to the working tree or to another ref.
    pub fn has(&self, path: &Path) -> bool {
        self.inside(path).is_some()
    }

    /// Returns a path that leads to the working tree or to another ref from there; else `None`.
    pub fn inside(&self, path: &Path) -> Option<PathBuf> {
        let path = real(path);
        let inside = self.foreign.iter().find_map(|folder| path.strip_prefix(folder).ok())?;
        (!self.is_own(&path)).then(|| inside.to_owned())
    }

    /// Like [`has`](Self::has), but false for programs and packages of the user's Python environment.
    pub fn has_code(&self, path: &Path) -> bool {
        // A project may be in the folder of an environment.
        let is_shared = |folder: &str| {
            let folder = self.environment.join(folder);
            !self.foreign.contains(&self.environment) && real(path).starts_with(folder)
        };
        self.has(path) && !is_shared("bin") && !is_shared("lib")
    }

    /// Whether a path is in the folder of the ref. Follows no link.
    pub fn is_own(&self, path: &Path) -> bool {
        self.own.iter().any(|own| path.starts_with(own))
    }

    /// Returns the first path in a text that leads to the working tree or to another ref. The text is a
    /// word of a command line, also one of a shell, or the value of a variable.
    pub fn first_in(&self, text: &str) -> Option<PathBuf> {
        self.all_in(text).into_iter().next()
    }

    /// Like [`first_in`](Self::first_in), but for paths that are code: see [`has_code`](Self::has_code).
    pub fn first_code_in(&self, text: &str) -> Option<PathBuf> {
        self.all_in(text).into_iter().find(|path| self.has_code(path))
    }

    fn all_in(&self, text: &str) -> Vec<PathBuf> {
        let text = with_home(text);
        let mut found: Vec<PathBuf> = pieces(&text).filter_map(path_in).collect();
        // Names with spaces or other signs are not in one piece.
        found.extend(self.foreign.iter().flat_map(|folder| below(folder, &text)));
        found.retain(|path| self.has(path));
        found
    }
}

/// Returns the parts of a word between the signs that separate paths, such as in `--path=/a:/b`.
pub fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_separator).filter(|piece| !piece.is_empty())
}

fn is_separator(c: char) -> bool {
    c.is_whitespace() || "=:,;'\"`()[]{}<>&|$".contains(c)
}

/// Returns the absolute path in a piece, such as in `-I/a`.
fn path_in(piece: &str) -> Option<PathBuf> {
    let at = piece.find('/')?;
    let is_option = at == 0 || piece.starts_with(['-', '@']);
    is_option.then(|| PathBuf::from(&piece[at..]))
}

/// Returns a text with the user's home folder where a shell puts it.
fn with_home(text: &str) -> String {
    let home = env::home_dir().filter(|home| home.is_absolute());
    let Some(home) = home.as_deref().and_then(Path::to_str) else { return text.to_owned() };
    let text = text.replace("${HOME}/", &format!("{home}/")).replace("$HOME/", &format!("{home}/"));
    match text.strip_prefix("~/") {
        Some(rest) => format!("{home}/{rest}"),
        None => text.replace(" ~/", &format!(" {home}/")),
    }
}

/// Returns the paths in a text of this folder or of something in it, but not those in which the folder is a
/// part of another path.
fn below(folder: &Path, text: &str) -> Vec<PathBuf> {
    let Some(folder) = folder.to_str() else { return Vec::new() };
    let path = |at: usize| {
        let before = text[..at].rsplit(is_separator).next().unwrap_or_default();
        let after = text[at + folder.len()..].split(is_separator).next().unwrap_or_default();
        let is_whole = !before.contains('/') && (after.is_empty() || after.starts_with('/'));
        is_whole.then(|| PathBuf::from(format!("{folder}{after}")))
    };
    text.match_indices(folder).filter_map(|(at, _)| path(at)).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn paths_to_the_working_tree_and_to_other_refs_are_found_in_words() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        for folder in ["my shop/.venv/bin", "my shop/src", "refs/1/shop", "refs/2/shop", "my shop2"]
        {
            fs::create_dir_all(place.join(folder)).unwrap();
        }
        symlink(place.join("my shop"), place.join("link")).unwrap();
        symlink("../../../my shop/src", place.join("refs/1/shop/src")).unwrap();
        let [top, refs, own] = ["my shop", "refs", "refs/1"].map(|name| place.join(name));
        let elsewhere = Elsewhere::new(&top, &refs, &own, &top.join(".venv"));
        let at = |text: &str| text.replace("/@", place.to_str().unwrap());
        for (text, is_found) in [
            ("/@/my shop", true),
            ("--app-dir=/@/my shop/src", true),
            ("-I/@/link/src", true),
            ("a:/@/link/missing", true),
            ("cd /@/link && exec ./serve", true),
            ("file:///@/link", true),
            ("/@/refs/2/shop", true),
            ("/@/refs/x", true),
            ("/@/my shop/.venv/bin/python", true),
            ("/@/my shop2", false),
            ("/backup/@/my shop", false),
            ("/@/refs/1/shop/serve", false),
            ("src/link", false),
            ("{host}:{port}", false),
            ("http://localhost/my", false),
        ] {
            assert_eq!(elsewhere.first_in(&at(text)).is_some(), is_found, "{text}");
        }
        assert!(elsewhere.has(&own.join("shop/src")), "a link out of the folder");
        assert!(elsewhere.is_own(&own.join("shop/src")) && !elsewhere.is_own(&top));
        assert_eq!(elsewhere.first_code_in(&at("/@/link/.venv/bin/python")), None);
        assert!(elsewhere.first_code_in(&at("/@/link/.venv/x")).is_some());
        let whole = Elsewhere::new(&top, &refs, &own, &top);
        assert!(whole.has_code(&top.join("bin/serve")));
    }

    #[test]
    fn a_shell_puts_the_home_folder_into_words() {
        let home = env::home_dir().unwrap();
        for text in ["~/shop", "$HOME/shop", "cd ~/shop", "${HOME}/shop"] {
            assert_eq!(below(&home, &with_home(text)), [home.join("shop")], "{text}");
        }
        assert_eq!(with_home("a~/b"), "a~/b");
    }
}
