# Written by make_documents.py, from the JSON Schemas of the documents.
# ruff: noqa
"""Result documents of loadgen. docs/reference/result-document.md describes them."""

from __future__ import annotations
from typing import Any, Literal, TypeAlias
from dataclasses import dataclass


Model: TypeAlias = Any


@dataclass(frozen=True, kw_only=True)
class AccountRecord:
    """Ends of all planned requests of a round that lacks results of workers: `planned` is the sum of all other fields. With the warm-up, whose requests are in no other figure, unless iterations end the round."""

    answered: int
    """Requests with the expected response."""
    cancelled: int
    """Requests that the end of the round cut off."""
    failed: int
    """Requests that failed."""
    lost: int
    """Requests without a known end, because their worker was lost, or its report did not arrive. The worker may have sent them or not: they waited or were in flight at its last report, or were due after it, before others took over. Without a takeover, these are also those that were due long after the loss, which nobody sent."""
    planned: int
    """Requests that the load has, with changes of the load while the round ran."""
    unsent: int
    """Requests whose time came, but for which no user was free."""


@dataclass(frozen=True, kw_only=True)
class AddressRecord:
    """One address that the server's host name resolves to, with the results of connecting to the address."""

    address: str
    """Address and port, such as `127.0.0.1:8000`; or `unix:` and the path of a socket."""
    connections: int
    """Connections made to the address for requests, without reachability checks."""
    error: str | None
    """Reason of the first failure; `null` if no attempt failed."""
    failed: int
    """Failed attempts to connect to the address."""


@dataclass(frozen=True, kw_only=True)
class BackendAloneRecord:
    """Measurement of a backend without a web server in between, as a bound for the servers."""

    backend: str
    """Name of the backend."""
    clients: int | None
    """Clients, each with one operation at a time; `null` if nothing was measured."""
    operations: str | None
    """Operations that the program sent, in words; `null` if nothing was measured."""
    program: str | None
    """Benchmark program, such as `pgbench`; `null` if nothing was measured."""
    rate_per_s: float | None
    """Operations per second; `null` if nothing was measured."""
    why_not: str | None
    """Reason why nothing was measured; `null` if something was."""


@dataclass(frozen=True, kw_only=True)
class BodySizes:
    """Sizes of the smallest and the largest body in a set of responses, in bytes."""

    largest: int
    """Largest size."""
    smallest: int
    """Smallest size."""


@dataclass(frozen=True, kw_only=True)
class Bottleneck1:
    """The backend of this name."""

    backend: str


Bottleneck: TypeAlias = (
    Literal["nobody"]
    | Literal["target"]
    | Bottleneck1
    | Literal["network"]
    | Literal["generator"]
)
"""The party that limited a rate. The variants are in ascending order of how much they spoil the measurement; of two bottlenecks that are equally frequent, the later variant counts."""


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """Greatest rate of the generator, measured against a server that does no work."""

    earlier: bool
    """Whether an earlier run with this build on this machine measured the rate."""
    own_steps: bool
    """Whether the generator sent the scenario's own steps; false in documents of earlier versions, whose generator sent `GET /` for any scenario."""
    rate_per_s: float
    """Greatest rate of the generator, in responses/s, against a server that does no work, with as many workers as in the run and as many users, but at most 1,000 users in the closed model and 100 in the open model."""


@dataclass(frozen=True, kw_only=True)
class ContainerRecord:
    """CPU time that the kernel denied a container, and the container's block I/O. For a container, the CPU time and memory in [`ResourceRecord`] also come from the kernel's accounts of the container: all that ran in the container counts, and memory excludes cached files that are not in use."""

    block_read_bytes: int
    """Bytes read from block devices."""
    block_written_bytes: int
    """Bytes written to block devices."""
    throttled_ms: float
    """Time without CPUs because the limit was used up, summed over CPUs."""
    throttled_periods_percent: float
    """Periods in which the container was denied CPUs, over the periods in which it wanted a CPU. A period is usually 100 ms."""


@dataclass(frozen=True, kw_only=True)
class CostRecord:
    """CPU time per expected response."""

    confidence_95: list[float] | None
    """95 % confidence interval, from the profiling rounds and the measured rounds; `null` for a single round of either."""
    us_per_request: float
    """Share of the samples times the measured CPU time per expected response, in µs."""


Distribution: TypeAlias = str
"""All latencies of a step, in µs, for the record of a run. Encodes the latencies as an HdrHistogram (V2 encoding, DEFLATE, base64), which HdrHistogram's libraries for other languages can read and merge without loss."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Estimate of a figure, with its 95 % confidence interval."""

    high: float | None
    """Upper end of the interval; `null` with a single round, or if no upper bound was shown."""
    low: float | None
    """Lower end of the 95 % confidence interval; `null` with a single round."""
    value: float
    """Estimated value."""


FailedBy: TypeAlias = Literal["measured", "in_flight", "too_few_samples"]
"""Reason why a threshold failed."""


@dataclass(frozen=True, kw_only=True)
class FilesystemRecord:
    """A file system."""

    filesystem: str
    """Type of the file system, such as `ext4`, `overlay` or `tmpfs`."""
    in_memory: bool
    """Whether written data never reaches a disk: `tmpfs` and `ramfs`."""


@dataclass(frozen=True, kw_only=True)
class FunctionDifference:
    """Difference of a function's own CPU time between two targets."""

    confidence_95: list[float]
    """95 % confidence interval of this difference alone."""
    file: str
    """File of the function."""
    function: str
    """Name of the function."""
    shown: bool
    """Whether the difference is no chance: the chance of any false one among all functions is at most one in twenty (Holm)."""
    us_per_request: float
    """Difference of its own CPU time per expected response, in µs."""


@dataclass(frozen=True, kw_only=True)
class FunctionRecord:
    """Share of one function in the CPU time of a request."""

    file: str
    """File of the function."""
    function: str
    """Name of the function, with those of its classes where the language has them."""
    own: CostRecord
    """CPU time in the function itself, and in native functions that it calls."""
    with_calls: CostRecord
    """CPU time in the function and in all functions that it calls."""


@dataclass(frozen=True, kw_only=True)
class GitRecord:
    """Version of the files of a target that the command line names with a ref, such as `shop@main`."""

    commit: str
    """Full hash of the commit; for the working tree, of the commit that is checked out there."""
    defined_elsewhere: bool
    """Whether the target was started as the working tree's `loadgen.toml` says, because the commit has no such file."""
    dirty: bool | None
    """Whether tracked files of the working tree differed from the commit when loadgen started; `null` for the files of a commit."""
    ref: str
    """The ref, as written on the command line; `.` for the working tree."""
    target: str
    """Name of the target without the ref."""
    untracked: bool | None
    """Whether the working tree had files that are neither tracked nor ignored when loadgen started; `null` for the files of a commit, or in earlier versions."""


@dataclass(frozen=True, kw_only=True)
class HeldUpRecord:
    """Times in which a process of loadgen was held up: stopped, suspended, or without a CPU."""

    longest_s: float
    """Longest time."""
    total_s: float
    """Time in all."""
    worker: int | None
    """Number of the worker; `null` for load from one process."""


Judgement: TypeAlias = Literal["slower", "not_slower", "open", "unjudged"]
"""Whether a loss of more than the limit is shown."""


Lack: TypeAlias = Literal[
    "no_whole_round",
    "rate_not_carried",
    "too_many_errors",
    "limited_by_loadgen",
    "limited_by_backend",
    "limited_by_network",
    "too_few_answers",
    "no_cpu_time",
    "only_a_bound",
]
"""Reason why a target has no figure to compare."""


@dataclass(frozen=True, kw_only=True)
class LatencySummary:
    """A distribution of latencies in µs. A value is `null` if too few samples support it."""

    max: int | None
    """Maximum; `null` without a sample."""
    mean: float | None
    """Arithmetic mean; `null` without a sample."""
    min: int | None
    """Minimum; `null` without a sample."""
    p50: int | None
    """Percentiles: `p99_9` is the 99.9th; `null` if fewer than ten samples lie beyond the percentile."""
    p90: int | None
    p95: int | None
    p99: int | None
    p99_9: int | None
    p99_99: int | None


Law: TypeAlias = Literal["amdahl", "usl"]
"""Scaling law."""


@dataclass(frozen=True, kw_only=True)
class LimitsRecord:
    """Upper limits of a container."""

    cpus: float | None
    """CPU time per second, in s: 1 is one core; `null` without a limit."""
    memory_bytes: int | None
    """Memory; `null` without a limit."""


@dataclass(frozen=True, kw_only=True)
class LinkRecord:
    """Name and utilization of a network interface."""

    busy_percent: float
    """Traffic in the fuller direction, in % of the interface's speed."""
    name: str
    """Name of the interface, such as `eth0`."""


@dataclass(frozen=True, kw_only=True)
class LoadChangeRecord:
    """An unplanned change of the load, which lasts until the end of the round or the next change."""

    rate_per_s: float | None
    """Rate of the whole test from now on, in requests/s; `null` in the closed model."""
    second: int
    """Time of the change, in s from the end of the warm-up; 0 before that moment."""
    users: int | None
    """Users of the whole test from now on; `null` in the open model."""


LossOf: TypeAlias = Literal["rate", "latency", "cpu_time", "capacity"]
"""Figure of which a target lost something."""


@dataclass(frozen=True, kw_only=True)
class LossRecord:
    """A lost worker, and the time from which its load was missing."""

    measured_again: bool
    """Whether the round was measured again after `loadgen manager --resume`: the worker is missing in no figure."""
    round: int
    """First round that lacks the worker, from 1."""
    second: int | None
    """Time of the loss, in s from the end of this round's warm-up; 0 before that moment. `null` if the worker was lost before the round."""
    taken_over_s: float | None
    """Time from the end of this round's warm-up to the moment from which on the other workers carried the load of this one, in s, and 0 for a moment in the warm-up; `null` if they did not."""
    target: str
    """Target that was being measured when the worker was lost, or that was measured next."""
    users: int
    """Users of the worker."""
    why: str
    """Reason of the loss, if known."""
    worker: int
    """Number of the worker, from 0."""
    host: str | None = None
    """Host of the worker; missing for a process that loadgen started."""


@dataclass(frozen=True, kw_only=True)
class MachineRecord:
    """Resources that a machine took from all programs that ran on the machine, such as stolen CPU time."""

    fullest_link: LinkRecord | None
    """Fullest of the links to other machines; `null` if no link has a known speed."""
    stolen_percent: float
    """CPU time that the hypervisor gave to other machines, in % of all CPU time."""
    swapped_pages: int
    """Memory pages written to swap or read from swap."""
    throttled_ms: float
    """Time in which loadgen's control group was denied CPUs because its limit was used up, summed over CPUs."""


NoRates: TypeAlias = Literal[
    "no_whole_round", "open_model", "unsaturated", "unequal_shares", "too_many_errors"
]
"""Reason why the requests per second of two contenders of a duet are not compared. Their ratio is that of the CPU time that they were given, unless each had work all the time and the scheduler gave each the same."""


