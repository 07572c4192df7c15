# Written from the command line's definition: `make reference`.
"""Options of loadgen's commands, as keyword arguments: `--server-workers 4` is `server_workers=4`."""

from collections.abc import Sequence
from os import PathLike
from typing import Literal, TypedDict

Value = str | int | float | PathLike[str]
"""Value of an option, as on the command line: `duration="10s"`, `users=50`."""


class MeasuringOptions(TypedDict, total=False):
    """Options of `loadgen run` and `loadgen capacity`."""

    target: Value | Sequence[Value]
    """Targets to measure, of loadgen.toml or of the lab. NAME@REF is a target of loadgen.toml as it is at a ref of
    Git, such as `shop@main`; `shop@.` is the working tree [default: the targets of the scenario, or else all of
    the project except those with `default = false`]."""
    hosts: Value | Sequence[Value]
    """Hosts that send the load, as ssh knows them, each with its number of workers (1 if left out). loadgen starts
    and ends the workers through ssh. @FILE has a host in each line. ssh must reach each host without a question.
    A host that lacks this version of loadgen gets it, in the user's cache. All workers have equal shares of the
    load."""
    drain: Value
    """Longest wait for the responses to in-flight requests at the end of each round or trial, at most 10m.
    Responses during this wait count in no rate and no latency; requests without a response count against
    thresholds [default: from the scenario, or 3s]."""
    insecure: bool
    """Accept any certificate of a server at an https:// URL."""
    cacert: Value
    """PEM file with certificates to trust besides the system's: of authorities, or the self-signed certificate of a
    server."""
    cert: Value
    """PEM file with the certificate that the users show to servers."""
    key: Value
    """PEM file with the private key of --cert."""
    url: Value | Sequence[Value]
    """URLs of running servers, instead of servers that loadgen starts: one server to load, or several servers to
    compare. NAME= sets the name of a server in the results. A URL is http:// or https://, or unix:PATH for a
    server on a Unix domain socket, without a user, a password, a query or a fragment."""
    runtime: Literal["process", "podman", "kubernetes"]
    """Runtime of targets and backends [default: process]."""
    cpus: Value
    """Number of CPUs that each target may use in its container or pod, such as 0.5, from 0.01 to 1024. Requires
    `--runtime podman` or `loadgen k8s` [default: the limit of the experiment's arm, or in targets.toml, or no
    limit]."""
    memory: Value
    """Memory that each target may use in its container or pod, at least 6m: in bytes, or with a unit of 1,024, such
    as 256m or 1g. Requires `--runtime podman` or `loadgen k8s` [default: as of --cpus]."""
    backend_cpus: Value
    """Number of CPUs that each backend may use in its container or pod, from 0.01 to 1024. Requires `--runtime
    podman` or `loadgen k8s` [default: the limit of the experiment, or no limit]."""
    backend_memory: Value
    """Memory that each backend may use in its container or pod, at least 6m. Requires `--runtime podman` or
    `loadgen k8s` [default: the limit of the experiment, or no limit]."""
    workers: Value
    """Number of worker processes that share the load, from 1 to 256 [default: no worker processes; this process
    sends the load]."""
    warmup: Value
    """Time that each round or trial runs before its measurements count [default: 1s, or that of the arm of an
    experiment]."""
    seed: Value
    """Seed for generated data, the order of targets, and the rates of trials, from 0 to 2^64 - 1 [default: chosen
    at random, and reported]."""
    no_calibrate: bool
    """Skip the calibration, which measures the highest rate that the generator can send on this machine. The
    calibration takes a second, once for each machine, build and load."""
    anyway: bool
    """Measure even while another loadgen measures on this machine, instead of waiting for its end. The results of
    both then have the verdict `measured_together`."""
    web: Value | bool
    """Serve a page that shows in browsers what happens, and becomes the report at the end. ADDRESS is HOST:PORT,
    HOST, or PORT of this host only; 127.0.0.1 with a free port without ADDRESS. Whoever reaches the address may
    see the page."""
    web_control: bool
    """Also print a URL of the page with which viewers may change the load, and end the command."""
    otlp: Value | bool
    """Send metrics, once a second, to a collector of OpenTelemetry at this URL, such as http://localhost:4318, or
    to Prometheus: http://localhost:9090/api/v1/otlp. Without URL, to that of the environment variable
    OTEL_EXPORTER_OTLP_ENDPOINT or else to http://localhost:4318 [default: send none]."""
    trace_one_in: Value
    """Send the header `traceparent` with one request in N, on average, and a span for it to the collector of
    --otlp, so that the slow request is found in the server's own trace [default: trace none]."""
    prometheus: Value | bool
    """Serve metrics for Prometheus at this address, below /metrics: HOST:PORT, HOST, or PORT of this host only;
    127.0.0.1:9464 without ADDRESS. At the end, wait up to 65 s until Prometheus has the last values [default:
    serve none]."""
    out: Value
    """Folder for the result, which must not hold an earlier result [default: runs/TIME-NAME]."""


