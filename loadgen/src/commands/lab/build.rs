//! `loadgen lab build`: builds targets ahead of their first run.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{show, table};
use crate::cli::{LabBuildArgs, ListFormat, RuntimeName};
use crate::lab::{Home, Lab, LabError, Layout, Manifest, Options, Progress, Runtime, TargetSpec};
use crate::scenario::Limits;
use crate::text::say;

/// Builds the targets, and prints the folder or the image of each target that has a build.
pub(super) async fn run(home: Home, args: &LabBuildArgs) -> Result<(), LabError> {
    let runtime = match args.runtime {
        RuntimeName::Process => Runtime::Process,
        RuntimeName::Podman => {
            Runtime::Podman { targets: Limits::default(), backends: Limits::default() }
        }
        RuntimeName::Kubernetes => {
            return Err(LabError::Missing {
                service: "lab build".to_owned(),
                what: "a cluster runs images that its nodes can pull".to_owned(),
                help: "build the image of your target, push it to a registry, and name it: `image` in loadgen.toml"
                    .to_owned(),
            });
        }
    };
    let manifest = Manifest::of(&home)?;
    let named: Vec<String> = args.targets.iter().map(|name| name.trim().to_owned()).collect();
    let names = if named.is_empty() { can_run(&manifest, runtime) } else { named };
    let mut targets: Vec<&TargetSpec> = Vec::new();
    for name in &names {
        targets.extend(manifest.with_upstreams(name)?);
    }
    let options = Options {
        logs: home.cache()?.join("logs"),
        cpus: Layout::unpinned(),
        runtime,
        connections: 0,
    };
    let progress: Progress = Arc::new(|what| say(format!("{what} …")));
    let mut lab = Lab::prepare(home, options, progress).await?;
    let built = lab.build(&names).await;
    let places: BTreeMap<String, String> = targets
        .into_iter()
        .filter_map(|target| Some((target.name.clone(), place(&lab, target)?)))
        .collect();
    let stopped = lab.stop().await;
    built.and(stopped)?;
    print(&places, args.format);
    Ok(())
}

/// Returns the folder or the image of a target; `None` for a target that needs no build.
fn place(lab: &Lab, target: &TargetSpec) -> Option<String> {
    if target.entry.prepare.is_some() {
        // The command of a user's own target leaves its output in the project's folder.
        return Some(".".to_owned());
    }
    let image = if target.shares_image() { "target" } else { &target.name };
    let folder = lab.builds().remove(&target.name);
    let folder = folder.map(|folder| folder.to_string_lossy().into_owned());
    folder.or_else(|| lab.images().get(image).cloned())
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
fn print(places: &BTreeMap<String, String>, format: ListFormat) {
    if places.is_empty() {
        say("none of the targets needs a build");
    }
    show(&match format {
        ListFormat::Json => serde_json::to_string(places).unwrap_or_default(),
        ListFormat::Table => {
            let mut table = table(&["target", "build"]);
            for (name, place) in places {
                table.add_row([name, place]);
            }
            table.to_string()
        }
    });
}