@dataclass(frozen=True, kw_only=True)
class NoiseFloor:
    """Difference to expect between two measurements of one server on a machine."""

    percent: float
    """Half the width of the 95 % confidence interval of the ratio of both measurements."""
    scenario: str
    """Name of the scenario."""
    started: str
    """Start of the run that found the noise floor."""
    target: str
    """Name of the server."""


@dataclass(frozen=True, kw_only=True)
class OverRounds:
    """Mean of a figure over rounds, and its confidence interval, in the figure's unit."""

    confidence_95: list[float]
    """95 % confidence interval of the mean, by Student's t of the logarithms."""
    mean: float
    """Geometric mean of the rounds."""


@dataclass(frozen=True, kw_only=True)
class PackageRecord:
    """CPU time per expected response in the functions of one package."""

    own: CostRecord
    """CPU time in its functions themselves."""
    package: str
    """First part of the path of its files: `json` for `json/encoder.py`; empty for functions in no file."""


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Comparison of two targets."""

    better: str
    """Target with more expected responses, or a higher capacity, in these rounds; in the open model, the faster target; in `cpu_pairs`, the target that needs less CPU; in `latency_pairs`, the target with the lower percentile. The difference may be chance: see `shown`."""
    confidence_95: list[float] | None
    """95 % confidence interval of the ratio, for this pair alone; `null` with fewer than five rounds or without a ratio."""
    freedom: float | None
    """Degrees of freedom of the test; `null` with fewer than five rounds, without a ratio, or in earlier versions."""
    more_rounds_for_5_percent: int | None
    """Further rounds needed to find a difference of 5 % with 90 % power; 0 if these rounds suffice. `null` if `p_value` is `null`, or if more than 1,000 rounds are needed in all."""
    p_holm: float | None
    """p-value after Holm's correction over all pairs of the comparison, of which those by latency percentiles are a family of their own; `null` if `p_value` is `null`."""
    p_value: float | None
    """p-value of the test, for this pair alone; `null` with fewer than five rounds or without a ratio."""
    ratio: float | None
    """Rate of `better` over that of `worse`; by latency or CPU time, the median or other percentile of the latency, or the CPU time per expected response, of `worse` over that of `better`. Each is the geometric mean over these rounds, so the ratio is at least 1. `null` without a round, or if a round has no expected response."""
    rounds: int
    """Rounds that both targets have; with Welch's test, rounds of the target that has fewer."""
    shown: bool
    """Whether a difference is shown: `p_holm` is below 0.05. The interval then excludes 1."""
    worse: str
    """The other target."""


@dataclass(frozen=True, kw_only=True)
class PartnerRecord:
    """The other contender of a duet, as a round saw it."""

    is_first: bool
    """Whether the target was started first."""
    name: str
    """Name of the target."""


Percentile: TypeAlias = Literal["p50", "p90", "p95", "p99", "p99_9"]
"""A latency percentile by which targets are compared."""


@dataclass(frozen=True, kw_only=True)
class Placing:
    """Place of one target in the ranking."""

    confidence_95_per_s: list[float] | None
    """95 % confidence interval of the geometric mean; `null` with fewer than two rounds, or if a round has no expected response."""
    rate_per_s: float
    """Expected responses per second: the geometric mean over rounds, or the arithmetic mean if a round has no expected response. Ranked by capacity: the geometric mean of the rounds' capacities, in requests/s."""
    relative_to_best: float
    """`rate_per_s` over the highest `rate_per_s` of any target, from 0 to 1."""
    target: str
    """Name of the target."""


@dataclass(frozen=True, kw_only=True)
class PodsRecord:
    """Pods of a target or backend in a round, and their nodes."""

    busy_percent: float
    """Utilization of the CPUs of all nodes by any program during the hold."""
    cpus: float
    """CPUs that all pods together may use: of each node the limits of its pods, but not more than its CPUs."""
    nodes_busy_percent: dict[str, float]
    """Utilization of the CPUs of each node by any program during the hold, by the name of the node."""


@dataclass(frozen=True, kw_only=True)
class PostgresActivity:
    """What PostgreSQL did between two readings of its statistics views. A figure that this version of PostgreSQL does not count is `null`. Blocks are of 8 KiB, unless PostgreSQL was built otherwise."""

    blocks_added: float | None
    """Blocks by which tables and indexes grew; `null` before version 16."""
    blocks_hit: float | None
    """Blocks that were found in PostgreSQL's cache; `null` if not counted."""
    blocks_read: float | None
    """Blocks of 8 KiB that were read from the operating system; `null` if not counted."""
    blocks_written: float | None
    """Blocks of tables and indexes that were written; before version 16, with `blocks_added`. `null` if not counted."""
    checkpoints: float | None
    """Checkpoints; `null` if not counted."""
    fsync_ms: float | None
    """Time that processes waited for flushes of tables and indexes; `null` before version 16."""
    read_ms: float | None
    """Time that processes waited for reads of tables and indexes; `null` if not counted."""
    rollbacks: float | None
    """Transactions that were rolled back; `null` if not counted."""
    rows_inserted: float | None
    """Inserted rows; `null` if not counted."""
    transactions: float | None
    """Committed transactions, with a few of loadgen's own; `null` if not counted."""
    wal_bytes: float | None
    """Write-ahead log; `null` if not counted."""
    wal_fsync_ms: float | None
    """Time that processes waited for flushes of the write-ahead log; `null` if not counted."""
    wal_fsyncs: float | None
    """Flushes of the write-ahead log; `null` if not counted."""
    wal_write_ms: float | None
    """Time that processes waited for writes of the write-ahead log; `null` if not counted."""
    write_ms: float | None
    """Time that processes waited for writes of tables and indexes; `null` if not counted."""


@dataclass(frozen=True, kw_only=True)
class PrecisionRecord:
    """Precision that a run was to reach, and what it cost."""

    percent: float
    """Greatest half width of the 95 % intervals that was asked for."""
    reached_percent: float | None
    """Greatest half width that was reached; `null` if an interval is unknown."""
    rounds_max: int
    """Greatest number of rounds that was allowed."""
    rounds_measured: int | None
    """Measured rounds that count for each interval; `null` if an interval is unknown, or in earlier versions."""
    rounds_needed: int | None
    """Rounds that the precision needs in all, by the noise of the measured rounds; `null` if an interval is unknown."""
    time_max_s: float | None
    """Greatest time that was allowed; `null` without a limit."""
    took_s: float
    """Time that the rounds took, with starts and stops."""


@dataclass(frozen=True, kw_only=True)
class ProbeRatio:
    """Ratio of a latency percentile of the load to that of the probe, in the same rounds."""

    confidence_95: list[float] | None
    """95 % confidence interval of the mean, by Student's t of the logarithms; `null` for a single round."""
    p_holm: float | None
    """p-value of equal latencies, after Holm's correction for all percentiles in `ratios`; `null` with fewer than five rounds."""
    ratio: float
    """Geometric mean of the ratios of the rounds."""


@dataclass(frozen=True, kw_only=True)
class Ratios:
    """Ratio of each latency percentile of the load to that of the probe, by percentile, such as `p99`: for the percentiles that both have in each whole round."""

    p50: ProbeRatio | None = None
    p90: ProbeRatio | None = None
    p95: ProbeRatio | None = None
    p99: ProbeRatio | None = None
    p99_9: ProbeRatio | None = None


@dataclass(frozen=True, kw_only=True)
class ProfileDifference:
    """Functions by which the CPU time of a request differs between two targets."""

    confidence_95: list[float]
    """95 % confidence interval of this difference, by the pairs of measured rounds."""
    file: str
    """Beginning of the name of the file with the flame graph of the second target, coloured by its difference from the first one, in the folder of the run."""
    functions: list[FunctionDifference]
    """Functions that were tested: those with at least 0.5 % of the samples of one of the targets. Those that are shown come first, the largest difference first."""
    targets: list[str]
    """Names of the two targets. Differences are of the second one: positive if it takes longer."""
    us_per_request: float
    """Difference of the CPU time per expected response, in µs."""


@dataclass(frozen=True, kw_only=True)
class ProofRecord1:
    """The sum of a counter, which is a number read from the target's answers."""

    agrees: bool
    """Whether `held` equals `counted` plus `uncounted`, or `value`."""
    backend: str
    """Name of the backend."""
    held: int
    """Answer of the backend."""
    question: str
    """Query, as written in the scenario."""
    round: int
    """Number of the round, from 1; with slices, of the slice among those of all starts."""
    unknown: int
    """Requests with an unknown effect: failed, or cut off without a response."""
    counted: int
    """Sum of the counter over the measured requests; missing for a `value`."""
    counter: str
    """Counter with the expected sum; missing for a `value`."""
    uncounted: int
    """Sum of the counter over the other requests: verification, warm-up, ramp-up, stop steps, and requests answered after the end, and all requests of a probe; missing for a `value`."""


@dataclass(frozen=True, kw_only=True)
class ProofRecord2:
    """The number that the scenario states."""

    agrees: bool
    """Whether `held` equals `counted` plus `uncounted`, or `value`."""
    backend: str
    """Name of the backend."""
    held: int
    """Answer of the backend."""
    question: str
    """Query, as written in the scenario."""
    round: int
    """Number of the round, from 1; with slices, of the slice among those of all starts."""
    unknown: int
    """Requests with an unknown effect: failed, or cut off without a response."""
    value: int
    """Expected number, as written in the scenario; missing for a `counter`."""


ProofRecord: TypeAlias = ProofRecord1 | ProofRecord2
"""Result of one proof after one round: compares the content of a backend with the content that the scenario expects."""


RankedBy: TypeAlias = Literal[
    "expected answers per second", "median latency", "capacity"
]
"""Quantity that decides which target is better."""


@dataclass(frozen=True, kw_only=True)
class ReceivedRecord:
    """Number of responses that loadgen received in a round, in all phases after the verification."""

    least: int
    """Those that certainly arrived."""
    most: int
    """Those, and all requests that failed or were cut off."""


@dataclass(frozen=True, kw_only=True)
class ReplicaRecord:
    """Responses and resources of one replica of a target in a round."""

    cpu_percent: float | None
    """CPU time during the hold; `null` if unknown."""
    memory_max_bytes: int | None
    """Maximum memory during the hold; `null` if unknown."""
    responses: int
    """Responses of the replica, from the end of the verification to the end of the round."""


@dataclass(frozen=True, kw_only=True)
class ResourceSamples:
    """Time series of the resources that a service used."""

    at_s: list[float]
    """Time of the sample, from the end of the ramp-up."""
    cpu_percent: list[float]
    """CPU time since the previous sample, over the time since."""
    memory_bytes: list[int]
    """Resident memory."""


@dataclass(frozen=True, kw_only=True)
class ResumedRecord:
    """One resumption of a run, by another manager after the first one had ended."""

    at: str
    """Time of the resumption, when its workers were there."""
    changed: list[str]
    """Differences of the manager's host since the manager before this one, such as its kernel, in sentences; empty if nothing does, and in documents of earlier versions."""
    from_round: int
    """Number of the first round that was measured after the resumption, from 1. Rounds with lower numbers are those from before it."""
    gap_s: float
    """Time from the end of the last round that was kept, or from the start of the run if none was, to the resumption. It includes the round that was cut off, and is measured again."""


