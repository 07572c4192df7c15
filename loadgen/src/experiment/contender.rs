//! Lists what each round measures: every target, with each number of server workers and replicas,
//! under each number of users.

use crate::lab::file_name;
use crate::scenario::Limits;
use crate::text::counted;

/// Suffix of a target's name in the second measurement, if a target is compared with itself.
pub const AGAIN: &str = " (again)";

/// A target, the number of its worker processes, its limits, and the number of users that load it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contender {
    /// Name of the contender: the target's name and each number that varies,
    /// such as `sanic ×2, 500 users`.
    pub name: String,
    /// Name of the target, with the suffix [`AGAIN`] in the second
    /// measurement of a target that is compared with itself.
    pub target: String,
    /// Name of the target in the names of log files; `None` if that is `target`.
    pub log_name: Option<String>,
    /// Index of the target in the job; a target that is compared with itself counts as two targets.
    pub index: usize,
    /// Number of worker processes of the target, or of each replica.
    pub server_workers: u32,
    /// Number of replicas behind a load balancer; `None` for the target itself, without a balancer.
    pub replicas: Option<u32>,
    /// Limits of the target's container.
    pub limits: Limits,
    /// Number of users in all processes together; in the open model (a fixed request rate), the
    /// maximum number of users that send at the same time.
    pub users: u32,
}

impl Contender {
    /// Returns the file name of the target's log in a round. If `several` is true, the name
    /// includes the numbers of server workers and users.
    pub fn log(&self, round: u32, several: bool) -> String {
        let target = self.log_name.as_ref().unwrap_or(&self.target).replace(AGAIN, "-again");
        let target = file_name(&target);
        match several {
            true => {
                let replicas = self.replicas.map(|n| format!("{n}r-")).unwrap_or_default();
                format!("{target}-{}w-{replicas}{}u-{round}.log", self.server_workers, self.users)
            }
            false => format!("{target}-{round}.log"),
        }
    }
}

/// Numbers with which each target is measured.
#[derive(Debug, Clone, Default)]
pub struct Numbers {
    /// Numbers of server worker processes; empty for one.
    pub server_workers: Vec<u32>,
    /// Numbers of replicas behind a load balancer; empty for the target itself, without a balancer.
    pub replicas: Vec<u32>,
    /// Numbers of users. Not empty.
    pub users: Vec<u32>,
}

/// Returns all combinations of targets, numbers of server workers, of replicas and of users, ordered
/// by target.
pub fn product(targets: &[String], numbers: &Numbers) -> Vec<Contender> {
    let Numbers { server_workers, replicas, users } = numbers;
    let one = [1];
    let server_workers = if server_workers.is_empty() { &one } else { server_workers.as_slice() };
    let replicas: Vec<Option<u32>> = match replicas.as_slice() {
        [] => vec![None],
        numbers => numbers.iter().copied().map(Some).collect(),
    };
    let workers_of = |n: u32| (server_workers.len() > 1).then(|| format!(" ×{n}"));
    let replicas_of = |n: Option<u32>| {
        let n = n.filter(|_| replicas.len() > 1)?;
        Some(format!(", {}", counted(n.into(), "replica")))
    };
    let users_of = |n: u32| (users.len() > 1).then(|| format!(", {}", counted(n.into(), "user")));
    let mut contenders = Vec::new();
    for (index, target) in targets.iter().enumerate() {
        for &server_workers in server_workers {
            for &replicas in &replicas {
                for &users in users {
                    let name = [workers_of(server_workers), replicas_of(replicas), users_of(users)];
                    contenders.push(Contender {
                        name: std::iter::once(target.clone())
                            .chain(name.into_iter().flatten())
                            .collect(),
                        target: target.clone(),
                        log_name: None,
                        index,
                        server_workers,
                        replicas,
                        limits: Limits::default(),
                        users,
                    });
                }
            }
        }
    }
    contenders
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(server_workers: &[u32], replicas: &[u32], users: &[u32]) -> Numbers {
        Numbers {
            server_workers: server_workers.to_vec(),
            replicas: replicas.to_vec(),
            users: users.to_vec(),
        }
    }

    fn names(server_workers: &[u32], users: &[u32]) -> Vec<String> {
        let targets = ["sanic".to_owned(), "flask".to_owned()];
        let numbers = numbers(server_workers, &[], users);
        product(&targets, &numbers).into_iter().map(|c| c.name).collect()
    }

    #[test]
    fn names_contain_only_the_varied_conditions() {
        assert_eq!(names(&[2], &[500]), ["sanic", "flask"]);
        assert_eq!(names(&[1, 2], &[5]), ["sanic ×1", "sanic ×2", "flask ×1", "flask ×2"]);
        assert_eq!(names(&[2], &[5, 1_000])[..2], ["sanic, 5 users", "sanic, 1,000 users"]);
        assert_eq!(names(&[1, 2], &[5, 9]).len(), 8);
        assert_eq!(names(&[1, 2], &[5, 9])[3], "sanic ×2, 9 users");
    }

    #[test]
    fn replicas_are_named_if_their_number_varies() {
        let sanic = ["sanic".to_owned()];
        let one = product(&sanic, &numbers(&[], &[4], &[5]));
        assert_eq!((one[0].name.as_str(), one[0].replicas), ("sanic", Some(4)));
        let all = product(&sanic, &numbers(&[1, 2], &[1, 4], &[5]));
        let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
        let expected = [
            "sanic ×1, 1 replica",
            "sanic ×1, 4 replicas",
            "sanic ×2, 1 replica",
            "sanic ×2, 4 replicas",
        ];
        assert_eq!(names, expected);
        assert_eq!(all[1].log(3, true), "sanic-1w-4r-5u-3.log");
    }

    #[test]
    fn each_contender_has_a_separate_log() {
        let one = &product(&[format!("sanic{AGAIN}")], &numbers(&[1], &[], &[5]))[0];
        assert_eq!(one.log(3, false), "sanic-again-3.log");
        assert_eq!(one.log(3, true), "sanic-again-1w-5u-3.log");
        let one = &product(&["shop@feature/x".to_owned()], &numbers(&[1], &[], &[5]))[0];
        assert_eq!(one.log(3, false), "shop@feature%2Fx-3.log");
    }
}
