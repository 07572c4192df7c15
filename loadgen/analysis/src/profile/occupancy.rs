//! Tells what the processes and threads of a target did: which share of the time they held the interpreter's lock, what
//! they waited for, and whether the threads of a pool were all busy.

use std::collections::BTreeMap;

use loadgen_measure::{Process, Stacks};

use super::parts;
use crate::record::{OccupancyRecord, PoolRecord, WaitRecord};

/// Least share of the samples of the busiest process with which another one works, too. Parents that only watch their
/// workers do not.
const LEAST_WORK: f64 = 0.5;

/// Least number of threads with which a wait is listed.
const LEAST_WAITING: f64 = 0.01;

/// Least number of threads with which a pool is listed.
const LEAST_POOL: f64 = 0.5;

/// Function with which each thread begins that the program starts: the main thread does not.
const THREAD: &str = "_bootstrap (threading.py)";

/// Functions that each thread of a pool runs: the function without its class, and the end of its file.
const POOLS: [(&str, &str); 4] = [
    ("_worker", "concurrent/futures/thread.py"),
    ("run", "anyio/_backends/_asyncio.py"),
    ("handler_thread", "waitress/task.py"),
    ("run", "cheroot/workers/threadpool.py"),
];

/// Files of the functions in which a thread of a pool waits for work.
const QUEUES: [&str; 2] = ["queue.py", "threading.py"];

/// Returns what the processes that worked and their threads did, from the stacks of each profiling round.
pub(super) fn occupancy(rounds: &[&Stacks]) -> OccupancyRecord {
    let mut seen = Seen::default();
    let (mut processes, mut gil_held, mut with_gil) = (0.0, 0.0, 0.0);
    for (process, part) in rounds.iter().flat_map(|round| working(round)) {
        let part = part / rounds.len() as f64;
        processes += part;
        if let Some(held) = process.gil_held {
            with_gil += part;
            gil_held += part * held as f64 / process.moments as f64;
        }
        seen.add(process, part);
    }
    OccupancyRecord {
        processes,
        gil_held_percent: (with_gil > 0.0).then(|| 100.0 * gil_held / with_gil),
        threads_on_cpu: seen.on_cpu,
        threads_for_cpu: seen.for_cpu,
        threads_for_gil: seen.for_gil,
        pools: seen.pools(),
        waits: waits(&seen.waits),
    }
}

/// Returns the processes that worked, each with the part of the round for which it was there. Those with the interpreter's
/// lock and those without it have different samplers, with different numbers of moments.
fn working(round: &Stacks) -> impl Iterator<Item = (&Process, f64)> {
    let busy = |process: &Process| process.on_cpu() as f64 / process.moments.max(1) as f64;
    let busiest = round.processes.iter().map(busy).fold(0.0, f64::max);
    let was_there = |process: &Process| process.moments + process.missed;
    let most = move |process: &Process| {
        let alike = |other: &&Process| other.gil_held.is_some() == process.gil_held.is_some();
        round.processes.iter().filter(alike).map(was_there).max().unwrap_or(0)
    };
    round.processes.iter().filter_map(move |process| {
        let works =
            process.moments > 0 && busy(process) > 0.0 && busy(process) >= LEAST_WORK * busiest;
        works.then(|| (process, was_there(process) as f64 / most(process) as f64))
    })
}

/// Numbers of threads at a moment.
#[derive(Debug, Default)]
struct Seen<'a> {
    on_cpu: f64,
    for_cpu: f64,
    for_gil: f64,
    /// Those that waited for something else, by the innermost function.
    waits: BTreeMap<&'a str, f64>,
    /// Those of pools, by the function that all threads of the pool run.
    pools: BTreeMap<&'a str, Pool<'a>>,
}

#[derive(Debug, Default)]
struct Pool<'a> {
    idle: f64,
    running: f64,
    /// Threads that waited at their work, by the innermost function.
    waits: BTreeMap<&'a str, f64>,
}

