//! `loadgen lab build`: builds targets ahead of their first run.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{show, table};
use crate::cli::{LabBuildArgs, LabFormat, RuntimeName};
use crate::lab::{Home, Lab, LabError, Layout, Manifest, Options, Progress, Runtime};
use crate::scenario::Limits;
use crate::text::say;

/// Builds the targets, and prints the folder or the image of each target that has a build.
pub(super) async fn run(home: Home, args: &LabBuildArgs) -> Result<(), LabError> {
    let runtime = match args.runtime {
        RuntimeName::Process => Runtime::Process,
        RuntimeName::Podman => {
            Runtime::Podman { targets: Limits::default(), backends: Limits::default() }
        }
    };
    let manifest = Manifest::load(&home.manifest())?;
    let names = match args.targets.as_slice() {
        [] => can_run(&manifest, runtime),
        named => named.to_vec(),
    };
    for name in &names {
        manifest.target(name)?;
    }
    let options = Options { logs: home.cache()?.join("logs"), cpus: Layout::unpinned(), runtime };
    let progress: Progress = Arc::new(|what| say(format!("{what} …")));
    let mut lab = Lab::prepare(home, options, progress).await?;
    let built = lab.build(&names).await;
    let folders = lab.builds().into_iter();
    let folders = folders.map(|(name, folder)| (name, folder.to_string_lossy().into_owned()));
    let places: BTreeMap<String, String> = folders.chain(lab.images().clone()).collect();
    lab.stop().await.and(built)?;
    print(&places, args.format);
    Ok(())
}

/// Returns the targets that this machine can run, and says why it cannot run the others.
fn can_run(manifest: &Manifest, runtime: Runtime) -> Vec<String> {
    let mut names = manifest.names();
    names.retain(|name| match runtime.check_requirements(manifest, name) {
        Ok(()) => true,
        Err(why) => {
            say(format!("{name} is left out: {why}"));
            false
        }
    });
    names
}

/// Prints the folder or the image of each target that was built.
fn print(places: &BTreeMap<String, String>, format: LabFormat) {
    show(&match format {
        LabFormat::Json => serde_json::to_string(places).unwrap_or_default(),
        LabFormat::Table => {
            let mut table = table(&["target", "build"]);
            for (name, place) in places {
                table.add_row([name, place]);
            }
            table.to_string()
        }
    });
}
