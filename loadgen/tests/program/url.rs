//! A URL on the command line instead of a scenario.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use rcgen::{BasicConstraints, CertificateParams, IsCa, date_time_ymd};

use crate::common::Counting;
use crate::common::program::{Finished, Project};
use crate::common::tls::Tls;

const SHORT: [&str; 3] = ["--warmup=0s", "--no-calibrate", "--json"];

fn run(project: &Project, arguments: &[&str]) -> Finished {
    tokio::task::block_in_place(|| project.run(&[arguments, &SHORT].concat()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_url_is_loaded_without_a_scenario_and_saved_as_one() {
    let server = Counting::start().await;
    let project = Project::bare();
    let url = format!("{}/?q=a", server.url);
    let finished = run(&project, &[&url, "-u5", "-i50", "--save=mine.toml"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    // The round begins with one request that verifies the server.
    assert_eq!(server.requests(), 51);
    let document = finished.json();
    let target = &document["targets"][0];
    assert_eq!(
        (&target["name"], &target["total"]["requests"]),
        (&server.url.clone().into(), &50.into())
    );
    assert_eq!(target["steps"][0]["name"], "GET /?q=a");
    assert_eq!(fs::read_dir(project.path("runs")).unwrap().count(), 1);
    insta::assert_snapshot!(fs::read_to_string(project.path("mine.toml")).unwrap(), @r#"
    # Written by loadgen, from the command line.

    [load]
    users = 5
    iterations = 50

    [[step]]
    request = "GET /?q=a"
    "#);
    let again = run(&project, &["-s=mine.toml", "--url", &server.url]);
    assert_eq!((again.code, server.requests()), (Some(0), 102), "{}", again.said());
    let refused = run(&project, &[&url, "-i1", "--save=mine.toml"]);
    assert_eq!(refused.code, Some(2), "{}", refused.said());
    assert!(refused.stderr.contains("cannot write mine.toml"), "{}", refused.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn method_headers_and_body_are_sent() {
    let server = Counting::start().await;
    let project = Project::bare().file("body.json", "[{\"name\": \"{{ name }}\"}]");
    let url = format!("{}/items", server.url);
    let arguments =
        ["-b=@body.json", "-H=x-a: 1", "-H=Accept: text/html", "--save=mine.toml", "-i3"];
    let finished = run(&project, &[&[url.as_str()], &arguments[..]].concat());
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    insta::assert_snapshot!(fs::read_to_string(project.path("mine.toml")).unwrap(), @r#"
    # Written by loadgen, from the command line.

    [load]
    users = 50
    iterations = 3

    [[step]]
    request = "POST /items"
    body = { content_type = "application/json", text = "[{\"name\": \"{{ name }}\"}]" }

    [step.headers]
    "x-a" = "1"
    "Accept" = "text/html"
    "#);
    let arguments = ["-X=PUT", "-b=a=1", "-H=content-type: text/csv", "--save=put.toml", "-r=5"];
    let finished = run(&project, &[&[url.as_str()], &arguments[..], &["-d=1s"]].concat());
    // The server has no such method, but the scenario is kept. An open model has up to 1,000 users, for
    // which loadgen restarts with huge pages.
    assert_eq!(finished.code, Some(4), "{}", finished.said());
    insta::assert_snapshot!(fs::read_to_string(project.path("put.toml")).unwrap(), @r#"
    # Written by loadgen, from the command line.

    [load]
    model = "open"
    rate = 5.0
    duration = "1s"

    [[step]]
    request = "PUT /items"
    body = { content_type = "text/csv", text = "a=1" }
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn several_urls_are_compared() {
    let server = Counting::start().await;
    let project = Project::bare();
    let urls = ["/slow/1", "/slow/2"].map(|path| format!("{}{path}", server.url));
    let finished = run(&project, &[&urls[0], &urls[1], "-u2", "-i10", "-R1"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    let names: Vec<&str> =
        (0..2).map(|target| document["targets"][target]["name"].as_str().unwrap()).collect();
    assert_eq!(names, urls);
    assert_eq!(server.requests(), 22);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scenario_is_read_from_standard_input() {
    let server = Counting::start().await;
    let project = Project::bare();
    let arguments = [&["-s=-", "--url", &server.url][..], &SHORT].concat();
    let mut command = project.command(&arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // loadgen restarts with huge pages for so many users.
    let text = "load = { users = 1000, iterations = 1000 }\n[[step]]\nget = \"/\"\n";
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = tokio::task::block_in_place(|| child.wait_with_output().unwrap());
    let finished = Finished::of(output, &project.path(""));
    assert_eq!((finished.code, server.requests()), (Some(0), 1_001), "{}", finished.said());
    assert_eq!(finished.json()["scenario"], "stdin");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_is_trusted_only_on_request() {
    let server = Tls::start(&["http/1.1"]).await;
    let project = Project::bare().file("ca.pem", &server.certificate);
    let with =
        |more: &[&str]| run(&project, &[&[server.url.as_str(), "-u1", "-i5"], more].concat());
    let refused = with(&[]);
    let said = refused.stderr.replace('\u{2502}', " ");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(refused.code, Some(4), "{}", refused.said());
    assert!(said.contains("is signed by an authority that this machine does not know"), "{said}");
    for more in [&["--insecure"][..], &["--cacert=ca.pem", "--save=mine.toml"]] {
        let trusted = with(more);
        assert_eq!(trusted.code, Some(0), "{more:?}: {}", trusted.said());
    }
    let again = run(&project, &["-s=mine.toml", "--url", &server.url]);
    assert_eq!(again.code, Some(0), "{}", again.said());
    let wrong = with(&["--cacert=mine.toml"]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.said());
    assert!(wrong.stderr.contains("has no certificate"), "{}", wrong.stderr);
}

/// OpenSSL makes self-signed certificates that are their own authority.
#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_is_its_own_authority_is_trusted_for_its_name_and_time() {
    let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let valid = Tls::start_with(params.clone(), &["http/1.1"]).await;
    params.not_after = date_time_ymd(2001, 1, 1);
    let expired = Tls::start_with(params, &["http/1.1"]).await;
    let elsewhere = valid.url.replace("localhost", "127.0.0.1");
    for (server, url, code, said) in [
        (&valid, &valid.url, 0, ""),
        (&valid, &elsewhere, 4, "is for another host name"),
        (&expired, &expired.url, 4, "has expired"),
    ] {
        let project = Project::bare().file("ca.pem", &server.certificate);
        let finished = run(&project, &[url, "-u1", "-i5", "--cacert=ca.pem"]);
        assert_eq!(finished.code, Some(code), "{url}: {}", finished.said());
        let stderr = finished.stderr.replace('\u{2502}', " ");
        let stderr = stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(stderr.contains(said) && !stderr.contains("[ERROR]"), "{stderr}");
    }
}

#[test]
fn words_that_are_no_urls_get_advice() {
    let project = Project::bare().file("none.toml", "[[step]]\nget = \"/\"\n");
    let said = |arguments: &[&str]| project.run(arguments).said();
    insta::assert_snapshot!(
        [
            said(&["chek"]),
            said(&["127.0.0.1:8000"]),
            said(&["http://127.0.0.1:1/", "-H", "accept"]),
            said(&["http://127.0.0.1:1/", "-b", "@missing"]),
            said(&["-s=none.toml", "--url=http://127.0.0.1:1/a?b=c"]),
            said(&["http://127.0.0.1:1/#top"]),
        ]
        .join("\n")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fix_for_an_unexpected_response_fits_a_url() {
    let server = Counting::start().await;
    let project = Project::bare();
    for (path, status) in [("/status/404", 404), ("/status/307", 307)] {
        let url = format!("{}{path}", server.url);
        let finished = run(&project, &[&url, "-i1"]);
        assert_eq!(finished.code, Some(4), "{}", finished.said());
        let said = finished.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("run again with --save FILE.toml"), "{said}");
        assert!(said.contains(&format!("`expect.status = {status}` below")), "{said}");
        assert!(!said.contains("verify"), "{said}");
    }
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let finished = run(&project, &[&format!("http://127.0.0.1:{port}/"), "-i1"]);
    assert_eq!(finished.code, Some(4), "{}", finished.said());
    let said = finished.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("nothing listens at this address: start the server"), "{said}");
}