@dataclass(frozen=True, kw_only=True)
class RowsRecord:
    """Number of rows of one data file that a round used."""

    of: int
    """Rows in the file."""
    used: int
    """Rows that measured iterations and users' starts used at least once."""


@dataclass(frozen=True, kw_only=True)
class ScheduleRecord:
    """How well the planned times of the open model were kept in a round: of the first request of each iteration, in the hold. A gap is the time between two successive sends of one process."""

    clump: int
    """Most requests that one process sent within 1 ms."""
    gap_distance: float
    """Distance between both distributions, from 0 to 1: at least this share of the gaps was longer or shorter than planned by more than a tolerance."""
    planned_clump: int
    """Most requests that one process planned to send within 1 ms."""
    planned_gap_us: LatencySummary
    """Gaps between planned sends."""
    sent_gap_us: LatencySummary
    """Gaps between actual sends."""


@dataclass(frozen=True, kw_only=True)
class SecondRecord:
    """Results of one second of a round."""

    answered: int
    """Expected responses that ended in the second."""
    errors: int
    """Requests that failed in the second."""
    p50_us: int | None
    """Median latency of the expected responses; `null` with too few samples."""
    p99_us: int | None
    """99th percentile of the latency of the expected responses; `null` with too few samples."""
    second: int
    """Number of the second, in s from the end of the warm-up."""


@dataclass(frozen=True, kw_only=True)
class SentRecord:
    """Digests of the requests that a scenario sends: the SHA-256 of each part, in hexadecimal."""

    all_steps: dict[str, str]
    """Digests of the parts that concern all steps, by part: `http`, `on_error`, `flows`, `order_of_steps`, `rows.NAME` for each file of rows, and `grpc` for the compiled `.proto` files."""
    form: int
    """Format of the digests; digests of different formats are not compared."""
    steps: dict[str, dict[str, str]]
    """Digests of the parts of each step, by step and part: `method`, `path`, `headers`, `body`, `expect`, `counters`, `capture`, `timeout`, `weight`, `when`, `repeat`, `redirects` where it is not that of `[http]`, and `action` for a gRPC call and a use of a WebSocket."""


@dataclass(frozen=True, kw_only=True)
class ServerRecord:
    """Software of a target. All fields are empty or 0 for a server that loadgen did not start."""

    differs: list[str]
    """Other differences from the other targets."""
    framework: str
    """Name of the framework."""
    git: GitRecord | None
    """Commit of a target that the command line names with a ref; `null` without a ref, or in earlier versions."""
    language: str
    """Programming language; empty in documents of earlier versions."""
    packages: dict[str, str]
    """Versions of the packages, and of the programs that the target requires, by package; at a ref also the version of `python` in the target's environment."""
    replicas: int | None
    """Replicas behind the load balancer, or the pods behind the Service of a cluster; `null` without one, or in earlier versions."""
    server: str
    """Name of the server."""
    workers: int
    """Server worker processes, of each replica."""


@dataclass(frozen=True, kw_only=True)
class ShareOverRounds:
    """Share of the requests of all rounds, and its confidence interval, in %."""

    confidence_95: list[float]
    """95 % confidence interval of the share: from the lower of two lower bounds to the higher of two upper bounds. These are Student's for the mean of the rounds' shares, and Wilson's score interval, as if no request depended on another."""
    share: float
    """Share in all rounds together."""


Cpu: TypeAlias = int


@dataclass(frozen=True, kw_only=True)
class SharedCoreRecord:
    """Two CPUs that are hardware threads of one core, and run different parts of the test."""

    cpus: list[Cpu]
    """Number of a CPU of each part."""
    parts: list[str]
    """The parts."""


@dataclass(frozen=True, kw_only=True)
class SliceRecord:
    """Place of a slice: a round that shares the start of its server with other rounds."""

    number: int
    """Number of the slice within its start, from 1."""
    of: int
    """Slices of each start."""
    start: int
    """Number of the start, from 1. Servers at URLs are not started: their starts are groups of successive slices."""


@dataclass(frozen=True, kw_only=True)
class SlicesPair:
    """Variation of the ratio of two targets."""

    slices_deviation_percent: float
    """Standard deviation of the ratio over the slices of a start: the root of the mean over starts of the variance."""
    starts: int
    """Starts in which all slices of both targets ran as planned."""
    starts_deviation_percent: float | None
    """Standard deviation over starts of the mean ratio of each start; `null` with fewer than two starts."""
    starts_own_percent: float | None
    """Share of the variance over starts that the variation within starts does not explain, from 0 to 100: more slices do not reduce it; `null` with fewer than two starts."""
    targets: list[str]
    """The two targets."""


@dataclass(frozen=True, kw_only=True)
class SlicesRecord:
    """How much the ratios of compared targets vary within starts, and from start to start."""

    pairs: list[SlicesPair]
    """Each pair of `comparison.pairs` with a start in which all slices of both targets ran as planned."""


@dataclass(frozen=True, kw_only=True)
class SlowRequest:
    """A request that was traced, and that was slow."""

    group: str | None
    """Name of the group in an experiment file; `null` without one."""
    latency_us: int
    """Latency in µs, from the planned send to the last byte of the response."""
    step: str
    """Name of the step."""
    target: str
    """Name of the target."""
    trace_id: str
    """ID of the trace, in which the server says what it did for the request."""


@dataclass(frozen=True, kw_only=True)
class SpansRecord:
    """Spans that were sent to a collector: one for each request that was traced, over the whole command."""

    delivered: int
    """Spans of these that arrived."""
    dropped: int
    """Spans of these that were not sent, because too many waited."""
    last_error: str | None
    """Reason why the last message that did not arrive, or of which spans were rejected, failed; `null` if none failed."""
    over_limit: int
    """Requests that were chosen to be traced but were not, because a process traces at most 1,000 in a second."""
    slowest: list[SlowRequest]
    """The slowest traced requests with expected responses while the full load was held, the slowest first: up to three of each target."""
    traced: int
    """Requests that were traced, without those of workers that were lost."""
    url: str
    """URL of the collector, without a password and a query."""


@dataclass(frozen=True, kw_only=True)
class Speedup:
    """Measured throughput of a size relative to the smallest size, in the rounds that measured both."""

    fold: Estimate
    """Estimate of the throughput relative to that of the smallest size."""
    size: int
    """Number of replicas or server workers."""


@dataclass(frozen=True, kw_only=True)
class StageRecord:
    """A linear change of the load, from the level before the stage."""

    over_s: float
    """Duration of the stage."""
    to: float
    """Load at the end of the stage: users, or requests/s in the open model."""


@dataclass(frozen=True, kw_only=True)
class StepSeconds:
    """Results of one step for each second of a round. Each list has one value per second."""

    answered: list[int]
    """Expected responses that ended in each second."""
    errors: list[int]
    """Requests that failed in each second."""
    p50_us: list[int | None]
    """Median latency of the expected responses in each second; an element is `null` if its samples are too few."""
    p99_us: list[int | None]
    """99th percentile of the latency in each second; an element is `null` if its samples are too few."""


@dataclass(frozen=True, kw_only=True)
class StoppedEarly:
    """The first failed threshold, which ended a run with `--fail-fast`."""

    round: int
    """Number of the round in which the threshold failed, from 1."""
    target: str
    """Name of the target on which the threshold failed."""
    threshold: str
    """Threshold, as written in the scenario."""


@dataclass(frozen=True, kw_only=True)
class StreamSummary:
    """Summarized streams of one step, or of all steps together."""

    closed: int
    """Streams that loadgen ended at an event, because of `close` in `expect.stream`."""
    events: int
    """Events, without end markers."""
    events_per_s: float
    """Events per second."""
    first_event_us: LatencySummary
    """Time from the planned send to the first event of a stream."""
    gap_us: LatencySummary
    """Time between successive events of a stream; 1 for events that came with one read."""


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Summarized results of one step, or of all steps together."""

    answered_late: int
    """Cancelled requests whose expected response came in the drain."""
    body_bytes: BodySizes | None
    """Sizes of the bodies of the expected responses; `null` without an expected response."""
    bytes_per_s: float
    """Bytes of response bodies per second, including those of failed requests."""
    cancelled: int
    """Requests cut off by the end of the round; not included in `requests`, `errors` or `unsent`."""
    delay_us: LatencySummary
    """Delay of requests from their planned to their actual send; all values are `null` in the closed model."""
    error_examples: dict[str, str]
    """A sentence about one failed request of each kind of error that occurred."""
    errors: int
    """Requests that failed."""
    errors_by_kind: dict[str, int]
    """Failed requests by kind of error; each kind is present."""
    failed_late: int
    """Cancelled requests that failed in the drain, other than by timeout."""
    failed_per_s: float
    """Failed requests per second."""
    failed_us: LatencySummary
    """Latency of the failed requests."""
    latency_us: LatencySummary
    """Latency of the expected responses from their planned send."""
    name: str
    """Name of the step, or `all` for all steps together."""
    rate_per_s: float
    """Expected responses per second."""
    requests: int
    """Requests that ended: answered or failed, but not cancelled."""
    resent: int
    """Requests that were sent again, with any outcome; 0 in documents of earlier versions."""
    service_us: LatencySummary
    """Latency of the expected responses from their actual send; equals `latency_us` in the closed model."""
    stream: StreamSummary | None
    """Events of the streams in expected responses; `null` without a step that expects a stream, or in earlier versions."""
    ttfb_us: LatencySummary
    """Time from the planned send to the first byte of the expected responses; all values are `null` in documents of earlier versions."""
    unanswered: int
    """Cancelled requests without a response until their timeout, or until the end of the drain."""
    unsent: int
    """Planned requests that no user was free to send; 0 in the closed model."""
    uploaded_bytes_per_s: float | None
    """Bytes of files in the bodies of requests with an expected response, per second; `null` if the step sends no file, and in documents of earlier versions."""


@dataclass(frozen=True, kw_only=True)
class SystemRecord:
    """Settings of the machine that change what is measured, and its load before the run. A value that loadgen cannot find out is empty or `null`, as are all of them on other systems than Linux."""

    clock_source: str | None
    """Clock that the kernel reads, such as `tsc`; `null` if unknown."""
    frequency_mhz: list[float] | None
    """Lowest and highest frequency that the governor may choose; `null` if `governor` is `null`."""
    governor: str | None
    """Governor of the CPUs' frequency, such as `performance`; several are separated by commas. `null` if the machine does not set frequencies."""
    load_average: float | None
    """Mean number of processes that ran or waited for a CPU in the minute before the run; `null` if unknown."""
    mitigations: dict[str, str]
    """State of each known vulnerability of the CPU, in the kernel's words, except those that do not affect it."""
    numa_nodes: dict[str, list[int]]
    """Numbers of the NUMA nodes of each part's CPUs; without parts that are not pinned."""
    shared_cores: list[SharedCoreRecord]
    """CPUs that are hardware threads of one core and belong to different parts of the test."""
    smt: bool | None
    """Whether cores run several hardware threads; `null` if unknown."""
    transparent_huge_pages: str | None
    """`always`, `madvise` or `never`; `null` if unknown."""
    turbo: bool | None
    """Whether CPUs may exceed their base frequency for a while; `null` with an unknown driver."""
    virtualization: str | None
    """Hypervisor under which the machine runs; `none` on a physical machine. `null` if unknown."""


