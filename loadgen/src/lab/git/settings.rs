//! Settings of the user's repository that the repository of a ref needs to see the same files: without them,
//! files that Git has just written would look changed, as `git describe --dirty` reports.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use super::Repository;
use crate::lab::error::LabError;

/// Names of the settings. Not `filter.*.required`: a filter that works in the user's repository only, as one
/// that needs a key there, then changes no file of the ref instead of stopping Git.
const NAMES: &str = concat!(
    r"^(core\.(autocrlf|eol|safecrlf|filemode|symlinks|ignorecase|precomposeunicode|attributesfile)",
    r"|filter\..*\.(clean|smudge|process))$"
);

/// Name of the URL from which the repository was cloned, to which URLs of submodules may be relative.
const ORIGIN: &str = "remote.origin.url";

/// Schemes of URLs whose user names may be secrets, too.
const WEB: [&str; 4] = ["http", "https", "ftp", "ftps"];

/// Settings, in the order in which Git reads them: the last one of a name counts.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Settings(Vec<(Vec<u8>, Option<Vec<u8>>)>);

impl Repository {
    /// Returns the settings that the repository of a ref needs, without secrets.
    pub(in crate::lab) fn settings(&self) -> Result<Settings, LabError> {
        let query = ["config", "--null", "--get-regexp", NAMES].map(OsStr::new);
        // Git fails if there is no such setting.
        let mut settings = Settings::parse(&self.run(&query)?.stdout);
        if let Some(url) = self.line(&["config", "--get", ORIGIN].map(OsStr::new))? {
            settings.0.push((ORIGIN.into(), Some(without_secrets(url.as_bytes()))));
        }
        Ok(settings)
    }
}

impl Settings {
    /// Parses the output of `git config --null`: a name, a line feed and a value for each setting. A
    /// setting without a value has no line feed, and is true.
    fn parse(listed: &[u8]) -> Self {
        let parse = |setting: &[u8]| {
            let mut parts = setting.splitn(2, |byte| *byte == b'\n').map(<[u8]>::to_vec);
            Some((parts.next().filter(|name| !name.is_empty())?, parts.next()))
        };
        Self(listed.split(|byte| *byte == 0).filter_map(parse).collect())
    }

    /// Returns the settings as lines of a configuration file of Git.
    pub(in crate::lab) fn lines(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for (name, value) in &self.0 {
            // The part in the middle may have dots.
            let first = name.iter().position(|byte| *byte == b'.').unwrap_or(0);
            let last = name.iter().rposition(|byte| *byte == b'.').unwrap_or(0);
            text.push(b'[');
            text.extend_from_slice(&name[..first]);
            if let Some(middle) = name.get(first + 1..last) {
                text.push(b' ');
                text.extend(quoted(middle));
            }
            text.extend_from_slice(b"]\n\t");
            text.extend_from_slice(&name[last + 1..]);
            if let Some(value) = value {
                text.extend_from_slice(b" = ");
                text.extend(quoted(value));
            }
            text.push(b'\n');
        }
        text
    }
}

/// Returns a text between quotation marks, as configuration files have it.
fn quoted(text: &[u8]) -> Vec<u8> {
    let mut out = vec![b'"'];
    for byte in text {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', *byte]),
            b'\n' => out.extend(b"\\n"),
            _ => out.push(*byte),
        }
    }
    out.push(b'"');
    out
}

/// Returns a URL without its password, and without the user name of a web server, which may be a token.
/// SSH needs the user name.
fn without_secrets(url: &[u8]) -> Vec<u8> {
    let parts = || {
        let scheme = url.windows(3).position(|three| three == b"://")?;
        let (begin, rest) = url.split_at(scheme + 3);
        let end = rest.iter().position(|byte| b"/?#".contains(byte)).unwrap_or(rest.len());
        let at = rest[..end].iter().rposition(|byte| *byte == b'@')?;
        let is_web = WEB.iter().any(|web| url[..scheme].eq_ignore_ascii_case(web.as_bytes()));
        let user = match is_web {
            true => 0,
            false => rest[..at].iter().position(|byte| *byte == b':').unwrap_or(at),
        };
        // Without a user name, the sign goes, too.
        let rest_from = if user == 0 { at + 1 } else { at };
        Some([begin, &rest[..user], &rest[rest_from..]].concat())
    };
    parts().unwrap_or_else(|| url.to_vec())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn urls_keep_no_secret() {
        for (url, kept) in [
            ("https://me:token@example.org:8080/a/b@c.git", "https://example.org:8080/a/b@c.git"),
            ("https://token@example.org/a", "https://example.org/a"),
            ("HTTP://a@b:token@example.org", "HTTP://example.org"),
            ("https://example.org/a@b", "https://example.org/a@b"),
            ("ssh://git@example.org/a", "ssh://git@example.org/a"),
            ("ssh://git:secret@example.org/a", "ssh://git@example.org/a"),
            ("ssh://:secret@example.org/a", "ssh://example.org/a"),
            ("git@example.org:a/b.git", "git@example.org:a/b.git"),
            ("/srv/a@b", "/srv/a@b"),
            ("file:///srv/a@b", "file:///srv/a@b"),
        ] {
            assert_eq!(String::from_utf8(without_secrets(url.as_bytes())).unwrap(), kept);
        }
    }

    #[test]
    fn git_reads_what_was_written() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("config");
        let listed =
            b"core.autocrlf\ninput\0core.filemode\0filter.x \"y\\.z.clean\na\n\tb\"c\\d ;# \0\
                       filter.w.smudge\n\0";
        let settings = Settings::parse(listed);
        std::fs::write(&file, settings.lines()).unwrap();
        let mut command = Command::new("git");
        command.args(["config", "--null", "--list", "--file"]).arg(&file);
        let read = command.output().unwrap();
        assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
        assert_eq!(String::from_utf8(read.stdout).unwrap().as_bytes(), listed);
    }
}
