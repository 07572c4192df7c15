//! Runs targets as they are at refs of Git, such as `shop@main`.
//!
//! `resolve` finds the commit of a ref and the target's table in it, and changes nothing. Before the
//! targets are built, the files of each commit are written to a folder of its own (`checkout`) in a
//! temporary folder that outlives no run (`place`). Builds and targets run there, with `variables`
//! that lead to no other folder. `shared_code` refuses what would run the working tree's code instead.
//! `shop@.` runs in the working tree itself.

mod checkout;
mod place;
mod resolve;
mod shared_code;
pub(super) mod variables;

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

use self::place::Place;
pub(super) use self::place::remove_left_over;
pub use self::resolve::at_ref;
use super::Lab;
use super::error::LabError;
use super::git::{Repository, bad_ref};
use super::git_ref::GitRef;
use super::home::Home;
use super::logs::file_name;
use super::manifest::TargetSpec;
use super::python::Python;
use super::target::program;

/// Folders and Python environments of the targets at refs, but for the working tree.
#[derive(Debug, Default)]
pub(super) struct Refs {
    /// Folder of each target's project, by the name of the target with its ref.
    homes: BTreeMap<String, Home>,
    /// Python environment of each target that was built.
    pythons: BTreeMap<String, Python>,
    /// Top folder of the user's working tree.
    top: PathBuf,
    place: Option<Place>,
}

impl Refs {
    /// Returns the folder of the target's project; `None` for a target that runs in the user's.
    pub(super) fn home(&self, target: &str) -> Option<&Home> {
        self.homes.get(target)
    }

    /// Returns the Python environment of a target that was built; `None` for a target that runs in the
    /// user's folder.
    pub(super) fn python(&self, target: &str) -> Option<&Python> {
        self.pythons.get(target)
    }

    /// Removes the files of all refs, and returns when they are gone.
    pub(super) async fn remove(self) -> Result<(), LabError> {
        match self.place {
            Some(place) => place.remove().await,
            None => Ok(()),
        }
    }
}

impl Lab {
    /// Writes the files of those of these targets that have a ref to folders of their own, and adds the
    /// targets to the manifest. Returns what the user must know, as sentences.
    pub async fn check_out(&mut self, targets: &[TargetSpec]) -> Result<Vec<String>, LabError> {
        let mut notes = Vec::new();
        let with_refs = targets.iter().filter_map(|target| Some((target, target.git.as_ref()?)));
        for (number, (target, git)) in (1..).zip(with_refs) {
            self.manifest.add(target.clone());
            notes.extend(git.notes.iter().cloned());
            if !git.is_working_tree() {
                notes.extend(self.check_out_one(number, &target.name, git).await?);
            }
        }
        Ok(notes)
    }

    async fn check_out_one(
        &mut self,
        number: u32,
        name: &str,
        git: &GitRef,
    ) -> Result<Option<String>, LabError> {
        (self.progress)(&format!("checking out {name}"));
        let repository = Repository::of(self.home.root(), name)?;
        let (top, temporary) = (&repository.top, env::temp_dir());
        // Tools that search the folders above, such as Node and uv, would find the user's packages.
        if temporary.canonicalize().is_ok_and(|folder| folder.starts_with(top)) {
            let what = format!("the temporary folder {} is in the repository", temporary.display());
            let help =
                "set TMPDIR to a folder outside, so that refs have no files of the working tree";
            return Err(bad_ref(what, b"", help));
        }
        let place = match self.refs.place.take() {
            Some(place) => place,
            None => Place::make()?,
        };
        // All refs have a folder of the same name, which some programs use as the project's name.
        let folder = place.folder.join(number.to_string());
        let folder = folder.join(top.file_name().unwrap_or("top".as_ref()));
        self.refs.place = Some(place);
        let log = self.options.logs.join(format!("{}-checkout.log", file_name(name)));
        checkout::check_out(&repository, git, &folder, name, &log).await?;
        let submodules = checkout::submodules(&folder);
        let home = self.home.at_ref(checkout::project_in(&folder, &repository));
        self.refs.homes.insert(name.to_owned(), home);
        self.refs.top.clone_from(top);
        let note = format!(
            "{name}: submodules are not checked out: {}; `build` can: git submodule update --init",
            submodules.join(", ")
        );
        Ok((!submodules.is_empty()).then_some(note))
    }

    /// Looks up the Python environments of the targets at refs, which their builds have made, and
    /// checks that none of the targets would run code of the working tree.
    pub(super) fn settle_refs(&mut self, targets: &[TargetSpec]) -> Result<(), LabError> {
        for target in targets {
            let Some(home) = self.refs.homes.get(&target.name) else { continue };
            let python = Python::of_own(home);
            let program = program(&python, target)?;
            let mut programs = vec![python.bin()];
            programs.extend(program.parent().map(Path::to_owned));
            shared_code::check(target, home, &programs, &self.refs.top)?;
            self.refs.pythons.insert(target.name.clone(), python);
        }
        Ok(())
    }
}