@dataclass(frozen=True, kw_only=True)
class EffectiveSamples:
    """Effective sample size, in requests, of each latency percentile of the whole rounds, by percentile, such as `p99`; empty with fewer than five whole rounds, and in documents of earlier versions."""

    p50: int | None = None
    p90: int | None = None
    p95: int | None = None
    p99: int | None = None
    p99_9: int | None = None


@dataclass(frozen=True, kw_only=True)
class TelemetryRecord:
    """Messages with metrics that were sent to a collector while the command went on (`--otlp`). They have the sums of everything so far or, with the temporality `delta`, what was added since the last message that arrived, so that a later message makes up for one that did not arrive."""

    delivered: int
    """Messages that arrived."""
    is_complete: bool
    """Whether a message arrived that has all that was measured."""
    last_error: str | None
    """Reason why the last message that did not arrive, or of which values were rejected, failed; `null` if none failed."""
    messages: int
    """Messages that were sent."""
    rejected_values: int
    """Values that the collector rejected, over all messages."""
    spans: SpansRecord | None
    """Spans of traced requests; `null` if no request was traced (`--trace-one-in`), and in earlier versions."""
    url: str
    """URL of the collector, without a password and a query."""


Test: TypeAlias = Literal["paired", "one_start", "welch"]
"""Statistical test of whether two targets differ."""


@dataclass(frozen=True, kw_only=True)
class ThresholdRecord:
    """Result of one threshold for one target."""

    failed_by: FailedBy | None
    """Reason of the failure; `null` if the threshold held, or in earlier versions."""
    failed_late: int
    """Requests in flight at the end that failed after the end; 0 in documents of earlier versions."""
    measured: float | None
    """Measured value: latencies in µs, error rates from 0 to 1, rates per second, other metrics as a number; `null` with too few samples."""
    passed: bool
    """Whether the threshold held."""
    target: str
    """Name of the target."""
    threshold: str
    """Threshold, as written in the scenario."""
    unanswered: int
    """Requests in flight at the end that had no response; 0 in documents of earlier versions."""
    worst_case: float | None
    """Second value that an upper bound is compared with: the measured value if requests without a response had failed, or had their response only at their timeout; `null` if no request lacks a response, or if these requests make no difference."""


@dataclass(frozen=True, kw_only=True)
class Usl:
    """Fit of the Universal Scalability Law."""

    contention: Estimate
    """Estimate of the contention, 0 to 1."""
    crosstalk: Estimate
    """Estimate of the crosstalk, at least 0."""
    lack_of_fit: float | None
    """p-value of the F-test for lack of fit: below 0.05, the rates contradict the law; `null` with a single round, or if a round lacks a size."""
    peak: Estimate | None
    """Estimate of the size of the greatest throughput; `null` without crosstalk."""
    rate_of_one: Estimate
    """Estimate of the throughput of size 1, in responses/s."""
    residual_percent: float
    """Root mean square of the relative differences of the rates from the curve."""


VerdictKind: TypeAlias = Literal[
    "nothing_answered",
    "target_ended",
    "errors",
    "collapsed",
    "went_silent",
    "unanswered",
    "resent",
    "stop_failed",
    "rows_ran_out",
    "answers_vary",
    "answers_differ",
    "proof_failed",
    "generator_bound",
    "backend_bound",
    "network_bound",
    "generator_busy",
    "held_up",
    "littles_law",
    "users_queue",
    "slow_reader",
    "disturbed",
    "idle_targets_busy",
    "measured_together",
    "stolen",
    "throttled",
    "unlike_limits",
    "swapped",
    "shared_cores",
    "frequency_varies",
    "slow_clock",
    "busy_before",
    "open_files",
    "unequal_workers",
    "unequal_replicas",
    "replicas_miscounted",
    "few_cores",
    "data_in_memory",
    "worker_without_success",
    "slow_worker",
    "shared_node",
    "much_logged",
    "more_connections",
    "other_version",
    "uneven_addresses",
    "rate_not_kept",
    "schedule_not_kept",
    "probe_differs",
    "stall_hidden",
    "not_steady",
    "too_few_samples",
    "stopped_early",
    "telemetry_incomplete",
    "resumed",
    "interrupted",
]
"""Kind of a verdict. The code of a kind, in documents and in reports, is the kind's name in snake case."""


@dataclass(frozen=True, kw_only=True)
class WaitRecord:
    """Threads that waited in one function."""

    file: str
    """File of the function."""
    function: str
    """Name of the function."""
    threads: float
    """Number of threads that waited in it at a moment."""


@dataclass(frozen=True, kw_only=True)
class WorkerRecord:
    """Activity of one worker over all rounds."""

    cpu_percent: float | None
    """CPU time that the worker used during load that counts, over the CPU time available to it. At 100, the worker had all CPUs that it may use to itself, and was busy on each. `null` if the worker reported nothing."""
    cpu_wait_percent: float | None
    """Time for which the worker's threads waited for a CPU during load that counts, over the CPU time available to the worker; `null` if the worker reported nothing, or in earlier versions."""
    cpus: int | None
    """CPUs that the worker may use on its host; `null` for a process that loadgen started."""
    cpus_busy_percent: float | None
    """Share of the time for which the CPUs that the worker may use were busy during load that counts, with any program; `null` if the worker reported nothing, or in earlier versions."""
    errors: int | None
    """Requests of these that failed; `null` in earlier versions."""
    host: str | None
    """Name of the worker's host: as `--hosts` names it, without the user, or as the host calls itself; `null` for a process that loadgen started on its own machine."""
    lag_max_ms: float | None
    """Greatest timer delay of all; `null` if the worker reported nothing."""
    lag_mean_ms: float | None
    """Mean over seconds of the greatest timer delay in each second; `null` if the worker reported nothing."""
    late_seconds: int
    """Seconds of these in which a timer was at least 50 ms late."""
    requests: int
    """Requests that ended during the hold."""
    rtt_ms: float | None
    """Round-trip time to the manager: the shortest of several pings before each round, and the longest of these over the rounds; `null` if the worker was lost before the pings, or in earlier versions."""
    seconds: int
    """Seconds that the CPU and timer figures cover."""
    snapshots: int
    """Snapshots of the worker that arrived."""
    throttled_percent: float | None
    """Share of the periods in which a limit of CPU stopped the worker, of those in which it wanted a CPU; `null` without a limit, or in earlier versions."""
    users: int
    """Users of the worker."""
    worker: int
    """Number of the worker, from 0."""


Bound: TypeAlias = Literal["found", "at_least", "below", "unknown"]
"""Kind of result of a capacity search."""


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """Capacity of one target, or a bound of its capacity, over all rounds."""

    bound: Bound
    """Kind of the result."""
    confidence_95_per_s: list[float] | None
    """95 % confidence interval of the geometric mean, by Student's t; `null` unless the capacity was found in at least two rounds."""
    rate_per_s: float | None
    """Capacity, or its bound, in requests/s; `null` if no rate passed and the capacity is `unknown`."""


@dataclass(frozen=True, kw_only=True)
class CapacityRound:
    """Result of one round, which is one search."""

    bound: Bound
    """Kind of the result."""
    capacity_per_s: float | None
    """Geometric mean of `passed_per_s` and `failed_per_s`, in requests/s; `null` unless `bound` is `found`."""
    failed_per_s: float | None
    """Lowest rate that failed, in requests/s; `null` if all rates passed."""
    passed_per_s: float | None
    """Highest rate that passed, in requests/s; `null` if no rate passed."""
    round: int
    """Number of the round, from 1."""
    trials: int
    """Trials that the search took, without those that were only made for the curve."""


@dataclass(frozen=True, kw_only=True)
class CurvePoint:
    """Results at about one rate: a point of the curve of latency over throughput."""

    answered_per_s: float
    """Expected responses per second."""
    error_rate: float
    """Share of requests that failed, from 0 to 1."""
    latency_us: LatencySummary
    """Latency of the expected responses from their planned send."""
    passed: int
    """Trials of these that passed."""
    rate_per_s: float
    """Requested rate, in requests/s: the geometric mean over the trials."""
    target_cpu_percent: float | None
    """CPU time of the target over elapsed time; `null` for a server that loadgen did not start."""
    target_cpu_us_per_request: float | None
    """CPU time of the target per request that ended, including failed requests; `null` for a server that loadgen did not start, or if no request ended."""
    trials: int
    """Trials, over all rounds."""


@dataclass(frozen=True, kw_only=True)
class SearchRecord:
    """Settings of a capacity search."""

    arrivals: str
    """Distribution of arrivals over time: `evenly spaced` or `Poisson`."""
    criteria: list[str]
    """Thresholds that had to hold for a rate to pass; in addition, the rate itself had to be carried."""
    drain_s: float
    """Longest wait for the responses to in-flight requests after each trial; 3 in documents of earlier versions."""
    duration_s: float
    """Shortest hold of a trial; a trial holds longer if its rate is too low for enough samples."""
    left_out: list[str]
    """Thresholds of the scenario on `rate`, which were left out because the search looks for the rate."""
    lowest_per_s: float
    """Lowest rate that could be judged, in requests/s."""
    precision_percent: float
    """Greatest distance between the highest rate that passed and the lowest rate that failed, in % of the former."""
    rounds: int
    """Searches for each target."""
    targets: list[str]
    """Names of the targets to be loaded."""
    trace_one_in: int | None
    """One request in so many told its server to trace it; `null` if none did, and in earlier versions."""
    users: int
    """Most requests in flight at the same time."""
    warmup_s: float
    """Duration of the warm-up of each trial."""
    workers: int
    """Worker processes; 0 if loadgen's own process made the load."""


DifferenceKind: TypeAlias = Literal[
    "load", "server_workers", "limits", "cpus", "software", "answer_size", "answer_keys"
]
"""Kind of a difference between arms."""


@dataclass(frozen=True, kw_only=True)
class DifferenceRecord:
    """A difference between the arms of a group, which a reader must know before comparing the arms."""

    kind: DifferenceKind
    """Kind of the difference."""
    what: str
    """The difference, with the names of the arms."""


@dataclass(frozen=True, kw_only=True)
class EvidenceRecord:
    """A figure behind a finding."""

    arms: list[str]
    """One arm for a value, two arms for the ratio of the first to the second."""
    confidence_95: list[float] | None
    """95 % confidence interval of `figure`, by Student's t; `null` with fewer than five rounds."""
    figure: float | None
    """Arithmetic mean of the values, in the unit of the metric (µs, /s, or a share), or geometric mean of the ratios, over rounds; `null` without a round that all the arms have."""
    rounds: int
    """Whole rounds that all the arms have."""


Finding: TypeAlias = Literal["held", "did_not_hold", "could_not_be_shown"]
"""Finding about a claim. A finding other than `CouldNotBeShown` has a confidence of 95 %."""