class RunOptions(MeasuringOptions, total=False):
    """Options of `loadgen run`."""

    scenario: Value
    """Name of a scenario (see `loadgen list`), or path of its TOML file: a value that ends in `.toml` or contains a
    `/`. `-` reads the scenario from standard input. Required without a URL."""
    method: Value
    """Method of the request to URL [default: GET, or POST with --body]."""
    header: Value | Sequence[Value]
    """Header of the request to URL, such as `accept: text/html`; may be given several times."""
    body: Value
    """Body of the request to URL: the text itself, or the text of a file. The media type is that of the header
    content-type; without this header `application/json` if the text is JSON, or else `text/plain; charset=utf-8`."""
    users: Value | Sequence[Value]
    """Number of users of the whole test, from 1 to 1,000,000. With several numbers, such as 100,500, each target is
    measured with each number [default: from the scenario; 50 with a URL]. If the limits on open files or local
    ports do not allow so many users, loadgen refuses the run before anything starts; on other hosts, before any
    load."""
    ramp_up: Value
    """Time over which the users start, or over which the rate rises [default: from the scenario]."""
    duration: Value
    """Time for which each round holds the load, such as 10s or 1m30s: above 0, and with --ramp-up at most 24h
    [default: from the scenario; 10s with a URL]."""
    iterations: Value
    """Number of iterations of each round, shared by all users, from 1 to 10^12. Excludes --duration [default: from
    the scenario]."""
    rate: Value
    """Requests per second of the whole test, from 0.001 to 10,000,000. Selects the open model, in which any idle
    user sends the next request. --users then limits the number of in-flight requests [default: from the
    scenario]. Without --users, the limit is the number of users of the scenario; for a scenario of the closed
    model with fewer than 1000 users, the limit is 1000."""
    aa: bool
    """Measure one target, or the server at --url, twice in each round. The result shows how much two measurements
    of the same server differ on this machine."""
    duet: bool
    """Load two targets at the same time, on the same CPUs, so that what slows the machine slows both alike. Shows
    differences of a few percent, but no latencies of a server alone. Further targets are each measured with the
    first one."""
    probe: Value | bool
    """Measure the latency with a few more users, in a process and on connections of their own, beside the load.
    Their iterations begin at random times, at RATE requests per second, from 0.1 to 1000; at 20 without RATE. A
    verdict tells where the latencies of the load differ."""
    profile: Value | bool
    """Find out to which functions the CPU time of a request goes, and what the server waits for: load each target
    again in ROUNDS profiling rounds after the measured ones, from 2 to 100; in 8 without ROUNDS; in a search at
    the highest rate that passed. The stacks of Python and Node.js are sampled. The figures of these rounds are
    in no result."""
    slices: Value
    """Number of slices of each start of the targets, from 1 to 100. With several, all targets are up at the same
    time, and are loaded in turn, once in each slice. Each target is loaded for --duration in all slices of a
    start together. --rounds is then the number of starts. One slice is a round as without the option, with a
    start of its own."""
    rounds: Value
    """Number of rounds for each target, from 1 to 1000 [default: 5; 10 with --duet or --precision; 1 for a single
    server at --url without --aa and --probe, and with a single number of users]."""
    precision: Value
    """Measure until each interval that the result compares is no wider than ± this, in %, from 0.1 to 50. --rounds
    are then those of the first stage, at least 5, whose noise decides how many follow."""
    rounds_max: Value
    """Greatest number of rounds for --precision, from 5 to 10000."""
    time_max: Value
    """Greatest time for --precision; the first stage is measured in any case [default: no limit]."""
    on_worker_loss: Literal["fail", "continue", "redistribute"]
    """Reaction to the loss of a worker. The exit code is 5 in any case [default: fail]."""
    fail_fast: bool
    """End the run as soon as a threshold has failed. The measurements until then are reported and saved."""
    fail_on_regression: Value
    """Greatest accepted loss of each target compared with the first, in %, from 0 to 100. The exit code is 3 if a
    greater loss is shown, and 1 if a target cannot be judged. A loss is a lower rate of expected responses; in
    the open model a longer median latency; in a duet more CPU time per request."""
    junit: Value
    """File for the results of all thresholds, proofs and regressions, as JUnit XML."""
    server_workers: Value | Sequence[Value]
    """Number of worker processes of each target, from 1 to 256. With several numbers, such as 1,2,4, each target is
    measured with each number [default: 1]."""
    replicas: Value | Sequence[Value]
    """Number of replicas of each target behind a load balancer (HAProxy or else Caddy, round robin), from 1 to 64.
    With several numbers, such as 1,2,4, each target is measured with each number [default: the target itself,
    without a balancer]."""


