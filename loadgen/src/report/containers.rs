//! What targets and backends ran in, where these were containers.

use crate::measure::{Environment, LimitsRecord};

/// Digits of a digest that tell images apart.
const DIGITS: usize = 12;

/// podman, limits, and images; nothing where there were no containers.
pub fn containers(environment: &Environment) -> Vec<String> {
    let Some(podman) = &environment.podman else { return Vec::new() };
    let mut groups: Vec<(LimitsRecord, Vec<&str>)> = Vec::new();
    for (name, limits) in &environment.limits {
        match groups.iter_mut().find(|(same, _)| same == limits) {
            Some((_, names)) => names.push(name),
            None => groups.push((*limits, vec![name])),
        }
    }
    let limits: Vec<String> = groups
        .iter()
        .map(|(limits, names)| format!("{}: {}", names.join(", "), in_words(limits)))
        .collect();
    let images: Vec<String> =
        environment.images.iter().map(|(name, image)| format!("{name} {}", short(image))).collect();
    vec![
        format!("in containers: {podman}; {}", limits.join("; ")),
        format!("images: {}", images.join(", ")),
    ]
}

/// Such as `0.5 CPUs, 256 MiB`.
#[must_use]
pub fn in_words(limits: &LimitsRecord) -> String {
    let cpus = limits.cpus.map(|cpus| match cpus {
        1.0 => "1 CPU".to_owned(),
        _ => format!("{cpus} CPUs"),
    });
    // As the limit was given: in units of 1,024.
    let memory = limits.memory_bytes.map(|bytes| match bytes {
        bytes if bytes % (1 << 30) == 0 => format!("{} GiB", bytes >> 30),
        bytes => format!("{} MiB", bytes >> 20),
    });
    match (cpus, memory) {
        (None, None) => "no limit".to_owned(),
        (cpus, memory) => cpus.into_iter().chain(memory).collect::<Vec<_>>().join(", "),
    }
}

/// `localhost/image@sha256:0123…`, with as much of the digest as people compare.
fn short(image: &str) -> String {
    match image.split_once("@sha256:") {
        Some((name, digest)) => {
            let digits: String = digest.chars().take(DIGITS).collect();
            format!("{name} ({digits})")
        }
        None => image.to_owned(),
    }
}
