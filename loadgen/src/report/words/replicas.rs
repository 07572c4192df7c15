//! Describes what the replicas of a target did, and whether their responses all arrived.

use super::ranked::ranked;
use crate::measure::BALANCER;
use crate::record::{ReceivedRecord, RunRecord, TargetRecord};
use crate::text::{count, counted, megabytes, precise};

/// Returns a line for each target with replicas: the responses and the resources of each replica, and
/// whether the responses of all replicas are as many as loadgen received.
pub(super) fn replicas(record: &RunRecord) -> Vec<String> {
    ranked(record).into_iter().filter_map(|(target, _)| line(target)).collect()
}

fn line(target: &TargetRecord) -> Option<String> {
    let rounds = || target.rounds.iter().filter(|round| !round.replicas.is_empty());
    let replicas = rounds().map(|round| round.replicas.len()).max()?;
    let of = |replica: usize| rounds().filter_map(move |round| round.replicas.get(replica));
    let sums: Vec<u64> =
        (0..replicas).map(|replica| of(replica).map(|one| one.responses).sum()).collect();
    let each = if replicas == 1 { "" } else { " each" };
    let mut line = format!(
        "{}: {} sent {} responses{each}, {}",
        target.name,
        counted(replicas as u64, "replica"),
        span(ends(sums.iter().copied())?.map(count)),
        agreement(target, sums.iter().sum()),
    );
    let cpu = (0..replicas).filter_map(|replica| mean(of(replica).map(|one| one.cpu_percent)));
    if let Some(cpu) = ends(cpu.map(|cpu| cpu.round() as u64)) {
        line += &format!("; CPU {} % of a core{each}", span(cpu.map(count)));
    }
    let memory =
        (0..replicas).filter_map(|replica| of(replica).map(|one| one.memory_max_bytes).max()?);
    if let Some(memory) = ends(memory) {
        line += &format!("; {} MB{each}", span(memory.map(megabytes)));
    }
    line += &balancer(target).unwrap_or_default();
    Some(line)
}

/// Says which program was the load balancer, and what it cost; `None` if the record does not tell.
fn balancer(target: &TargetRecord) -> Option<String> {
    // HAProxy first: Caddy may be the target itself.
    let mut programs = [("haproxy", "HAProxy"), ("caddy", "Caddy")].into_iter();
    let packages = &target.server.packages;
    let (name, version) =
        programs.find_map(|(package, name)| Some((name, packages.get(package)?)))?;
    let cost = target.resources.get(BALANCER).and_then(|used| used.cpu_us_per_request);
    let cost = cost.map(|us| format!(", with {} µs of CPU time for a request", precise(us)));
    Some(format!("; balanced by {name} {version}{}", cost.unwrap_or_default()))
}

/// Compares the responses of all replicas with those that loadgen received.
fn agreement(target: &TargetRecord, sent: u64) -> String {
    let counted = || target.rounds.iter().filter(|round| !round.replicas.is_empty());
    let received: Option<Vec<ReceivedRecord>> =
        counted().map(|round| round.replicas_received).collect();
    let sent = format!("{} in all", count(sent));
    let Some(received) = received else {
        return format!("{sent}; not compared with loadgen's count");
    };
    let sum = received.iter().fold(ReceivedRecord::default(), |sum, one| ReceivedRecord {
        least: sum.least.saturating_add(one.least),
        most: sum.most.saturating_add(one.most),
    });
    let agrees = counted().all(|round| round.replicas_agree() == Some(true));
    let ReceivedRecord { least, most } = sum;
    match (agrees, least == most) {
        (true, true) => format!("{sent} = {} received: proved", count(least)),
        (true, false) => format!(
            "{sent}, consistent with {} received and {} failed or cut off",
            count(least),
            count(most - least)
        ),
        (false, _) => format!(
            "{sent} ≠ {} received and {} failed or cut off: NOT proved",
            count(least),
            count(most - least)
        ),
    }
}

/// Returns the mean of the values; `None` if one of them is unknown, or without values.
fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let known: Vec<f64> = values.collect::<Option<_>>()?;
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

fn ends(values: impl Iterator<Item = u64>) -> Option<[u64; 2]> {
    values.fold(None, |ends, value| match ends {
        None => Some([value, value]),
        Some([least, most]) => Some([value.min(least), value.max(most)]),
    })
}

fn span([least, most]: [String; 2]) -> String {
    if least == most { least } else { format!("{least} to {most}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::ResourceRecord;
    use crate::record::{ReplicaRecord, RoundRecord};

    fn round(responses: [u64; 2], least: u64, most: u64) -> RoundRecord {
        let replica = |responses| ReplicaRecord {
            responses,
            cpu_percent: Some(24.6),
            memory_max_bytes: Some(50_000_000),
        };
        RoundRecord {
            replicas: responses.map(replica).to_vec(),
            replicas_received: Some(ReceivedRecord { least, most }),
            ..RoundRecord::default()
        }
    }

    fn said(rounds: Vec<RoundRecord>) -> Option<String> {
        line(&TargetRecord { name: "sanic".to_owned(), rounds, ..TargetRecord::default() })
    }

    #[test]
    fn the_line_names_the_balancer_and_its_cost() {
        let of = |packages: &[(&str, &str)], us: Option<f64>| {
            let mut target = TargetRecord {
                name: "sanic".to_owned(),
                rounds: vec![round([5, 5], 10, 10)],
                ..TargetRecord::default()
            };
            let owned = packages.iter().map(|(name, version)| ((*name).into(), (*version).into()));
            target.server.packages = owned.collect();
            let used = ResourceRecord { cpu_us_per_request: us, ..ResourceRecord::default() };
            target.resources.insert(BALANCER.to_owned(), used);
            line(&target).unwrap()
        };
        let caddy = of(&[("caddy", "2.11.7"), ("sanic", "25.3")], Some(187.3));
        assert!(
            caddy.ends_with("; balanced by Caddy 2.11.7, with 187.3 µs of CPU time for a request"),
            "{caddy}"
        );
        let haproxy = of(&[("caddy", "2.11.7"), ("haproxy", "3.2")], None);
        assert!(haproxy.ends_with("; balanced by HAProxy 3.2"), "{haproxy}");
        assert!(!of(&[("sanic", "25.3")], Some(1.0)).contains("balanced"));
    }

    #[test]
    fn the_line_says_whether_the_counts_agree() {
        assert_eq!(said(vec![RoundRecord::default()]), None);
        assert_eq!(
            said(vec![round([500, 501], 1_001, 1_001), round([600, 600], 1_200, 1_200)]).unwrap(),
            "sanic: 2 replicas sent 1,100 to 1,101 responses each, 2,201 in all = 2,201 received: \
             proved; CPU 25 % of a core each; 50 MB each"
        );
        let lost = RoundRecord::default();
        let with_lost = said(vec![round([500, 501], 1_001, 1_001), lost]).unwrap();
        assert!(with_lost.contains("1,001 received: proved; CPU 25 %"), "{with_lost}");
        assert!(
            said(vec![round([500, 501], 999, 1_002)])
                .unwrap()
                .contains("1,001 in all, consistent with 999 received and 3 failed or cut off")
        );
        // The counts of each round must agree, not only their sums.
        assert!(
            said(vec![round([500, 500], 1_001, 1_001), round([600, 601], 1_200, 1_200)])
                .unwrap()
                .contains("2,201 in all ≠ 2,201 received and 0 failed or cut off: NOT proved")
        );
    }
}
