//! Measures a backend alone: how many operations per second it does for its own benchmark program,
//! without a web server in between. The rate is a scale for the rates of servers, not a strict bound:
//! the program itself may be the limit, and servers that only read do less than its mix.
//!
//! `pgbench` sends the mix of workload B of YCSB (Cooper et al., "Benchmarking Cloud Serving Systems
//! with YCSB", 2010): 95 % look-ups of a profile by its key and 5 % updates. `redis-benchmark` knows
//! no mix and sends look-ups only. As a process, the program runs on the CPUs of the targets, in their
//! place. In containers, it runs in the container of the backend.

use std::ffi::OsString;
use std::time::Duration;

use tempfile::TempDir;

use super::postgres::{CONNECTIONS, NAME, OTHER_CONNECTIONS};
use crate::lab::Lab;
use crate::lab::error::LabError;
use crate::lab::runner::Runner;
use crate::lab::service::logs::MESSAGE_LINES;
use crate::lab::service::password::random_password;
use crate::lab::service::programs::on_path;
use crate::lab::service::{Service, ServiceSpec, ending};
use crate::scenario::Backend;

/// Largest number of clients: PostgreSQL keeps some connections for loadgen.
const MOST_CLIENTS: u32 = CONNECTIONS - OTHER_CONNECTIONS;

/// Operations that `redis-benchmark` sends for each second that it should take. On a slow machine, it
/// takes longer.
const REDIS_PER_S: u64 = 50_000;

/// Time that a benchmark program may take beyond its planned time.
const SPARE: Duration = Duration::from_secs(60);

/// Scripts of `pgbench`. `:profiles` is the number of profiles.
const READ: &str =
    "\\set id random(1, :profiles)\nSELECT profile::text FROM profiles WHERE id = :id;\n";
const UPDATE: &str =
    "\\set id random(1, :profiles)\nUPDATE profiles SET profile = profile WHERE id = :id;\n";

/// Result of a benchmark program.
#[derive(Debug, Clone, PartialEq)]
pub struct Alone {
    /// Name of the benchmark program.
    pub program: &'static str,
    /// Operations that it sent, in words.
    pub operations: &'static str,
    /// Number of clients, each with one operation at a time.
    pub clients: u32,
    /// Operations per second.
    pub rate_per_s: f64,
}

impl Lab {
    /// Measures a running backend that holds this number of profiles, with this number of clients,
    /// for about this number of seconds. PostgreSQL's profiles are made anew before the next round.
    ///
    /// # Errors
    /// The reason why there is no result, as a sentence for people.
    pub async fn alone(
        &self,
        backend: Backend,
        profiles: u64,
        clients: u32,
        seconds: u32,
    ) -> Result<Alone, String> {
        let clients = clients.clamp(1, MOST_CLIENTS);
        (self.progress)(&format!("measuring {backend} alone"));
        match backend {
            Backend::Postgres => self.postgres_alone(profiles, clients, seconds).await,
            Backend::Redis => self.redis_alone(profiles, clients, seconds).await,
        }
    }

    async fn postgres_alone(
        &self,
        profiles: u64,
        clients: u32,
        seconds: u32,
    ) -> Result<Alone, String> {
        let postgres = self.postgres.as_ref().ok_or("postgres does not run")?;
        let script = format!(
            "printf %s \"$READ\" >read.sql && printf %s \"$UPDATE\" >update.sql && exec \"$0\" \
             --no-vacuum --protocol=prepared --define=profiles={profiles} --client={clients} \
             --jobs={jobs} --time={seconds} --file=read.sql@95 --file=update.sql@5 --host=127.0.0.1 \
             --port=\"$1\" --username={name} {name}",
            name = NAME,
            jobs = self.options.cpus.target.len().clamp(1, clients as usize),
        );
        let env = [
            ("PGPASSWORD", postgres.password().to_owned()),
            ("READ", READ.to_owned()),
            ("UPDATE", UPDATE.to_owned()),
        ];
        let (program, port) = postgres.benchmark().ok_or("pgbench is not installed")?;
        let words = [program, port.to_string().into()];
        let output = self.benchmark(Backend::Postgres, &script, words, &env, seconds).await?;
        // Without the comment, the profiles are made anew: updates have left a larger table.
        let forget = "COMMENT ON TABLE profiles IS NULL";
        let forgotten = postgres.tell(NAME, &["-c", forget]).await;
        forgotten.map_err(|error| error.to_string())?;
        Ok(Alone {
            program: "pgbench",
            operations: "95 % look-ups by key, 5 % updates",
            clients,
            rate_per_s: number_after(&output, "tps = ").ok_or("pgbench reported no rate")?,
        })
    }

