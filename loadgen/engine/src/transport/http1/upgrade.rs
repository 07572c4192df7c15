//! Opens a WebSocket over HTTP/1.1 (RFC 6455, section 4), and sends messages over it.

use std::future::poll_fn;

use super::exchange::Received;
use super::{Link, Sent};
use crate::transport::websocket::{Outgoing, Socket, handshake};
use crate::transport::{Answer, Body, Failure, Headers};
use loadgen_scenario::{Data, Step};

impl Link {
    /// Renders the message of a step that needs an open WebSocket.
    pub(super) fn prepare_message(
        &self,
        outgoing: &Outgoing,
        data: &mut Data,
    ) -> Result<(), Failure> {
        let message = outgoing.render(data)?;
        self.socket.as_ref().map_or(Ok(()), |socket| socket.prepare(message))
    }

    /// Opens the user's WebSocket, with a connection of its own. Closes the one before.
    pub(super) async fn upgrade(&mut self, step: &Step) -> Result<Sent, Failure> {
        if let Some(socket) = &self.socket {
            socket.clear();
        }
        self.response.begin(step);
        let user = self.shared.share.number(self.user).global;
        let stream = self.shared.dialer.connect(user, false, &mut self.sessions).await?;
        let message = self.shared.messages.get(self.index as usize);
        let request = self.buffers.unsent(message);
        let Received { stream, came, .. } = self.response.exchange(stream, request, step).await?;
        self.shared.dialer.speaks(self.response.version());
        if self.response.status() != handshake::ACCEPTED {
            return Ok(Sent::Response(came));
        }
        drop(came);
        handshake::check(&self.buffers.request, step, self.response.headers())?;
        let opened = Socket::new(stream, self.response.take_surplus()).await;
        if let Some(socket) = &self.socket {
            socket.open(opened);
        }
        Ok(Sent::Opened)
    }

    /// Sends the prepared message, if the step has one, and waits for a message or the end, as the step
    /// does. A further call waits for the next message.
    pub(super) async fn converse(&self, step: &Step) -> Result<Sent, Failure> {
        // Unreachable without a slot: only scenarios with WebSockets have such steps.
        let Some(socket) = &self.socket else {
            return Err(Failure::socketless("the scenario opens none"));
        };
        poll_fn(|context| socket.poll_step(step, context)).await.map(Sent::Message)
    }
}

impl<'a> Answer<'a> {
    /// Returns what came over a WebSocket, with the status of its opening handshake.
    pub(super) fn of_socket(body: Body<'a>) -> Self {
        let (status, headers) = (handshake::ACCEPTED, Headers::Unkept);
        Self { status, headers, body, form: None, streamed: None }
    }
}
