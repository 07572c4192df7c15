//! The messages that steps send.

use bytes::Bytes;
use tokio_tungstenite::tungstenite::Message;

use loadgen_scenario::{Action, Data, Part, RenderError, Scenario, Step, Template};

/// The messages of all steps, by the index of the step.
pub struct Messages {
    steps: Vec<Option<Outgoing>>,
    /// Whether a step reads messages that came before it.
    pub keeps: bool,
}

/// The part of a step that is sent over the WebSocket.
pub enum Outgoing {
    /// A text message.
    Text(Template),
    /// A binary message, the same each time.
    Binary(Bytes),
    /// Nothing: the step only waits.
    Nothing,
    /// A close frame.
    Close,
}

impl Messages {
    /// Prepares the messages of a scenario; `None` if it uses no WebSocket.
    pub fn of(scenario: &Scenario) -> Option<Box<Self>> {
        let keeps = scenario.steps.iter().any(|step| step.action == Action::Receive);
        let steps = scenario.steps.iter().map(Outgoing::of).collect();
        scenario.uses_websocket().then(|| Box::new(Self { steps, keeps }))
    }

    /// Returns the message of the step at `index`; `None` if the step needs no open WebSocket.
    pub fn get(&self, index: usize) -> Option<&Outgoing> {
        self.steps.get(index)?.as_ref()
    }
}

impl Outgoing {
    fn of(step: &Step) -> Option<Self> {
        match step.action {
            Action::Request | Action::Call | Action::Connect => None,
            Action::Receive => Some(Self::Nothing),
            Action::Close => Some(Self::Close),
            Action::Send { .. } => {
                let mut parts = step.body.iter().flat_map(|body| body.revealed());
                Some(match parts.next() {
                    // A larger file is refused with the scenario.
                    Some(Part::File(file)) => {
                        Self::Binary(file.kept().cloned().unwrap_or_default())
                    }
                    Some(Part::Text(text)) => Self::Text(text),
                    // An empty text has no part.
                    None => Self::Text(Template::default()),
                })
            }
        }
    }

    /// Renders the next message; `None` if the step sends none.
    pub fn render(&self, data: &mut Data) -> Result<Option<Message>, RenderError> {
        Ok(match self {
            Self::Text(template) => {
                let mut text = String::new();
                template.render(data, &mut text)?;
                Some(Message::text(text))
            }
            Self::Binary(bytes) => Some(Message::Binary(bytes.clone())),
            Self::Close => Some(Message::Close(Some(super::socket::normal()))),
            Self::Nothing => None,
        })
    }
}