impl<'a> Seen<'a> {
    /// Adds the threads of a process that was there for this part of the time.
    fn add(&mut self, process: &'a Process, part: f64) {
        for (stack, threads) in &process.threads {
            let on_cpu = part * threads.on_cpu as f64 / process.moments as f64;
            let [for_cpu, for_gil, waiting] = [threads.for_cpu, threads.for_gil, threads.waiting]
                .map(|threads| part * threads as f64 / process.whole_moments.max(1) as f64);
            let innermost = stack.rsplit(';').next().unwrap_or_default();
            self.on_cpu += on_cpu;
            self.for_cpu += for_cpu;
            self.for_gil += for_gil;
            if waiting > 0.0 {
                *self.waits.entry(innermost).or_default() += waiting;
            }
            if let Some((of_pool, has_work)) = in_pool(stack) {
                let pool = self.pools.entry(of_pool).or_default();
                pool.running += on_cpu + for_cpu + for_gil;
                match has_work {
                    true => *pool.waits.entry(innermost).or_default() += waiting,
                    false => pool.idle += waiting,
                }
            }
        }
    }

    fn pools(&self) -> Vec<PoolRecord> {
        let record = |(label, pool): (&&str, &Pool<'_>)| {
            let waits = waits(&pool.waits);
            let (_, file) = parts(label);
            PoolRecord {
                file: file.to_owned(),
                threads: pool.idle + pool.running + pool.waits.values().sum::<f64>(),
                idle: pool.idle,
                running: pool.running,
                waits_most_in: waits.into_iter().next(),
            }
        };
        let pools = self.pools.iter().map(record);
        let mut pools: Vec<PoolRecord> = pools.filter(|pool| pool.threads >= LEAST_POOL).collect();
        pools.sort_by(|one, other| other.threads.total_cmp(&one.threads));
        pools
    }
}

/// Returns the function that all threads of this thread's pool run, and whether the thread has work; `None` for a thread
/// of no pool that is known.
fn in_pool(stack: &str) -> Option<(&str, bool)> {
    let mut frames = stack.split(';');
    if !frames.any(|label| label.ends_with(THREAD)) {
        return None;
    }
    let of_pool = frames.find(|label| {
        let (function, file) = parts(label);
        let name = function.rsplit('.').next().unwrap_or(function);
        POOLS.iter().any(|(of, at)| *of == name && file.ends_with(at))
    })?;
    Some((of_pool, frames.any(|label| !QUEUES.contains(&parts(label).1))))
}

/// Returns the functions in which threads waited, by number of threads, descending.
fn waits(of: &BTreeMap<&str, f64>) -> Vec<WaitRecord> {
    let record = |(label, threads): (&&str, &f64)| {
        let (function, file) = parts(label);
        WaitRecord { function: function.to_owned(), file: file.to_owned(), threads: *threads }
    };
    let mut waits: Vec<WaitRecord> =
        of.iter().map(record).filter(|wait| wait.threads >= LEAST_WAITING).collect();
    waits.sort_by(|one, other| other.threads.total_cmp(&one.threads));
    waits
}

#[cfg(test)]
mod tests {
    use loadgen_measure::Doing;

    use super::*;

    const MAIN: &str = "main (app.py);select (selectors.py)";
    const WORKER: &str = "Thread._bootstrap (threading.py);_worker (concurrent/futures/thread.py)";

    fn process(gil_held: Option<u64>, threads: &[(&str, Doing, u64)]) -> Process {
        let mut process =
            Process { moments: 100, whole_moments: 100, gil_held, ..Process::default() };
        for (stack, doing, number) in threads {
            process.add((*stack).to_owned(), *doing, *number);
        }
        process
    }