    async fn redis_alone(
        &self,
        profiles: u64,
        clients: u32,
        seconds: u32,
    ) -> Result<Alone, String> {
        let redis = self.redis.as_ref().ok_or("redis does not run")?;
        let program = match &self.runner {
            Runner::Process(_) => {
                let path =
                    on_path("redis-benchmark").ok_or("redis-benchmark is not on the PATH")?;
                path.into_os_string()
            }
            Runner::Podman { .. } => "redis-benchmark".into(),
        };
        // redis-benchmark takes a password only on its command line, which other users can read.
        // This one is for a user who may only read profiles, and who ends with the measurement.
        let password = random_password().map_err(|error| error.to_string())?;
        let user = redis.lend(&password).await.map_err(|error| error.to_string())?;
        let script = format!(
            "exec \"$0\" -h 127.0.0.1 -p \"$1\" --user {user} -a {password} -c {clients} -n {} \
             -r {profiles} --csv GET profile:__rand_int__",
            REDIS_PER_S * u64::from(seconds)
        );
        let words = [program, redis.port_inside().to_string().into()];
        let output = self.benchmark(Backend::Redis, &script, words, &[], seconds).await;
        redis.take_back(&user).await.map_err(|error| error.to_string())?;
        Ok(Alone {
            program: "redis-benchmark",
            operations: "look-ups by key",
            clients,
            rate_per_s: number_after(&output?, "__rand_int__\",\"")
                .ok_or("redis-benchmark reported no rate")?,
        })
    }

    /// Runs a shell script with these words as its arguments from `$0`, in an empty folder or in the
    /// container of the backend, until it ends. Returns its output.
    async fn benchmark(
        &self,
        backend: Backend,
        script: &str,
        words: [OsString; 2],
        env: &[(&str, String)],
        seconds: u32,
    ) -> Result<String, String> {
        let folder = tempfile::Builder::new().prefix("loadgen-alone-").tempdir();
        let folder = folder.map_err(|error| format!("no folder for the benchmark: {error}"))?;
        let mut argv: Vec<OsString> = match &self.runner {
            Runner::Process(_) => Vec::new(),
            Runner::Podman { podman, .. } => {
                let project = podman.project();
                let names = env.iter().map(|(name, _)| format!("--env={name}"));
                let names: Vec<String> = names.collect();
                let container = project.container_name(&backend.to_string());
                let words = ["exec", "--workdir=/tmp"].into_iter();
                let words = words.chain(names.iter().map(String::as_str)).chain([&*container]);
                project.podman_command(&words.collect::<Vec<_>>())
            }
        };
        argv.extend(["sh".into(), "-c".into(), script.into()]);
        argv.extend(words);
        let log = self.options.logs.join(format!("{backend}-alone.log"));
        let name = format!("{backend}-alone");
        let mut spec = ServiceSpec::new(name, argv, folder.path(), log);
        spec.env = env.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        spec.options.cpus.clone_from(&self.options.cpus.target);
        spec.options.remove = Some(folder.path().to_owned());
        let service = Service::start(&spec).map_err(|error| error.to_string())?;
        // From now on, the guard of the service removes the folder.
        let _ = TempDir::keep(folder);
        let limit = Duration::from_secs(seconds.into()) + SPARE;
        finished(service, limit).await
    }
}

async fn finished(mut service: Service, limit: Duration) -> Result<String, String> {
    match tokio::time::timeout(limit, service.wait()).await {
        Ok(Ok(status)) if status.success() => {
            let read = std::fs::read_to_string(service.log());
            read.map_err(|error| format!("its output cannot be read: {error}"))
        }
        Ok(Ok(status)) => {
            let said = service.last_log_lines(MESSAGE_LINES).join(" ");
            Err(format!("the benchmark program {}: {said}", ending(status)))
        }
        Ok(Err(error)) => Err(LabError::io("wait for the benchmark program")(error).to_string()),
        Err(_) => {
            let stopped = service.stop().await;
            let still = stopped.err().map(|error| format!(", and {error}")).unwrap_or_default();
            Err(format!("the benchmark program did not end within {limit:?}{still}"))
        }
    }
}

/// Returns the number that follows the first occurrence of `label`.
fn number_after(text: &str, label: &str) -> Option<f64> {
    let (_, rest) = text.split_once(label)?;
    let digits = rest.split(|c: char| !c.is_ascii_digit() && c != '.').next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_from_the_output() {
        let pgbench =
            "latency average = 3.012 ms\ntps = 13277.502 (without initial connection time)\n";
        assert_eq!(number_after(pgbench, "tps = "), Some(13_277.502));
        let redis = "\"test\",\"rps\"\n\"GET profile:__rand_int__\",\"105374.08\",\"0.247\"\n";
        assert_eq!(number_after(redis, "__rand_int__\",\""), Some(105_374.08));
        assert_eq!(number_after("", "tps = "), None);
        assert_eq!(number_after("tps = none", "tps = "), None);
    }
}
