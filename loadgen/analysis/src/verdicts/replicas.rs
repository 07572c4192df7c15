//! Checks whether the replicas of a target had equal shares of its work, and whether all of their
//! responses arrived.

use super::verdict;
use crate::record::{RoundRecord, TargetRecord, Verdict, VerdictKind};
use loadgen_text::{count, counted};

/// Greatest difference between the responses of two replicas, as a share of the larger number (0 to
/// 1), at which the shares count as equal. With round robin, they differ by one response.
const EQUAL: f64 = 0.01;

/// Number of responses by which the numbers of two replicas may differ in a short round.
const FEW: u64 = 3;

/// Returns the verdicts on the replicas of a target.
pub(super) fn replicas(target: &TargetRecord) -> impl Iterator<Item = Verdict> {
    unequal_replicas(target).into_iter().chain(replicas_miscounted(target))
}

fn unequal_replicas(target: &TargetRecord) -> Option<Verdict> {
    let unequal: Vec<(&RoundRecord, [u64; 2])> = target
        .rounds
        .iter()
        .filter_map(|round| Some((round, extremes(round)?)))
        .filter(|(_, [least, most])| {
            most - least > FEW && (most - least) as f64 > EQUAL * *most as f64
        })
        .collect();
    let share = |[least, most]: &[u64; 2]| *least as f64 / (*most as f64).max(1.0);
    let (round, [least, most]) =
        unequal.iter().min_by(|(_, one), (_, other)| share(one).total_cmp(&share(other)))?;
    let message = format!(
        "the {} replicas got unequal shares in {} of {}: in the worst round, one sent {} \
         responses and another {}",
        round.replicas.len(),
        unequal.len(),
        counted(target.rounds.len() as u64, "round"),
        count(*most),
        count(*least)
    );
    let advice = "the rate is not that of equal replicas: see their logs";
    Some(verdict(target, VerdictKind::UnequalReplicas, message, advice))
}

/// Returns the smallest and the largest number of responses of a replica; `None` without replicas.
fn extremes(round: &RoundRecord) -> Option<[u64; 2]> {
    let responses = || round.replicas.iter().map(|replica| replica.responses);
    Some([responses().min()?, responses().max()?])
}

fn replicas_miscounted(target: &TargetRecord) -> Option<Verdict> {
    let round = target.rounds.iter().find(|round| round.replicas_agree() == Some(false))?;
    let sent: u64 = round.replicas.iter().map(|replica| replica.responses).sum();
    let received = round.replicas_received?;
    let message = format!(
        "in round {}, the replicas sent {} responses, but loadgen received {} to {}",
        round.round,
        count(sent),
        count(received.least),
        count(received.most)
    );
    let advice = "another program may have used the load balancer during the round";
    Some(verdict(target, VerdictKind::ReplicasMiscounted, message, advice))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{ReceivedRecord, ReplicaRecord};

    fn messages(rounds: &[(&[u64], u64)]) -> Vec<String> {
        let round = |(responses, received): &(&[u64], u64)| RoundRecord {
            round: 1,
            replicas: responses
                .iter()
                .map(|responses| ReplicaRecord {
                    responses: *responses,
                    ..ReplicaRecord::default()
                })
                .collect(),
            replicas_received: Some(ReceivedRecord { least: *received, most: *received }),
            ..RoundRecord::default()
        };
        let rounds = rounds.iter().map(round).collect();
        let target = TargetRecord { rounds, ..TargetRecord::default() };
        replicas(&target).map(|verdict| verdict.message).collect()
    }

    #[test]
    fn equal_shares_that_all_arrived_need_no_word() {
        assert_eq!(messages(&[(&[1_000, 1_001, 992], 2_993), (&[], 0)]), [""; 0]);
        assert_eq!(messages(&[(&[3, 0], 3)]), [""; 0], "a short round");
    }

    #[test]
    fn unequal_shares_and_lost_responses_are_named() {
        assert_eq!(
            messages(&[(&[1_000, 980], 1_980), (&[1_000, 500], 1_500), (&[500, 500], 1_000)]),
            [
                "the 2 replicas got unequal shares in 2 of 3 rounds: in the worst round, one sent 1,000 \
              responses and another 500"
            ]
        );
        assert_eq!(
            messages(&[(&[500, 500], 999)]),
            ["in round 1, the replicas sent 1,000 responses, but loadgen received 999 to 999"]
        );
    }
}
