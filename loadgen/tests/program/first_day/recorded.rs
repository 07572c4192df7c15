//! A scenario from what a browser has recorded, and from a command that it has copied, without an editor.

use std::fs;

use super::folder::Folder;
use crate::common::program::checkout;

/// Port of the server in the recordings.
const RECORDED: &str = "18999";

/// Two people log in to Django, with its CSRF tokens, and order: each as Chromium has recorded it.
#[test]
fn two_recordings_of_a_login_to_django_become_a_journey() {
    let folder = Folder::with("django");
    let words = ["gunicorn", "shop.wsgi", "--bind=127.0.0.1:PORT", "--log-level=warning"];
    let server = folder.serve(&words, &[]);
    let port = server.url.rsplit(':').next().unwrap();
    for name in ["ada.har", "bob.har"] {
        let file = checkout().join(format!("loadgen/tests/data/recordings/django-{name}"));
        folder.write(name, &fs::read_to_string(file).unwrap().replace(RECORDED, port));
    }
    let written = folder.loadgen(&["init", "--har=ada.har", "--har=bob.har", "order"]);
    assert_eq!(written.code, Some(0), "{}", written.said());
    insta::assert_snapshot!(written.said().replace(&server.url, "URL"));
    let scenario = fs::read_to_string(folder.path("order.toml")).unwrap();
    insta::assert_snapshot!("the_journey", scenario.replace(port, RECORDED));
    let user = [("API_PASSWORD", "secret-of-ada")];
    let tried = folder.loadgen_as(&user, &["check", "--try", &server.url, "order.toml"]);
    assert_eq!(tried.code, Some(0), "{}{}", tried.stdout, tried.said());
    let words = ["--scenario=order.toml", "--url", &server.url, "--duration=3s", "--json"];
    let ran = folder.loadgen_as(&user, &words);
    assert_eq!(ran.code, Some(0), "{}", ran.said());
    let document = ran.json();
    let steps = document["targets"][0]["steps"].as_array().unwrap();
    let ordered = steps.iter().find(|step| step["name"] == "POST /orders/").unwrap();
    assert!(ordered["requests"].as_u64() > Some(0), "{ordered}");
    assert!(steps.iter().all(|step| step["errors"] == 0), "{steps:?}");
}

#[test]
fn a_copied_command_becomes_a_step() {
    let folder = Folder::with("starlette");
    let server = folder.serve(&super::urls::UVICORN, &[]);
    let command = format!(
        "curl '{}/products?q=tea' -H 'accept: application/json' -H 'authorization: Bearer \
         0123456789abcdef' -H 'sec-fetch-mode: cors' --compressed",
        server.url
    );
    let written = folder.loadgen(&["init", "--curl", &command]);
    assert_eq!(written.code, Some(0), "{}", written.said());
    let scenario = fs::read_to_string(folder.path("scenario.toml")).unwrap();
    insta::assert_snapshot!("the_command", scenario);
    let words = ["-s=scenario.toml", "--url", &server.url, "--iterations=20"];
    let ran = folder.loadgen_as(&[("API_AUTHORIZATION", "0123456789abcdef")], &words);
    assert_eq!(ran.code, Some(0), "{}", ran.said());
    let refused = folder.loadgen(&["init", "--curl=curl --frob http://127.0.0.1", "other"]);
    insta::assert_snapshot!("a_command_that_is_not_known", refused.said());
}
