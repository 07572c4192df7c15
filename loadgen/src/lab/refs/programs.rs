//! Checks the programs of a target at a ref, after all builds: they must not be those of the working tree, nor
//! programs elsewhere that the builds of all refs write, as `go install` and `npm install --global` do.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::elsewhere::{Elsewhere, pieces};
use crate::lab::error::LabError;
use crate::lab::manifest::TargetSpec;
use crate::lab::service::programs::on_path;

/// Time by which a file may look older than it is: the system's clock for files is coarse.
const COARSE: Duration = Duration::from_millis(20);

const OWN_PROGRAM: &str = "let `build` write the program to the folder of loadgen.toml, and name it in `command` \
                           by its relative path, such as build = [\"go\", \"build\", \"-o\", \"bin/shop\", \".\"] \
                           and command = [\"bin/shop\", …]";

/// Returns an error if a target at a ref would run a program of the working tree or of another ref, or a
/// program outside of its folder that has changed since the first build began. `program` is the resolved
/// first word of the command, and `bin` the folder with the programs of the target's Python environment.
pub fn check(
    target: &TargetSpec,
    program: &Path,
    bin: &Path,
    elsewhere: &Elsewhere,
    built_since: Option<SystemTime>,
) -> Result<(), LabError> {
    // Other words may be programs, too: those of a shell, or those that `nice` or `env` starts.
    let others = target.entry.command.iter().flat_map(|word| pieces(word)).filter_map(|word| {
        let inside = bin.join(word);
        if inside.is_file() { Some(inside) } else { on_path(word) }
    });
    for program in std::iter::once(program.to_owned()).chain(others) {
        let shown = program.display();
        let what = if elsewhere.has_code(&program) {
            format!("it starts {shown}")
        } else if !elsewhere.is_own(&program)
            && built_since.is_some_and(|since| has_changed(&program, since))
        {
            format!("it starts {shown}, which has changed since the builds began")
        } else {
            continue;
        };
        let (target, help) = (target.name.clone(), OWN_PROGRAM.to_owned());
        return Err(LabError::SharedCode { target, what, help });
    }
    Ok(())
}

/// Whether a file, or a link to it, was written, replaced or given another name since this time.
fn has_changed(file: &Path, since: SystemTime) -> bool {
    let found: [std::io::Result<Metadata>; 2] = [file.symlink_metadata(), file.metadata()];
    found.into_iter().flatten().any(|found| {
        // Installers may set the time of the content. The time of the last change shows that, but it is also
        // that of another link to the file, such as uv makes in each environment.
        let changed = match found.nlink() {
            1 => u64::try_from(found.ctime()).ok().zip(u32::try_from(found.ctime_nsec()).ok()),
            _ => None,
        };
        let changed = changed.map(|(s, ns)| SystemTime::UNIX_EPOCH + Duration::new(s, ns));
        [changed, found.modified().ok()].into_iter().flatten().any(|time| time + COARSE >= since)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;
    use crate::lab::manifest::own_targets;

    #[test]
    fn programs_that_refs_share_are_refused() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        for program in [
            "top/serve",
            "top/.venv/bin/serve",
            "refs/1/shop/serve",
            "refs/2/shop/serve",
            "bin/serve",
        ] {
            fs::create_dir_all(path(program).parent().unwrap()).unwrap();
            fs::write(path(program), "").unwrap();
            fs::set_permissions(path(program), fs::Permissions::from_mode(0o755)).unwrap();
        }
        symlink(path("top/serve"), path("refs/1/shop/link")).unwrap();
        symlink(path("refs/2/shop/serve"), path("bin/global")).unwrap();
        // As Python's environments have.
        symlink(path("bin/serve"), path("refs/1/shop/python")).unwrap();
        let elsewhere =
            Elsewhere::new(&path("top"), &path("refs"), &path("refs/1"), &path("top/.venv"));
        let target = &own_targets("[target.shop]\ncommand = [\"serve\", \"{port}\"]\n")[0];
        let now = SystemTime::now();
        let said = |program: &str, since: Option<SystemTime>| {
            let error = check(target, &path(program), &path("none"), &elsewhere, since).err();
            error.map(|error| error.to_string()).unwrap_or_default()
        };
        let later = Some(now + Duration::from_secs(60));
        let earlier = Some(now - Duration::from_secs(60));
        for own in ["refs/1/shop/serve", "refs/1/shop/python", "bin/serve", "top/.venv/bin/serve"] {
            assert_eq!(said(own, later), "");
        }
        for other in ["top/serve", "refs/1/shop/link", "refs/2/shop/serve", "bin/global"] {
            assert!(said(other, None).contains("it starts /"), "{other}");
        }
        for own in ["refs/1/shop/serve", "refs/1/shop/python"] {
            assert_eq!(said(own, earlier), "");
        }
        assert!(said("bin/serve", earlier).ends_with("has changed since the builds began"));
        assert_eq!(said("bin/serve", None), "");
        // An old program to which uv has made another link is as old as before.
        let file = fs::File::options().append(true).open(path("bin/serve")).unwrap();
        file.set_modified(now - Duration::from_secs(120)).unwrap();
        assert!(said("bin/serve", earlier).ends_with("has changed since the builds began"));
        fs::hard_link(path("bin/serve"), path("bin/other")).unwrap();
        assert_eq!(said("bin/serve", earlier), "");
    }

    #[test]
    fn programs_that_a_shell_starts_are_refused_too() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        fs::create_dir_all(path("bin")).unwrap();
        fs::write(path("bin/serve"), "").unwrap();
        let elsewhere = Elsewhere::new(&path("top"), &path("refs"), &path("refs/1"), &path("none"));
        let table = "[target.shop]\ncommand = [\"sh\", \"-c\", \"exec serve --port={port}\"]\n";
        let target = &own_targets(table)[0];
        let since = SystemTime::now() - Duration::from_secs(60);
        let sh = Path::new("/bin/sh");
        assert!(check(target, sh, &path("bin"), &elsewhere, Some(since)).is_err());
        assert!(check(target, sh, &path("none"), &elsewhere, Some(since)).is_ok());
    }
}
