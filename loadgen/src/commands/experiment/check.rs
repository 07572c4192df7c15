//! `loadgen experiment NAME --check`: says what would be measured, left out and installed.

use std::fmt::Write as _;
use std::time::Duration;

use crate::analysis::claims::not_measured;
use crate::experiment::job::Job;
use crate::experiment::published::{Length, Published};
use crate::experiment::subject::Subject;
use crate::failure::{Exit, Failure};
use crate::lab::{Download, Home, Manifest, Needs, Runtime, downloads};
use crate::process::print;
use crate::scenario::experiment::Group;
use crate::text::{count, counted, duration, megabytes};

/// Prints what an experiment would do, in its `quick` or its full form, each of which `published` returns. Starts nothing.
pub fn run(
    quick: bool,
    published: impl Fn(bool) -> Result<Published, Failure>,
) -> Result<Exit, Failure> {
    let is_quick = quick;
    let experiment = published(is_quick)?;
    let has_quick = experiment.file.groups.iter().any(Group::has_quick_form);
    let quick = (has_quick && !is_quick).then(|| published(true)).transpose()?;
    let mut out = format!("{}: {}\n", experiment.file.name, experiment.file.title);
    out += &groups(&experiment);
    for (what, why) in left_out(&experiment) {
        let _ = writeln!(out, "  left out    {what}: {why}");
    }
    out += &claims(&experiment);
    let form = if is_quick { "quick form: " } else { "" };
    if !experiment.jobs.is_empty() {
        let _ = writeln!(out, "  takes       {form}{}", length(&experiment));
    }
    if let Some(quick) = quick.filter(|quick| !quick.jobs.is_empty()) {
        let _ = writeln!(out, "  takes       quick form: {}", length(&quick));
    }
    out += &installs(&experiment)?;
    print(&out)?;
    Ok(if experiment.jobs.is_empty() { Exit::Target } else { Exit::Done })
}

/// Returns a line for each group: its arms that would be measured, and its rounds.
fn groups(experiment: &Published) -> String {
    let mut out = String::new();
    let all = experiment.file.groups.iter().zip(&experiment.groups);
    for (index, (group, jobs)) in all.enumerate() {
        let jobs = &experiment.jobs[jobs.clone()];
        // Jobs may have the arms in another order than the file.
        let names = group.arms.iter().map(|arm| arm.name.as_str());
        let names: Vec<&str> =
            names.filter(|name| experiment.left_out.of(index, name).is_none()).collect();
        let _ = match jobs.first() {
            None => writeln!(out, "  measures    {}: nothing", group.name),
            Some(job) => writeln!(
                out,
                "  measures    {}: {} over each of {}: {}",
                group.name,
                group.counted(job.rounds),
                counted(names.len() as u64, "arm"),
                names.join(", ")
            ),
        };
    }
    out
}

/// Returns each target or arm that would be left out, with the reason.
pub fn left_out(experiment: &Published) -> Vec<(String, &str)> {
    let mut all = Vec::new();
    for (index, group) in experiment.file.groups.iter().enumerate() {
        for arm in &group.arms {
            let Some(why) = experiment.left_out.of(index, &arm.name) else { continue };
            let is_whole = experiment.left_out.has_target(&experiment.file, &arm.target, why);
            let what = match is_whole {
                true => arm.target.clone(),
                false => format!("{} ({})", arm.name, group.name),
            };
            if !all.contains(&(what.clone(), why)) {
                all.push((what, why));
            }
        }
    }
    all
}

/// Returns a line for each claim about an arm that would be left out.
fn claims(experiment: &Published) -> String {
    let line = |claim: &crate::scenario::experiment::Claim| {
        let group = &experiment.file.groups[claim.group];
        let of_arms = || {
            claim.statement.arms().iter().find_map(|&arm| {
                let name = group.arms.get(arm)?.name.as_str();
                let why = experiment.left_out.of(claim.group, name)?;
                Some(not_measured(name, Some(why)))
            })
        };
        let why = experiment.why_not(claim).or_else(of_arms)?;
        Some(format!("  not judged  {} ({}): {why}\n", claim.sentence(group), group.name))
    };
    experiment.file.claims.iter().filter_map(line).collect()
}

/// Says how long an experiment takes, in words.
fn length(experiment: &Published) -> String {
    let Length { known, iterations } = experiment.length();
    let most = experiment.file.quick_time;
    let is_extended = known < most && experiment.jobs.iter().any(|job| job.method.is_one_start());
    let known = duration(Duration::from_secs(known.as_secs()));
    match iterations {
        0 if is_extended => {
            format!("about {known}, and up to {} while claims are open", duration(most))
        }
        0 => format!("about {known}"),
        n => format!(
            "about {known} for starts and warm-ups, and the time of {} iterations",
            count(n)
        ),
    }
}

/// Returns a line for the load balancer, and a line for each download and each build that would come first.
fn installs(experiment: &Published) -> Result<String, Failure> {
    let lab = experiment.jobs.iter().find_map(|job| match &job.subject {
        Subject::Lab { home, .. } if job.runtime == Runtime::Process => Some(home),
        _ => None,
    });
    let Some(home) = lab else { return Ok(String::new()) };
    let needs = needs(experiment, home)?;
    let mut out = String::new();
    if needs.is_balanced {
        let _ = writeln!(out, "  balances    {}", crate::lab::balancer_to_use()?);
    }
    for Download { what, bytes } in downloads(home, &needs)? {
        let size = bytes.map(|bytes| format!(" ({} MB)", megabytes(bytes))).unwrap_or_default();
        let _ = writeln!(out, "  installs    {what}{size}");
    }
    Ok(out)
}

/// Returns what the lab would have to provide.
fn needs(experiment: &Published, home: &Home) -> Result<Needs, Failure> {
    let manifest = Manifest::of(home)?;
    let mut targets = Vec::new();
    for name in experiment.jobs.iter().flat_map(|job| job.subject.names(false)) {
        for target in manifest.with_upstreams(&name)? {
            if !targets.contains(target) {
                targets.push(target.clone());
            }
        }
    }
    let is_balanced = experiment.jobs.iter().any(Job::has_replicas);
    Ok(Needs { targets, is_balanced })
}