@dataclass(frozen=True, kw_only=True)
class PublishedRecord:
    """A published figure, beside the figure that this experiment measured."""

    best_round: float | None
    """Our best figure of a whole round; `null` unless the publication shows the best of several runs, or if `measured` is `null`."""
    machine: str | None
    """Machine of the publication; `null` if unknown."""
    measured: float | None
    """Arithmetic mean of our figure over whole rounds; `null` without a whole round, or if a whole round lacks the figure."""
    metric: str
    """Name of the metric."""
    published: float
    """Published figure."""
    unit: str
    """Unit of the three figures: `ms`, `/s`, `%`, `% of a core`, `µs` or `MB`."""


@dataclass(frozen=True, kw_only=True)
class SourceRecord:
    """Publication that an experiment repeats."""

    differs: list[str]
    """Respects in which the experiment differs from the publication; empty in documents of earlier versions."""
    title: str
    """Title of the publication."""
    url: str | None
    """Address of the publication; `null` if unknown."""
    year: int | None
    """Year of the publication; `null` if unknown."""


@dataclass(frozen=True, kw_only=True)
class Absent:
    """A target that some run lacks."""

    run: str
    """Name of the run that lacks the target."""
    target: str
    """Name of the target."""


@dataclass(frozen=True, kw_only=True)
class ComparedTarget:
    """Results of one target in one of the compared runs."""

    cpu_us_per_request: float | None
    """CPU time of the server per expected response; in a search, per request that ended, at the knee. `null` if unknown."""
    errors: int
    """Requests of these that failed."""
    latency_us: LatencySummary
    """Latency of the expected responses from their planned send; in a search, at the knee."""
    name: str
    """Name in the comparison, such as `sanic (before)`."""
    requests: int
    """Requests that ended; in a search, of all trials."""
    run: str
    """Name of the run."""
    target: str
    """Name of the target."""
    capacity: Capacity | None = None
    """Capacity that a search found; missing for a run."""
    doubt: str | None = None
    """Reason why a small loss of the rate says little: many failed requests, or think time; missing without a doubt."""
    failed: list[str] | None = None
    """Reasons why the run itself is a failure: failed thresholds, failed proofs, no responses, an end of the target, or silence; missing without a failure."""
    knee_per_s: float | None = None
    """Rate at the knee that a search found, in requests/s; missing for a run, and for a search without a knee."""


@dataclass(frozen=True, kw_only=True)
class SentUnlike:
    """A target that is not compared, because a later run sent other requests to the target than the first run."""

    run: str
    """Name of the later run."""
    target: str
    """Name of the target."""
    what: list[str]
    """Differences, a phrase each, such as `another body of step "insert"`."""


@dataclass(frozen=True, kw_only=True)
class Unlike:
    """A value that is not the same in all runs."""

    values: list[str | None]
    """Value in each run, in the order of the runs; an element is `null` if its run lacks the value."""
    what: str
    """Path of the value in the document, such as `environment.kernel`."""


@dataclass(frozen=True, kw_only=True)
class Amdahl:
    """Fit of Amdahl's law."""

    lack_of_fit: float | None
    """p-value of the F-test for lack of fit: below 0.05, the rates contradict the law; `null` with a single round, or if a round lacks a size."""
    rate_of_one: Estimate
    """Estimate of the throughput of size 1, in responses/s."""
    residual_percent: float
    """Root mean square of the relative differences of the rates from the curve."""
    serial: Estimate
    """Estimate of the serial share of the work, 0 to 1. Crosstalk counts as serial."""


@dataclass(frozen=True, kw_only=True)
class LatencyLacking:
    p50: Lack | None = None
    p90: Lack | None = None
    p95: Lack | None = None
    p99: Lack | None = None
    p99_9: Lack | None = None


@dataclass(frozen=True, kw_only=True)
class ConnectionsRecord:
    """The connections of one round, including those opened before the round's start."""

    addresses: list[AddressRecord]
    """Addresses of the server's name, or its socket; empty if a proxy looks the name up, and for a socket with the transport `reqwest`."""
    connect_histogram: Distribution
    """All times of `connect_us`, in µs, encoded like `latency_histograms`."""
    connect_us: LatencySummary
    """Time to open a connection of TCP or to a socket, without the lookup of the server's name, and with what a proxy takes to let it pass; empty with the transport `reqwest`, and in documents of earlier versions."""
    opened: int
    """Connections opened."""
    renewed: int
    """Connections that loadgen ended because of `connection` in `[http]`: after a number of requests, or a time."""
    tls_histogram: Distribution
    """All times of `tls_us`, in µs, encoded like `latency_histograms`."""
    tls_resumed: int
    """TLS handshakes that resumed an earlier session of the same user."""
    tls_suites: dict[str, int]
    """TLS handshakes, by TLS version and cipher suite, such as `TLS 1.3, AES_256_GCM_SHA384`; empty if `tls_us` is."""
    tls_us: LatencySummary
    """Time of a TLS handshake; empty without TLS, with `reqwest`, and in documents of earlier versions."""
    versions: dict[str, int]
    """Connections over which a response came, by the HTTP version of the first response, such as `HTTP/1.1`."""


@dataclass(frozen=True, kw_only=True)
class Degraded:
    """Reason why a result differs from the plan."""

    lost: list[LossRecord]
    """Lost workers, in the order in which they were lost."""
    reason: str
    """Events that degraded the result, in one text."""


@dataclass(frozen=True, kw_only=True)
class DuetPair:
    """The duets of two contenders."""

    cpu_lacking: dict[str, Lack]
    """Reason why a contender has no CPU time per request to compare, by contender; empty if both have one."""
    cpu_time_ratio: float | None
    """CPU time of `other` over that of the base, while the full load was held: geometric mean over rounds; `null` without a round, or if the CPU time is unknown."""
    other: str
    """Target that was measured together with the base."""
    rates_not_compared: NoRates | None
    """Reason why the requests per second of the two are not compared; `null` if they are compared."""
    rounds: int
    """Rounds of full length and load."""
    rounds_deviation_percent: float | None
    """Standard deviation over rounds of the ratio of the two rates; `null` with fewer than two rounds."""
    seconds_autocorrelation: float | None
    """Correlation of the ratio in one second with that in the next, from -1 to 1; `null` if `seconds_deviation_percent` is `null`."""
    seconds_deviation_percent: float | None
    """Standard deviation over the seconds within a round of the ratio of the two rates; `null` with fewer than two whole seconds a round."""


@dataclass(frozen=True, kw_only=True)
class DuetRecord:
    """Evidence on the figures of duets, in which two contenders were loaded at the same time on the same CPUs: whether the figures can be compared, and how much they vary."""

    base: str
    """Target that was measured together with each of the others."""
    pairs: list[DuetPair]
    """Each of the others."""


@dataclass(frozen=True, kw_only=True)
class Environment:
    """Machine, software and limits of a run. A value that loadgen cannot find out is empty, 0 or `null`."""

    backends: dict[str, str]
    """Versions of the backends that ran, by backend."""
    cores: int
    """Logical processors that loadgen may use."""
    cpu_model: str
    """Model of the processor."""
    cpus: dict[str, list[int]]
    """Numbers of the logical processors that each part of the test was pinned to: `target`, `backends` and `generator`, and with `--probe` also `probe`. An empty array for a part that was not pinned."""
    git_commit: str | None
    """Commit of the project's checkout, with the suffix `-dirty` if tracked files were changed; `null` without a checkout, or with `--url`."""
    images: dict[str, str]
    """Container images, with their digests where loadgen knows them: that of the Python targets under `target`, and that of each other target, of each backend and of each server in pods under its name; empty without containers."""
    kernel: str
    """Version of the kernel."""
    limits: dict[str, LimitsRecord]
    """Limits of the containers, or of each pod of a server, by target, arm or backend; empty without containers."""
    loadgen: str
    """Version of loadgen."""
    lock_sha256: str | None
    """SHA-256 of the lock file `uv.lock` of the targets' packages, in the project's folder; `null` if loadgen did not start the target, or without a lock file."""
    memory_bytes: int
    """Physical memory."""
    os: str
    """Operating system and its version."""
    podman: str | None
    """Software that ran the containers, such as `podman 4.3.1, runc, cgroup v1`; `null` without containers."""
    postgres_data: FilesystemRecord | None
    """File system of PostgreSQL's data; `null` if loadgen ran no PostgreSQL, or if unknown."""
    python: str | None
    """Version of the targets' Python; `null` if loadgen did not start the target, or if unknown."""
    runtime: str
    """Runtime of the targets: `process`, `podman`, `kubernetes`, or `url` for a server that was already running."""
    system: SystemRecord
    """Settings of the machine that change what is measured; all unknown in documents of earlier versions."""
    telemetry: TelemetryRecord | None
    """Metrics that were sent to a collector, and how many arrived; `null` without `--otlp`, or in documents of earlier versions."""


@dataclass(frozen=True, kw_only=True)
class FlowRecord:
    """Results of the iterations of one flow, or of all flows together, during the hold (the measured period). An iteration is expected if each of its requests got the expected response."""

    cancelled: int
    """Iterations cut off by the end of the round; not included in `iterations`."""
    error_examples: dict[str, str]
    """Description of one failed iteration of each kind of error that occurred."""
    errors: int
    """Iterations with a failed request."""
    errors_by_kind: dict[str, int]
    """Failed iterations, by the kind of error of the first failed request."""
    failed_us: LatencySummary
    """Latencies of the failed iterations."""
    iterations: int
    """Iterations that ended, with or without a failed request."""
    latency_us: LatencySummary
    """Latencies of the expected iterations: from the planned send of the first request to the last response, without think times."""
    name: str
    """Name of the flow, or `iteration` for all flows together."""
    rate_per_s: float
    """Expected iterations per second."""


@dataclass(frozen=True, kw_only=True)
class JudgedTarget:
    """Judgement of one target."""

    confidence_percent: list[float] | None
    """Confidence interval of the loss, at 95 % for all targets together (Bonferroni); `null` if `unjudged`."""
    judgement: Judgement
    """Whether a loss of more than the limit is shown."""
    loss_percent: float | None
    """Loss; negative for a gain. `null` if `unjudged`."""
    more_rounds: int | None
    """Further rounds that would most likely settle an open judgement; `null` unless `open`, or if more than 1,000 rounds are needed."""
    of: LossOf
    """Figure of the loss."""
    target: str
    """Name of the target."""
    why_not: str | None
    """Reason why the target cannot be judged; `null` if judged."""


@dataclass(frozen=True, kw_only=True)
class LatencyOverRounds:
    """Mean of each latency percentile over all whole rounds, which are the rounds that ran as planned. A percentile is `null` with fewer than two whole rounds, or if a round has too few samples for the percentile."""

    p50: OverRounds | None
    """Percentiles; `null` with fewer than two whole rounds, or if a round has too few samples for the percentile."""
    p90: OverRounds | None
    p95: OverRounds | None
    p99: OverRounds | None


