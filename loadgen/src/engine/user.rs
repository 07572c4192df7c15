//! What one user does, from its first request to its last.

use std::pin::{Pin, pin};
use std::time::Instant;

use super::check::{Answer, check};
use super::gate::{Admitted, Gate};
use super::plan::Plan;
use super::request::Request;
use super::transport::Transport;
use crate::measure::{Ending, ErrorKind, Outcome, Recorder};
use crate::scenario::{Data, OnError, Step};

/// The number of a user's first iteration in the warm-up: far from those that count, so that what
/// these send doesn't depend on how far the warm-up came.
const WARMUP: u64 = 1 << 39;

/// What all users of a process share.
pub struct Shared {
    pub plan: Plan,
    pub gate: Gate,
    pub recorder: Recorder,
    pub transport: Transport,
}

/// What one user uses again for each of its requests.
struct Hands {
    data: Data,
    request: Request,
    answer: Answer,
    counters: Vec<u64>,
}

impl Shared {
    /// Runs `user`, numbered over the whole test, until the gate lets it through no more.
    pub async fn run_user(&self, user: u32) {
        let mut hands = Hands {
            data: Data::new(self.plan.seed, user),
            request: Request::default(),
            answer: Answer::default(),
            counters: Vec::new(),
        };
        let mut cut = pin!(self.gate.cut());
        let (mut begun, mut warmed) = (0, WARMUP);
        while let Some(Admitted { counted }) = self.gate.admit(user, begun).await {
            let count = if counted { &mut begun } else { &mut warmed };
            hands.data.set_iteration(*count);
            *count += 1;
            if !self.iterate(counted, &mut hands, cut.as_mut()).await {
                break;
            }
        }
    }

    /// One pass over the steps; `false` when the end of the round cut it.
    async fn iterate(
        &self,
        counted: bool,
        hands: &mut Hands,
        mut cut: Pin<&mut impl Future<Output = ()>>,
    ) -> bool {
        for (index, step) in self.plan.scenario.steps.iter().enumerate() {
            // A step that would begin after the end is no planned request.
            if index > 0 && self.gate.is_closed() {
                return false;
            }
            match self.attempt(index, step, counted, hands, cut.as_mut()).await {
                Went::Well => {}
                Went::Wrong if self.plan.scenario.on_error == OnError::Continue => {}
                Went::Wrong => break,
                Went::Cut => return false,
            }
        }
        true
    }

    /// Sends one step, waits for its answer, and counts it, in exactly one place.
    async fn attempt(
        &self,
        index: usize,
        step: &Step,
        counted: bool,
        hands: &mut Hands,
        cut: Pin<&mut impl Future<Output = ()>>,
    ) -> Went {
        let Hands { data, request, answer, counters } = hands;
        request.render(&self.plan.base_url, step, data);
        counters.clear();
        answer.bytes = 0;
        let planned = Instant::now();
        let exchange = self.transport.exchange(step, request, answer);
        let result = tokio::select! {
            biased;
            result = tokio::time::timeout(step.timeout, exchange) => Some(result),
            () = cut => None,
        };
        let done = Instant::now();
        let message;
        let (ending, went) = match result {
            None => (Ending::Cancelled, Went::Cut),
            Some(Err(_)) => {
                message = format!("no whole answer within {:?}", step.timeout);
                (Ending::Failed(ErrorKind::Timeout, &message), Went::Wrong)
            }
            Some(Ok(Err(failure))) => {
                message = failure.message;
                (Ending::Failed(failure.kind, &message), Went::Wrong)
            }
            Some(Ok(Ok(()))) => match check(step, answer, counters) {
                Ok(()) => (Ending::Answered, Went::Well),
                Err(wrong) => {
                    message = wrong.sentence();
                    (Ending::Failed(wrong.kind, &message), Went::Wrong)
                }
            },
        };
        let bytes = answer.bytes;
        self.recorder.record(&Outcome {
            step: index,
            counted,
            planned,
            done,
            bytes,
            ending,
            counters,
        });
        went
    }
}

/// How a request went, as far as the user that sent it is concerned.
enum Went {
    Well,
    Wrong,
    Cut,
}
