//! Reads files of a commit, and compares them with those of the working tree.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};
use std::process::{Output, Stdio};

use super::{Repository, bad_ref, git, short};
use crate::lab::error::LabError;

/// Modes of entries of a commit: a folder, a symbolic link, and the beginning of those of files.
const FOLDER: &[u8] = b"040000";
const LINK: &[u8] = b"120000";
const FILE: &[u8] = b"100";

/// An entry of a folder in a commit.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    mode: Vec<u8>,
    hash: String,
    /// Path from the top folder.
    path: PathBuf,
}

impl Repository {
    /// Returns whether a commit has the folder of the project.
    pub(in crate::lab) fn has_project(&self, commit: &str) -> Result<bool, LabError> {
        if self.prefix.as_os_str().is_empty() {
            return Ok(true);
        }
        let found = self.entry(commit, &self.prefix)?;
        Ok(found.is_some_and(|entry| entry.mode == FOLDER))
    }

    /// Returns the content of a file of the project in a commit; `None` if there is no such file. Follows
    /// links in the commit.
    pub(in crate::lab) fn content(
        &self,
        commit: &str,
        file: &Path,
    ) -> Result<Option<Vec<u8>>, LabError> {
        let Some(inside) = self.inside(file) else { return Ok(None) };
        match self.entry(commit, &inside)? {
            Some(entry) if entry.mode == LINK => self.behind_link(commit, &inside).map(Some),
            Some(entry) if entry.mode.starts_with(FILE) => {
                let read = self.run(&["cat-file", "blob", &entry.hash].map(OsStr::new))?;
                checked(read, &inside, commit).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Returns the content of the file to which a symbolic link of a commit leads.
    fn behind_link(&self, commit: &str, inside: &Path) -> Result<Vec<u8>, LabError> {
        let failed = || LabError::io("run git");
        let mut command = git(&self.folder);
        command.args(["cat-file", "--batch", "--follow-symlinks"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(failed())?;
        let object = [commit.as_bytes(), b":", inside.as_os_str().as_bytes(), b"\n"].concat();
        // Git that has failed reads nothing; its exit code tells.
        let _ = child.stdin.take().map(|mut input| input.write_all(&object));
        let read = checked(child.wait_with_output().map_err(failed())?, inside, commit)?;
        let end = read.iter().position(|byte| *byte == b'\n').unwrap_or(read.len());
        let (header, rest) = (String::from_utf8_lossy(&read[..end]), read.get(end + 1..));
        let rest = rest.unwrap_or_default();
        // Git answers `HASH blob SIZE` and the content, or for example `symlink SIZE` and a path outside.
        if let [_, "blob", _] = header.split(' ').collect::<Vec<_>>()[..] {
            return Ok(rest.strip_suffix(b"\n").unwrap_or(rest).to_vec());
        }
        let place = match header.starts_with("symlink ") {
            true => format!("{}, outside of the repository", String::from_utf8_lossy(rest).trim()),
            false => "no file of the commit".to_owned(),
        };
        let (file, commit) = (inside.display(), short(commit));
        let what = format!("{file} of the commit {commit} is a link to {place}");
        Err(bad_ref(what, b"", "commit the file itself, or name another ref"))
    }

    /// Returns the paths of all symbolic links in a commit, from the top folder.
    pub(in crate::lab) fn links(&self, commit: &str) -> Result<Vec<PathBuf>, LabError> {
        let query = ["ls-tree", "-r", "-z", "--full-tree", commit].map(OsStr::new);
        let all = entries(&checked(self.run(&query)?, Path::new("the links"), commit)?);
        Ok(all.into_iter().filter(|entry| entry.mode == LINK).map(|entry| entry.path).collect())
    }

    /// Returns whether a file of the project differs between a commit and the working tree, as Git
    /// compares files: line endings and filters that the user has configured make no difference. A file
    /// that neither the commit nor the index has is the same for all commits.
    pub(in crate::lab) fn differs(&self, commit: &str, file: &Path) -> Result<bool, LabError> {
        let Some(inside) = self.inside(file) else { return Ok(false) };
        let in_top = |words: &[&str]| {
            let output = git(&self.top).args(words).arg(&inside).output();
            checked(output.map_err(LabError::io("run git"))?, &inside, commit)
        };
        let Some(there) = self.entry(commit, &inside)? else {
            return Ok(!in_top(&["--literal-pathspecs", "ls-files", "-z", "--"])?.is_empty());
        };
        let here = self.top.join(&inside);
        if here.symlink_metadata().is_err() {
            return Ok(true);
        }
        // Git would write the index where a file has only another date.
        let options = ["-c", "diff.autoRefreshIndex=false", "--literal-pathspecs"];
        let diff = ["diff", "--no-ext-diff", "--no-textconv", "--numstat", commit, "--"];
        if in_top(&[&options[..], &diff].concat())?.is_empty() {
            return Ok(false);
        }
        if !here.is_file() {
            return Ok(true);
        }
        // A file that is not in the index is deleted for Git, but may have the same content.
        let hash = in_top(&["hash-object", "--"])?;
        Ok(String::from_utf8_lossy(&hash).trim() != there.hash)
    }

    /// Returns the path of a file of the project from the top folder; `None` for a file outside.
    fn inside(&self, file: &Path) -> Option<PathBuf> {
        let whole = match file.strip_prefix(&self.top) {
            Ok(inside) => inside.to_owned(),
            Err(_) => self.prefix.join(file),
        };
        let mut path = PathBuf::new();
        for part in whole.components() {
            match part {
                Component::Normal(name) => path.push(name),
                Component::ParentDir => path.pop().then_some(())?,
                Component::CurDir => {}
                Component::RootDir | Component::Prefix(_) => return None,
            }
        }
        Some(path)
    }

    /// Returns the entry of this path from the top folder in a commit; `None` if there is none, and for the
    /// top folder itself. An object that is missing in the clone is an error.
    fn entry(&self, commit: &str, inside: &Path) -> Result<Option<Entry>, LabError> {
        let words = ["--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, "--"];
        // A slash at the end would stand for the entries of the folder.
        let path: PathBuf = inside.components().collect();
        if path.as_os_str().is_empty() {
            return Ok(None);
        }
        let found = self.run(&[&words.map(OsStr::new)[..], &[path.as_os_str()]].concat())?;
        Ok(entries(&checked(found, inside, commit)?).pop())
    }
}

/// Returns the output of Git, or an error with the reason why it cannot read a file of a commit.
fn checked(output: Output, file: &Path, commit: &str) -> Result<Vec<u8>, LabError> {
    if output.status.success() {
        return Ok(output.stdout);
    }
    let what = format!("cannot read {} of the commit {}", file.display(), short(commit));
    let help = "fix what Git reports: a partial clone gets files from its remote, which must be reachable \
                without a password";
    Err(bad_ref(what, &output.stderr, help))
}

/// Parses the output of `git ls-tree -z`: `MODE TYPE HASH`, a tab and the path of each entry.
fn entries(listed: &[u8]) -> Vec<Entry> {
    let parse = |line: &[u8]| {
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        let mut words = line[..tab].split(|byte| *byte == b' ');
        let (mode, _, hash) = (words.next()?, words.next()?, words.next()?);
        let path = OsString::from_vec(line[tab + 1..].to_vec());
        let hash = String::from_utf8_lossy(hash).into_owned();
        Some(Entry { mode: mode.to_vec(), hash, path: path.into() })
    };
    listed.split(|byte| *byte == 0).filter_map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_from_the_top_folder() {
        let repository = Repository {
            folder: "/home/me/all/shop".into(),
            top: "/home/me/all".into(),
            git_dir: "/home/me/all/.git".into(),
            prefix: "shop/".into(),
        };
        for (file, inside) in [
            ("loadgen.toml", Some("shop/loadgen.toml")),
            ("./../seed.sql", Some("seed.sql")),
            ("/home/me/all/seed.sql", Some("seed.sql")),
            ("../../seed.sql", None),
            ("/etc/passwd", None),
        ] {
            assert_eq!(repository.inside(Path::new(file)), inside.map(PathBuf::from), "{file}");
        }
    }

    #[test]
    fn entries_have_any_name() {
        let listed = b"100644 blob 12ab\ta\tb c\x00120000 blob 34cd\tlink\0";
        let all = entries(listed);
        assert_eq!((all[0].path.to_str(), &*all[0].hash), (Some("a\tb c"), "12ab"));
        assert_eq!((all[1].path.to_str(), &*all[1].mode), (Some("link"), LINK));
        assert_eq!(entries(b""), []);
    }
}
