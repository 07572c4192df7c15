//! Targets of the lab in the images that `compose/` makes of them.

use super::entry::{INNER_PORT, TargetSpec};
use crate::scenario::Backend;

/// Folder of a target in its image.
const FOLDER: &str = "/srv";

/// User of the images: nobody. No name will do in a cluster, where it could be that of root.
const NOBODY: u32 = 65_534;

/// Variable with the number of connections to each backend, for targets whose command line does not have it.
const POOL_SIZE: &str = "POOL_SIZE";

impl TargetSpec {
    /// Returns a target of the lab as it runs in this image, with the URLs of these backends in its environment.
    #[must_use]
    pub fn in_image(self, image: &str, backends: &[Backend]) -> Self {
        let is_shared = self.shares_image();
        let mut target = self.built_in(FOLDER);
        if is_shared {
            // The image knows the commands of its targets.
            target.entry.command = [target.name.as_str(), "--host={host}", "--workers={workers}"]
                .map(str::to_owned)
                .into();
            // Its own entry adds the variables of the target.
            target.entry.env = [(POOL_SIZE.to_owned(), "{pool_size}".to_owned())].into();
        }
        let urls = backends.iter().map(|it| (it.url_variable().to_owned(), format!("{{{it}}}")));
        target.entry.env.extend(urls);
        target.entry.image = Some(image.to_owned());
        target.entry.user = Some(NOBODY);
        target.entry.port = INNER_PORT;
        target
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::Value;

    use super::*;
    use crate::lab::manifest::Manifest;

    fn text(path: &str) -> String {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        std::fs::read_to_string(root.join(path)).unwrap()
    }

    #[test]
    fn words_and_variables_are_those_of_the_compose_file() {
        let manifest = Manifest::read(text("targets/targets.toml"), "targets.toml", false).unwrap();
        let compose: Value = serde_saphyr::from_str(&text("compose/compose.yaml")).unwrap();
        let mut compared = 0;
        for target in manifest.targets().iter().filter(|of| of.entry.upstreams.is_empty()) {
            let service = &compose["services"][&target.name];
            let of = target.clone().in_image("image", &Backend::ALL);
            let (words, variables) = of.filled("0.0.0.0", 8_000, 1, 10);
            let expected = service["command"].as_array().unwrap().iter().map(|word| {
                let word = word.as_str().unwrap();
                word.replace("${SERVER_WORKERS:-1}", "1").replace("${POOL_SIZE:-10}", "10")
            });
            assert_eq!(words, expected.collect::<Vec<_>>(), "{}", target.name);
            if let Some(known) = service["environment"].as_object() {
                for name in variables.keys() {
                    assert!(known.contains_key(name), "{}: {name}", target.name);
                }
            }
            compared += 1;
        }
        assert!(compared > 20, "{compared}");
    }

    #[test]
    fn a_target_asks_for_the_backends_of_its_scenario() {
        let manifest = Manifest::read(text("targets/targets.toml"), "targets.toml", false).unwrap();
        let of = |backends: &[Backend]| {
            manifest.target("express").unwrap().clone().in_image("image", backends)
        };
        assert_eq!(of(&[]).backends(), []);
        assert_eq!(of(&[Backend::Postgres]).backends(), [Backend::Postgres]);
        assert_eq!(of(&[]).entry.env["NODE_ENV"], "production");
    }
}
