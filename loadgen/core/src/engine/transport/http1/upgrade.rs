//! Opens a WebSocket over HTTP/1.1 (RFC 6455, section 4), and sends messages over it.

use std::future::poll_fn;

use super::{Exchange, Link, Sending};
use crate::engine::content_encoding::Encoded;
use crate::engine::transport::http1::response::Progress;
use crate::engine::transport::websocket::{Outgoing, Socket, handshake};
use crate::engine::transport::{Answer, Body, Failure, Headers};
use crate::scenario::{Data, Step};

impl Link<'_> {
    /// Renders the message of a step that needs an open WebSocket.
    pub(super) fn prepare(&self, outgoing: &Outgoing, data: &mut Data) -> Result<(), Failure> {
        let message = outgoing.render(data)?;
        self.socket.as_ref().map_or(Ok(()), |socket| socket.prepare(message))
    }

    /// Opens the user's WebSocket, with a connection of its own. Closes the one before.
    pub(super) async fn upgrade(&mut self, step: &Step) -> Result<Answer<'_>, Failure> {
        if let Some(socket) = &self.socket {
            socket.clear();
        }
        self.reader.begin(false);
        self.reader.keep_head();
        let user = self.shared.share.number(self.user).global;
        let stream = self.shared.dialer.connect(user, &mut self.sessions).await?;
        let request = self.shared.messages[self.index as usize].unsent(&self.buffers);
        let sending = Sending::Writes;
        let mut exchange = Exchange { stream, request, sending, reader: &mut self.reader, step };
        let (scratch, progress) = poll_fn(|context| exchange.poll(context)).await?;
        let stream = exchange.stream;
        self.shared.dialer.speaks(self.reader.version());
        let status = self.reader.status();
        if status == handshake::ACCEPTED {
            handshake::check(&self.buffers.request, step, Headers::Head(self.reader.head()))?;
            let surplus = self.reader.take_surplus();
            // The scratch is the thread's, and must not be held across an await.
            drop(scratch);
            let opened = Socket::new(stream, surplus).await;
            if let Some(socket) = &self.socket {
                socket.open(opened);
            }
            let headers = Headers::Head(self.reader.head());
            return Ok(Answer { status, headers, body: Body::Kept(&[]), encoding: None });
        }
        let body = match progress {
            Progress::Whole { body: Some(range), .. } => Body::Read(scratch, range),
            _ => Body::Kept(self.reader.kept()),
        };
        let headers = Headers::Head(self.reader.head());
        let encoded = || Box::new(Encoded::new(headers.joined("content-encoding")));
        let encoding = self.reader.is_encoded().then(encoded);
        Ok(Answer { status, headers, body, encoding })
    }

    /// Sends the prepared message, if the step has one, and waits for a message or the end, as the step
    /// does. A further call waits for the next message.
    pub(super) async fn converse(&self, step: &Step) -> Result<Answer<'static>, Failure> {
        // Unreachable without a slot: only scenarios with WebSockets have such steps.
        let Some(socket) = &self.socket else {
            return Err(Failure::socketless("the scenario opens none"));
        };
        let message = poll_fn(|context| socket.poll_step(step, context)).await?;
        let (status, body) = (handshake::ACCEPTED, Body::Message(message));
        Ok(Answer { status, headers: Headers::Unkept, body, encoding: None })
    }
}
