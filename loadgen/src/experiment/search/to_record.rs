//! Builds the record of a search.

use super::profiling::profile;
use super::searched::{OfTarget, Searched};
use super::{CapacitySearch, Terms};
use crate::analysis::{compare_capacities, curve, knee};
use crate::experiment::command_line::command_line;
use crate::experiment::sent::{sent, transport};
use crate::experiment::to_record::{Context, server};
use crate::failure::Exit;
use crate::lab::Lab;
use crate::record::{Capacity, CapacityRecord, CapacityTarget, Degraded, SavedAs, SearchRecord};
use crate::scenario::Model;

/// Builds the record of a search, without targets that had no trial.
pub(super) fn record(
    quest: CapacitySearch<'_>,
    searched: &Searched,
    context: Context<'_>,
) -> CapacityRecord {
    let names = quest.job.names().into_iter().enumerate().zip(&searched.targets);
    let targets: Vec<CapacityTarget> = names
        .filter(|(_, of)| !of.trials.is_empty())
        .map(|((index, name), of)| target(quest, index, name, of, context.lab))
        .collect();
    let failed = searched.failure.as_ref().filter(|failure| failure.exit == Exit::Degraded);
    CapacityRecord {
        schema: CapacityRecord::SCHEMA.to_owned(),
        scenario: quest.job.scenario.name.clone(),
        started: humantime::format_rfc3339_seconds(context.started).to_string(),
        seed: quest.job.seed,
        command: command_line(),
        environment: context.environment,
        search: search(quest, searched),
        sent: Some(sent(&quest.job.scenario)),
        left_out: quest.job.subject.left_out(),
        comparison: compare_capacities(&targets),
        targets,
        degraded: failed
            .map(|failure| Degraded { reason: failure.report.to_string(), lost: Vec::new() }),
        interrupted: context.interrupted,
    }
}

fn target(
    quest: CapacitySearch<'_>,
    index: usize,
    name: String,
    of: &OfTarget,
    lab: Option<&Lab>,
) -> CapacityTarget {
    let curve = curve(&of.trials, quest.terms.precision);
    CapacityTarget {
        profile: profile(quest, &name, of),
        name,
        url: of.url.clone(),
        transport: Some(transport(&quest.job.scenario, &of.url)),
        connections: Some(of.connections.clone().into()),
        server: server(quest.job, index, lab),
        capacity: Capacity::of(&of.rounds),
        knee: knee(&curve).cloned(),
        curve,
        rounds: of.rounds.clone(),
        trials: of.trials.iter().map(|tried| tried.record.clone()).collect(),
    }
}

fn search(quest: CapacitySearch<'_>, searched: &Searched) -> SearchRecord {
    let CapacitySearch { job, terms: Terms { criteria, precision, duration, .. }, .. } = quest;
    let arrivals = match job.scenario.load.model {
        Model::Open(open) => open.arrivals,
        Model::Closed => Default::default(),
    };
    let most = searched.targets.iter().map(|of| of.rounds.len()).max().unwrap_or(0);
    SearchRecord {
        criteria: job.scenario.thresholds.iter().map(ToString::to_string).collect(),
        left_out: criteria.left_out.clone(),
        arrivals: arrivals.to_string(),
        users: job.scenario.load.users,
        duration_s: duration.as_secs_f64(),
        drain_s: job.scenario.load.drain.as_secs_f64(),
        warmup_s: job.warmup.as_secs_f64(),
        precision_percent: precision * 100.0,
        lowest_per_s: criteria.range(*precision).lowest_per_s,
        targets: job.names(),
        rounds: job.rounds.max(u32::try_from(most).unwrap_or(u32::MAX)),
        trace_one_in: job.trace_one_in,
        workers: job.workers.unwrap_or(0),
    }
}
