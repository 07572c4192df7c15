//! Starts the workers of a run, on this machine or on other hosts, or waits for workers on other hosts.

use std::path::{Path, PathBuf};

use crate::cluster::{
    Cluster, ClusterError, Gathering, LocalWorkers, RemoteWorkers, Starting, only_here,
};
use crate::experiment::job::{Job, Remote};
use crate::experiment::observe::{Event, Observers};
use crate::experiment::subject::Subject;
use crate::text::{counted, listed};

/// Starts workers, or waits for workers on other hosts. `None` if this process generates the load. Workers on this machine write their logs into the folder `logs`.
pub(super) async fn gather(
    job: &Job,
    logs: &Path,
    observers: &mut Observers<'_>,
) -> Result<Option<Cluster>, ClusterError> {
    match (&job.remote, job.workers) {
        (Some(Remote::Awaited(remote)), _) => {
            // Shown as plain lines, so that the command for each host can be copied.
            let tell = |gathering| {
                if let Some(told) = told(&gathering, remote) {
                    observers.tell(Event::Note(&told));
                }
            };
            Cluster::gather(remote, tell).await.map(Some)
        }
        (Some(Remote::Started(workers)), _) => {
            if let Some(warning) = their_own(&job.subject) {
                observers.tell(Event::Note(&warning));
            }
            let tell = |starting: Starting| observers.tell(Event::Phase(&starting.to_string()));
            Cluster::start_on(workers, tell).await.map(Some)
        }
        (None, Some(count)) => {
            observers.tell(Event::Phase(&format!("starting {}", counted(count.into(), "worker"))));
            let logs = Some(logs.to_owned());
            let workers = LocalWorkers { logs, ..LocalWorkers::new(count)? };
            Cluster::start(&workers, |_| {}).await.map(Some)
        }
        (None, None) => Ok(None),
    }
}

/// Returns a warning if workers on other hosts would each load a server on their own host.
fn their_own(subject: &Subject) -> Option<String> {
    let url = subject.own_to_each_host()?;
    Some(format!("warning: {url} is each host's own: every worker loads the host on which it runs"))
}

/// Most workers of which each has a line of its own.
const MOST_LINES: usize = 20;

