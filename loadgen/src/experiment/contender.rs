//! Lists what each round measures: every target, with each number of server
//! workers, under each number of users.

use crate::scenario::Limits;
use crate::text::count;

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
    /// Number of worker processes of the target.
    pub server_workers: u32,
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
        match several {
            true => format!("{target}-{}w-{}u-{round}.log", self.server_workers, self.users),
            false => format!("{target}-{round}.log"),
        }
    }
}

/// Returns all combinations of targets, numbers of server workers and
/// numbers of users, ordered by target.
pub fn product(targets: &[String], server_workers: &[u32], users: &[u32]) -> Vec<Contender> {
    let workers_of = |n: u32| (server_workers.len() > 1).then(|| format!(" ×{n}"));
    let users_of = |n: u32| (users.len() > 1).then(|| format!(", {} users", count(n.into())));
    let mut contenders = Vec::new();
    for (index, target) in targets.iter().enumerate() {
        for &server_workers in server_workers {
            for &users in users {
                let name = [workers_of(server_workers), users_of(users)].into_iter().flatten();
                contenders.push(Contender {
                    name: std::iter::once(target.clone()).chain(name).collect(),
                    target: target.clone(),
                    log_name: None,
                    index,
                    server_workers,
                    limits: Limits::default(),
                    users,
                });
            }
        }
    }
    contenders
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(server_workers: &[u32], users: &[u32]) -> Vec<String> {
        let targets = ["sanic".to_owned(), "flask".to_owned()];
        product(&targets, server_workers, users).into_iter().map(|c| c.name).collect()
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
    fn each_contender_has_a_separate_log() {
        let one = &product(&[format!("sanic{AGAIN}")], &[1], &[5])[0];
        assert_eq!(one.log(3, false), "sanic-again-3.log");
        assert_eq!(one.log(3, true), "sanic-again-1w-5u-3.log");
    }
}
