//! Starts a user's own target in a container of the user's image.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::Spec;
use super::instance::Instance;
use crate::lab::Lab;
use crate::lab::error::LabError;
use crate::lab::podman::{Project, container_ulimits};
use crate::scenario::{Backend, Limits};

/// Empty folder of the container, which `{folder}` stands for.
pub const FOLDER: &str = "/loadgen-folder";

/// Variables of the compose file that hold what is secret, or differs with each start.
const PORT: &str = "TARGET_PORT";
const REDIS: &str = "TARGET_REDIS_URL";
const POSTGRES: &str = "TARGET_POSTGRES_URL";

impl Lab {
    /// Builds a function that returns the specification of a server in a container of its image, for a
    /// port of this machine. Containers reach backends by name.
    pub(super) fn image_spec(
        &self,
        project: Arc<Project>,
        server: &Instance<'_>,
    ) -> Result<Spec, LabError> {
        let Instance { target, size, log, .. } = server;
        self.check_backends(target, *size)?;
        let limits = self.target_limits(target, size.limits);
        let compose = compose(server, limits, &self.options.cpus.target);
        let (name, log) = (server.name(), log.clone());
        let file = log.with_extension("yaml");
        // The user's variables may be secret.
        let opened =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&file);
        let written = opened.and_then(|mut open| open.write_all(compose.to_string().as_bytes()));
        written.map_err(LabError::file("write", &file))?;
        let file = std::path::absolute(&file).map_err(LabError::file("find", &file))?;
        let redis = self.redis_url("redis:6379").unwrap_or_default();
        let postgres = self.postgres_url("postgres:5432").unwrap_or_default();
        Ok(Box::new(move |port| {
            let variables =
                [(PORT, port.to_string()), (REDIS, redis.clone()), (POSTGRES, postgres.clone())];
            project.spec_with(Some(Path::new(&file)), &name, &variables, log.clone())
        }))
    }
}

/// Returns the compose file with the server as a service. JSON is YAML, too.
fn compose(server: &Instance<'_>, limits: Limits, cpus: &[usize]) -> Value {
    let (mut target, size) = (server.target.clone(), server.size);
    // A dollar sign of the user's is no variable of the compose file.
    let words = target.entry.command.iter_mut().chain(target.entry.env.values_mut());
    words.for_each(|word| *word = word.replace('$', "$$"));
    let has_folder = target.needs_folder();
    let port = target.entry.port;
    let target = target
        .over(Backend::Redis, &format!("${{{REDIS}}}"))
        .over(Backend::Postgres, &format!("${{{POSTGRES}}}"))
        .running_in(FOLDER);
    let (command, env) = target.filled("0.0.0.0", port, size.workers, size.pool_size());
    let [files, processes] = container_ulimits();
    let cpus: Vec<String> = cpus.iter().map(usize::to_string).collect();
    let mut service = json!({
        "image": target.entry.image,
        "environment": env,
        "ports": [format!("127.0.0.1:${{{PORT}}}:{port}")],
        "ulimits": { "nofile": files, "nproc": processes },
        "dns_opt": ["timeout:1", "attempts:10"],
        "stop_grace_period": "3s",
        // Each check would use CPU time of the target.
        "healthcheck": { "disable": true },
    });
    let mut set = |key: &str, value: Value| service[key] = value;
    if !command.is_empty() {
        set("command", json!(command));
    }
    if let Some(user) = target.entry.user {
        set("user", json!(user.to_string()));
    }
    if has_folder {
        set("tmpfs", json!([FOLDER]));
    }
    if !cpus.is_empty() {
        set("cpuset", json!(cpus.join(",")));
    }
    if let Some(cpus) = limits.cpus {
        set("cpus", json!(cpus.to_string()));
    }
    if let Some(memory) = limits.memory {
        set("mem_limit", json!(memory.to_string()));
    }
    json!({ "services": { server.name(): service } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::Size;
    use crate::lab::manifest::own_targets;

    #[test]
    fn the_file_has_the_words_but_no_secret() {
        let targets = own_targets(
            r#"
            [target.shop]
            image = "localhost/shop:latest"
            port = 9000
            command = ["serve", "$HOME", "{host}:{port}", "{workers}"]
            env = { DATABASE_URL = "{postgres}", DATA = "{folder}" }
            cpus = 0.5
            memory = "64m"
            user = 1000
            [target.plain]
            image = "localhost/plain"
            "#,
        );
        let limits = targets[0].entry.limits();
        let server = |target, workers| Instance {
            target,
            size: Size::of_workers(workers),
            replica: None,
            log: "log".into(),
        };
        let made = compose(&server(&targets[0], 3), limits, &[1, 2]);
        let shop = &made["services"]["shop"];
        assert_eq!(shop["command"], json!(["serve", "$$HOME", "0.0.0.0:9000", "3"]));
        assert_eq!(shop["environment"]["DATABASE_URL"], "${TARGET_POSTGRES_URL}");
        assert_eq!(
            (&shop["environment"]["DATA"], &shop["tmpfs"][0]),
            (&json!(FOLDER), &json!(FOLDER))
        );
        assert_eq!(shop["ports"][0], "127.0.0.1:${TARGET_PORT}:9000");
        assert_eq!((&shop["cpus"], &shop["cpuset"]), (&json!("0.5"), &json!("1,2")));
        assert!(shop["mem_limit"].is_string() && shop["user"] == "1000");
        let made = compose(&server(&targets[1], 1), Limits::default(), &[]);
        let plain = &made["services"]["plain"];
        assert_eq!(plain["ports"][0], "127.0.0.1:${TARGET_PORT}:8000");
        assert!(
            ["command", "cpus", "cpuset", "mem_limit", "user"]
                .iter()
                .all(|key| plain.get(*key).is_none())
        );
    }
}
