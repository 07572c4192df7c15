//! Tasks with a server that runs already, at its URL.

use std::fs;

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, PKCS_ECDSA_P256_SHA256};

use super::folder::{Folder, Server};

pub const UVICORN: [&str; 4] = ["uvicorn", "shop:app", "--port=PORT", "--log-level=warning"];

fn starlette() -> (Folder, Server) {
    let folder = Folder::with("starlette");
    let server = folder.serve(&UVICORN, &[]);
    (folder, server)
}

/// Hit a URL.
#[test]
fn a_url_is_loaded() {
    let (folder, server) = starlette();
    let url = format!("{}/products?q=tea", server.url);
    let finished = folder.loadgen(&[&url, "-u", "5", "-d", "1s"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    for shown in ["5 users, one round of 1s", "requests/s  errors", &server.url, "saved in runs/"] {
        assert!(finished.stdout.contains(shown), "{shown}: {}", finished.stdout);
    }
    assert!(!finished.stdout.contains("[errors]"), "{}", finished.stdout);
    for file in ["report.html", "run.json"] {
        assert!(folder.saved().join(file).is_file(), "{file}");
    }
}

const THRESHOLDS: &str = r#"
[load]
users = 5
duration = "1s"

[[step]]
name = "list"
get = "/products"
query = { q = "tea" }

[thresholds]
error_rate = "< 1%"
"list.p50" = "< 30s"
"#;

/// Thresholds.
#[test]
fn thresholds_pass_and_fail() {
    let Some(folder) = Folder::with_express() else { return };
    let server = folder.serve(&["node", "server.js"], &[]);
    let run = |name, format| {
        let junit = format!("--junit={name}.xml");
        folder.loadgen(&["--scenario", name, "--url", &server.url, &junit, "--format", format])
    };
    folder.write("good.toml", THRESHOLDS);
    folder.write("bad.toml", &THRESHOLDS.replace("< 30s", "< 1us"));
    let passed = run("good.toml", "table");
    assert_eq!(passed.code, Some(0), "{}", passed.said());
    let failed = run("bad.toml", "table");
    assert_eq!(failed.code, Some(3), "{}", failed.said());
    let said = format!("{}{}", failed.stdout, failed.stderr);
    assert!(said.contains("list.p50 < 1us") && said.contains("measured"), "{said}");
    // A document for programs leaves the reason for people to standard error.
    assert!(!failed.stderr.contains("1us"), "{}", failed.stderr);
    let for_programs = run("bad.toml", "json");
    assert_eq!(for_programs.code, Some(3), "{}", for_programs.said());
    let said = &for_programs.stderr;
    assert!(
        said.contains("threshold failed: ") && said.contains("list.p50 < 1us (measured"),
        "{said}"
    );
    assert!(fs::read_to_string(folder.path("good.toml.xml")).unwrap().contains("failures=\"0\""));
    assert!(fs::read_to_string(folder.path("bad.toml.xml")).unwrap().contains("failures=\"1\""));
}

/// HTTPS with a self-signed certificate.
#[test]
fn a_self_signed_certificate_is_trusted() {
    let folder = Folder::with("starlette");
    // As `openssl req -x509` makes it: the certificate is its own authority.
    let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
    folder.write("cert.pem", &params.self_signed(&key).unwrap().pem());
    folder.write("key.pem", &key.serialize_pem());
    let tls = ["--ssl-certfile=cert.pem", "--ssl-keyfile=key.pem"];
    let server = folder.serve(&[&UVICORN[..], &tls].concat(), &[]);
    let url = server.url.replace("http://127.0.0.1", "https://localhost") + "/products";
    let with = |option: &[&str]| {
        folder.loadgen(&[&[url.as_str(), "-u", "5", "-d", "1s"], option].concat())
    };
    let refused = with(&[]);
    assert_eq!(refused.code, Some(4), "{}", refused.said());
    for remedy in ["--cacert", "--insecure"] {
        assert!(refused.stderr.contains(remedy), "{}", refused.stderr);
    }
    for option in [&["--cacert=cert.pem"][..], &["--insecure"]] {
        let trusted = with(option);
        assert_eq!(trusted.code, Some(0), "{}", trusted.said());
    }
}

const PRODUCT: &str = r#"
load = { users = 5, duration = "1s" }

[[step]]
get = "/products/{{ int 1 100 }}"
expect.status = [200, 404]
"#;

/// A scenario with legitimate errors.
#[test]
fn an_expected_404_is_no_error() {
    let (folder, server) = starlette();
    // The verification requests one product, which exists.
    let url = format!("{}/products/{{{{ int 1 100 }}}}", server.url);
    let failing = folder.loadgen(&[&url, "-u", "5", "-d", "1s", "--seed=1"]);
    assert_eq!(failing.code, Some(0), "{}", failing.said());
    let said = failing.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for shown in ["of requests failed", "got 404", "`expect.status` of the step"] {
        assert!(said.contains(shown), "{shown}: {}", failing.stdout);
    }
    folder.write("product.toml", PRODUCT);
    let expected = folder.loadgen(&["--scenario=product.toml", "--url", &server.url]);
    assert_eq!(expected.code, Some(0), "{}", expected.said());
    assert!(!expected.stdout.contains("[errors]"), "{}", expected.stdout);
}

/// A forgotten flag.
#[test]
fn a_forgotten_flag_is_named() {
    let (folder, server) = starlette();
    folder.write("product.toml", PRODUCT);
    let address = server.url.strip_prefix("http://").unwrap();
    for (arguments, remedy) in [
        (&["--scenario=product.toml"][..], "--url"),
        (&[address], server.url.as_str()),
        (&[&server.url, "--user", "5"], "--users"),
    ] {
        let refused = folder.loadgen(arguments);
        assert_eq!(refused.code, Some(2), "{arguments:?}: {}", refused.said());
        assert!(refused.stderr.contains(remedy), "{arguments:?}: {}", refused.stderr);
    }
}

/// A report for a colleague.
#[test]
fn a_report_is_one_file_and_a_table_of_markdown() {
    let Some(folder) = Folder::with_express() else { return };
    let server = folder.serve(&["node", "server.js"], &[]);
    let url = format!("{}/products", server.url);
    let ran = folder.loadgen(&[&url, "-u", "5", "-d", "1s", "--out", "monday"]);
    assert_eq!(ran.code, Some(0), "{}", ran.said());
    drop(server);
    let page = fs::read_to_string(folder.path("monday/report.html")).unwrap();
    for elsewhere in ["src=\"http", "<link rel=\"stylesheet\"", "@import", "url(http"] {
        assert!(!page.contains(elsewhere), "the page needs a file beside it: {elsewhere}");
    }
    let table = folder.loadgen(&["report", "--format", "markdown", "monday"]);
    assert_eq!(table.code, Some(0), "{}", table.said());
    assert!(table.stdout.lines().any(|line| line.starts_with("| ")), "{}", table.stdout);
    assert!(table.stdout.contains("requests/s"), "{}", table.stdout);
}