class CapacityOptions(MeasuringOptions, total=False):
    """Options of `loadgen capacity`."""

    scenario: Value
    """Name of a scenario (see `loadgen list`), or path of its TOML file. A rate passes only if all thresholds of
    the scenario hold. If none of them limits the errors of all steps together, loadgen adds `error_rate < 1%`.
    Required without a URL."""
    method: Value
    """Method of the request to URL [default: GET, or POST with --body]."""
    header: Value | Sequence[Value]
    """Header of the request to URL, such as `accept: text/html`; may be given several times."""
    body: Value
    """Body of the request to URL: the text itself, or the text of a file. The media type is that of the header
    content-type; without this header `application/json` if the text is JSON, or else `text/plain; charset=utf-8`."""
    users: Value
    """Largest number of in-flight requests, from 1 to 1,000,000 [default: the users of the scenario; 1000 for a
    scenario of the closed model with fewer users]."""
    duration: Value
    """Shortest time for which a trial holds its rate, above 0. At a low rate a trial lasts longer, until it has the
    samples that the thresholds need."""
    precision: Value
    """Largest accepted distance between the highest rate that passed and the lowest rate that failed, in %, from
    0.5 to 50."""
    rounds: Value
    """Number of searches for each target, from 1 to 1000. Each search after the first begins near the result of the
    earlier searches [default: 5, and up to 5 more while the 95 % confidence interval of a capacity is wider than
    ±25 %]."""
    server_workers: Value
    """Number of worker processes of each target, from 1 to 256 [default: 1]."""
    replicas: Value
    """Number of replicas of each target behind a load balancer (HAProxy or else Caddy, round robin), from 1 to 64
    [default: the target itself, without a balancer]."""
    profile: Value | bool
    """Find out to which functions the CPU time of a request goes, and what the server waits for: load each target
    again in ROUNDS profiling rounds after the measured ones, from 2 to 100; in 8 without ROUNDS; in a search at
    the highest rate that passed. The stacks of Python and Node.js are sampled. The figures of these rounds are
    in no result."""


class CompareOptions(TypedDict, total=False):
    """Options of `loadgen compare`."""

    fail_on_regression: Value
    """Greatest accepted loss of a target compared with the first run, in %, from 0 to 100. The exit code is 3 if a
    greater loss is shown, and 1 if a target cannot be judged. A loss is a lower rate of expected responses, a
    lower capacity or, in the open model, a longer median latency."""
    junit: Value
    """File for the result as JUnit XML: whether each target of a later run lost more than --fail-on-regression
    accepts, and why a run failed."""


REPEATED = frozenset({"header"})
"""Options that are given once for each value. Others take their values in one word, separated by commas."""
