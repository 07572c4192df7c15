//! `[http.tls]`: TLS options.

use std::fs;
use std::path::Path;

use super::reader::{Faults, Value};
use crate::scenario::tls::Tls;

/// Reads the table. Relative paths start at `folder`.
pub(super) fn read(value: &Value<'_>, folder: &Path, faults: &mut Faults<'_>) -> Option<Tls> {
    let mut table = value.table("[http.tls]", faults)?;
    let mut tls = Tls::default();
    let insecure = table.take("insecure").map_or(Some(false), |value| value.boolean(faults));
    let (ca, cert, key) = (table.take("ca"), table.take("cert"), table.take("key"));
    table.finish(faults);
    tls.insecure = insecure?;
    if let Some(ca) = ca {
        let pem = read_file(&ca, folder, faults)?;
        tls.trust(pem).or_else(|why| refuse(&ca, &why, faults)).ok()?;
    }
    match (cert, key) {
        (None, None) => {}
        (Some(cert), Some(key)) => {
            let (chain, secret) =
                (read_file(&cert, folder, faults)?, read_file(&key, folder, faults)?);
            // The sentence tells which of the two is meant.
            tls.show(chain, secret).or_else(|why| refuse(&key, &why, faults)).ok()?;
        }
        (Some(one), None) | (None, Some(one)) => {
            let message = "a client's certificate needs both `cert` and `key`";
            let help = "add the other of the two; both may name the same file";
            return one.fault(message, "alone", help, faults);
        }
    }
    Some(tls)
}

fn read_file(value: &Value<'_>, folder: &Path, faults: &mut Faults<'_>) -> Option<String> {
    let path = value.name(faults)?;
    match fs::read_to_string(folder.join(path)) {
        Ok(text) => Some(text),
        Err(error) => {
            let message = format!("cannot read `{}`: {error}", value.key);
            value.fault(message, "this file", "name a PEM file, relative to this file", faults)
        }
    }
}

fn refuse(value: &Value<'_>, why: &str, faults: &mut Faults<'_>) -> Result<(), ()> {
    value.fault::<()>(format!("the file {why}"), "this file", "", faults);
    Err(())
}
