//! Lists the kinds of verdicts. Most of this file is the text of `docs/reference/verdicts.md`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Kind of a verdict. The code of a kind, in documents and in reports, is the kind's name in snake
/// case.
///
/// `make reference` writes `docs/reference/verdicts.md` from the documentation of the kinds: the first
/// paragraph into the table, and the rest as a section, so that links are relative to that page. The order
/// is that of the page. `group` begins a group of sections, which the page has under a heading of its own.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    JsonSchema,
    strum::AsRefStr,
    strum::EnumMessage,
    strum::EnumProperty,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum VerdictKind {
    /// No request got the expected response.
    ///
    /// No request of the target got the expected response, or a round that ran to its end sent no request. The
    /// run has failed.
    ///
    /// - **Evidence:** Every request that ended has failed: `requests` equals `errors` in `total`. Requests that
    ///   the end of the round cut off, and unsent requests, count as planned.
    /// - **Remedy:** See the log of the server. If no request was sent, see whether the
    ///   [conditions](scenario-file.md#conditions-and-repetitions) of the steps can hold, and whether the
    ///   rate has a request within the duration.
    #[strum(props(group = "Requests and responses"))]
    NothingAnswered,
    /// A target or a backend ended during a round.
    ///
    /// A program that loadgen started ended during a round, although loadgen did not stop it. The run
    /// ends with the round, and the round is in no comparison. The message has the number of the round and
    /// the way in which the program ended.
    ///
    /// - **Evidence:** loadgen saw that the process, or the container, of the target or of a backend had
    ///   ended. loadgen checks all of them every 250 ms, and at the end of the round.
    /// - **Remedy:** See the log of the program that ended.
    TargetEnded,
    /// Some requests failed.
    ///
    /// Some requests of the hold failed. Failed requests are in no rate and in no latency of expected
    /// responses. The message has the share of failed requests, their number by
    /// [kind](result-document.md#kinds-of-errors), and an example of each kind.
    ///
    /// - **Evidence:** `errors` in `total` is above 0.
    /// - **Remedy:** Fix the errors before you compare targets. If a status is right, such as a 404 for a product
    ///   that does not exist, name it: `expect.status = [200, 404]` of the step, in a scenario. `--save` writes
    ///   the scenario of a URL.
    Errors,
    /// From some moment on, many requests failed.
    ///
    /// The requests of a round succeeded until a moment, and many failed from this moment on. The message
    /// has the second, counted from the end of the warm-up, and about how many users had started by then.
    ///
    /// - **Evidence:** In a round that ran to its planned end with all of its load, and that neither loadgen,
    ///   the network nor the load balancer limited, at least three seconds after the warm-up: at most 1 % of
    ///   the requests failed before the second, and at least 5 % of the requests in the second, in half of
    ///   the seconds from it on, and of all requests from it on. These are the requests of three seconds or
    ///   more. A target whose requests fail from the start has no such second.
    /// - **Remedy:** Reduce the load, or [search the capacity](../how-to/find-a-capacity.md) of the target.
    Collapsed,
    /// The target stopped responding during a round.
    ///
    /// From some moment on, the target responded to no request. The run has failed, even if all thresholds
    /// hold.
    ///
    /// - **Evidence:** In a round that ran to its planned end with all of its load, all of these conditions
    ///   hold:
    ///
    ///     - At least one request was in flight at the end of the round.
    ///     - None of the requests in flight got a response before its timeout or the end of the
    ///       [drain](../explanation/counting.md#requests-in-flight-at-the-end).
    ///     - The silence lasted for at least the last whole second of the round: no request ended in the
    ///       silence, although some requests ended before.
    ///     - The whole seconds of the silence plus the drain are longer than twice the longest request of
    ///       the round. After a shorter silence, the target may just be slow.
    ///
    /// - **Remedy:** See the log of the server. If the server takes that long to respond, use a longer
    ///   `--drain`.
    WentSilent,
    /// Some requests had no response after the drain.
    ///
    /// Some requests in flight at the end of a round got no response. Whether these requests would have
    /// failed is unknown, so they are in no rate, latency or error rate. A threshold with an upper bound
    /// passes only if it would pass even in the
    /// [worst case](../explanation/counting.md#thresholds-in-the-worst-case) of these requests.
    ///
    /// - **Evidence:** In the rounds that ran to their planned end with all of their load, at least one
    ///   request had no response before its timeout or the end of the drain, and `went_silent` does not
    ///   apply.
    /// - **Remedy:** See the log of the server, or wait longer with `--drain`.
    Unanswered,
    /// Many requests were sent again, because the server did not process them.
    ///
    /// The server closed connections while requests were on their way, and loadgen [sent these requests
    /// again](../explanation/counting.md#requests-that-are-sent-again). Each is one request, whose latency includes the
    /// first attempt and the new connection.
    ///
    /// - **Evidence:** `resent` of the target's `total` is at least one in a thousand of the requests, so
    ///   that p99.9 includes them.
    /// - **Remedy:** Let the server keep connections for longer, or for more requests (`keepalive_requests`
    ///   of nginx), or see in its log why it closes them. Clients of the server see the same. With
    ///   `resend = false` in [`[http]`](scenario-file.md#http), such requests count as failed.
    Resent,
    /// Final requests of users failed.
    ///
    /// Requests of [stop steps](scenario-file.md#start-and-stop-steps), which users send when they stop,
    /// failed or were cut off. These requests come after the hold and are in no rate. No other verdict
    /// covers them. The message has the number of failures by step, with an example.
    ///
    /// - **Evidence:** `errors` plus `cancelled` is above 0 in a step with `when = "stop"`.
    /// - **Remedy:** See the log of the server. The cleanup that these requests do may be incomplete.
    StopFailed,
    /// Users stopped because a file had too few rows.
    ///
    /// A file of rows with `use = "once"` had no row left for a user, so users stopped. The hold ends at
    /// that moment, and the round is in no comparison.
    ///
    /// - **Evidence:** `rows_ran_out` of a round is not empty.
    /// - **Remedy:** Add rows to the file, reduce the load, or set `use = "cycle"`: see
    ///   [`[rows.NAME]`](scenario-file.md#rowsname).
    RowsRanOut,
    /// One target sent responses of different sizes to one request.
    ///
    /// A target sent bodies of different sizes in response to a request that is always the same. A shorter
    /// response may mean that the server did less work.
    ///
    /// - **Evidence:** The request of a step has no generated parts. The largest body of its expected
    ///   responses has at least 64 bytes more than the smallest body, and at least 1.1 times its size.
    ///   Smaller differences are the digits of a number, or blanks.
    /// - **Remedy:** Check both responses, and set `expect` of the step to the right one.
    AnswersVary,
    /// Targets sent responses of different sizes to one request.
    ///
    /// Targets sent bodies of different sizes in response to the same step. They may not do the same work.
    ///
    /// - **Evidence:** In one step, the smallest body of one target has at least 64 bytes more than the
    ///   largest body of another target, and at least 1.1 times its size. Sizes that vary within both
    ///   targets and overlap are no difference.
    /// - **Remedy:** Check the responses before you compare the targets.
    AnswersDiffer,
    /// A backend does not hold the expected data.
    ///
    /// After a round, a backend did not hold the data that a [proof](scenario-file.md#proof) of the
    /// scenario requires. The message has the expected number, the number that the backend returned, and
    /// the query.
    ///
    /// - **Evidence:** The number that the backend returned differs from the value of the proof, or from
    ///   the sum of the counter over all expected responses, counted and uncounted.
    /// - **Remedy:** Do not trust the rate of the server. If requests of the round failed or were cut off,
    ///   the server may have carried out these requests. See [Proofs](../explanation/proofs.md).
    ProofFailed,
    /// loadgen limited the rate.
    ///
    /// loadgen itself was the bottleneck. The rate is not the server's. The target is shown, but not
    /// ranked, and compared with no other target. The message has the number of rounds in which the
    /// generator was the bottleneck, and the time for which generator and target ran or waited for a CPU.
    ///
    /// - **Evidence:** The generator was the most frequent bottleneck of the target's rounds. In the [order
    ///   of the checks](../explanation/bottlenecks.md#order-of-the-checks), the generator is the bottleneck
    ///   of a round if the target was not at its limit, and one of these conditions holds:
    ///
    ///     - The threads of the generator ran or waited for a CPU for at least 90 % of the time of all of
    ///       the generator's CPUs, and these CPUs were busy for at least 90 % of the time.
    ///     - The rate was at least 90 % of the [rate that the generator can
    ///       send](../explanation/bottlenecks.md#maximum-rate-of-the-generator).
    ///     - Workers on other hosts with half of the users or more were at the
    ///       [limit of their CPUs](../explanation/bottlenecks.md#workers-on-other-hosts).
    ///
    /// - **Remedy:** Look for other programs on loadgen's CPUs. Give loadgen more CPUs or hosts, or use
    ///   fewer users.
    #[strum(props(group = "Bottlenecks"))]
    GeneratorBound,
    /// A backend limited the rate.
    ///
    /// A backend was the bottleneck. The rate is not the server's. The target is shown, but not ranked, and
    /// compared with no other target. The message has the number of rounds in which the backend was the
    /// bottleneck, and the time for which backend and target ran or waited for a CPU.
    ///
    /// - **Evidence:** The backend was the most frequent bottleneck of the target's rounds. A backend is
    ///   the bottleneck of a round if neither target, generator nor network was at its limit, and the
    ///   backend was at its limit or starved: see [Method](../explanation/bottlenecks.md#method).
    /// - **Remedy:** Give the backend less work or more CPU, so that the servers are the limit.
    BackendBound,
    /// The network limited the rate.
    ///
    /// The network was the bottleneck. The rate is not the server's. The target is shown, but not ranked,
    /// and compared with no other target. The message has the number of rounds in which the network was the
    /// bottleneck, and the fullest link in these rounds.
    ///
    /// - **Evidence:** The network was the most frequent bottleneck of the target's rounds. The network is
    ///   the bottleneck of a round if neither target nor generator was at its limit, and a link of this
    ///   machine was at least 90 % full in its fuller direction. Only interfaces with a known speed count,
    ///   and loopback has none.
    /// - **Remedy:** Request smaller responses, or use a faster link or more hosts.
    NetworkBound,
    /// loadgen was short of CPU.
    ///
    /// The generator was short of CPU, although loadgen did not find the generator to be the bottleneck.
    /// The rate is a lower bound. [`loadgen compare`](../explanation/comparisons.md#saved-runs) compares
    /// such a rate only if the target was the bottleneck.
    ///
    /// - **Evidence:** No other party than the target was the bottleneck, and the generator used at least
    ///   90 % of its CPUs over all rounds. Where no CPUs are reserved for the generator, all cores of the
    ///   machine count. Where the backends share the CPUs of the generator, as on a machine with two CPUs,
    ///   the CPU time of the backends is included.
    /// - **Remedy:** Treat the rate as a lower bound. Give the generator more cores or hosts.
    GeneratorBusy,
    /// loadgen was stopped for a part of a round.
    ///
    /// A process of loadgen stood still: a signal stopped it (Ctrl-Z, a debugger), its machine was suspended
    /// or moved, or it got no CPU. It did next to nothing meanwhile, so latencies and rates are not the
    /// server's. `stall_hidden` is not reported then.
    ///
    /// - **Evidence:** Every 20 ms, a timer of each process looks how late it is. It was at least 250 ms late
    ///   within the hold, and the process had computed for less than a tenth of that time, besides 20 ms on
    ///   each CPU; or the machine was suspended for at least 250 ms. Shorter stops, such as those of a CPU
    ///   quota, are not seen. `held_up` of a round has the times. A round in which they are 1 % of the hold
    ///   or more is in no comparison: the rate lacks that much, and in the open model one request in a
    ///   hundred was late, which is p99.
    /// - **Remedy:** Measure again, and let loadgen run. Give it CPUs of its own if others take them.
    HeldUp,
    /// Users spent over 20 % of the time not waiting for responses.
    ///
    /// By Little's law, users spent over 20 % of the time between two requests, instead of waiting for a
    /// response. The time between two requests is loadgen's, and limits the rate. For example, this verdict
    /// appears with one user and a server that responds within microseconds.
    ///
    /// - **Evidence:** In the closed model without think time and stages, in rounds limited by time, not by
    ///   iterations: the mean number of requests in flight over the rounds that ran to their planned end
    ///   with all of their load is below 80 % of the users. Each of these rounds is at least 20 mean
    ///   latencies long. A request that never got a response, or failed after the end, counts as in flight
    ///   for the whole round. See [Little's law](../explanation/bottlenecks.md#littles-law).
    /// - **Remedy:** Use more users, so that some users always wait.
    LittlesLaw,
    /// More users got no more responses, and waited longer.
    ///
    /// A greater number of users got no more responses than a smaller number, and waited longer, although
    /// no CPU and no link was at its limit. Something inside the server limits the requests that the server
    /// works on at a time. The message has both numbers of users with their responses per second. If the
    /// median latency under the fewest users is at most 0.7 times the median latency under the smaller of
    /// both numbers, the message also has an upper bound of the requests that the server worked on at a
    /// time.
    ///
    /// - **Evidence:** In the closed model without think time and stages, a target with the same number of
    ///   server workers was measured under several numbers of users. loadgen uses only the numbers of users
    ///   under which `littles_law` does not apply, no party was at its limit, and no request failed or
    ///   stayed without a response. The greatest number of all is among these numbers. loadgen compares
    ///   the greatest number with a smaller number, the greatest that is at most 1/1.3 of the greatest
    ///   number. Both of these conditions hold:
    ///
    ///     - The expected responses per second under both numbers differ by at most 5 %.
    ///     - The median latency was longer under the greatest number.
    ///
    ///     See [Users that queue](../explanation/bottlenecks.md#users-that-queue).
    ///
    /// - **Remedy:** Look for a limit inside the server: threads, connections of a pool, a lock, or a limit
    ///   on the rate.
    UsersQueue,
    /// loadgen read streams late.
    ///
    /// loadgen read streams later than their events arrived. Times to the first event and gaps include loadgen's
    /// own delays, and a server that sends evenly looks uneven.
    ///
    /// - **Evidence:** In a scenario with [streams](scenario-file.md#streams), `reading_lag_us` of a round shows
    ///   how late loadgen noticed a timer that becomes ready as the connections do. One of these conditions
    ///   holds:
    ///
    ///     - The 99th percentile is at least 5 ms, in any round. In a round with too few samples, the next
    ///       lower percentile with enough samples counts.
    ///     - The longest delay is at least 5 ms, and at least half of the difference between the longest and
    ///       the median gap, and this difference is at least half of the median gap: a gap that stands out may
    ///       be loadgen's own.
    ///
    /// - **Remedy:** Look for other programs on loadgen's CPUs. Give loadgen more CPUs or more hosts, or use fewer
    ///   users.
    #[strum(props(group = "Machine and processes"))]
    SlowReader,
    /// Other programs used the CPUs of the test.
    ///
    /// Programs that do not belong to the test used its CPUs.
    ///
    /// - **Evidence:** `others_percent` of a round is at least 10 % of one core, and at least 3 % of a core
    ///   for each CPU of the test. The message has the greatest value, the busiest programs of that round,
    ///   and the number of such rounds. For a server at a URL of this machine, the CPUs of the test are all
    ///   that loadgen may use: see [Other programs](../explanation/bottlenecks.md#other-programs).
    /// - **Remedy:** Stop the other programs, or measure again after they end.
    Disturbed,
    /// Targets without load used the CPU, in slices.
    ///
    /// With `--slices`, all targets are up while one of them is loaded. The others used CPU time all the same, which
    /// is in the figures of the loaded target.
    ///
    /// - **Evidence:** `idle targets` in `resources` of the target used more than 1 % of a CPU in all rounds
    ///   together.
    /// - **Remedy:** Stop the work in the background of the targets, or measure without `--slices`, where each
    ///   target is up alone.
    IdleTargetsBusy,
    /// Another loadgen measured at the same time.
    ///
    /// Another loadgen measured on the same machine, so that the two took CPU time from each other.
    ///
    /// - **Evidence:** `other_loadgen` of a round is true. The message has the number of such rounds.
    /// - **Remedy:** Measure one after the other: without `--anyway`, the second run
    ///   [waits](command-line.md#several-runs-on-one-machine).
    MeasuredTogether,
    /// The hypervisor gave CPU time to other machines.
    ///
    /// The machine is virtual, and other machines on the same host used its CPU time.
    ///
    /// - **Evidence:** In a round, at least 2 % of all CPU time was stolen. The message has the greatest
    ///   value and the number of such rounds.
    /// - **Remedy:** Measure on dedicated CPUs, or measure more rounds.
    Stolen,
    /// A limit on CPU time was reached.
    ///
    /// A limit on CPU time stopped loadgen and the processes that it started, or a container. The latencies
    /// are those of a program that pauses.
    ///
    /// - **Evidence:** One of these conditions holds:
    ///
    ///     - A limit stopped the processes of loadgen's control group (version 2) for at least 1 % of the
    ///       time of a round.
    ///     - Over all rounds, the container of a target or a backend was throttled in at least 1 % of the
    ///       periods in which the container wanted a CPU.
    ///
    /// - **Remedy:** For loadgen's control group, raise the CPU limit of the container in which loadgen
    ///   runs. For containers that loadgen started, raise the limit with `--cpus` or `--backend-cpus`.
    Throttled,
    /// Targets had different limits.
    ///
    /// Targets ran in containers with different limits on CPU or memory. They are ranked all the same.
    ///
    /// - **Evidence:** The values of `--cpus` and `--memory` are not the same for all targets of the run.
    ///   Having no limit counts as a different value.
    /// - **Remedy:** Set the same `--cpus` and `--memory` for all targets before you compare them.
    UnlikeLimits,
    /// Memory was swapped.
    ///
    /// The machine moved memory to a disk, or back, which delays any program.
    ///
    /// - **Evidence:** In a round, at least 100 pages were swapped. The message has the greatest value and
    ///   the number of such rounds.
    /// - **Remedy:** Free memory, or measure with less in memory.
    Swapped,
    /// Parts of the test ran on hardware threads of the same cores.
    ///
    /// Parts of the test (target, backends, loadgen) were pinned to CPUs that are hardware threads of the same
    /// core (SMT, Hyper-Threading). While both are busy, each slows the other, so that a change of one part
    /// changes the figures of another.
    ///
    /// - **Evidence:** `environment.system.shared_cores` is not empty. The message has the parts and a pair of
    ///   CPUs.
    /// - **Remedy:** Switch SMT off, or start loadgen on one thread of each core, such as with `taskset`.
    SharedCores,
    /// The frequency of the CPUs could vary with the load.
    ///
    /// The governor may change the frequency of the CPUs with the load. A server that works less gets slower
    /// CPUs, and a round may begin before the frequency has risen.
    ///
    /// - **Evidence:** The CPUs of the test have a governor other than `performance`
    ///   (`environment.system.governor`), which may choose between different frequencies (`frequency_mhz`).
    /// - **Remedy:** Set the governor to `performance` (`cpupower frequency-set -g performance`).
    FrequencyVaries,
    /// The kernel's clock is slow to read.
    ///
    /// The kernel does not read the time from the CPU's own counter. Each reading may then take a system call, of
    /// up to some microseconds, in loadgen and in servers that read the time for each request.
    ///
    /// - **Evidence:** `environment.system.clock_source` is not `tsc`, `kvm-clock`, `arch_sys_counter` or
    ///   another clock that programs read without a system call.
    /// - **Remedy:** See why the kernel avoids the CPU's counter: `dmesg | grep -i clocksource`.
    SlowClock,
    /// The machine was busy before the run.
    ///
    /// Other programs kept the machine busy in the minute before the run, and nothing shows what they used during
    /// the run.
    ///
    /// - **Evidence:** `environment.system.load_average` is at least the number of CPUs that loadgen may use,
    ///   and `others_percent` is unknown in a round. Where it is known, [`disturbed`](#disturbed) reports other
    ///   programs by what they used.
    /// - **Remedy:** Stop other programs, and measure again.
    BusyBefore,
    /// A process was near its limit of open files.
    ///
    /// A process of a target, a backend or the generator had nearly as many files and sockets open as its
    /// limit allows. At the limit, a process accepts no more connections.
    ///
    /// - **Evidence:** The process had at least 95 % of its limit of files and sockets open.
    /// - **Remedy:** Raise the limit (`ulimit -n`), or use fewer users.
    OpenFiles,
    /// Some server workers did much less than others.
    ///
    /// Some server workers of a target did much less than others. A connection stays with the server worker
    /// that accepted it, so a few users may all belong to one server worker.
    ///
    /// - **Evidence:** With two server workers or more, in more than half of the rounds: the busiest server
    ///   worker used at least 10 % of a core, and the least busy server worker used less than half of that.
    ///   See [Server workers](../explanation/bottlenecks.md#server-workers).
    /// - **Remedy:** Use more users, or measure with fewer server workers.
    UnequalWorkers,
    /// Some replicas sent fewer responses than others.
    ///
    /// Some replicas of a target sent fewer responses than others, so the rate is not that of equal
    /// replicas. With round robin, the numbers of two replicas differ by one.
    ///
    /// - **Evidence:** In a round, the numbers of responses of two replicas differed by more than three and
    ///   by more than 1 %, by the count of the load balancer. The message has the worst round.
    /// - **Remedy:** See the logs of the replicas in the run folder.
    UnequalReplicas,
    /// The replicas sent more or fewer responses than loadgen received.
    ///
    /// The replicas of a target sent more or fewer responses than loadgen received.
    ///
    /// - **Evidence:** The sum of the replicas' responses, by the count of the load balancer, is less than the
    ///   number of responses that loadgen certainly received, or more than that number and those of failed
    ///   and cut-off requests together: `replicas` and `replicas_received` of the
    ///   [round](result-document.md#rounds).
    /// - **Remedy:** End other programs that use the load balancer.
    ReplicasMiscounted,
    /// Targets had more server workers than cores.
    ///
    /// Targets had more server workers than cores. More server workers than cores help only while server
    /// workers wait. The workers of all replicas count.
    ///
    /// - **Evidence:** The run has several numbers of server workers, and the greatest of these numbers is
    ///   above the number of the target's CPUs, or, where no CPUs are reserved, of the machine's cores.
    /// - **Remedy:** Use a machine with more cores, or fewer server workers.
    FewCores,
    /// PostgreSQL's data was in memory.
    ///
    /// PostgreSQL's data was in memory, where `fsync` costs nothing, so commits did not wait for a disk.
    ///
    /// - **Evidence:** The PostgreSQL that loadgen started kept its data on `tmpfs` or `ramfs`: `in_memory` of
    ///   `environment.postgres_data` is true. See [PostgreSQL's
    ///   data](../explanation/bottlenecks.md#postgresqls-data).
    /// - **Remedy:** Set `TMPDIR` to a folder on a disk, or give containers a volume on a disk.
    DataInMemory,
    /// No request of a worker succeeded, but those of others did.
    ///
    /// The server answered other workers, and none of a worker's requests was answered as the scenario expects: from the
    /// worker's host, the server may not be reachable, or it refuses that host. Or the users of that worker had longer
    /// requests than the others. The figures are those of less load than planned, or have failures that may not be the
    /// server's.
    ///
    /// - **Evidence:** Of a worker on another host with users, no request succeeded over all rounds (`requests` and `errors` of `workers`), and
    ///   of the other workers, at least ten did on average. No worker was lost.
    /// - **Remedy:** Try the server from that host, such as with `curl`: a name, a route or a firewall may keep it away.
    WorkerWithoutSuccess,
    /// A worker of loadgen did not keep up.
    ///
    /// Workers were short of CPU or delayed. Latencies from these workers include the workers' own delays,
    /// and these workers may have sent fewer requests.
    ///
    /// - **Evidence:** Over the seconds with load that counts, one of these conditions holds for a worker:
    ///
    ///     - The worker used at least 90 % of the CPUs that the worker may use.
    ///     - The worker is on another host, and ran or waited for a CPU for at least 90 % of the time of its CPUs, which
    ///       were busy for at least 90 % of the time.
    ///     - A limit of CPU stopped the worker in at least 1 % of the periods in which it had work.
    ///     - The worker's timer was late by 50 ms or more in at least three seconds, and in at least 10 %
    ///       of the seconds.
    ///
    ///     See [Slow workers](../explanation/distributed.md#slow-workers).
    ///
    /// - **Remedy:** Give slow workers fewer users, more CPUs or separate hosts, and pods no limit of CPU.
    SlowWorker,
    /// Parts of the test shared a busy node of a cluster.
    ///
    /// Two of these ran on one node whose CPUs were busy: pods of the target, a backend, workers of the load. They may have
    /// taken CPU from each other. The message has the nodes, how busy they were, and who was on them.
    ///
    /// - **Evidence:** In a round, a node of the target's pods (`target_pods`) or of a backend (`backend_pods`) is that of
    ///   another of them or of a worker (`host` of `workers`), and its CPUs were busy for at least 50 % of the time.
    /// - **Remedy:** Give load, servers and backends nodes of their own: `--node-selector`, `--target-node-selector` and
    ///   `--backend-node-selector` of [`loadgen k8s run`](command-line.md#loadgen-k8s). On a cluster of one node, compare
    ///   targets with each other only.
    SharedNode,
    /// The target wrote much to its log.
    ///
    /// The target wrote much to its log while the load ran, which takes CPU time and disk: it is part of what
    /// was measured. While a service runs, loadgen keeps its log below some 64 MiB on the disk, where the
    /// file system can drop a part of a file; afterwards, the log has its first MiB, a line that says how
    /// much was dropped, and its last 4 MiB.
    ///
    /// - **Evidence:** In the round in which the target wrote most (`logged_bytes`), it wrote at least 1,000
    ///   bytes for each request and at least 1 MB per second.
    /// - **Remedy:** Let the target log as it does in production, or less.
    #[strum(props(group = "Logs"))]
    MuchLogged,
    /// Users opened more than one connection each, or more than they share.
    ///
    /// Users opened more than one connection each, or more than they share with `connections` or `streams`
    /// of [`[http]`](scenario-file.md#http). A user keeps its connection until the server closes the
    /// connection. Users connect again after the server closes a connection, after a failed request, and
    /// for redirects to other servers. Latencies include the time to connect.
    ///
    /// - **Evidence:** In a round, more connections were opened than its users need. If the load was
    ///   changed during the round, the greatest number of users counts. Users that send HTTP requests and open
    ///   a WebSocket at their start need two connections. There is no such verdict on a scenario whose
    ///   iterations open WebSockets, nor with `connection = "per-request"` in
    ///   [`[http]`](scenario-file.md#http).
    /// - **Remedy:** Check whether the server closes connections, whether requests fail, and whether
    ///   redirects lead to other servers.
    #[strum(props(group = "Connections"))]
    MoreConnections,
    /// Connections used another version of HTTP.
    ///
    /// Connections used another version of HTTP than the scenario requests. For an `https://` URL, the
    /// server chooses the version.
    ///
    /// - **Evidence:** In any round, a response came over a connection with a version other than `version`
    ///   in [`[http]`](scenario-file.md#http).
    /// - **Remedy:** Configure the server for the requested version, or request the version that the server
    ///   uses.
    OtherVersion,
    /// Addresses of the server's name got different numbers of connections.
    ///
    /// The name of the server has several addresses, and they did not get equal shares of the users. The
    /// message has the connections of each address, and its first failure.
    ///
    /// - **Evidence:** One of these conditions holds:
    ///
    ///     - An attempt to connect to an address failed.
    ///     - Over all rounds, the address with the most connections got more than one. The address with the
    ///       fewest connections got over 10 % fewer, and the difference is greater than the number of the
    ///       target's rounds.
    ///
    ///     See [Several addresses](../explanation/counting.md#several-addresses).
    ///
    /// - **Remedy:** Put one address into the URL, or make the server listen on all addresses.
    UnevenAddresses,
    /// Requests of the open model were not sent, or were sent late.
    ///
    /// loadgen could not send the requests as planned: the target does not carry the rate, `--users` is too
    /// low for the rate, or the generator is too busy. Latencies still count from the planned send. The
    /// message has the number of requests that were not sent, and says if all users still waited for a
    /// response at the end of the round. If fewer than 0.1 % of the requests were not sent, the message has
    /// the delay of the requests.
    ///
    /// - **Evidence:** In the open model: at least 0.1 % of the planned requests were not sent, or the 99th
    ///   percentile of `delay_us`, the delay from the planned to the actual send, is at least 10 ms. Requests that were not
    ///   sent do not count if all rounds were stopped before their time.
    /// - **Remedy:** If other verdicts show that the generator was too busy, give the generator more cores
    ///   or hosts. If all users still waited for a response, use more users or a lower rate.
    #[strum(props(group = "Load and time"))]
    RateNotKept,
    /// Requests of the open model were sent at other distances than planned.
    ///
    /// Requests of the open model came closer together or further apart than planned. Requests in a clump are
    /// cheaper for a server, which takes them all from the kernel at once, and wait for each other. Neither the
    /// CPU time nor the latencies are those of the planned arrivals.
    ///
    /// - **Evidence:** `schedule.gap_distance` is at least 0.2 in most rounds, and `rate_not_kept` does not
    ///   report a greater fault: at least a fifth of the times between two sends were wrong. See [The
    ///   schedule](../explanation/counting.md#the-schedule). The message has the worst round, with the greatest
    ///   number of requests that one process sent within 1 ms.
    /// - **Remedy:** Give loadgen more CPUs, workers or hosts, or use a lower rate. On other systems than Linux,
    ///   timers have a resolution of 1 ms.
    ScheduleNotKept,
    /// Another client waited less, or longer, than the load.
    ///
    /// A latency percentile of the load differs from that of the [probe](../explanation/counting.md#a-probe),
    /// another client that sent the same requests at the same time (`--probe`). If the load waited longer, its
    /// requests waited for each other or for loadgen, and other clients wait less than the figures say. If the
    /// load waited less, other clients wait longer than the figures say. In either case, the server may instead
    /// serve the connection of the probe better or worse than those of the load, such as one of several server
    /// workers with fewer connections.
    ///
    /// - **Evidence:** at least five whole rounds, in which the ratio of the percentiles differs from 1 by
    ///   Student's t of the logarithms, after Holm's correction for all percentiles that both have; and a
    ///   difference of at least 10 % and 0.2 ms. The message has the highest such percentile, the ratio with its
    ///   95 % confidence interval, and both latencies.
    /// - **No verdict:** that the load waits longer, if the probe sent more than 10 % as many requests as the load:
    ///   use a lower RATE; or if the load did not keep its rate (`rate_not_kept`). That the load waits less, if
    ///   twice the delay with which the probe itself sent (`delay_us`) explains the difference: give loadgen more
    ///   CPUs.
    /// - **Remedy if the load waits longer:** Give loadgen more CPUs or `--workers`. Let each user have a
    ///   connection, without `connections` and `streams` in [`[http]`](scenario-file.md#http). Spread requests
    ///   that come together over time, with `ramp_up`, `think_time` or `arrivals = "poisson"`.
    /// - **Remedy if the load waits less:** In the closed model, use more users: N users find only N − 1 others.
    ///   Look for stalls of the server, such as other programs on its CPUs: a stall delays each user once, but all
    ///   requests at random times that fall into it. Or use the open model with `arrivals = "poisson"`, because
    ///   evenly spaced requests meet each other less often than those of many people do.
    ProbeDiffers,
    /// Latencies of the closed model hide a stall.
    ///
    /// The latencies of the closed model hide a stall. Users send nothing while they wait, so requests that
    /// would have met the stall are missing from the latencies (coordinated omission). The message has an
    /// estimate of the latency with these requests.
    ///
    /// - **Evidence:** In the closed model with a constant load, the estimate of p95, p99 or p99.9 in
    ///   `uncoordinated_us` is more than twice the measured percentile, and more than 5 ms above it. The
    ///   message has the first percentile that meets this. See
    ///   [The load models](../explanation/counting.md#the-load-models).
    /// - **Remedy:** Measure in the open model, with `--rate`.
    StallHidden,
    /// The rate or the CPU time per request changed within rounds.
    ///
    /// The rate or the CPU time per request changed during the hold, so that the figures mix several states of
    /// the target. A change at the beginning mostly means that the target was still warming up.
    ///
    /// - **Evidence:** With a constant load, in rounds limited by time, not by iterations, one of these holds
    ///   for rounds that ran to their planned end with all of their load; of the open model, only the CPU time is
    ///   checked. See [Steady targets](../explanation/comparisons.md#steady-targets).
    ///
    ///     - The first seconds of the rounds differ from the rest by more than 2 %, and the difference is more
    ///       than chance over at least five rounds of at least four whole seconds.
    ///     - In most rounds, of at least twenty seconds each, the figure changes from one level to another by more
    ///       than 2 %, by changepoint analysis.
    ///
    /// - **Remedy:** The advice names the `--warmup` that would do, if the rest of the rounds was steady. If it was
    ///   not, look for something that fills up, is throttled or competes for the CPUs, and hold the load for
    ///   longer.
    // The name in documents of earlier versions.
    #[serde(alias = "drift")]
    NotSteady,
    /// Some percentiles have too few samples.
    ///
    /// Some percentiles have too few samples, and are not given. A percentile needs ten samples beyond it,
    /// so p99 needs 1,000 samples.
    ///
    /// - **Evidence:** Some expected responses came, and one of p50, p90, p95, p99, p99.9 and p99.99 over
    ///   all steps is `null`. Reports leave out this verdict if p50, p95 and p99 exist; the result document
    ///   always has the verdict.
    /// - **Remedy:** Measure longer.
    TooFewSamples,
    /// `--fail-fast` ended the run.
    ///
    /// A threshold failed, and `--fail-fast` ended the run. The results are those from before the end, and
    /// a round that was cut short is in no ranking.
    ///
    /// - **Evidence:** `stopped_early` of the document has the target, the round and the threshold.
    /// - **Remedy:** To measure all rounds in spite of a failed threshold, run without `--fail-fast`.
    StoppedEarly,
    /// A collector did not get all metrics or spans of the run.
    ///
    /// Some messages with metrics or spans did not arrive at the collector of `--otlp`, or the collector rejected
    /// some values; or more requests should have been traced than a process traces in a second. The results of
    /// the run are not affected; charts elsewhere may have gaps, or lack the end. The message says which.
    ///
    /// - **Evidence:** In `telemetry` of `environment`, fewer messages were delivered than sent, values were
    ///   rejected, or `is_complete` is false; in its `spans`, fewer were delivered than traced, or some requests
    ///   stayed untraced.
    /// - **Remedy:** See the log of the collector, and [Show a run in Grafana](../how-to/show-in-grafana.md).
    TelemetryIncomplete,
    /// Another manager took the run up again.
    ///
    /// The manager of the run ended before its planned end, and `loadgen manager --resume` measured the rest. The
    /// rounds from before and after count as those of one run, and no round is from both. The message has the time, the
    /// first round after it, and how long after the last round before it that was. It also says if the kernel or the
    /// operating system of the manager's host was updated: figures of a server are then means over both.
    ///
    /// - **Evidence:** `resumed` of the document has each resumption.
    /// - **Remedy:** See whether the servers, the network or the hosts of workers changed in the meantime: loadgen sees
    ///   only what it checks before it [resumes](../how-to/use-many-hosts.md#resume-a-run).
    Resumed,
    /// The run was interrupted.
    ///
    /// The run was stopped before its planned end. The results are those from before the interruption.
    ///
    /// - **Evidence:** `interrupted` of the document is true: Ctrl-C, `SIGTERM`, `SIGHUP`, the key `q` or
    ///   `loadgen ctl` stopped the run.
    /// - **Remedy:** Run to the end before you compare.
    Interrupted,
}