@dataclass(frozen=True, kw_only=True)
class LatencyPair:
    """Comparison of two targets by a latency percentile."""

    better: str
    """Target with more expected responses, or a higher capacity, in these rounds; in the open model, the faster target; in `cpu_pairs`, the target that needs less CPU; in `latency_pairs`, the target with the lower percentile. The difference may be chance: see `shown`."""
    confidence_95: list[float] | None
    """95 % confidence interval of the ratio, for this pair alone; `null` with fewer than five rounds or without a ratio."""
    freedom: float | None
    """Degrees of freedom of the test; `null` with fewer than five rounds, without a ratio, or in earlier versions."""
    more_rounds_for_5_percent: int | None
    """Further rounds needed to find a difference of 5 % with 90 % power; 0 if these rounds suffice. `null` if `p_value` is `null`, or if more than 1,000 rounds are needed in all."""
    p_holm: float | None
    """p-value after Holm's correction over all pairs of the comparison, of which those by latency percentiles are a family of their own; `null` if `p_value` is `null`."""
    p_value: float | None
    """p-value of the test, for this pair alone; `null` with fewer than five rounds or without a ratio."""
    percentile: Percentile
    """Only in `latency_pairs`: the compared percentile."""
    ratio: float | None
    """Rate of `better` over that of `worse`; by latency or CPU time, the median or other percentile of the latency, or the CPU time per expected response, of `worse` over that of `better`. Each is the geometric mean over these rounds, so the ratio is at least 1. `null` without a round, or if a round has no expected response."""
    rounds: int
    """Rounds that both targets have; with Welch's test, rounds of the target that has fewer."""
    shown: bool
    """Whether a difference is shown: `p_holm` is below 0.05. The interval then excludes 1."""
    worse: str
    """The other target."""


@dataclass(frozen=True, kw_only=True)
class LoadRecord:
    """Planned load, which is the same in each round."""

    arrivals: str | None
    """Distribution of arrivals over time: `evenly spaced` or `Poisson`; `null` in the closed model."""
    drain_s: float
    """Longest wait for the responses to in-flight requests after an end by time; 3 in documents of earlier versions."""
    duet: bool
    """Whether each round loaded two targets at the same time, on the same CPUs; false in documents of earlier versions."""
    duration_s: float | None
    """Duration of the hold in each round or slice; with stages, of all stages. `null` if iterations end the round."""
    iterations: int | None
    """Iterations in each round, over all users; `null` if time ends the round."""
    model: str
    """Load model: `closed` or `open`."""
    one_start: bool
    """Whether all rounds of a target had one start, in which all targets were up and were loaded in turn: the quick form of an experiment, or servers that loadgen has deployed in a cluster; false in earlier versions."""
    probe_per_s: float | None
    """Planned rate of the probe, in requests/s; `null` without a probe, or in earlier versions."""
    ramp_up_s: float
    """Time over which the load rises from zero; 0 without a ramp-up."""
    rate_per_s: float | None
    """Rate of arrivals, in requests/s; the highest rate of any stage. `null` in the closed model."""
    rounds: int
    """Rounds for each target; with slices, starts."""
    slice_warmup_s: float | None
    """Duration of the warm-up of each slice, or round, but the first of a start, which has `warmup_s`; `null` if each round has a start of its own, and in earlier versions."""
    slices: int | None
    """Slices of each start; each slice is an entry of the target's `rounds`. `null` without slices, or in earlier versions."""
    stages: list[StageRecord]
    """Planned changes of the load, in order; empty for a constant load."""
    targets: list[str]
    """Names of the targets to be loaded, each with its number of server workers or users if the run has several numbers."""
    think_time: str | None
    """Think time in words, such as `1s to 3s`; `null` if users do not wait."""
    trace_one_in: int | None
    """One request in so many told its server to trace it; `null` if none did, and in earlier versions."""
    users: int
    """Users of the whole test, the greatest number if the run has several; in the open model, the most users that send at the same time."""
    warmup_s: float
    """Duration of the warm-up of each round."""
    workers: int
    """Worker processes; 0 if loadgen's own process made the load."""


@dataclass(frozen=True, kw_only=True)
class PoolRecord:
    """A pool of threads that take work from a queue."""

    file: str
    """File with the function that each thread of the pool runs."""
    idle: float
    """Number of those that waited for work."""
    running: float
    """Number of those that ran, or waited for a CPU or for the global interpreter lock."""
    threads: float
    """Number of threads at a moment, of all these processes."""
    waits_most_in: WaitRecord | None
    """Function in which most of the others waited; `null` if none did."""


@dataclass(frozen=True, kw_only=True)
class ProbeRecord:
    """Results of the probe over all rounds of a target. They are in no other figure of the target."""

    ratios: Ratios
    """Ratio of each latency percentile of the load to that of the probe, by percentile, such as `p99`: for the percentiles that both have in each whole round."""
    total: Summary
    """Results of the probe in the hold of all rounds, all steps together; `rounds[].probe` has those of each round."""


@dataclass(frozen=True, kw_only=True)
class ResourceRecord:
    """Resources that a service, with all its descendant processes, used during the measurement."""

    busiest_thread_percent: float | None
    """Time for which the busiest thread ran or waited for a CPU; `null` if not reported by the system."""
    container: ContainerRecord | None
    """Further values from the accounts of the service's container; `null` without a container."""
    context_switches_per_s: float | None
    """Times per second that a thread was given a CPU; `null` if not reported by the system."""
    cpu_percent: float
    """CPU time over elapsed time."""
    cpu_s: float
    """User and system CPU time."""
    cpu_us_per_request: float | None
    """CPU time per expected response, including the CPU time of failed requests; `null` without an expected response, or without CPU time."""
    cpu_wait_percent: float
    """Total time of threads that were ready to run but had no CPU."""
    longest_wait_percent: float | None
    """Time for which the longest waiting thread waited for a CPU; `null` if not reported by the system."""
    memory_idle_bytes: int | None
    """Total of resident memory before the first request of a round, or of the start that its rounds share; over several rounds, the mean. `null` if unknown, for trials of a capacity search, or in earlier versions."""
    memory_max_bytes: int
    """Maximum total of resident memory; shared pages count once for each process that shares them."""
    memory_mean_bytes: int
    """Mean total of resident memory, sampled once a second."""
    open_files_max: int | None
    """Most files open at the same time, including sockets; `null` if not reported by the system."""
    open_files_of_limit_percent: float
    """Most files that one process had open, over the process's limit."""
    processes_percent: list[float]
    """CPU time of each process over elapsed time, in descending order; empty over several rounds."""
    requests_per_cpu_s: float | None
    """Expected responses per second of one core's CPU time; `null` if `cpu_us_per_request` is `null`."""
    samples: ResourceSamples
    """Usage over time, sampled about once a second; empty arrays over several rounds."""


@dataclass(frozen=True, kw_only=True)
class Scaling:
    """How throughput scales with size."""

    amdahl: Amdahl
    """Fit of Amdahl's law."""
    better: Law
    """Law that the rounds prefer."""
    rounds: int
    """Rounds that measured at least two sizes."""
    smallest: int
    """Smallest size."""
    speedups: list[Speedup]
    """Speedup of each size above the smallest."""
    usl: Usl | None
    """Fit of the Universal Scalability Law; `null` with fewer than four sizes, or without finite coefficients."""


@dataclass(frozen=True, kw_only=True)
class ScalingRecord:
    """How the throughput of a target scales with its size."""

    counts: str
    """Unit of the sizes: `replicas` or `server workers`."""
    fits: Scaling | None
    """Fits of both laws; `null` if no law can be fitted."""
    name: str
    """Name of the target, with the other conditions if the target was measured under several."""
    says: str
    """Finding as a sentence, or the reason why no law can be fitted."""


@dataclass(frozen=True, kw_only=True)
class StageResult:
    """Results of one stage of a load that changes in stages."""

    begin_s: float
    """Planned beginning of the stage, from the end of the warm-up."""
    end_s: float
    """Planned end of the stage, from the end of the warm-up."""
    from_: float
    """Planned load at the beginning of the stage: users, or requests/s in the open model."""
    held_s: float
    """Time of the stage that was measured, all rounds together; rates refer to this time."""
    stage: int
    """Number of the stage, from 1, in `stages` of the load."""
    to: float
    """Planned load at the end of the stage: users, or requests/s in the open model."""
    total: Summary
    """Results of the stage, all steps together. Requests that the end of the round cut off belong to the last stage."""


@dataclass(frozen=True, kw_only=True)
class StepOverRounds:
    """Figures of one step over all whole rounds."""

    failed_percent: ShareOverRounds | None
    """Requests that failed or had no response, of all requests; `null` with fewer than two whole rounds, or without a request."""
    latency_us: LatencyOverRounds
    """Latencies of the expected responses."""
    rate_per_s: OverRounds | None
    """Expected responses per second; `null` with fewer than two whole rounds, or if a round has no expected response."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A fact that a reader must know before believing the figures."""

    advice: str
    """Recommended action."""
    kind: VerdictKind
    """Code of the verdict."""
    message: str
    """Description of the observation."""
    target: str | None
    """Name of the target; `null` if the verdict concerns the whole run."""


@dataclass(frozen=True, kw_only=True)
class TrialRecord:
    """One trial: a rate that was held for some time."""

    bottleneck: Bottleneck | None
    """Bottleneck of the trial; `null` if it could not be observed, or in earlier versions."""
    generator_limited: bool
    """Whether the trial did not pass, and the generator may be the reason."""
    held_s: float
    """Duration of the hold."""
    other_loadgen: bool
    """Whether another loadgen measured on this machine during the hold; false in documents of earlier versions."""
    others_percent: float | None
    """CPU time of programs outside the test, as in a round; `null` if the CPUs or the programs of the test are unknown, or in earlier versions."""
    passed: bool
    """Whether the rate was carried and all criteria held."""
    rate_per_s: float
    """Requested rate, in requests/s."""
    reasons: list[str]
    """Reasons why the trial did not pass; empty if the trial passed."""
    resources: dict[str, ResourceRecord]
    """CPU and memory used during the hold, by service: `target`, each backend, and `generator`, unless that is workers on other hosts."""
    round: int
    """Number of the round, from 1."""
    total: Summary
    """Results of the hold, all steps together."""


@dataclass(frozen=True, kw_only=True)
class ArmRecord:
    """An arm: a target under one load."""

    left_out: str | None
    """Reason why the arm was left out: a program, a build or a load balancer that its target lacks; `null` if the arm was to be measured."""
    load: str
    """Load in words."""
    name: str
    """Name of the arm."""
    published: list[PublishedRecord]
    """Published figures, each with ours."""
    scenario: str
    """Name of the scenario."""
    target: str
    """Name of the target, or of the server at `--url`."""


@dataclass(frozen=True, kw_only=True)
class ClaimRecord:
    """Finding about a claim."""

    evidence: list[EvidenceRecord]
    """Figures behind the finding."""
    finding: Finding
    """Finding, with a confidence of 95 %."""
    group: str
    """Name of the group."""
    metric: str
    """Name of the metric."""
    more_rounds: int | None
    """Further rounds that would show a difference as great as the measured one, with a probability of 90 %; `null` if the claim is settled, or if the number is unknown."""
    published: float | None
    """Published ratio; `null` if the file has none."""
    range: list[float | None] | None
    """Lowest and highest figure that confirms the claim, in the unit of the figures of `evidence`; `null` for a side without a limit. `null` in documents of earlier versions."""
    says: str
    """Sentence of the file, or one made of the claim's statement."""
    why: str | None
    """Reason why the claim could not be shown; `null` if the claim held or did not hold."""


