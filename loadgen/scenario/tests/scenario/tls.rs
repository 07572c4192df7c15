//! Tests TLS options, whose secrets come from the environment.

use std::fs;

use loadgen_scenario::{Scenario, ScenarioError, TlsVersion, load, load_to_run};
use rcgen::{CertificateParams, KeyPair};

/// A key that `openssl genpkey -algorithm ed25519 -aes256` encrypted with the password `secret`.
const ENCRYPTED: &str = include_str!("../../src/tls_key.pem");

/// Reads a scenario with these keys of `[http.tls]` beside the files `cert.pem`, `key.pem` and
/// `encrypted.pem`. `environment` is `None` to inspect the scenario only.
fn read(keys: &str, environment: Option<&[(&str, &str)]>) -> Result<Scenario, ScenarioError> {
    let folder = tempfile::tempdir().unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::default().self_signed(&key).unwrap();
    let file = folder.path().join("s.toml");
    for (name, text) in [
        ("cert.pem", certificate.pem().as_str()),
        ("key.pem", &key.serialize_pem()),
        ("encrypted.pem", ENCRYPTED),
        ("s.toml", &format!("[http.tls]\n{keys}\n[[step]]\nget = \"/\"\n")),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    match environment {
        None => load(&file),
        Some(all) => load_to_run(&file, &|name| {
            all.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        }),
    }
}

#[test]
fn a_key_and_its_password_come_from_the_environment() {
    let key = KeyPair::generate().unwrap().serialize_pem();
    let set: &[(&str, &str)] = &[("KEY", &key), ("PASSWORD", "secret"), ("OTHER", "wrong")];
    for (keys, has_identity) in [
        ("cert = \"cert.pem\"\nkey = \"key.pem\"", true),
        ("cert = \"cert.pem\"\nkey = \"{{ env KEY }}\"", true),
        ("cert = \"cert.pem\"\nkey = \"encrypted.pem\"\npassword = \"{{ env PASSWORD }}\"", true),
        ("server_name = \"example.org\"\nresumption = false\nversion = \"1.3\"", false),
    ] {
        let tls = read(keys, Some(set)).unwrap().http.tls;
        assert_eq!(tls.identity().unwrap().is_some(), has_identity, "{keys}");
        read(keys, None).unwrap();
    }
    let tls = read("version = \"1.2\"", None).unwrap().http.tls;
    assert_eq!((tls.version, tls.resumes), (Some(TlsVersion::Tls12), true));
}

#[test]
fn wrong_options_are_refused_with_a_reason() {
    let set: &[(&str, &str)] = &[("OTHER", "wrong")];
    for (keys, message) in [
        ("cert = \"cert.pem\"\nkey = \"encrypted.pem\"", "the file is encrypted"),
        (
            "cert = \"cert.pem\"\nkey = \"encrypted.pem\"\npassword = \"{{ env OTHER }}\"",
            "the file has another password",
        ),
        (
            "cert = \"cert.pem\"\nkey = \"encrypted.pem\"\npassword = \"secret\"",
            "`password` must be in the environment",
        ),
        ("cert = \"cert.pem\"\nkey = \"{{ env UNSET }}\"", "`UNSET` is not set"),
        ("cert = \"cert.pem\"\nkey = \"{{ env OTHER }}\"", "has no private key"),
        ("server_name = \"a name\"", "must be a host name or an IP address"),
        ("version = \"1.1\"", "version"),
        ("password = \"{{ env OTHER }}\"", "password"),
        (
            "server_name = \"example.org\"\n[http]\ntransport = \"reqwest\"",
            "the transport `reqwest` does not support `server_name`",
        ),
    ] {
        let error = format!("{:?}", miette::Report::new(read(keys, Some(set)).unwrap_err()));
        assert!(error.contains(message), "{keys}: {error}");
    }
}