/// Describes an event of the wait for workers on other hosts, as a message to the user. `None` for most of many
/// workers that join: the user is told about each tenth of them.
fn told(gathering: &Gathering, workers: &RemoteWorkers) -> Option<String> {
    let RemoteWorkers { count, address, .. } = workers;
    let count = *count as usize;
    Some(match gathering {
        Gathering::Listening { addresses, files, before } => {
            let listening: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            let listening = match listening.join(", ") {
                same if same == *address => String::new(),
                other => format!(" (listening at {other})"),
            };
            let mut told = format!("waiting for {count} workers at {address}{listening}");
            if !files.is_empty() {
                told += "; copy one of these files to each host, and run on the host:";
            }
            let command = |file: &PathBuf| format!("\n  loadgen worker --join {}", file.display());
            match files.as_slice() {
                [first, others @ .., last] if files.len() > MOST_LINES => {
                    let others = format!("\n  … {} more files …", others.len());
                    told += &[command(first), others, command(last)].concat();
                }
                files => told.extend(files.iter().map(command)),
            }
            if let Some(before) = before {
                told +=
                    &format!("\nthe files named {before} until now: earlier copies no longer work");
            }
            if let Some(why) = only_here(addresses, address) {
                told += &format!("\nwarning: {why}");
            }
            told
        }
        Gathering::Joined { joined, .. } if count > MOST_LINES => {
            if !joined.is_multiple_of(count / 10) && *joined < count {
                return None;
            }
            format!("{joined} of {count} workers have joined")
        }
        Gathering::Joined { worker, hello, joined } => {
            let who = hello.as_ref().map(|hello| {
                format!(" on {}, {} CPUs, loadgen {}", hello.host, hello.cpus, hello.version)
            });
            format!("worker {worker} has joined{}: {joined} of {count}", who.unwrap_or_default())
        }
        Gathering::Missing(workers) => {
            let numbers: Vec<String> = workers.iter().map(u32::to_string).collect();
            format!("still missing: worker {}", listed(&numbers, ", "))
        }
        Gathering::Left(worker) => format!("worker {worker} has left"),
        Gathering::Occupied(worker) => format!(
            "worker {worker} asks to join, but has already joined: either another process uses the same join \
             file (give each worker a separate file), or the manager has not yet noticed that the worker \
             lost its connection"
        ),
        Gathering::Refused(why) => format!("refused a worker: {why}"),
        Gathering::Over(joined) => {
            format!(
                "the wait is over: {joined} of {count} workers have joined, and share the whole load"
            )
        }
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::cluster::{Hello, Keys};

    fn remote(count: u32) -> RemoteWorkers {
        RemoteWorkers {
            count,
            listen: "0.0.0.0:7447".to_owned(),
            address: "load-1:7447".to_owned(),
            keys: Keys::Folder(PathBuf::from("join")),
            lease: Duration::from_secs(3),
            limit: None,
            needs_all: false,
        }
    }

    fn told(gathering: &Gathering, workers: &RemoteWorkers) -> String {
        super::told(gathering, workers).unwrap_or_default()
    }

    #[test]
    fn a_thousand_workers_take_few_lines() {
        let workers = remote(1_000);
        let files = (0..1_000).map(|n| PathBuf::from(format!("join/{n}"))).collect();
        let addresses = vec!["0.0.0.0:7447".parse().unwrap()];
        let listening = Gathering::Listening { addresses, files, before: None };
        let said = told(&listening, &workers);
        let said: Vec<&str> = said.lines().skip(1).collect();
        let commands = ["  loadgen worker --join join/0", "  … 998 more files …"];
        assert_eq!(said, [&commands[..], &["  loadgen worker --join join/999"]].concat());
        let joined = |joined| Gathering::Joined { worker: 7, hello: None, joined };
        let lines = (1..=1_000).filter_map(|n| super::told(&joined(n), &workers));
        let lines: Vec<String> = lines.collect();
        assert_eq!(lines.len(), 10);
        assert_eq!(lines[9], "1000 of 1000 workers have joined");
        assert_eq!(
            told(&Gathering::Missing((0..990).collect()), &workers),
            "still missing: worker 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, and 980 others"
        );
    }

    #[test]
    fn messages_about_joining_contain_advice() {
        let workers = remote(2);
        let files = ["join/0", "join/1"].map(PathBuf::from).to_vec();
        let listening = |address: &str, before: Option<&str>| Gathering::Listening {
            addresses: vec![address.parse().unwrap()],
            files: files.clone(),
            before: before.map(str::to_owned),
        };
        let files = "; copy one of these files to each host, and run on the host:\n  \
                     loadgen worker --join join/0\n  loadgen worker --join join/1";
        assert_eq!(
            told(&listening("0.0.0.0:7447", None), &workers),
            format!("waiting for 2 workers at load-1:7447 (listening at 0.0.0.0:7447){files}")
        );
        let said = told(&listening("127.0.1.1:7447", Some("load-0:7447")), &workers);
        let said = said.lines().skip(3).collect::<Vec<_>>();
        assert_eq!(
            said,
            [
                "the files named load-0:7447 until now: earlier copies no longer work",
                "warning: the manager listens only at 127.0.1.1:7447, on the loopback interface: workers on \
                 other hosts cannot join. For workers on other hosts: --listen 0.0.0.0:7447 --advertise load-1",
            ]
        );
        let by_address = RemoteWorkers { address: "10.0.0.1:7447".to_owned(), ..workers.clone() };
        assert_eq!(
            told(&listening("10.0.0.1:7447", None), &by_address),
            format!("waiting for 2 workers at 10.0.0.1:7447{files}")
        );
        let hello = Hello { host: "web-7".to_owned(), cpus: 4, ..Hello::from_worker(1) };
        let joined = Gathering::Joined { worker: 1, hello: Some(hello), joined: 1 };
        assert_eq!(
            told(&joined, &workers),
            "worker 1 has joined on web-7, 4 CPUs, loadgen 0.1.0: 1 of 2"
        );
        let refused = Gathering::Refused("worker 0: the peer is loadgen 0.2.0".to_owned());
        assert_eq!(
            told(&refused, &workers),
            "refused a worker: worker 0: the peer is loadgen 0.2.0"
        );
    }
}
