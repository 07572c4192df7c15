//! `[http.tls]`: TLS options.

use std::path::Path;

use rustls::pki_types::ServerName;
use serde_json::json;

use super::keys::schema::Schema;
use super::keys::{Boolean, Choice, Custom, Defaulted, Key, Keys, PATH, key, not_blank};
use super::reader::{Faults, Value};
use crate::tls::{IdentityFault, Tls, TlsVersion, read_pem};

const VERSIONS: [(&str, TlsVersion); 2] = [("1.2", TlsVersion::Tls12), ("1.3", TlsVersion::Tls13)];

keys! {
    /// TLS options, for https:// URLs
    pub(super) const KEYS: Keys = table("[http.tls]").with(rules);

    /// whether any certificate of a server is accepted
    const INSECURE: Defaulted<Boolean> = key("insecure", Boolean).or("false");
    /// PEM file with certificates to trust besides the system's: of authorities, or the self-signed certificate
    /// of a server
    const CA: Key<Custom> = key("ca", PATH).otherwise("only the system's certificates");
    /// PEM file with the certificate that the users show
    const CERT: Key<Custom> = key("cert", PATH).otherwise("no certificate; required beside `key`");
    /// PEM file with the private key of `cert`, or an environment variable with the text of such a file
    const KEY: Key<Custom> = key("key", not_blank("path, or `\"{{ env NAME }}\"`"))
        .needed("required beside `cert`");
    /// environment variable with the password of an encrypted private key
    const PASSWORD: Key<Custom> = key("password", not_blank("`\"{{ env NAME }}\"`"))
        .needed("required if the private key is encrypted");
    /// whether a user's later connections resume the session of an earlier one, as browsers do. No user resumes
    /// the session of another
    const RESUMPTION: Defaulted<Boolean> = key("resumption", Boolean).or("true");
    /// the only TLS version that is offered
    const VERSION: Key<Choice<TlsVersion>> = key("version", Choice(&VERSIONS)).otherwise("both");
    /// name that is requested from the server (SNI), and that its certificate must have; not with `reqwest`
    const SERVER_NAME: Key<Custom> = key("server_name", not_blank("host name")).otherwise("host of the URL");
}

fn rules(table: Schema) -> Schema {
    let both = json!({ "cert": ["key"], "key": ["cert"], "password": ["key"] });
    table.with("dependencies", both)
}

/// Reads the table. Relative paths start at `folder`.
pub(super) fn read(value: &Value<'_>, folder: &Path, faults: &mut Faults<'_>) -> Option<Tls> {
    let mut table = KEYS.open(value, faults)?;
    let mut tls = Tls::default();
    let insecure = INSECURE.read(&mut table, faults);
    let [ca, cert, key, password] = [CA, CERT, KEY, PASSWORD].map(|key| key.take(&mut table));
    let resumes = RESUMPTION.read(&mut table, faults);
    let version = VERSION.read(&mut table, faults);
    let server_name = SERVER_NAME.take(&mut table).map(|value| read_server_name(&value, faults));
    table.finish(faults);
    tls.insecure = insecure?;
    tls.resumes = resumes?;
    tls.version = version?;
    tls.server_name = server_name.map_or(Some(None), |name| name.map(Some))?;
    if let Some(ca) = ca {
        let pem = read_file(&ca, folder, faults)?;
        tls.trust(pem).or_else(|why| refuse(&ca, &why, faults)).ok()?;
    }
    match (cert, key) {
        (None, None) => {
            if let Some(password) = password {
                let message = "`password` is for the private key in `key`";
                return password.fault(message, "without a key", "add `cert` and `key`", faults);
            }
        }
        (Some(cert), Some(key)) => {
            let chain = read_file(&cert, folder, faults)?;
            let password = password.map(|value| read_secret(&value, faults));
            let Told::Known(secret) = read_key(&key, folder, faults)? else { return Some(tls) };
            let password = match password {
                None => None,
                Some(password) => match password? {
                    Told::Known(password) => Some(password),
                    Told::Later => return Some(tls),
                },
            };
            let shown = tls.show(&chain, secret, password.as_deref());
            let refused = shown.or_else(|fault| match fault {
                IdentityFault::Certificate(why) => refuse(&cert, &why, faults),
                IdentityFault::Key(why) => refuse(&key, &why, faults),
            });
            refused.ok()?;
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

/// A text that may be in the environment.
enum Told {
    Known(String),
    /// The environment is not read, because the scenario is only inspected.
    Later,
}

/// Reads a private key: `{{ env NAME }}` for the PEM text in a variable, or else the path of a file.
fn read_key(value: &Value<'_>, folder: &Path, faults: &mut Faults<'_>) -> Option<Told> {
    match value.template(faults)?.only_variable() {
        Some(told) => Some(told.map_or(Told::Later, |key| Told::Known(key.to_owned()))),
        None => read_file(value, folder, faults).map(Told::Known),
    }
}

/// Reads a secret, which must be in the environment: a file is read by others.
fn read_secret(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Told> {
    match value.template(faults)?.only_variable() {
        Some(told) => Some(told.map_or(Told::Later, |key| Told::Known(key.to_owned()))),
        None => {
            let message = "`password` must be in the environment, not in the file";
            value.fault(message, "this text", "write \"{{ env NAME }}\"", faults)
        }
    }
}

fn read_file(value: &Value<'_>, folder: &Path, faults: &mut Faults<'_>) -> Option<String> {
    let path = value.name(faults)?;
    match read_pem(&folder.join(path)) {
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
