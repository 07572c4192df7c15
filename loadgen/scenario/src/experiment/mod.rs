//! Experiment files: arms that are measured side by side, figures that somebody published about
//! such arms, and claims that the measurement confirms or refutes.

mod explain;

use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use miette::{Diagnostic, NamedSource};
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use self::explain::{describe_load, explain};
use super::backend::Backend;
use super::error::{Fault, count};
use super::limits::Limits;
use super::load::Load;
use super::metric::Metric;
use super::model::Scenario;
use super::threshold::Operator;

/// Largest number of replicas of a target: of an arm, in `targets.toml`, and on the command line.
pub const MOST_REPLICAS: u32 = 64;

/// Time for the quick form of an experiment whose file does not say another.
pub const QUICK_TIME: Duration = Duration::from_secs(180);

/// Arms, published figures and claims of an experiment file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentFile {
    /// Name of the experiment: the file's stem.
    pub name: String,
    /// Title for people.
    pub title: String,
    /// Description for people; `None` without one.
    pub description: Option<String>,
    /// Publication that the experiment repeats; `None` for an experiment that nobody published.
    pub source: Option<Source>,
    /// Limits of each backend's container. The backends serve all groups.
    pub backend_limits: Limits,
    /// Longest time for which the quick form measures, unless its fewest rounds take longer.
    pub quick_time: Duration,
    /// Groups of arms, in the order of the file. Not empty.
    pub groups: Vec<Group>,
    /// Published figures, in the order of the file.
    pub published: Vec<Published>,
    /// Claims, in the order of the file.
    pub claims: Vec<Claim>,
}

/// Publication that an experiment repeats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Title of the publication.
    pub title: String,
    /// Year of the publication; `None` if unknown.
    pub year: Option<u16>,
    /// Address of the publication; `None` if unknown.
    pub url: Option<String>,
    /// Respects in which the experiment differs from the publication, as phrases.
    pub differs: Vec<String>,
}

/// Arms that are measured in interleaved rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// Name of the group, unique in the file.
    pub name: String,
    /// Description for people; `None` without one.
    pub description: Option<String>,
    /// Number of rounds over each arm in the full form; at least 1.
    pub rounds: u32,
    /// Whether the quick form measures the group.
    pub in_quick_form: bool,
    /// Number of rounds over each arm in the quick form; at least 1.
    pub quick_rounds: u32,
    /// Whether the quick form has one start for all rounds, in which all arms are up and are loaded in turn.
    pub quick_one_start: bool,
    /// Search for the highest rate that each arm carries, instead of rounds under the arms' loads;
    /// `None` for rounds. All arms of a search have one scenario.
    pub capacity: Option<CapacitySettings>,
    /// The search of the quick form; `None` for rounds.
    pub quick_capacity: Option<CapacitySettings>,
    /// Backend that is measured alone before the arms; `None` for none.
    pub backend_alone: Option<Backend>,
    /// Arms, in the order of the file. Not empty.
    pub arms: Vec<Arm>,
}

/// Settings of a search for capacities: the highest rates that targets carry.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CapacitySettings {
    /// Largest number of requests in flight; `None` for the scenario's users, or for at least 1,000
    /// if the scenario is of the closed model.
    pub users: Option<u32>,
    /// Shortest time for which a trial holds its rate.
    pub duration: Duration,
    /// Largest accepted distance between the highest rate that passed and the lowest rate that
    /// failed, as a share: 0.05 for 5 %.
    pub precision: f64,
}

impl CapacitySettings {
    /// Precisions that a search may have, as shares.
    pub const PRECISIONS: RangeInclusive<f64> = 0.005..=0.5;
}

impl Default for CapacitySettings {
    fn default() -> Self {
        Self { users: None, duration: Duration::from_secs(5), precision: 0.05 }
    }
}

/// A target under one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// Name of the arm, unique in its group.
    pub name: String,
    /// Name of the target, or of the server at `--url`.
    pub target: String,
    /// Number of worker processes of the target; at least 1.
    pub server_workers: u32,
    /// Number of replicas of the target behind a load balancer; `None` for the target itself,
    /// without a balancer.
    pub replicas: Option<u32>,
    /// CPUs that the arm needs for figures that can be compared with the published ones; 0 for any number.
    pub needs_cpus: u32,
    /// Limits of the target's container.
    pub limits: Limits,
    /// Scenario, with the load of the full form.
    pub scenario: Scenario,
    /// Load of the quick form; `None` if the quick form has the load of the full form.
    pub quick: Option<Load>,
    /// Time that each round runs before its measurements count.
    pub warmup: Duration,
    /// The same in the quick form.
    pub quick_warmup: Duration,
}

/// Figures of one metric that were published about arms of one group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// Index of the group.
    pub group: usize,
    /// Machine on which the figures were measured; `None` if unknown.
    pub machine: Option<String>,
    /// Metric of the figures.
    pub metric: Metric,
    /// Whether the publication shows the best of several runs.
    pub best_of_rounds: bool,
    /// Index of each arm, and its figure in the metric's unit.
    pub figures: Vec<(usize, f64)>,
}

