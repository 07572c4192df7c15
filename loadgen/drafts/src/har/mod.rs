//! A scenario from recordings of a browser (HTTP Archive, HAR 1.2).
//!
//! The requests to the server of the first page become steps. Values that a response gave to a later
//! request are captured: two recordings of the same journey show which values these are.

mod align;
mod correlate;
mod file;
mod journey;
mod kind;
mod rule;
mod steps;

use journey::Journey;

use crate::{Draft, DraftError};

/// Options of a draft.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Whether images, scripts, styles and fonts become steps, too.
    pub with_static: bool,
}

/// Drafts a scenario from the names and texts of one or two HAR files. Two must be of the same journey.
///
/// # Errors
/// If a file is no HAR file, or has no request over HTTP.
pub fn draft(recordings: &[(String, String)], options: Options) -> Result<Draft, DraftError> {
    if recordings.is_empty() || recordings.len() > 2 {
        let message = format!("a draft needs one or two recordings, not {}", recordings.len());
        return Err(DraftError::new(message, "pass one recording, or two of the same journey"));
    }
    if let [(_, one), (_, other)] = recordings
        && one == other
    {
        let help = "record the journey a second time, at best as another person: what differs then is captured";
        return Err(DraftError::new("both recordings are the same", help));
    }
    let read = |(name, text): &(String, String)| {
        Journey::read(file::read(name, text)?, name, options.with_static)
    };
    let mut journeys = recordings.iter().map(read).collect::<Result<Vec<_>, _>>()?.into_iter();
    let Some(mut one) = journeys.next() else {
        return Err(DraftError::new("no recording", "pass a recording"));
    };
    let other = journeys.next();
    if one.visits.is_empty() {
        let name = &recordings[0].0;
        let message = format!("{name} has no request with a response that can be a step");
        return Err(DraftError::new(
            message,
            "record a journey with pages, or with requests for data",
        ));
    }
    let secrets = one.secrets();
    let (chains, connections) =
        correlate::connections(&one, other.as_ref(), &secrets, correlate::LONGEST);
    Ok(steps::write(&mut one, other.as_ref(), &chains, connections, secrets))
}

#[cfg(test)]
mod concealed;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
