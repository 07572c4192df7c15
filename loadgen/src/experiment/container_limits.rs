//! Lists the limits of containers, for the record.

use std::collections::BTreeMap;

use super::contender::Contender;
use super::job::Job;
use super::subject::Subject;
use crate::lab::{Lab, Runtime};
use crate::record::LimitsRecord;
use crate::scenario::{Limits, Memory};

/// Returns the CPU and memory limits of each container of a job, by the name of its target, arm,
/// upstream or backend, or of each pod of a server or backend in a cluster; empty without containers.
pub fn limits(job: &Job, lab: Option<&Lab>) -> BTreeMap<String, LimitsRecord> {
    if let Subject::Running(_) = &job.subject {
        let contenders = job.contenders.iter().enumerate();
        let of = |(index, contender): (usize, &Contender)| {
            let deployed = job.running(index)?.deployed.as_ref()?;
            Some((contender.target.clone(), deployed.limits))
        };
        let backends = job.subject.deployed_backends().into_values();
        let backends = backends.map(|of| (of.backend.to_string(), of.limits));
        return backends.chain(contenders.filter_map(of)).collect();
    }
    let Some((lab, Runtime::Podman { backends, .. })) = lab.map(|lab| (lab, lab.runtime())) else {
        return BTreeMap::new();
    };
    let mut all = BTreeMap::new();
    for (index, contender) in job.contenders.iter().enumerate() {
        let Some(target) = job.target(index) else { continue };
        let limits = lab.target_limits(target, contender.limits);
        all.insert(contender.target.clone(), record(limits));
    }
    let up = lab.backends().into_iter().map(|(one, _)| (one.to_string(), record(backends)));
    all.extend(up);
    for target in (0..job.contenders.len()).filter_map(|index| job.target(index)) {
        for upstream in lab.manifest().upstreams_of(target) {
            let limits = record(lab.target_limits(upstream, Limits::default()));
            // An arm may have the name of an upstream.
            all.entry(upstream.name.clone()).or_insert(limits);
        }
    }
    all
}

/// Returns limits as a record has them.
pub fn record(limits: Limits) -> LimitsRecord {
    LimitsRecord {
        cpus: limits.cpus.map(f64::from),
        memory_bytes: limits.memory.map(Memory::bytes),
    }
}
