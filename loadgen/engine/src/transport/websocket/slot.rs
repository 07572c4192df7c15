//! The place of a user's WebSocket, which a step and the user's pauses share.

use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio_tungstenite::tungstenite::Message;

use super::socket::Socket;
use crate::transport::Failure;
use loadgen_scenario::{Action, Step};

/// The place of a user's WebSocket. While the user waits for something else, [`Self::poll_idle`] answers
/// pings and reads what comes.
pub struct Slot {
    /// Whether messages that come between steps are kept for later steps.
    keeps: bool,
    /// Locked by one task only, that of the user.
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    state: State,
    /// The connection of a WebSocket that a step has closed, until the server closes the connection, too:
    /// the side that closes first cannot use the port again for a minute (RFC 6455, section 7.1.1).
    leaving: Option<Box<Socket>>,
    /// The message of the step that is about to be sent.
    unsent: Option<Message>,
    /// Whether a step is in progress.
    waits: bool,
    /// Number of messages that the step has passed over, and the last of them for display.
    passed_over: u32,
    last: String,
    /// Number of bytes of the message that ended the last step.
    received: u64,
    /// Number of attempts at the start steps.
    starts: u64,
}

#[derive(Default)]
enum State {
    /// None was opened.
    #[default]
    Never,
    Open(Box<Socket>),
    /// A step has closed the WebSocket.
    Closed,
    /// The WebSocket is lost, for this reason.
    Lost(String),
}

impl Slot {
    pub(in crate::transport) fn new(keeps: bool) -> Self {
        Self { keeps, held: Mutex::default() }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what comes while the user waits for something other than a step, and answers pings.
    pub(crate) fn poll_idle(&self, context: &mut Context<'_>) {
        let mut held = self.held();
        let keeps = self.keeps || held.waits;
        if let State::Open(socket) = &mut held.state {
            socket.poll_read(keeps, context);
        }
        if held.leaving.as_mut().is_some_and(|socket| socket.poll_gone(context).is_ready()) {
            held.leaving = None;
        }
    }

    /// Closes an open WebSocket, because the user ends. Ready as soon as the server has closed it, too.
    pub(crate) fn poll_away(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut held = self.held();
        if let State::Open(socket) = &mut held.state {
            ready!(socket.poll_away(context));
            held.state = State::Closed;
        }
        if let Some(socket) = &mut held.leaving {
            ready!(socket.poll_gone(context));
            held.leaving = None;
        }
        Poll::Ready(())
    }

    /// Prepares a step that needs an open WebSocket. `message` is what it sends.
    pub(in crate::transport) fn prepare(&self, message: Option<Message>) -> Result<(), Failure> {
        let mut held = self.held();
        let why = match &held.state {
            State::Open(_) => {
                held.unsent = message;
                (held.waits, held.passed_over) = (false, 0);
                return Ok(());
            }
            State::Never => "a step with `websocket` must come first",
            State::Closed => "a step with `close` has closed it",
            State::Lost(why) => why,
        };
        Err(Failure::socketless(why))
    }

    /// Gives up the WebSocket for another one, whose opening begins.
    pub(in crate::transport) fn clear(&self) {
        let mut held = self.held();
        held.state = State::Lost("its opening handshake failed".to_owned());
        (held.received, held.passed_over, held.waits) = (0, 0, false);
    }

    pub(in crate::transport) fn open(&self, socket: Socket) {
        self.held().state = State::Open(Box::new(socket));
    }

    /// Sends the prepared message, and waits for what the step waits for. Returns the next message, or
    /// an empty one if the step waits for none. A further call waits for the next message.
    pub(in crate::transport) fn poll_step(
        &self,
        step: &Step,
        context: &mut Context<'_>,
    ) -> Poll<Result<Bytes, Failure>> {
        let mut held = self.held();
        let result = ready!(held.poll(step.action, self.keeps, context));
        if let Err(failure) = &result {
            held.state = State::Lost(failure.message.clone().into_owned());
        }
        held.received = result.as_ref().map_or(0, |message| message.len() as u64);
        held.waits = false;
        Poll::Ready(result)
    }

    /// Notes that the step does not end with the last message, which is `shown`.
    pub(in crate::transport) fn pass_over(&self, shown: String) {
        let mut held = self.held();
        held.passed_over = held.passed_over.saturating_add(1);
        held.waits = true;
        (held.last, held.received) = (shown, 0);
    }

    /// Gives up the WebSocket, because the step at hand has timed out: a late answer would be taken for
    /// that of a later step. Describes what came instead of the expected message.
    pub(in crate::transport) fn give_up(&self, step: &Step) -> Option<String> {
        let mut held = self.held();
        let was_open = matches!(held.state, State::Open(_));
        if was_open {
            held.state = State::Lost("an earlier step timed out".to_owned());
        }
        held.received = 0;
        if !was_open || !step.action.ends_with_message() {
            return None;
        }
        Some(match held.passed_over {
            0 => format!("no message within {:?}", step.timeout),
            1 => {
                format!("no expected message within {:?}, but another: {}", step.timeout, held.last)
            }
            n => format!(
                "no expected message within {:?}, but {n} others, the last: {}",
                step.timeout, held.last
            ),
        })
    }

    /// Whether the WebSocket was open and is lost.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(self.held().state, State::Lost(_))
    }

    /// Counts an attempt at the start steps.
    pub(crate) fn count_start(&self) {
        self.held().starts += 1;
    }

    /// Number of attempts at the start steps so far.
    pub(crate) fn starts(&self) -> u64 {
        self.held().starts
    }

    /// Number of bytes of the message that ended the last step.
    pub(in crate::transport) fn received(&self) -> u64 {
        self.held().received
    }
}

impl Held {
    fn poll(
        &mut self,
        action: Action,
        keeps: bool,
        context: &mut Context<'_>,
    ) -> Poll<Result<Bytes, Failure>> {
        let State::Open(socket) = &mut self.state else {
            // Unreachable: a step is prepared before it is polled.
            return Poll::Ready(Err(Failure::socketless("an earlier step has lost it")));
        };
        if !self.waits {
            socket.poll_read(keeps, context);
            if action != Action::Receive {
                // What has come before cannot be the answer.
                socket.forget();
            }
            self.waits = true;
            if let Some(message) = self.unsent.take() {
                if let Some(Err(failure)) = socket.ended() {
                    return Poll::Ready(Err(failure));
                }
                socket.start(message)?;
            }
        }
        // The server may need to send before it reads more.
        let sent = socket.poll_sent(context)?;
        socket.poll_read(true, context);
        ready!(sent);
        let came = match action {
            Action::Send { reply: false } => Some(Bytes::new()),
            Action::Close => {
                socket.forget();
                None
            }
            _ => socket.take(),
        };
        match (came, socket.ended()) {
            (Some(message), _) => Poll::Ready(Ok(message)),
            (None, Some(Err(failure))) => Poll::Ready(Err(failure)),
            (None, Some(Ok(()))) => {
                if let State::Open(socket) = mem::replace(&mut self.state, State::Closed) {
                    self.leaving = Some(socket);
                }
                Poll::Ready(Ok(Bytes::new()))
            }
            (None, None) => Poll::Pending,
        }
    }
}
