//! Says what the processes and threads of a target did while it was profiled.

use super::profile::{Profiles, label, made};
use crate::record::{OccupancyRecord, PoolRecord, ProfileRecord, WaitRecord};
use crate::text::tenths;

/// Most packages that a sentence names.
const MOST_PACKAGES: usize = 4;

/// Most threads of a pool that may wait for work, as a share of it, while all are said to have work.
const NONE_IDLE: f64 = 0.02;

/// Returns a sentence for each target that was profiled.
pub(crate) fn occupancies(profiles: &Profiles<'_>) -> Vec<String> {
    let said = made(profiles).map(|(target, profile)| (target, parts(profile).join("; ")));
    said.filter(|(_, said)| !said.is_empty())
        .map(|(target, said)| format!("{target}: {said}"))
        .collect()
}

fn parts(profile: &ProfileRecord) -> Vec<String> {
    let of = &profile.occupancy;
    let mut parts: Vec<String> = works(of).into_iter().collect();
    match of.pools.as_slice() {
        [] => parts.extend(waits(of)),
        pools => parts.extend(pools.iter().map(pool)),
    }
    parts.extend(packages(profile));
    parts
}

/// Says how many processes work, and how much of the time; `None` if that is not known.
fn works(of: &OccupancyRecord) -> Option<String> {
    let processes = match tenths(of.processes).as_str() {
        "0" => return None,
        "1" => "one process works".to_owned(),
        several => format!("{several} processes work"),
    };
    let Some(held) = of.gil_held_percent else {
        let busy = 100.0 * of.threads_on_cpu / of.processes;
        let each = if of.processes > 1.05 { " each" } else { "" };
        return Some(format!("{processes}, busy {busy:.0} % of the time{each}"));
    };
    let each = if of.processes > 1.05 { " of each" } else { "" };
    let mut said = format!("{processes}, and the GIL{each} is held {held:.0} % of the time");
    let waiting = [(of.threads_for_gil, "it"), (of.threads_for_cpu, "a CPU")];
    let waiting = waiting.map(|(threads, what)| (tenths(threads), what));
    let waiting = waiting.iter().filter(|(threads, _)| threads != "0");
    let waiting: Vec<String> =
        waiting.map(|(threads, what)| format!("{} for {what}", wait(threads))).collect();
    if !waiting.is_empty() {
        said += &format!(", {}", waiting.join(", and "));
    }
    Some(said)
}

fn wait(threads: &str) -> String {
    if threads == "1" { "1 thread waits".to_owned() } else { format!("{threads} threads wait") }
}

/// Says in which function most threads wait; `None` if hardly any do, or if the profiler does not know where.
fn waits(of: &OccupancyRecord) -> Option<String> {
    let most = of.waits.first().filter(|most| !most.file.is_empty() && most.threads >= 0.1)?;
    Some(format!("{} in {}", wait(&tenths(most.threads)), place(most)))
}

/// Says what the threads of a pool do.
fn pool(of: &PoolRecord) -> String {
    let PoolRecord { file, threads, idle, running, waits_most_in } = of;
    let busy = threads - idle;
    let have_work = match *idle <= NONE_IDLE * threads {
        true => format!("all {} threads of the pool ({file}) have work", tenths(*threads)),
        false => {
            format!(
                "{} of {} threads of the pool ({file}) have work",
                tenths(busy),
                tenths(*threads)
            )
        }
    };
    match (tenths(busy - running).as_str(), waits_most_in) {
        ("0", _) | (_, None) => have_work,
        (waits, Some(most)) => {
            format!("{have_work}, of which {waits} wait, most in {}", place(most))
        }
    }
}

fn place(wait: &WaitRecord) -> String {
    label(&wait.function, &wait.file, usize::MAX)
}

/// Says to which packages the CPU time goes.
fn packages(profile: &ProfileRecord) -> Option<String> {
    let share = |us: f64| 100.0 * us / profile.cpu_us_per_request.max(f64::MIN_POSITIVE);
    let named = profile.packages.iter().filter(|of| !of.package.is_empty()).take(MOST_PACKAGES);
    let named: Vec<String> = named
        .map(|of| format!("{:.0} % in {}", share(of.own.us_per_request), of.package))
        .collect();
    (!named.is_empty()).then(|| format!("its CPU time goes {}", named.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{CostRecord, PackageRecord};

    fn waits_in(function: &str, file: &str, threads: f64) -> WaitRecord {
        WaitRecord { function: function.to_owned(), file: file.to_owned(), threads }
    }

    #[test]
    fn one_loop_and_its_packages() {
        let package = |name: &str, us| PackageRecord {
            package: name.to_owned(),
            own: CostRecord { us_per_request: us, confidence_95: None },
        };
        let profile = ProfileRecord {
            cpu_us_per_request: 500.0,
            packages: vec![package("json", 310.0), package("", 100.0), package("starlette", 50.0)],
            occupancy: OccupancyRecord {
                processes: 1.0,
                gil_held_percent: Some(96.6),
                threads_on_cpu: 0.97,
                waits: vec![waits_in("select", "selectors.py", 0.03)],
                ..OccupancyRecord::default()
            },
            ..ProfileRecord::default()
        };
        assert_eq!(
            parts(&profile).join("; "),
            "one process works, and the GIL is held 97 % of the time; its CPU time goes 62 % in json, 10 % in starlette"
        );
    }

    #[test]
    fn the_threads_of_a_pool() {
        let mut of = PoolRecord {
            file: "concurrent/futures/thread.py".to_owned(),
            threads: 10.0,
            idle: 0.1,
            running: 0.5,
            waits_most_in: Some(waits_in("recv", "redis/connection.py", 9.0)),
        };
        assert_eq!(
            pool(&of),
            "all 10 threads of the pool (concurrent/futures/thread.py) have work, of which 9.4 wait, \
             most in recv (redis/connection.py)"
        );
        (of.idle, of.waits_most_in) = (9.2, None);
        assert_eq!(
            pool(&of),
            "0.8 of 10 threads of the pool (concurrent/futures/thread.py) have work"
        );
    }

    #[test]
    fn several_processes_and_those_without_the_lock() {
        let mut of = OccupancyRecord {
            processes: 4.0,
            gil_held_percent: Some(70.2),
            threads_on_cpu: 1.256,
            threads_for_cpu: 0.3,
            threads_for_gil: 1.52,
            ..OccupancyRecord::default()
        };
        assert_eq!(
            works(&of).unwrap(),
            "4 processes work, and the GIL of each is held 70 % of the time, 1.5 threads wait for it, \
             and 0.3 threads wait for a CPU"
        );
        of.gil_held_percent = None;
        assert_eq!(works(&of).unwrap(), "4 processes work, busy 31 % of the time each");
        of.processes = 0.0;
        assert_eq!(works(&of), None);
    }
}
