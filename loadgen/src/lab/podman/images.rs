//! Names the images that containers are made of.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::variable;
use crate::lab::home::Home;
use crate::lab::service::programs::user_variables;
use crate::scenario::Backend;

/// Variables of compose.yaml that name the images of the Python targets, Redis and PostgreSQL, each
/// with its default.
const TARGETS: (&str, &str) = ("TARGETS_IMAGE", "localhost/loadgen-targets");
const REDIS: (&str, &str) = ("REDIS_IMAGE", "docker.io/library/redis:8");
const POSTGRES: (&str, &str) = ("POSTGRES_IMAGE", "docker.io/library/postgres:18");

/// Names of a project's images.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Images {
    /// Image of all Python targets.
    pub targets: String,
    /// Image of Redis.
    pub redis: String,
    /// Image of PostgreSQL.
    pub postgres: String,
    /// Images that replace the default ones, by the name of their variable.
    replaced: BTreeMap<String, String>,
}

impl Images {
    /// Returns the images that compose.yaml uses: from environment variables, from `.env` beside
    /// compose.yaml, or the default images.
    pub fn of(home: &Home) -> Self {
        let file = fs::read_to_string(dot_env(home)).unwrap_or_default();
        Self::from(&file, user_variables().collect())
    }

    /// Returns the images for a text of the form of `.env`, and for environment variables.
    fn from(file: &str, environment: BTreeMap<String, String>) -> Self {
        let mut replaced = parse(file);
        replaced.extend(environment);
        replaced.retain(|name, image| name.ends_with("_IMAGE") && !image.is_empty());
        let image = |(name, default): (&str, &str)| {
            replaced.get(name).map_or_else(|| default.to_owned(), String::clone)
        };
        let [targets, redis, postgres] = [TARGETS, REDIS, POSTGRES].map(image);
        Self { targets, redis, postgres, replaced }
    }

    /// Image of a backend.
    pub fn backend(&self, backend: Backend) -> &str {
        match backend {
            Backend::Redis => &self.redis,
            Backend::Postgres => &self.postgres,
        }
    }

    /// Image of a target that does not share the image of the Python targets, or of the balancer.
    pub fn of_service(&self, name: &str) -> String {
        let replaced = self.replaced.get(&variable(name, "IMAGE"));
        replaced.map_or_else(|| format!("localhost/loadgen-{name}"), String::clone)
    }
}

fn dot_env(home: &Home) -> std::path::PathBuf {
    home.compose().parent().unwrap_or(Path::new("")).join(".env")
}

/// Parses lines of the form `NAME=value`.
fn parse(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| line.split_once('='));
    let plain = |value: &str| value.trim().trim_matches(['"', '\'']).to_owned();
    pairs.map(|(name, value)| (name.trim().to_owned(), plain(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_overrides_the_file_and_the_file_the_default() {
        let file = "# made here\nREDIS_IMAGE=localhost/redis\nPOSTGRES_IMAGE=\"localhost/pg\"\n\
                    GO_PROXY_IMAGE=localhost/proxy\nTARGETS_IMAGE=\n";
        let environment = BTreeMap::from([("POSTGRES_IMAGE".into(), "localhost/other".into())]);
        let images = Images::from(file, environment);
        assert_eq!(images.targets, TARGETS.1);
        assert_eq!(images.backend(Backend::Redis), "localhost/redis");
        assert_eq!(images.backend(Backend::Postgres), "localhost/other");
        assert_eq!(images.of_service("go-proxy"), "localhost/proxy");
        assert_eq!(images.of_service("echo"), "localhost/loadgen-echo");
    }

    #[test]
    fn compose_yaml_has_the_same_images() {
        let yaml = include_str!("../../../../compose/compose.yaml");
        for (name, default) in [TARGETS, REDIS, POSTGRES] {
            assert!(yaml.contains(&format!("image: ${{{name}:-{default}}}")), "{name}");
        }
    }
}
