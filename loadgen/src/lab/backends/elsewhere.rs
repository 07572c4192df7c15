//! Backends that the lab does not start itself: their images, and the data with which they begin.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::fill::refuse_existing;
use super::{NAME, postgres, redis};
use crate::lab::error::LabError;
use crate::lab::home::Home;
use crate::lab::manifest::Manifest;
use crate::scenario::{Backend, Existing};

/// Time for a Redis that has just been started to answer.
const START_LIMIT: Duration = Duration::from_secs(60);

/// Time between two attempts to reach it.
const AGAIN: Duration = Duration::from_millis(200);

/// Port of a Redis in a container.
const REDIS_PORT: u16 = 6_379;

/// Name of the file with a number of profiles, which Redis gets with the keys that scenarios read.
const KEYS: &str = "profiles";

/// Name of the file with commands for Redis.
const COMMANDS: &str = "commands";

/// A backend in a container of its image, which begins as the image of Docker Hub does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Words after the program of the image.
    pub words: Vec<String>,
    /// Variables of its environment.
    pub variables: BTreeMap<String, String>,
    /// Port on which it listens.
    pub port: u16,
    /// Folder of the container with its files.
    pub folder: &'static str,
    /// Files in this folder, by name.
    pub texts: BTreeMap<String, String>,
    /// The file that [`fill_redis`] reads; `None` for a backend that fills itself.
    pub fill: Option<&'static str>,
}

impl Image {
    /// Returns the image of Docker Hub.
    pub fn public(backend: Backend) -> &'static str {
        match backend {
            Backend::Redis => "docker.io/library/redis:8",
            Backend::Postgres => "docker.io/library/postgres:18",
        }
    }

    /// Returns a backend of this project with this password. `connections` is the number that targets may open at the same
    /// time. A command of the user's that fills the backend is not run.
    ///
    /// # Errors
    /// If a file cannot be read, or if the scenario asks for data that is not the project's.
    pub fn of(
        home: &Home,
        backend: Backend,
        existing: Existing,
        password: &str,
        connections: u32,
    ) -> Result<Self, LabError> {
        let read = |path: &Path| fs::read_to_string(path).map_err(LabError::file("read", path));
        let own = home.is_own().then(|| Manifest::of(home)).transpose()?;
        let init = match &own {
            None => None,
            Some(manifest) => {
                refuse_existing(existing)?;
                let file = manifest.init(backend).file.as_ref();
                let text = file.map(|file| read(&home.root().join(file))).transpose()?;
                Some(text.unwrap_or_default())
            }
        };
        Ok(match (backend, init) {
            (Backend::Redis, Some(commands)) => redis_image(COMMANDS, &commands, password),
            (Backend::Redis, None) => redis_image(KEYS, &existing.profiles.to_string(), password),
            (Backend::Postgres, Some(script)) => postgres_image(&script, password, connections),
            (Backend::Postgres, None) => {
                let script = postgres::script(&read(&home.schema())?, existing);
                postgres_image(&script, password, connections)
            }
        })
    }
}

fn owned<const N: usize>(all: [(&str, &str); N]) -> BTreeMap<String, String> {
    all.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

fn postgres_image(script: &str, password: &str, connections: u32) -> Image {
    let most = format!("max_connections={}", postgres::most_connections(connections));
    let settings = postgres::TIMING.map(str::to_owned).into_iter().chain([most]);
    let settings = settings.flat_map(|setting| ["-c".to_owned(), setting]);
    Image {
        words: ["postgres".to_owned()].into_iter().chain(settings).collect(),
        variables: owned([
            ("POSTGRES_USER", NAME),
            ("POSTGRES_PASSWORD", password),
            ("POSTGRES_DB", NAME),
            ("POSTGRES_INITDB_ARGS", "--locale=C --encoding=UTF8"),
        ]),
        port: 5_432,
        // The image carries out the scripts there in a new database, before others can connect.
        folder: "/docker-entrypoint-initdb.d",
        texts: owned([("loadgen.sql", script)]),
        fill: None,
    }
}

/// `name` is that of the file with the data, and `text` its content.
fn redis_image(name: &'static str, text: &str, password: &str) -> Image {
    let folder = "/run/loadgen";
    // As in the lab: without persistence.
    let settings = format!("requirepass {password}\nsave \"\"\nappendonly no\n");
    Image {
        words: vec!["redis-server".to_owned(), format!("{folder}/redis.conf")],
        variables: BTreeMap::new(),
        port: REDIS_PORT,
        folder,
        texts: owned([("redis.conf", &settings), (name, text)]),
        fill: Some(name),
    }
}

/// Fills the Redis on loopback as soon as it answers, with what the file `fill` of its [`Image`] says.
///
/// # Errors
/// Returns a sentence if the file cannot be read, if Redis does not answer, or if it refuses a command.
pub async fn fill_redis(file: &Path, password: &str) -> Result<(), String> {
    let text = tokio::fs::read_to_string(file).await.map_err(|error| error.to_string())?;
    let client = redis::Client::new(REDIS_PORT, password);
    let until = Instant::now() + START_LIMIT;
    while let Err(error) = client.connect().await {
        if Instant::now() >= until {
            return Err(format!("redis does not answer: {error}"));
        }
        sleep(AGAIN).await;
    }
    if file.file_name().is_some_and(|name| name == KEYS) {
        let profiles = text.parse().map_err(|_| format!("no number of profiles: {text}"))?;
        return client.fill(profiles, &|_| {}).await.map_err(|error| error.to_string());
    }
    client.restore(&text).await
}
