//! Checks each requirement for running the lab in containers on this machine, and names a fix for
//! each missing requirement.

use super::compose::Compose;
use super::container::Packages;
use super::images::Images;
pub use super::info::Lack;
use super::info::{self, Info};
use super::podman_has;
use crate::lab::error::LabError;
use crate::lab::home::Home;

/// Name of a requirement, and the result of the check: a description of the found version or
/// object, or the missing requirement with its fix.
pub type Finding = (&'static str, Result<String, Lack>);

/// Checks all requirements for running the lab in containers, in the order of their dependencies.
pub async fn examine(home: &Home) -> Vec<Finding> {
    let podman = match info::find() {
        Ok(podman) => podman,
        Err(lack) => return vec![("podman", Err(lack))],
    };
    let mut findings = match Info::ask(&podman).await {
        Ok(info) => Vec::from(info.checks()),
        Err(error) => return vec![("podman", Err(lack(&error)))],
    };
    findings.push(("podman-compose", compose(home).await));
    let images = Images::of(home);
    let built = podman_has(&podman, &images.targets).await;
    let pulled = "is missing: the first run pulls the image";
    findings.push((
        "targets' image",
        found(&images.targets, built, "is missing: the first run builds the image"),
    ));
    for image in [&images.redis, &images.postgres] {
        let there = podman_has(&podman, image).await;
        findings.push(("backend's image", found(image, there, pulled)));
    }
    if built {
        let ran = Packages::of(&podman, &images.targets).await;
        let ran = ran.map(|packages| format!("ran, with Python {}", packages.python));
        findings.push(("a container", ran.map_err(|error| lack(&error))));
    }
    findings
}

async fn compose(home: &Home) -> Result<String, Lack> {
    let Some(found) = Compose::find(home).await else {
        return Ok("is missing: the first run installs podman-compose".to_owned());
    };
    match found.version().await {
        Some((major, minor)) => Ok(format!("{major}.{minor}")),
        None => Err(Lack::new(
            "podman-compose does not start",
            "remove .loadgen/podman-compose: the next run installs podman-compose again",
        )),
    }
}

/// Returns the finding for an image; `there` tells whether the image exists. A missing image that
/// must be pulled is an error if the image is made locally, because no registry has such an image.
fn found(image: &str, there: bool, otherwise: &str) -> Result<String, Lack> {
    match there {
        true => Ok(image.to_owned()),
        false if image.starts_with("localhost/") && otherwise.contains("pulls") => {
            Err(Lack::new(format!("the image {image} does not exist"), "`make images-offline`"))
        }
        false => Ok(format!("{image} {otherwise}")),
    }
}

fn lack(error: &LabError) -> Lack {
    let help = miette::Diagnostic::help(error).map(|help| help.to_string());
    Lack::new(error.to_string(), help.unwrap_or_default())
}
