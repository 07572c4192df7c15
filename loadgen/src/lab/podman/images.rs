//! Names the images that containers are made of.

use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs};

use crate::lab::home::Home;
use crate::scenario::Backend;

/// Variables of compose.yaml that name the images of the targets, Redis and PostgreSQL, each with
/// its default.
const TARGETS: (&str, &str) = ("TARGETS_IMAGE", "localhost/loadgen-targets");
const REDIS: (&str, &str) = ("REDIS_IMAGE", "docker.io/library/redis:8");
const POSTGRES: (&str, &str) = ("POSTGRES_IMAGE", "docker.io/library/postgres:18");

/// Names of a project's images.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Images {
    /// Image of all targets.
    pub targets: String,
    /// Image of Redis.
    pub redis: String,
    /// Image of PostgreSQL.
    pub postgres: String,
}

impl Images {
    /// Returns the images that compose.yaml uses: from environment variables, from `.env` beside
    /// compose.yaml, or the default images.
    pub fn of(home: &Home) -> Self {
        let file = fs::read_to_string(dot_env(home)).unwrap_or_default();
        Self::from(&parse(&file), |name| env::var(name).ok())
    }

    fn from(file: &BTreeMap<&str, &str>, environment: impl Fn(&str) -> Option<String>) -> Self {
        let image = |(name, default): (&str, &str)| {
            let own = environment(name).or_else(|| file.get(name).map(|&image| image.to_owned()));
            own.filter(|image| !image.is_empty()).unwrap_or_else(|| default.to_owned())
        };
        Self { targets: image(TARGETS), redis: image(REDIS), postgres: image(POSTGRES) }
    }

    /// Image of a backend.
    pub fn backend(&self, backend: Backend) -> &str {
        match backend {
            Backend::Redis => &self.redis,
            Backend::Postgres => &self.postgres,
        }
    }
}

fn dot_env(home: &Home) -> std::path::PathBuf {
    home.compose().parent().unwrap_or(Path::new("")).join(".env")
}

/// Parses lines of the form `NAME=value`.
fn parse(text: &str) -> BTreeMap<&str, &str> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| line.split_once('='));
    pairs.map(|(name, value)| (name.trim(), value.trim().trim_matches(['"', '\'']))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_overrides_the_file_and_the_file_the_default() {
        let file =
            parse("# made here\nREDIS_IMAGE=localhost/redis\nPOSTGRES_IMAGE=\"localhost/pg\"\n");
        let environment =
            |name: &str| (name == "POSTGRES_IMAGE").then(|| "localhost/other".to_owned());
        let images = Images::from(&file, environment);
        assert_eq!(images.targets, TARGETS.1);
        assert_eq!(images.backend(Backend::Redis), "localhost/redis");
        assert_eq!(images.backend(Backend::Postgres), "localhost/other");
    }

    #[test]
    fn compose_yaml_has_the_same_images() {
        let yaml = include_str!("../../../../compose/compose.yaml");
        for (name, default) in [TARGETS, REDIS, POSTGRES] {
            assert!(yaml.contains(&format!("image: ${{{name}:-{default}}}")), "{name}");
        }
    }
}
