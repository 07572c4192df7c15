//! Describes the containers of targets and backends.

use crate::record::{Environment, LimitsRecord};

/// Number of digits of a digest that are enough to distinguish images.
const DIGITS: usize = 12;

/// Names the software that runs the containers, the containers' limits, and the images; empty
/// without containers.
pub(crate) fn containers(environment: &Environment) -> Vec<String> {
    let Some(podman) = &environment.podman else { return Vec::new() };
    let mut groups: Vec<(LimitsRecord, Vec<&str>)> = Vec::new();
    for (name, limits) in &environment.limits {
        match groups.iter_mut().find(|(same, _)| same == limits) {
            Some((_, names)) => names.push(name),
            None => groups.push((*limits, vec![name])),
        }
    }
    let limits: Vec<String> =
        groups.iter().map(|(limits, names)| format!("{}: {}", names.join(", "), limits)).collect();
    let images: Vec<String> =
        environment.images.iter().map(|(name, image)| format!("{name} {}", short(image))).collect();
    vec![
        format!("in containers: {podman}; {}", limits.join("; ")),
        format!("images: {}", images.join(", ")),
    ]
}

/// Shortens the digest in `localhost/image@sha256:0123…` to the digits that people compare.
fn short(image: &str) -> String {
    match image.split_once("@sha256:") {
        Some((name, digest)) => {
            let digits: String = digest.chars().take(DIGITS).collect();
            format!("{name} ({digits})")
        }
        None => image.to_owned(),
    }
}
