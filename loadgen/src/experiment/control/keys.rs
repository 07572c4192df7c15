//! Controls a run by single keys while the live view is shown.

use super::Control;
use super::request::{ControlError, ControlRequest};
use crate::scenario::LoadLevel;

/// Key that controls a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// Ends the run.
    Stop,
    /// Increases the load.
    More,
    /// Decreases the load.
    Less,
}

impl Key {
    /// Parses bytes that a terminal sent at once, and returns the keys that control a run; other
    /// keys are skipped. An arrow key is a sequence of three bytes.
    pub fn all(mut bytes: &[u8]) -> Vec<Self> {
        let mut keys = Vec::new();
        loop {
            let (key, length) = match bytes {
                [b'q' | b'Q', ..] => (Some(Self::Stop), 1),
                [b'+' | b'=', ..] => (Some(Self::More), 1),
                [b'-' | b'_', ..] => (Some(Self::Less), 1),
                [0x1b, b'[' | b'O', b'A', ..] => (Some(Self::More), 3),
                [0x1b, b'[' | b'O', b'B', ..] => (Some(Self::Less), 3),
                [0x1b, b'[' | b'O', rest @ ..] => (None, 2 + sequence(rest)),
                [_, ..] => (None, 1),
                [] => return keys,
            };
            keys.extend(key);
            bytes = bytes.get(length..).unwrap_or_default();
        }
    }
}

/// Returns the number of bytes that complete an escape sequence after `ESC [` or `ESC O`, such as
/// that of the key F5, including the sequence's final byte.
fn sequence(bytes: &[u8]) -> usize {
    let end = bytes.iter().position(|byte| (0x40..=0x7e).contains(byte));
    end.map_or(bytes.len(), |last| last + 1)
}

/// Returns a load that is 10 % higher or lower, as `key` requests. A number of users changes by at
/// least one, and stays at least one.
pub(super) fn step(level: LoadLevel, key: Key) -> LoadLevel {
    let is_more = key == Key::More;
    match level {
        LoadLevel::Users(users) => {
            let by = (users / 10).max(1);
            let to = if is_more { users.saturating_add(by) } else { users.saturating_sub(by) };
            LoadLevel::Users(to.max(1))
        }
        LoadLevel::Rate(rate) => {
            let to = if is_more { rate * 1.1 } else { rate * 0.9 };
            // Nobody would type more than three decimals.
            LoadLevel::Rate((to * 1e3).round() / 1e3)
        }
    }
}

impl Control {
    /// Carries out the request that a key stands for, and
    /// shows an error if the run refuses the request.
    pub async fn press(&self, key: Key) {
        let done = match (key, self.aimed_at()) {
            (Key::Stop, _) if self.interrupt.is_cancelled() => {
                return self.note("  the run is already ending; to end it at once, press Ctrl-C twice, with a second between");
            }
            (Key::Stop, _) => self.carry_out(ControlRequest::Stop).await,
            (key, Some(level)) => self.carry_out(step(level, key).into()).await,
            (_, None) => Err(self.no_round()),
        };
        if let Err(refusal) = done {
            self.refuse(&refusal);
        }
    }

    /// Shows why a request is not carried out.
    pub fn refuse(&self, ControlError { code, message, help, .. }: &ControlError) {
        let help = help.as_ref().map(|help| format!("\n  help: {help}")).unwrap_or_default();
        self.note(&format!("{code}: {message}{help}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_recognized_in_terminal_input() {
        use Key::{Less, More, Stop};
        assert_eq!(Key::all(b"+-=_qQ"), [More, Less, More, Less, Stop, Stop]);
        assert_eq!(Key::all(b"\x1b[A\x1bOB+"), [More, Less, More]);
        // Left and right, F5, Escape alone, a letter, a cut sequence.
        assert_eq!(Key::all(b"\x1b[C\x1b[15~\x1bx\x1b["), []);
        assert_eq!(Key::all("\x1b[1;5A\u{fc}q".as_bytes()), [Stop]);
        assert_eq!(Key::all(b""), []);
    }

    #[test]
    fn a_step_is_a_tenth_and_at_least_one_user() {
        let users = |users, key| step(LoadLevel::Users(users), key);
        assert_eq!(users(200, Key::More), LoadLevel::Users(220));
        assert_eq!(users(200, Key::Less), LoadLevel::Users(180));
        assert_eq!(users(5, Key::More), LoadLevel::Users(6));
        assert_eq!(users(0, Key::More), LoadLevel::Users(1));
        assert_eq!(users(1, Key::Less), LoadLevel::Users(1));
        assert_eq!(step(LoadLevel::Rate(500.0), Key::More), LoadLevel::Rate(550.0));
        assert_eq!(step(LoadLevel::Rate(0.5), Key::Less), LoadLevel::Rate(0.45));
    }
}
