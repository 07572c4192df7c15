//! Declares the metrics: their names, kinds, units and attributes. Most of this file is the text of
//! `docs/reference/metrics.md`.

/// What the value of a metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A number of things so far, which only grows.
    Counter,
    /// A value at a moment.
    Gauge,
    /// A distribution of durations so far.
    Histogram,
}

/// A metric, as it is named and described to others.
#[derive(Debug, PartialEq, Eq)]
pub struct Metric {
    /// Name in OpenTelemetry.
    pub name: &'static str,
    /// What the value is.
    pub kind: Kind,
    /// Unit by the code of UCUM (<https://ucum.org>); words in braces say what is counted.
    pub unit: &'static str,
    /// What is measured.
    pub help: &'static str,
    /// Whether a value is about the load of one target, with the attributes of [`COMMON`].
    pub is_of_target: bool,
    /// Further attributes of a value.
    pub attributes: &'static [&'static str],
}

/// Attributes of every value about the load of a target.
pub const COMMON: [&str; 3] = ["loadgen.group", "loadgen.scenario", "loadgen.target"];

/// Attributes of HTTP requests, named by the semantic conventions for HTTP metrics of OpenTelemetry.
const OF_REQUESTS: &[&str] = &[
    "loadgen.step",
    "loadgen.phase",
    "http.request.method",
    "server.address",
    "server.port",
    "error.type",
];

const OF_STEPS: &[&str] = &["loadgen.step", "loadgen.phase"];

/// Durations of HTTP requests, which have the name that the semantic conventions give them.
pub(super) static REQUEST_DURATION: Metric = Metric {
    name: "http.client.request.duration",
    kind: Kind::Histogram,
    unit: "s",
    help: "Latency of HTTP requests and gRPC calls, from the planned send to the last byte of the response. Without \
        `error.type` for expected responses; `_OTHER` for failed requests of all kinds.",
    is_of_target: true,
    attributes: OF_REQUESTS,
};

pub(super) static MESSAGE_DURATION: Metric = Metric {
    name: "loadgen.message.duration",
    kind: Kind::Histogram,
    unit: "s",
    help: "Latency of steps that send or receive a message over a WebSocket. `error.type` as for requests.",
    is_of_target: true,
    attributes: &["loadgen.step", "loadgen.phase", "error.type"],
};

pub(super) static ITERATION_DURATION: Metric = Metric {
    name: "loadgen.iteration.duration",
    kind: Kind::Histogram,
    unit: "s",
    help: "Time of whole iterations of a flow, where the scenario measures them. `error.type` as for requests.",
    is_of_target: true,
    attributes: &["loadgen.flow", "loadgen.phase", "error.type"],
};

pub(super) static DELAY: Metric = Metric {
    name: "loadgen.request.delay",
    kind: Kind::Histogram,
    unit: "s",
    help: "Time between the planned and the actual send, in the open model. It is a part of the latency.",
    is_of_target: true,
    attributes: OF_STEPS,
};

pub(super) static FAILURES: Metric = Metric {
    name: "loadgen.request.failures",
    kind: Kind::Counter,
    unit: "{request}",
    help: "Failed requests, by kind.",
    is_of_target: true,
    attributes: &["loadgen.step", "loadgen.phase", "error.type"],
};

pub(super) static CANCELLED: Metric = Metric {
    name: "loadgen.request.cancelled",
    kind: Kind::Counter,
    unit: "{request}",
    help: "Requests that the end of a round cut off.",
    is_of_target: true,
    attributes: OF_STEPS,
};

pub(super) static UNSENT: Metric = Metric {
    name: "loadgen.request.unsent",
    kind: Kind::Counter,
    unit: "{request}",
    help: "Requests that were planned, in the open model, but not sent, because no user was free.",
    is_of_target: true,
    attributes: OF_STEPS,
};

pub(super) static RESENT: Metric = Metric {
    name: "loadgen.request.resent",
    kind: Kind::Counter,
    unit: "{request}",
    help: "Requests that were sent again, because the server had not processed them.",
    is_of_target: true,
    attributes: OF_STEPS,
};

pub(super) static BODY_SIZE: Metric = Metric {
    name: "loadgen.response.body.size",
    kind: Kind::Counter,
    unit: "By",
    help: "Size of all responses' bodies.",
    is_of_target: true,
    attributes: OF_STEPS,
};

