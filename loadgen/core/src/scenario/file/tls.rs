//! `[http.tls]`: TLS options.

use std::fs;
use std::path::Path;

use rustls::pki_types::ServerName;

use super::reader::{Faults, Value};
use crate::scenario::tls::{Tls, TlsVersion};

pub(super) const VERSIONS: [(&str, TlsVersion); 2] =
    [("1.2", TlsVersion::Tls12), ("1.3", TlsVersion::Tls13)];

/// Reads the table. Relative paths start at `folder`.
pub(super) fn read(value: &Value<'_>, folder: &Path, faults: &mut Faults<'_>) -> Option<Tls> {
    let mut table = value.table("[http.tls]", faults)?;
    let mut tls = Tls::default();
    let insecure = table.take("insecure").map_or(Some(false), |value| value.boolean(faults));
    let (ca, cert, key) = (table.take("ca"), table.take("cert"), table.take("key"));
    let resumes = table.take("resumption").map_or(Some(true), |value| value.boolean(faults));
    let version = table.take("version").map(|value| value.choice(&VERSIONS, faults));
    let server_name = table.take("server_name").map(|value| read_server_name(&value, faults));
    table.finish(faults);
    tls.insecure = insecure?;
    tls.resumes = resumes?;
    tls.version = version.map_or(Some(None), |version| version.map(Some))?;
    tls.server_name = server_name.map_or(Some(None), |name| name.map(Some))?;
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

fn read_server_name(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<String> {
    let name = value.name(faults)?;
    if ServerName::try_from(name).is_err() {
        let message = "`server_name` must be a host name or an IP address";
        return value.fault(message, "this name", "write a name such as \"example.org\"", faults);
    }
    Some(name.to_owned())
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
