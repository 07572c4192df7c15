//! Explains an experiment in words: its groups, arms and claims.

use std::fmt::{self, Write};

use super::{Arm, CapacitySettings, Claim, ExperimentFile, Group, Statement};
use crate::explain::explain_load;
use crate::load::{Load, WARMUP};
use loadgen_text::{count, counted, duration, precise};

/// Returns the explanation of the whole experiment.
#[must_use]
pub fn explain(experiment: &ExperimentFile) -> String {
    let mut out = format!("{}: ok\n  {}\n", experiment.name, experiment.title);
    if let Some(description) = &experiment.description {
        let _ = writeln!(out, "  {description}");
    }
    if let Some(source) = &experiment.source {
        let _ = writeln!(out, "  after       {source}");
        for phrase in &source.differs {
            let _ = writeln!(out, "  differs     {phrase}");
        }
    }
    if !experiment.backend_limits.is_none() {
        let _ = writeln!(out, "  backends    {} in a container", experiment.backend_limits);
    }
    for (index, group) in experiment.groups.iter().enumerate() {
        out += &explain_group(group);
        let of = experiment.published.iter().filter(|published| published.group == index);
        for published in of {
            let machine = published.machine.as_deref().unwrap_or("a machine without a name");
            let number = match published.figures.len() {
                1 => "1 figure".to_owned(),
                n => format!("{n} figures"),
            };
            let best = if published.best_of_rounds { ", best of several runs" } else { "" };
            let _ =
                writeln!(out, "    published   {} on {machine}: {number}{best}", published.metric);
        }
        for claim in experiment.claims.iter().filter(|claim| claim.group == index) {
            let needs = explain_needs(claim.needs_cpus);
            let full = if claim.full_only.is_some() { ", only in the full form" } else { "" };
            let _ = writeln!(out, "    claim       {}{needs}{full}", claim.sentence(group));
        }
    }
    out
}

fn explain_group(group: &Group) -> String {
    let mut out = format!("  group       {}", group.name);
    if let Some(description) = &group.description {
        let _ = write!(out, ": {description}");
    }
    out += "\n";
    let _ = write!(out, "    rounds      {}", group.counted(group.rounds));
    let _ = match group.quick_rounds {
        _ if !group.in_quick_form => writeln!(out, " (quick: none)"),
        same if same == group.rounds => writeln!(out),
        quick => writeln!(out, " (quick: {})", group.counted(quick)),
    };
    if group.quick_one_start {
        out += "    one start   quick: all arms are up at the same time, and are loaded in turn\n";
    }
    if let Some(backend) = group.backend_alone {
        let _ = writeln!(out, "    alone       {backend} is measured alone first");
    }
    if let Some(search) = &group.capacity {
        let quick = group.quick_capacity.filter(|quick| quick != search);
        let quick = quick.map(|quick| format!(" (quick: {quick})")).unwrap_or_default();
        let _ = writeln!(out, "    capacity    {search}{quick}");
    }
    for load in loads(group) {
        let _ = writeln!(out, "    load        {load}");
    }
    for arm in &group.arms {
        let Arm { name, target, server_workers, replicas, limits, scenario, warmup, .. } = arm;
        let workers = match server_workers {
            1 => String::new(),
            n => format!(" ×{n}"),
        };
        let replicas = match replicas {
            None => String::new(),
            Some(1) => ", 1 replica".to_owned(),
            Some(n) => format!(", {n} replicas"),
        };
        let limits = match limits.is_none() {
            true => String::new(),
            false => format!(", {limits} in a container"),
        };
        let warmup = (*warmup != WARMUP).then(|| format!(", warm-up of {}", duration(*warmup)));
        let _ = writeln!(
            out,
            "    arm         {name}: {target}{workers}{replicas}, {}{limits}{}{}",
            scenario.name,
            warmup.unwrap_or_default(),
            explain_needs(arm.needs_cpus)
        );
    }
    out
}

/// Returns the CPUs that an arm or a claim needs, in words; empty for any number.
fn explain_needs(cpus: u32) -> String {
    match cpus {
        0 => String::new(),
        n => format!(", needs {} for the targets", counted(n.into(), "CPU")),
    }
}

/// Returns the different loads of a group's arms, in words, each with its quick form; empty for a
/// search, which sets the load.
fn loads(group: &Group) -> Vec<String> {
    let mut all = Vec::new();
    if group.capacity.is_some() {
        return all;
    }
    for Arm { scenario, quick, .. } in &group.arms {
        let quick = quick.as_ref().filter(|quick| **quick != scenario.load);
        let quick = quick.map(|quick| format!(" (quick: {})", describe_load(quick)));
        let load = describe_load(&scenario.load) + &quick.unwrap_or_default();
        if !all.contains(&load) {
            all.push(load);
        }
    }
    all
}

/// Returns a load in words, with its think time.
#[must_use]
pub fn describe_load(load: &Load) -> String {
    let think_time = load.think_time.as_ref().map(|time| format!(", think time {time}"));
    explain_load(load) + &think_time.unwrap_or_default()
}

impl Group {
    /// Returns a number of rounds, or of searches if the group has them, in words.
    #[must_use]
    pub fn counted(&self, rounds: u32) -> String {
        match (rounds, self.capacity) {
            (1, None) => "1 round".to_owned(),
            (1, Some(_)) => "1 search".to_owned(),
            (n, None) => format!("{} rounds", count(n.into())),
            (n, Some(_)) => format!("{} searches", count(n.into())),
        }
    }
}

impl fmt::Display for CapacitySettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (percent, time) = (precise(self.precision * 100.0), duration(self.duration));
        write!(f, "a search to a precision of {percent} %, by trials of {time}")?;
        self.users.map_or(Ok(()), |users| {
            write!(f, " with at most {} in flight", counted(users.into(), "request"))
        })
    }
}

impl Claim {
    /// Returns the sentence of the file, or the statement as a sentence. `group` is the group that
    /// the claim is about.
    #[must_use]
    pub fn sentence(&self, group: &Group) -> String {
        if let Some(says) = &self.says {
            return says.clone();
        }
        let (metric, name) = (&self.metric, |arm: usize| group.arms[arm].name.as_str());
        match &self.statement {
            Statement::Order(arms) => {
                let names: Vec<&str> = arms.iter().map(|arm| name(*arm)).collect();
                format!("by {metric}, best first: {}", names.join(", "))
            }
            Statement::Ratio { arms: [one, other], between: [low, high], .. } => {
                let (one, other) = (name(*one), name(*other));
                format!("{metric} of {one} / {metric} of {other} is between {low} and {high}")
            }
            Statement::Equal { arms: [one, other], within } => {
                let (one, other, percent) = (name(*one), name(*other), within * 100.0);
                format!("{metric} of {one} equals {metric} of {other} within {percent} %")
            }
            Statement::Condition { arm, text, .. } => {
                format!("{metric} of {} is {text}", name(*arm))
            }
        }
    }
}
