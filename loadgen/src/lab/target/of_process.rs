//! Starts a target from its command line, as processes of this machine.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::instance::Instance;
use super::size::Size;
use super::{GRACE, Spec};
use crate::lab::Lab;
use crate::lab::error::LabError;
use crate::lab::install::python::Python;
use crate::lab::manifest::TargetSpec;
use crate::lab::profiler::Profiler;
use crate::lab::service::ServiceSpec;
use crate::lab::service::logs::file_name;

impl Lab {
    /// Builds a function that returns the specification of a server for a port. `folder` is the server's
    /// empty folder, if it needs one.
    pub(super) fn process_spec(
        &self,
        python: &Python,
        server: &Instance<'_>,
        folder: Option<PathBuf>,
    ) -> Result<Spec, LabError> {
        let (target, size) = (server.target.clone(), server.size);
        let target = match self.built.get(&target.name) {
            Some(built) => target.built_in(&built.folder.to_string_lossy()),
            None => target,
        };
        // A target at a ref runs in a folder and an environment of its own.
        let python = self.refs.python(&target.name).unwrap_or(python);
        let from_wheel =
            self.from_wheels.get(&(target.name.clone(), target.entry.command[0].clone()));
        let program = match from_wheel {
            Some(program) => program.clone(),
            None => target.program(python)?,
        };
        let target = match &folder {
            Some(folder) => target.running_in(&folder.to_string_lossy()),
            None => target,
        };
        let target = self.over_backends(target, size)?;
        let (name, root, log) = (server.name(), python.root().to_owned(), server.log.clone());
        let env = self.process_env(python, size);
        let (cpus, of_launcher) =
            (self.options.cpus.target.clone(), self.options.cpus.generator.clone());
        let (workers, pool_size) = (size.workers, size.pool_size());
        let profiler = profiler(size, folder.as_deref());
        Ok(Box::new(move |port| {
            let (mut argv, own) = target.filled("127.0.0.1", port, workers, pool_size);
            argv[0] = program.to_string_lossy().into_owned();
            let mut spec = ServiceSpec::new(&name, argv, Path::new(&root), log.clone());
            // What the target leaves behind is removed with it.
            let tmp =
                folder.iter().map(|it| ("TMPDIR".to_owned(), it.to_string_lossy().into_owned()));
            spec.env = env.iter().cloned().chain(tmp).chain(own).collect();
            spec.options.cpus.clone_from(&cpus);
            spec.options.grace = GRACE;
            spec.options.remove.clone_from(&folder);
            match &profiler {
                Some(profiler) => {
                    let own = target.profiler("127.0.0.1", port);
                    spec.below_launcher(profiler.socket(), &of_launcher, &own)
                }
                None => spec,
            }
        }))
    }

    /// Returns a target with the URLs of the backends for which its command and environment ask.
    fn over_backends(&self, target: TargetSpec, size: Size<'_>) -> Result<TargetSpec, LabError> {
        self.check_backends(&target, size)?;
        let asked = target.backends();
        let urls = self.backends().into_iter().filter(|(backend, _)| asked.contains(backend));
        Ok(urls.fold(target, |target, (backend, url)| target.over(backend, &url)))
    }

    /// Returns the variables that all targets have. A user's own targets have the user's, because they
    /// run as they do without loadgen.
    fn process_env(&self, python: &Python, size: Size<'_>) -> Vec<(String, String)> {
        if self.home.is_own() {
            return python.variables();
        }
        let running = self.backends().into_iter();
        let own = running.filter(|(backend, _)| size.backends.contains(backend));
        let backends = own.map(|(backend, url)| (backend.url_variable().to_owned(), url));
        let always = [("PATH", python.path()), ("POOL_SIZE", size.pool_size().to_string())];
        always.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(backends).collect()
    }
}

/// Returns the profiler of a server of this size with this folder; `None` if it is not profiled.
pub(super) fn profiler(size: Size<'_>, folder: Option<&Path>) -> Option<Profiler> {
    folder.filter(|_| size.profiled).map(|folder| Profiler::new(folder.join("profiler.sock")))
}

/// Creates an empty folder for a target that runs, which is also the one for its temporary files. Dropping the folder
/// removes it.
pub(super) fn own_folder(target: &TargetSpec) -> Result<TempDir, LabError> {
    let name = file_name(&target.name);
    let folder = tempfile::Builder::new().prefix(&format!("loadgen-{name}-")).tempdir();
    folder.map_err(LabError::io(format!("create a folder for {name}")))
}