@dataclass(frozen=True, kw_only=True)
class ComparedRun:
    """Description of one compared run or capacity search."""

    degraded: str | None
    """Reason why the result differs from the plan; `null` if the run went as planned, or in earlier versions."""
    in_stages: bool
    """Whether the number of rounds was decided in the run (`--precision`); `false` in documents of earlier versions."""
    interrupted: bool
    """Whether the run was interrupted before its planned end."""
    name: str
    """Name of the run: the name of its folder, or a number and the path if two folders have the same name."""
    scenario: str
    """Name of the scenario."""
    started: str
    """Start of the run."""
    verdicts: list[Verdict]
    """Verdicts of the run, except those on missing percentiles and on interruption; empty for a search."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Ranking of the targets, and comparison of pairs of targets."""

    cpu_pairs: list[Pair]
    """Pairs compared by the target's CPU time per expected response; empty for capacities and, without duets, in the closed model."""
    lacking: dict[str, Lack]
    """Reason why a target has no figure to compare, by target; empty in documents of earlier versions."""
    latency_lacking: dict[str, LatencyLacking]
    """Reason why a target is not compared by a latency percentile, by target and percentile, such as `p99_9`; empty for capacities, and in documents of earlier versions."""
    latency_pairs: list[LatencyPair]
    """Pairs compared by each latency percentile; without the median in the open model, where `pairs` has it; empty for capacities, and in documents of earlier versions."""
    noise_floor_percent: float | None
    """Difference to expect between two measurements of the same server: half the width of the 95 % confidence interval of their ratio; `null` if different servers were compared, or with fewer than five rounds."""
    pairs: list[Pair]
    """Compared pairs of targets. With several numbers of server workers or users, only different targets with equal numbers form a pair. Between saved runs, only a target and the same target in the first run form a pair."""
    ranked_by: RankedBy
    """Quantity of the ranking."""
    ranking: list[Placing]
    """Ranked targets, best first."""
    scaling: list[Pair]
    """Pairs of one target with itself: most server workers with fewest, and most users with fewest; empty if the run has only one number of each."""
    stages: list[int]
    """Number of the last round of each stage of a run with `--precision`; empty for a fixed number of rounds, and in documents of earlier versions."""
    test: Test
    """Test of two targets; `paired` in documents of earlier versions."""
    unranked: list[str]
    """Targets that were measured but have no place in the ranking: another party limited the rate, the capacity is only a bound, or no round is whole."""


@dataclass(frozen=True, kw_only=True)
class GateRecord:
    """Judgement of targets against a base: of each target of a run against the first target, or of each target in later runs against itself in the first run."""

    base: str
    """First target, with which the others are compared."""
    judged: list[JudgedTarget]
    """The other targets."""
    limit_percent: float
    """Greatest accepted loss."""


@dataclass(frozen=True, kw_only=True)
class OccupancyRecord:
    """Work and waits of the processes of a target that worked, and of their threads, at the moments at which they were sampled: means over the profiling rounds."""

    gil_held_percent: float | None
    """Share of the moments at which a thread of such a process held the global interpreter lock (GIL), in %, mean over these processes; `null` for programs without this lock."""
    pools: list[PoolRecord]
    """Pools of threads, by number of threads, descending."""
    processes: float
    """Number of processes that worked: those that ran at least half as often as the busiest one. A process that was there for a part of the time counts as that part, and each thread of Node.js as a process; 0 if it is not known."""
    threads_for_cpu: float
    """Number of threads that waited for a CPU at a moment; 0 for Node.js, whose profiler takes them for running ones."""
    threads_for_gil: float
    """Number of threads that waited for the global interpreter lock of their process at a moment."""
    threads_on_cpu: float
    """Number of threads, of all these processes, that ran at a moment."""
    waits: list[WaitRecord]
    """Functions in which the other threads waited, by number of threads, descending: those with at least 0.01 threads."""


@dataclass(frozen=True, kw_only=True)
class ProfileRecord:
    """Where the CPU time of a request goes, by stacks that were sampled in profiling rounds: rounds under the same load after the measured ones, whose figures are in no other field."""

    cpu_us_per_request: float
    """CPU time of the target per expected response, in µs: the mean of the measured rounds, or of the trials at about the rate of the profiling rounds."""
    failure: str | None
    """Reason why the target could not be profiled, which leaves the other fields empty; `null` if it could."""
    file: str
    """Beginning of the names of the files with all stacks, in the folder of the run: `profile-fastapi` for `profile-fastapi.svg`."""
    functions: list[FunctionRecord]
    """Functions, by their own CPU time, descending: those with at least 0.1 % of `samples` of their own, or 1 % with the functions that they call."""
    missed_percent: float
    """Share of the attempts to read a process that failed, in %. What it did then is in no function."""
    occupancy: OccupancyRecord
    """Work and waits of its processes and threads."""
    packages: list[PackageRecord]
    """Packages of these functions, by their own CPU time, descending: those with at least 1 % of `samples`."""
    rounds: int
    """Number of profiling rounds."""
    samples: int
    """Number of threads that were seen running, over all profiling rounds."""


@dataclass(frozen=True, kw_only=True)
class RoundRecord:
    """One measured pass over one target."""

    account: AccountRecord | None
    """Ends of all planned requests, if results of workers are missing; `null` in other rounds, with slices, if the round was stopped, no worker was left or rows ran out, in the closed model for a time, for iterations that may have another number of requests than one or that follow start steps, for more than 20 million arrivals, or in earlier versions."""
    backend_pods: dict[str, PodsRecord]
    """Pods of each backend in a cluster, and their nodes, by the name of the backend; empty for backends elsewhere, and in earlier versions."""
    bottleneck: Bottleneck | None
    """Bottleneck of the round; `null` if it could not be observed."""
    busiest_others: dict[str, float]
    """The busiest programs outside the test, at most three, on any CPU, each with its CPU time in % of one core; empty if the programs of the test are unknown, and in documents of earlier versions."""
    changes: list[LoadChangeRecord]
    """Changes of the load while the round ran."""
    connections: ConnectionsRecord | None
    """Connections that were opened, including those of the warm-up; `null` in earlier versions."""
    counters: dict[str, int]
    """Sums of the counters over the measured requests, by counter; empty in documents of earlier versions."""
    cpus_busy_percent: dict[str, float]
    """Utilization of each logical processor by any program during the hold, by the number of the processor."""
    flows: list[FlowRecord]
    """Results of iterations: of all flows together, and then by flow. Empty if each iteration has one request, and in documents of earlier versions."""
    groups: list[Summary]
    """Results of the hold, by group of steps; empty in documents of earlier versions."""
    held_s: float
    """Duration of the hold."""
    held_up: list[HeldUpRecord]
    """Processes of loadgen that stood still during the hold; empty in documents of earlier versions."""
    logged_bytes: int | None
    """Amount that the target wrote to its log, from the verification to the end of the load; `null` for a server that loadgen did not start, or in earlier versions."""
    machine: MachineRecord
    """Resources that the machine withheld during the hold."""
    other_loadgen: bool
    """Whether another loadgen measured on this machine during the hold; false in documents of earlier versions."""
    others_percent: float | None
    """CPU time that programs outside the test used on the CPUs of the test; for a server at a URL of this machine, on all CPUs that loadgen may use. `null` if the CPUs or the programs of the test are unknown, or for a hold shorter than 0.5 s."""
    partner: PartnerRecord | None
    """Target that was loaded at the same time, on the same CPUs. `resources` has its CPU time as `duet partner`; the CPU time of loadgen and of backends is per response of both. `null` if the target was alone, or in earlier versions."""
    postgres: PostgresActivity | None
    """Activity of PostgreSQL in the round, by its own statistics; `null` if PostgreSQL did not run or did not answer, with slices, or in earlier versions."""
    probe: Summary | None
    """Results of the probe in the hold, all steps together. `resources` has its CPU time as `latency probe`; the CPU time of the target and of backends is per response to the load or the probe. `null` without a probe, or in earlier versions."""
    ramp_up: list[Summary]
    """Results of the ramp-up, by step; empty without a ramp-up."""
    reading_lag_us: LatencySummary | None
    """How late loadgen read what had arrived, by a timer that becomes ready like the connections, all processes together; `null` unless a step expects a stream, or in earlier versions."""
    replicas: list[ReplicaRecord]
    """Replicas of the target; empty without replicas, and in documents of earlier versions."""
    replicas_received: ReceivedRecord | None
    """Responses that loadgen received from the end of the verification to the end of the round, those of a probe included; `null` without replicas, if a service ended by itself, if the scenario follows redirects, or in earlier versions."""
    resources: dict[str, ResourceRecord]
    """CPU and memory used during the hold, by service: `target`, the load balancer (`balancer`), each upstream and backend, and `generator`, unless that is workers on other hosts; with slices also the targets that were up without load, as `idle targets`."""
    round: int
    """Number of the round, from 1."""
    rows_ran_out: list[str]
    """Names of the files of rows that ran out, so that users stopped."""
    rows_used: dict[str, RowsRecord]
    """Use of each file of rows, by file. A file is missing if its use is unknown; empty in documents of earlier versions."""
    schedule: ScheduleRecord | None
    """How well the planned times were kept; `null` in the closed model, for fewer than two requests, or in earlier versions."""
    seconds: list[SecondRecord]
    """Results by second, all steps together, from the end of the warm-up."""
    slice: SliceRecord | None
    """Place of the slice; `null` if the round had a start of its own, or in earlier versions."""
    stages: list[StageResult]
    """Results of each stage that the round reached; empty for a load without stages, and in documents of earlier versions."""
    start_skew_ms: float | None
    """Greatest possible difference between the moments at which two workers had to start, for any delays of the paths between workers and manager; `null` without workers."""
    start_skew_symmetric_ms: float | None
    """Like `start_skew_ms`, if each path takes as long in one direction as in the other; `null` without workers."""
    steps: list[Summary]
    """Results of the hold, by step."""
    steps_seconds: dict[str, StepSeconds]
    """Results by second, by step; empty for a scenario with one step, and in documents of earlier versions."""
    target_ended: str | None
    """Description of how the target or a backend ended; `null` if nothing ended by itself."""
    target_pods: PodsRecord | None
    """Pods of a target in a cluster, and their nodes; `null` for another target, or in earlier versions."""
    total: Summary
    """Results of the hold, all steps together."""
    users_achieved: int
    """Planned users at the end, without those of lost workers that no other worker took over."""
    users_planned: int
    """Planned users; in the open model, the most users that send at the same time."""
    whole: bool
    """Whether the round ran to its planned end with all of its planned load. Other rounds are in no ranking."""