pub(super) static COUNTER: Metric = Metric {
    name: "loadgen.counter",
    kind: Kind::Counter,
    unit: "",
    help: "Sum of what a counter of the scenario read from expected responses.",
    is_of_target: true,
    attributes: &["loadgen.step", "loadgen.phase", "loadgen.counter.name"],
};

pub(super) static USERS: Metric = Metric {
    name: "loadgen.load.users",
    kind: Kind::Gauge,
    unit: "{user}",
    help: "Users that are planned now, in the closed model.",
    is_of_target: true,
    attributes: &[],
};

pub(super) static RATE: Metric = Metric {
    name: "loadgen.load.rate",
    kind: Kind::Gauge,
    unit: "{request}/s",
    help: "Requests per second that are planned now, in the open model.",
    is_of_target: true,
    attributes: &[],
};

pub(super) static ROUND: Metric = Metric {
    name: "loadgen.round",
    kind: Kind::Gauge,
    unit: "{round}",
    help: "Number of the round in which the target is loaded now.",
    is_of_target: true,
    attributes: &[],
};

pub(super) static WORKERS: Metric = Metric {
    name: "loadgen.workers",
    kind: Kind::Gauge,
    unit: "{worker}",
    help: "Processes whose results have arrived in this round and that were not lost.",
    is_of_target: true,
    attributes: &[],
};

pub(super) static WORKER_REQUESTS: Metric = Metric {
    name: "loadgen.worker.requests",
    kind: Kind::Counter,
    unit: "{request}",
    help: "Requests that ended, answered or failed, by the worker that sent them, over all targets.",
    is_of_target: false,
    attributes: &["loadgen.worker", "loadgen.worker.host"],
};

pub(super) static CPU: Metric = Metric {
    name: "loadgen.service.cpu.usage",
    kind: Kind::Gauge,
    unit: "{cpu}",
    help: "CPU time of a service with all its processes, per second; 1 is one core. The services are `target`, \
        `generator` and the backends.",
    is_of_target: true,
    attributes: &["loadgen.service"],
};

pub(super) static MEMORY: Metric = Metric {
    name: "loadgen.service.memory.usage",
    kind: Kind::Gauge,
    unit: "By",
    help: "Resident memory of a service with all its processes, or the memory of its container.",
    is_of_target: true,
    attributes: &["loadgen.service"],
};

/// All metrics, in the order in which they are sent and described.
#[must_use]
pub fn all() -> [&'static Metric; 17] {
    [
        &REQUEST_DURATION,
        &MESSAGE_DURATION,
        &ITERATION_DURATION,
        &DELAY,
        &FAILURES,
        &CANCELLED,
        &UNSENT,
        &RESENT,
        &BODY_SIZE,
        &COUNTER,
        &USERS,
        &RATE,
        &ROUND,
        &WORKERS,
        &WORKER_REQUESTS,
        &CPU,
        &MEMORY,
    ]
}

impl Metric {
    /// Returns the name of the metric in Prometheus, without the suffixes of a histogram's series: the same
    /// whether Prometheus scrapes the metric or receives it by OTLP
    /// (<https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/>).
    #[must_use]
    pub fn name_in_prometheus(&self) -> String {
        let total = if self.kind == Kind::Counter { "_total" } else { "" };
        let unit = self.unit_in_prometheus().map(|unit| format!("_{unit}")).unwrap_or_default();
        format!("{}{unit}{total}", in_prometheus(self.name))
    }

    /// Returns the unit as a part of the metric's name in Prometheus; `None` for what is counted.
    pub(super) fn unit_in_prometheus(&self) -> Option<&'static str> {
        match self.unit {
            "s" => Some("seconds"),
            "By" => Some("bytes"),
            "{request}/s" => Some("per_second"),
            _ => None,
        }
    }
}

/// Returns the name of a metric or of an attribute in Prometheus, which knows only letters, digits and `_`, and no
/// digit at the beginning.
#[must_use]
pub fn in_prometheus(name: &str) -> String {
    let begins_with_digit = name.starts_with(|c: char| c.is_ascii_digit());
    let known = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    begins_with_digit.then_some('_').into_iter().chain(known).collect()
}
