//! Runs targets as they are at refs of Git, such as `shop@main`.
//!
//! `resolve` finds the commit of a ref and the target's table in it, and changes nothing. Before the
//! targets are built, the files of each commit are written to a folder of its own (`checkout`) in a folder
//! that outlives no run (`place`). Builds and targets run there, with variables that lead to no other
//! folder. `shop@.` runs in the working tree itself.
//!
//! Refs that run the same code would be compared with themselves. Therefore `table`, `programs` and
//! `shared_code` refuse words, programs and Python packages that lead `elsewhere`: to the working tree, or to
//! another ref.

mod checkout;
mod elsewhere;
mod foreign;
mod place;
mod programs;
mod real_path;
mod resolve;
mod shared_code;
mod table;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;

use self::checkout::Checkout;
use self::elsewhere::Elsewhere;
use self::place::Place;
pub(super) use self::place::remove_left_over;
pub use self::resolve::at_ref;
use super::Lab;
use super::error::LabError;
use super::git::Repository;
use super::git::git_ref::GitRef;
use super::home::Home;
use super::install::python::Python;
use super::manifest::TargetSpec;
use super::service::logs::file_name;

/// Folders and Python environments of the targets at refs, but for the working tree.
#[derive(Debug, Default)]
pub(super) struct Refs {
    /// Folder of each target's project, by the name of the target with its ref.
    homes: BTreeMap<String, Home>,
    /// Python environment of each target that was built.
    pythons: BTreeMap<String, Python>,
    /// Folders that each target must not use, by the name of the target.
    elsewhere: BTreeMap<String, Elsewhere>,
    /// Time at which the first build began; `None` before, and without a build.
    built_since: Option<SystemTime>,
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

    /// Notes that a build begins, which may write programs that several refs use.
    pub(super) fn note_build(&mut self) {
        self.built_since.get_or_insert_with(SystemTime::now);
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
                notes.extend(self.check_out_one(number, target, git).await?);
            }
        }
        Ok(notes)
    }

    async fn check_out_one(
        &mut self,
        number: u32,
        target: &TargetSpec,
        git: &GitRef,
    ) -> Result<Option<String>, LabError> {
        let name = &target.name;
        (self.progress)(&format!("checking out {name}"));
        let repository = Repository::of(self.home.root(), name)?;
        let top = &repository.top;
        let place = match self.refs.place.take() {
            Some(place) => place,
            None => Place::make(top)?,
        };
        let own = place.folder.join(number.to_string());
        let elsewhere = Elsewhere::new(top, &place.folder, &own, &self.home.venv());
        self.refs.place = Some(place);
        table::check(target, &elsewhere)?;
        // All refs have a folder of the same name, which some programs use as the project's name.
        let folder = own.join(top.file_name().unwrap_or("top".as_ref()));
        let log = self.options.logs.join(format!("{}-checkout.log", file_name(name)));
        let waits = || {
            (self.progress)(&format!(
                "still checking out {name}: Git may wait for a filter or a remote; Ctrl-C ends the run"
            ));
        };
        let checkout =
            Checkout { repository: &repository, git, folder: &folder, target: name, log: &log };
        checkout.write(waits).await?;
        check_links(&checkout, &elsewhere)?;
        let submodules = checkout.submodules();
        let home = self.home.at_ref(checkout.project());
        self.refs.homes.insert(name.clone(), home);
        self.refs.elsewhere.insert(name.clone(), elsewhere);
        let note = format!(
            "{name}: submodules are not checked out: {}; `build` can: git submodule update --init",
            submodules.join(", ")
        );
        Ok((!submodules.is_empty()).then_some(note))
    }

    /// Looks up the Python environments of the targets at refs, which their builds have made, and
    /// checks that none of the targets would run code from elsewhere.
    pub(super) fn settle_refs(&mut self, targets: &[TargetSpec]) -> Result<(), LabError> {
        for target in targets {
            let name = &target.name;
            let found = self.refs.homes.get(name).zip(self.refs.elsewhere.get(name));
            let Some((home, elsewhere)) = found else { continue };
            let python = Python::of_own(home);
            let (program, bin) = (target.program(&python)?, python.bin());
            programs::check(target, &program, &bin, elsewhere, self.refs.built_since)?;
            let mut folders = vec![bin];
            folders.extend(program.parent().map(Path::to_owned));
            shared_code::check(target, home, &folders, elsewhere)?;
            self.refs.pythons.insert(name.clone(), python);
        }
        Ok(())
    }
}

/// Returns an error if a link in the folder of a commit leads elsewhere.
fn check_links(checkout: &Checkout<'_>, elsewhere: &Elsewhere) -> Result<(), LabError> {
    for link in checkout.repository.links(&checkout.git.commit)? {
        let path = checkout.folder.join(&link);
        // The file may be missing until a build makes it. A relative path stays in the folder, or was
        // followed as far as it exists.
        let leads_to = path.read_link().ok().filter(|to| to.is_absolute());
        let leads_elsewhere = elsewhere.has(&path) || leads_to.is_some_and(|to| elsewhere.has(&to));
        if leads_elsewhere {
            return Err(LabError::SharedCode {
                target: checkout.target.to_owned(),
                what: format!("the link {} leads to the working tree", link.display()),
                help: "commit a relative link, so that each ref has its own file".to_owned(),
            });
        }
    }
    Ok(())
}