@dataclass(frozen=True, kw_only=True)
class TargetRecord:
    """Results of one target, under one number of server workers and users."""

    bottleneck: Bottleneck | None
    """Bottleneck of most rounds; `null` if it could not be observed."""
    counters: dict[str, int]
    """Sums of the counters over the measured requests, by counter."""
    cpu_us_per_request_over_rounds: dict[str, OverRounds]
    """CPU time per expected response over rounds, by service. A service is missing unless its CPU time is known in all whole rounds, and in at least two."""
    effective_samples: EffectiveSamples
    """Effective sample size, in requests, of each latency percentile of the whole rounds, by percentile, such as `p99`; empty with fewer than five whole rounds, and in documents of earlier versions."""
    failed_over_rounds_percent: ShareOverRounds | None
    """Requests that failed or had no response, of all requests, over rounds; `null` with fewer than two whole rounds, without a request, or in earlier versions."""
    flows: list[FlowRecord]
    """Results of iterations in all rounds: of all flows together, and then by flow. Empty if each iteration has one request, and in documents of earlier versions."""
    groups: list[Summary]
    """Results of the hold in all rounds, by group of steps; empty in documents of earlier versions."""
    json_keys: dict[str, list[str]]
    """Sorted keys of the JSON object in the first response to the step, before the measurement, by step; missing for a response that is no JSON object; empty in documents of earlier versions."""
    latency_histograms: dict[str, Distribution]
    """Latencies of the expected responses of each step, and of the expected iterations of each flow, by step or flow: HdrHistogram V2 encoding, compressed (DEFLATE), in base64, in µs. HdrHistogram's libraries for other languages read this text. An empty string without latencies; an empty object in documents of earlier versions."""
    latency_over_rounds_us: LatencyOverRounds
    """Latencies over rounds, all steps together."""
    name: str
    """Name of the target, with the number of server workers or users if the run has several: `sanic ×2, 500 users`."""
    probe: ProbeRecord | None
    """Results of the probe beside the load; `null` without a probe, or in earlier versions."""
    profile: ProfileRecord | None
    """Functions to which the CPU time of a request goes; `null` without profiling rounds, or in earlier versions."""
    proofs: list[ProofRecord]
    """Proofs of each whole round."""
    rate_over_rounds_per_s: OverRounds | None
    """Expected responses per second over rounds, all steps together; `null` with fewer than two whole rounds, if a round has no expected response, or in earlier versions."""
    resources: dict[str, ResourceRecord]
    """CPU and memory used during the hold of all rounds, by service: `target`, each backend, and `generator`, unless that is workers on other hosts."""
    rounds: list[RoundRecord]
    """Rounds, in the order in which they ran."""
    server: ServerRecord
    """Software of the target."""
    stages: list[StageResult]
    """Results of each stage in all whole rounds; empty for a load without stages, and in documents of earlier versions."""
    steps: list[Summary]
    """Results of the hold in all rounds, by step."""
    steps_over_rounds: dict[str, StepOverRounds]
    """Figures over rounds, by step; empty in documents of earlier versions."""
    target: str
    """Name of the target alone."""
    total: Summary
    """Results of the hold in all rounds, all steps together, under the name `all`."""
    transport: str | None
    """Transport of the requests: `http1`, `http2` or `reqwest`; with TLS such as `http1 with TLS`. `null` in earlier versions."""
    uncoordinated_us: LatencySummary | None
    """Estimate of the latencies of requests that arrive at the rate of the closed model but wait for no other request; `null` in the open model, under a load that changed, or without an expected response."""
    url: str
    """URL of the target."""
    users: int
    """Users that loaded the target; in the open model, the most users that send at the same time."""
    workers: list[WorkerRecord]
    """Workers, all rounds together; empty if loadgen's own process made the load."""


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """The saved result of one run."""

    backend_alone: BackendAloneRecord | None
    """Measurement of a backend alone, before the rounds of an experiment's group; `null` if not measured, or in earlier versions."""
    calibration: Calibration | None
    """Greatest rate of the generator on this machine; `null` if not measured, or if the measurement was disturbed."""
    command: list[str]
    """Command line, including the program; empty in documents of earlier versions."""
    comparison: Comparison | None
    """Ranking and comparison of the targets; `null` for a single server that was already running, unless it was compared with itself, or without a whole round."""
    degraded: Degraded | None
    """Reason why the result differs from the plan; `null` if the run went as planned."""
    duet: DuetRecord | None
    """Whether the figures of duets can be compared, and how much they vary; `null` without duets, or in earlier versions."""
    environment: Environment
    """Machine, software and limits."""
    gate: GateRecord | None
    """Judgement of each target against the first; `null` without `--fail-on-regression`, or in earlier versions."""
    interrupted: bool
    """Whether the run was interrupted before its planned end. In a document that was saved while the run went on, `true`."""
    left_out: dict[str, str]
    """Reason why a target was left out, by target: targets that the user did not name and that this machine cannot run; empty in documents of earlier versions."""
    load: LoadRecord
    """Load of each round."""
    noise_floor: NoiseFloor | None
    """Noise floor of the last earlier run with `--aa` on this machine, in the same runtime, and likewise with rounds, duets or slices; `null` without such a run, or if this run compares a server with itself."""
    precision: PrecisionRecord | None
    """Precision that was asked for, and what it cost; `null` without `--precision`, or in earlier versions."""
    profile_differences: list[ProfileDifference]
    """Functions by which each other target differs from the first one, for targets that are mostly the same program; empty without profiling rounds, and in documents of earlier versions."""
    resumed: list[ResumedRecord]
    """Resumptions of the run, in their order; empty unless `loadgen manager --resume` took it up, and in documents of earlier versions."""
    scaling: list[ScalingRecord]
    """Scaling of each target that was measured with at least three numbers of replicas or server workers; empty in documents of earlier versions."""
    scenario: str
    """Name of the scenario."""
    schema: str
    seed: int
    """Seed of the generated data and of the order of the targets in each round."""
    sent: SentRecord | None
    """Digests of the requests; `null` in earlier versions."""
    slices: SlicesRecord | None
    """How much slices and starts vary; `null` without slices or without two compared targets, or in earlier versions."""
    started: str
    """Start of the run."""
    stopped_early: StoppedEarly | None
    """Threshold that ended the run; `null` unless `--fail-fast` ended the run."""
    targets: list[TargetRecord]
    """Targets with at least one round, in the order in which the user named them."""
    thresholds: list[ThresholdRecord]
    """Judgement of each threshold for each target."""
    verdicts: list[Verdict]
    """Facts to know before believing the figures."""


@dataclass(frozen=True, kw_only=True)
class CapacityTarget:
    """Results of the capacity search for one target."""

    capacity: Capacity
    """Result over all rounds."""
    connections: ConnectionsRecord | None
    """Connections that were opened, over all trials; `null` in earlier versions."""
    curve: list[CurvePoint]
    """Latency over throughput, in ascending order of the rate."""
    knee: CurvePoint | None
    """Point of the curve with the greatest power, which is throughput over mean latency; `null` if no point has a mean latency above 0."""
    name: str
    """Name of the target."""
    profile: ProfileRecord | None
    """Where the CPU time of a request goes at the highest rate that passed in all rounds; `null` without `--profile`."""
    rounds: list[CapacityRound]
    """Results of the rounds, each of which is one search."""
    server: ServerRecord
    """Software of the target."""
    transport: str | None
    """Transport of the requests: `http1`, `http2` or `reqwest`; with TLS such as `http1 with TLS`. `null` in earlier versions."""
    trials: list[TrialRecord]
    """Trials, in the order in which they ran, including those that were only made for the curve."""
    url: str
    """URL of the target."""


@dataclass(frozen=True, kw_only=True)
class CapacityRecord:
    """The saved result of a capacity search: the rate that each target carries."""

    command: list[str]
    """Command line, including the program; empty in documents of earlier versions."""
    comparison: Comparison | None
    """Comparison of the targets whose capacity was found; `null` for fewer than two targets with a capacity."""
    degraded: Degraded | None
    """Reason why the result differs from the plan; `null` if the search went as planned."""
    environment: Environment
    """Machine, software and limits."""
    interrupted: bool
    """Whether the search was interrupted before its planned end. In a document that was saved while the search went on, `true`."""
    left_out: dict[str, str]
    """Reason why a target was left out, by target: targets that the user did not name and that this machine cannot run; empty in documents of earlier versions."""
    scenario: str
    """Name of the scenario."""
    schema: str
    search: SearchRecord
    """Settings of the search."""
    seed: int
    """Seed of the generated data, of the order of the targets, and of the first rate of each search."""
    sent: SentRecord | None
    """Digests of the requests; `null` in earlier versions."""
    started: str
    """Start of the search."""
    targets: list[CapacityTarget]
    """Targets with at least one trial, in the order in which the user named them."""


@dataclass(frozen=True, kw_only=True)
class GroupRecord:
    """Results of the arms of one group, which are measured in interleaved rounds."""

    arms: list[ArmRecord]
    """Arms, in the order of the file."""
    capacity: CapacityRecord | None
    """Capacity document of the group's search, in which a target has the name of its arm; `null` for a group of rounds, and in earlier versions."""
    changed: list[str]
    """Differences from the full form of the file: rounds, loads, warm-ups, settings of a search, and limits that were not in force."""
    description: str | None
    """Description for people; `null` if the file has none."""
    differences: list[DifferenceRecord]
    """Differences between the arms, besides the results."""
    name: str
    """Name of the group."""
    runs: list[RunRecord]
    """Results: a run for the arms of each scenario, load and warm-up. The rounds of all runs of a group are interleaved. A load without a measured round has no run. Empty in a group that searches for capacities."""
    scaling: list[ScalingRecord]
    """Scaling of each target of which at least three arms differ only in their replicas or server workers; empty in documents of earlier versions."""


@dataclass(frozen=True, kw_only=True)
class ExperimentRecord:
    """The saved result of an experiment."""

    claims: list[ClaimRecord]
    """Findings about the claims, in the order of the file."""
    command: list[str]
    """Command line, including the program."""
    description: str | None
    """Description for people; `null` if the file has none."""
    experiment: str
    """Name of the experiment: its file without `.toml`."""
    groups: list[GroupRecord]
    """Groups, in the order of the file."""
    interrupted: bool
    """Whether the experiment was interrupted before its planned end. In a document that was saved while the experiment went on, `true`."""
    quick: bool
    """Whether the quick form was measured."""
    schema: str
    source: SourceRecord | None
    """Publication that the experiment repeats; `null` if the file has none."""
    started: str
    """Start of the experiment."""
    title: str
    """Title for people."""


@dataclass(frozen=True, kw_only=True)
class RunsRecord:
    """Comparison of runs with the first run, target by target."""

    absent: list[Absent]
    """Targets of the first run that a later run lacks, and targets of later runs that the first run lacks."""
    comparison: Comparison
    """Comparison of each target in the later runs with the same target in the first run, by Welch's test."""
    gate: GateRecord | None
    """Judgement of each target in the later runs against the first run. `base` is the first run, and `target` of an entry has the name of the run, such as `sanic (after)`. `null` without `--fail-on-regression`."""
    runs: list[ComparedRun]
    """Runs or searches; the first is the baseline of the others."""
    schema: str
    sent_unknown: list[str]
    """Names of the later runs for which loadgen does not know whether they sent the same requests, because an earlier version saved the later run or the first run."""
    sent_unlike: list[SentUnlike]
    """Targets to which a later run sent other requests than the first run; they are not compared."""
    targets: list[ComparedTarget]
    """Each target in each run, target by target."""
    unlike: list[Unlike]
    """Differences between the runs other than in the results."""
