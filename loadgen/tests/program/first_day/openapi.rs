//! A scenario from the document of an API that runs, without an editor.

use std::fs;

use super::folder::{Folder, Server};
use super::urls::UVICORN;
use crate::common::program::Finished;

/// Who logs in, as loadgen is told.
const ADA: [(&str, &str); 2] = [("API_USER", "ada"), ("API_PASSWORD", "secret-of-ada")];

fn fastapi() -> (Folder, Server) {
    let folder = Folder::with("fastapi");
    let server = folder.serve(&UVICORN, &[]);
    (folder, server)
}

/// Returns names, numbers of requests and of errors of the steps.
fn steps(ran: &Finished) -> Vec<(String, u64, u64)> {
    let document = ran.json();
    let steps = document["targets"][0]["steps"].as_array().unwrap().clone();
    let number = |value: &serde_json::Value| value.as_u64().unwrap();
    steps
        .iter()
        .map(|step| {
            let name = step["name"].as_str().unwrap().to_owned();
            (name, number(&step["requests"]), number(&step["errors"]))
        })
        .collect()
}

#[test]
fn a_login_and_a_mixed_load_come_from_the_document_of_a_server() {
    let (folder, server) = fastapi();
    let written = folder.loadgen(&["init", "--openapi", &server.url]);
    assert_eq!(written.code, Some(0), "{}", written.said());
    let said = written.said().replace(&server.url, "URL");
    insta::assert_snapshot!(said);
    let tried = folder.loadgen_as(&ADA, &["check", "--try", &server.url, "scenario.toml"]);
    assert_eq!(tried.code, Some(0), "{}{}", tried.stdout, tried.said());
    let words = ["--scenario=scenario.toml", "--url", &server.url, "--duration=1s", "--json"];
    let ran = folder.loadgen_as(&ADA, &words);
    assert_eq!(ran.code, Some(0), "{}", ran.said());
    let steps = steps(&ran);
    let names: Vec<&str> = steps.iter().map(|(name, ..)| name.as_str()).collect();
    let expected =
        ["log in", "GET /me", "GET /products", "GET /products/{product_id}", "GET /search"];
    assert_eq!(names, expected);
    for (name, requests, errors) in &steps[1..] {
        assert!(*requests > 0 && *errors == 0, "{name}: {requests} requests, {errors} errors");
    }
}

/// Each user reads, and deletes again, the products that it has created.
#[test]
fn writes_are_sent_where_they_are_asked_for() {
    let (folder, server) = fastapi();
    let url = format!("{}/openapi.json", server.url);
    let written = folder.loadgen(&["init", "--openapi", &url, "--with-writes"]);
    assert_eq!(written.code, Some(0), "{}", written.said());
    let words = ["--scenario=scenario.toml", "--url", &server.url, "--duration=1s", "--json"];
    let ran = folder.loadgen_as(&ADA, &words);
    assert_eq!(ran.code, Some(0), "{}", ran.said());
    let steps = steps(&ran);
    let deleted = steps.iter().find(|(name, ..)| name.starts_with("DELETE")).unwrap();
    assert!(deleted.1 > 0 && steps[1..].iter().all(|step| step.2 == 0), "{steps:?}");
}

#[test]
fn what_is_no_document_is_refused_with_its_place() {
    let folder = Folder::with("starlette");
    let server = folder.serve(&UVICORN, &[]);
    let refused = folder.loadgen(&["init", "--openapi", &server.url]);
    assert_eq!(refused.code, Some(2), "{}", refused.said());
    insta::assert_snapshot!(refused.said().replace(&server.url, "http://127.0.0.1:80"));
    let missing = folder.loadgen(&["init", "--openapi", "missing.yaml"]);
    insta::assert_snapshot!("a_document_that_is_missing", missing.said());
    assert!(!folder.path("scenario.toml").exists());
    fs::write(folder.path("shop.yaml"), "swagger: '2.0'\n").unwrap();
    let old = folder.loadgen(&["init", "--openapi", "shop.yaml"]);
    insta::assert_snapshot!("a_document_that_is_too_old", old.said());
}
