//! A user that logs in and then uses its token, through the
//! real binary, in one process and in several.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::common::program::Project;
use crate::common::serve;

/// Tokens that the server has issued, and those of them that came back.
#[derive(Default)]
struct Known {
    tokens: BTreeSet<String>,
    used: BTreeSet<String>,
}

type Shared = Arc<Mutex<Known>>;

async fn login(State(known): State<Shared>, Json(body): Json<Value>) -> Json<Value> {
    let mut known = known.lock().unwrap();
    // These characters would break out of a header, a path or JSON if they were not escaped.
    let token = format!("{}/{} \"?&", body["user"].as_str().unwrap(), known.tokens.len());
    known.tokens.insert(token.clone());
    Json(json!({"session": {"token": token}}))
}

async fn profile(
    State(known): State<Shared>,
    Path(token): Path<String>,
    headers: HeaderMap,
) -> StatusCode {
    let mut known = known.lock().unwrap();
    let bearer = format!("Bearer {token}");
    if !known.tokens.contains(&token) || headers["authorization"] != bearer.as_str() {
        return StatusCode::FORBIDDEN;
    }
    known.used.insert(token);
    StatusCode::OK
}

async fn logout(State(known): State<Shared>, Json(body): Json<Value>) -> StatusCode {
    let removed = known.lock().unwrap().tokens.contains(body["token"].as_str().unwrap());
    if removed { StatusCode::NO_CONTENT } else { StatusCode::FORBIDDEN }
}

const SCENARIO: &str = r#"
[load]
users = 4
iterations = 40

[[step]]
name = "login"
post = "/login"
body = { json = { user = "user-{{ user }}" } }
capture = { token = { json = "/session/token" } }

[[step]]
name = "profile"
get = "/profile/{{ token }}"
headers = { authorization = "Bearer {{ token }}" }

[[step]]
name = "logout"
post = "/logout"
body = { json = { token = "{{ token }}" } }
"#;

#[tokio::test(flavor = "multi_thread")]
async fn values_of_the_login_are_used_by_later_steps() {
    let known = Shared::default();
    let app = Router::new()
        .route("/login", post(login))
        .route("/profile/{token}", get(profile))
        .route("/logout", post(logout))
        .with_state(known.clone());
    let url = format!("http://{}", serve(app).await);

    let project = Project::real().file("login.toml", SCENARIO);
    for (out, workers) in [("alone", None), ("shared", Some("--workers=2"))] {
        let run = ["-s", "login.toml", "--url", &url, "--warmup=0s", "--format=json", "--out", out];
        let arguments: Vec<&str> = run.into_iter().chain(workers).collect();
        let finished = tokio::task::block_in_place(|| project.run(&arguments));
        assert_eq!(finished.code, Some(0), "{}", finished.said());
        let steps = finished.json()["targets"][0]["steps"].clone();
        let counts =
            |step: usize| (steps[step]["requests"].as_u64(), steps[step]["errors"].as_u64());
        assert_eq!([0, 1, 2].map(counts), [(Some(40), Some(0)); 3], "{steps:#}");
        // One more login is the verification's.
        let Known { tokens, used } = std::mem::take(&mut *known.lock().unwrap());
        assert_eq!((tokens.len(), used.len()), (41, 41));
    }
}