    /// Returns a round of 100 moments: a parent that sleeps, and two workers whose pools have ten threads together.
    fn round() -> Stacks {
        let at_work =
            |of: &str| format!("{WORKER};_WorkItem.run (concurrent/futures/thread.py);{of}");
        let [handle, recv, wait] =
            ["handle (app.py)", "recv (redis/connection.py)", "wait (threading.py)"].map(at_work);
        let parent = [("main (parent.py);sleep (parent.py)", Doing::Waiting, 100)];
        let one = [
            (MAIN, Doing::Waiting, 200),
            (WORKER, Doing::Waiting, 50),
            (handle.as_str(), Doing::OnCpu, 60),
            (handle.as_str(), Doing::ForGil, 150),
            (recv.as_str(), Doing::Waiting, 600),
        ];
        let other = [
            (MAIN, Doing::Waiting, 100),
            (handle.as_str(), Doing::OnCpu, 40),
            (handle.as_str(), Doing::ForCpu, 20),
            (wait.as_str(), Doing::Waiting, 100),
        ];
        let processes =
            vec![process(Some(0), &parent), process(Some(90), &one), process(Some(70), &other)];
        Stacks { processes }
    }

    #[test]
    fn processes_that_only_watch_do_not_work() {
        let of = occupancy(&[&round(), &round()]);
        assert_eq!((of.processes, of.gil_held_percent), (2.0, Some(80.0)));
        let threads = [of.threads_on_cpu, of.threads_for_cpu, of.threads_for_gil];
        assert_eq!(threads, [1.0, 0.2, 1.5]);
    }

    #[test]
    fn processes_that_follow_each_other_count_as_one() {
        let part = |moments| {
            let busy = process(Some(moments / 2), &[("serve (app.py)", Doing::OnCpu, moments)]);
            Process { moments, whole_moments: moments, ..busy }
        };
        let parent = process(Some(0), &[("sleep (parent.py)", Doing::Waiting, 100)]);
        let of = occupancy(&[&Stacks { processes: vec![parent, part(60), part(40)] }]);
        assert!(
            (of.processes - 1.0).abs() < 1e-9 && (of.threads_on_cpu - 1.0).abs() < 1e-9,
            "{of:?}"
        );
        assert_eq!(of.gil_held_percent, Some(50.0));
    }

    #[test]
    fn threads_of_a_pool_are_idle_or_at_work() {
        let of = occupancy(&[&round()]);
        let [pool] = of.pools.as_slice() else { panic!("{of:?}") };
        assert_eq!(pool.file, "concurrent/futures/thread.py");
        assert!((pool.threads - 10.2).abs() < 1e-9, "{pool:?}");
        assert_eq!((pool.idle, pool.running), (0.5, 2.7));
        let most = pool.waits_most_in.as_ref().unwrap();
        assert_eq!((most.file.as_str(), most.threads), ("redis/connection.py", 6.0));
        let waits = of.waits.iter().map(|wait| (wait.function.as_str(), wait.threads));
        let expected = [("recv", 6.0), ("select", 3.0), ("wait", 1.0), ("_worker", 0.5)];
        assert!(waits.eq(expected), "{of:?}");
    }

    #[test]
    fn a_pool_that_waits_in_its_queue_is_idle() {
        let anyio =
            "Thread._bootstrap (threading.py);WorkerThread.run (anyio/_backends/_asyncio.py)";
        let has_work =
            |more: &str| in_pool(&format!("{anyio}{more}")).map(|(_, has_work)| has_work);
        assert_eq!(has_work(";Queue.get (queue.py);Condition.wait (threading.py)"), Some(false));
        assert_eq!(has_work(";Context.run (app.py);Condition.wait (threading.py)"), Some(true));
        assert_eq!(in_pool("Thread._bootstrap (threading.py);run (app.py)"), None);
        let main =
            "main (app.py);AsyncIOBackend.run (anyio/_backends/_asyncio.py);select (selectors.py)";
        assert_eq!(in_pool(main), None, "an event loop in the main thread is no pool");
    }

    #[test]
    fn a_program_without_the_lock_holds_none() {
        let node = Stacks::from(process(None, &[("serve (app.js)", Doing::OnCpu, 60)]));
        let of = occupancy(&[&node]);
        assert_eq!((of.processes, of.gil_held_percent, of.threads_on_cpu), (1.0, None, 0.6));
        let unknown = Process { moments: 0, ..node.processes[0].clone() };
        assert_eq!(occupancy(&[&unknown.into()]).processes, 0.0);
        assert_eq!(occupancy(&[]), OccupancyRecord::default());
    }
}