/// A statement about arms of one group that a measurement can confirm or refute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// Sentence for people; `None` if the file has none.
    pub says: Option<String>,
    /// Index of the group.
    pub group: usize,
    /// CPUs that the claim needs besides what its arms need; 0 for any number.
    pub needs_cpus: u32,
    /// Why the quick form cannot judge the claim; `None` if it can.
    pub full_only: Option<String>,
    /// Metric that the claim is about.
    pub metric: Metric,
    /// Statement about the metric.
    pub statement: Statement,
}

/// Statement of a claim. Arms are indices into the claim's group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Statement {
    /// Each arm is better than the next arm of the list: it has the higher rate, or the lower
    /// latency or error rate. At least two arms.
    Order(Vec<usize>),
    /// The first arm's figure divided by the second arm's figure is in a range.
    Ratio {
        /// The two arms.
        arms: [usize; 2],
        /// Lowest and highest ratio that confirm the claim; both positive.
        between: [f64; 2],
        /// Published ratio; `None` if only the range is known.
        published: Option<f64>,
    },
    /// The figures of two arms differ by at most a share of the smaller figure.
    Equal {
        /// The two arms.
        arms: [usize; 2],
        /// Largest difference, as a share of the smaller figure: 0.1 for 10 %. Positive.
        within: f64,
    },
    /// The figure of one arm fulfils a condition.
    Condition {
        /// The arm.
        arm: usize,
        /// Relation of the figure to the bound that must hold.
        operator: Operator,
        /// Bound in the metric's unit.
        bound: f64,
        /// Condition as written in the file, such as `> 10%`.
        text: String,
    },
}

impl Statement {
    /// Returns the indices of the arms.
    #[must_use]
    pub fn arms(&self) -> &[usize] {
        match self {
            Self::Order(arms) => arms,
            Self::Ratio { arms, .. } | Self::Equal { arms, .. } => arms,
            Self::Condition { arm, .. } => std::slice::from_ref(arm),
        }
    }

    /// Returns the published ratio, if any.
    #[must_use]
    pub fn published(&self) -> Option<f64> {
        match self {
            Self::Ratio { published, .. } => *published,
            Self::Order(_) | Self::Equal { .. } | Self::Condition { .. } => None,
        }
    }
}

/// Names that an experiment file can use.
pub struct Known<'a> {
    /// Loads the scenario of a name or a path, as written in the file.
    pub scenario: &'a dyn Fn(&str) -> Result<Scenario, Unusable>,
    /// Names of all targets, or of all servers at `--url`; `None` if each name is possible.
    pub targets: Option<&'a [String]>,
}

/// Reason why a name cannot be used.
pub struct Unusable {
    /// Message for people.
    pub message: String,
    /// Remedy; empty without one.
    pub help: String,
}

/// Reason why an experiment file cannot be used.
#[derive(Debug, Error, Diagnostic)]
pub enum ExperimentError {
    /// The file could not be read.
    #[error("cannot read the experiment {}", path.display())]
    #[diagnostic(code(unreadable_experiment))]
    Unreadable {
        /// Path of the file, as given by the caller.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        reason: std::io::Error,
    },
    /// The file was read, but contains at least one fault.
    #[error("{file} has {}", count(faults))]
    #[diagnostic(code(bad_experiment))]
    Invalid {
        /// Name of the file for display.
        file: String,
        /// Text of the file, into which the faults point.
        #[source_code]
        text: NamedSource<String>,
        /// All faults, ordered by their position in the file.
        #[related]
        faults: Vec<Fault>,
    },
}

impl ExperimentFile {
    /// Returns the experiment with only the group of this index, whose figures and claims keep their order.
    #[must_use]
    pub fn only(&self, group: usize) -> Self {
        let published = self.published.iter().filter(|published| published.group == group);
        let claims = self.claims.iter().filter(|claim| claim.group == group);
        Self {
            groups: self.groups.get(group).cloned().into_iter().collect(),
            published: published.map(|of| Published { group: 0, ..of.clone() }).collect(),
            claims: claims.map(|claim| Claim { group: 0, ..claim.clone() }).collect(),
            ..self.clone()
        }
    }
}

impl Group {
    /// Returns whether the quick form differs from the full form.
    #[must_use]
    pub fn has_quick_form(&self) -> bool {
        let differs = |arm: &Arm| {
            arm.quick.as_ref().is_some_and(|load| *load != arm.scenario.load)
                || arm.quick_warmup != arm.warmup
        };
        !self.in_quick_form
            || self.quick_one_start
            || self.quick_rounds != self.rounds
            || self.quick_capacity != self.capacity
            || self.arms.iter().any(differs)
    }

    /// Returns the search of the quick or of the full form; `None` for rounds.
    #[must_use]
    pub fn capacity(&self, is_quick: bool) -> Option<CapacitySettings> {
        if is_quick { self.quick_capacity } else { self.capacity }
    }
}

impl Arm {
    /// Returns the warm-up of the quick or of the full form.
    #[must_use]
    pub fn warmup(&self, is_quick: bool) -> Duration {
        if is_quick { self.quick_warmup } else { self.warmup }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.title)?;
        self.year.map_or(Ok(()), |year| write!(f, ", {year}"))?;
        self.url.as_ref().map_or(Ok(()), |url| write!(f, ", {url}"))
    }
}
