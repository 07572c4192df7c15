//! Asks the health service of gRPC whether a server serves.
//!
//! The service is `grpc.health.v1.Health` of the *gRPC Health Checking Protocol*. One unary call is
//! one HTTP/2 request (*gRPC over HTTP2*), so no library of gRPC is necessary.

use reqwest::Client;
use reqwest::header::{CONTENT_TYPE, TE};

use crate::lab::service::listener::NOT_ACCEPTED;

const METHOD: &str = "grpc.health.v1.Health/Check";

/// Message `HealthCheckRequest` without fields, which asks about the server as a whole: not
/// compressed, with a length of 0.
const REQUEST: [u8; 5] = [0; 5];

/// Message `HealthCheckResponse` with the status `SERVING`: field 1 is 1.
const SERVING: [u8; 7] = [0, 0, 0, 0, 2, 0x08, 1];

/// Asks the server at `origin` once. `client` must speak HTTP/2 in the clear. Any other answer than
/// `SERVING` is an error, as a phrase that follows "it".
pub(super) async fn serves(client: &Client, origin: &str) -> Result<(), String> {
    let request = client.post(format!("{origin}/{METHOD}"));
    let request = request.header(CONTENT_TYPE, "application/grpc").header(TE, "trailers");
    let answer = match request.body(REQUEST.to_vec()).send().await {
        Ok(answer) => answer,
        Err(error) if error.is_connect() => return Err(NOT_ACCEPTED.to_owned()),
        Err(_) => return Err(format!("did not answer {METHOD} as HTTP/2")),
    };
    let status = answer.status();
    if !status.is_success() {
        return Err(format!("answered {METHOD} with {status}"));
    }
    // A call that fails before its response has its status in the headers, because no trailers follow.
    let failed = answer.headers().get("grpc-status").cloned();
    match (failed, answer.bytes().await) {
        (None, Ok(body)) if *body == SERVING => Ok(()),
        (Some(code), _) => Err(format!("answered {METHOD} with the gRPC status {code:?}")),
        _ => Err(format!("did not answer {METHOD} with SERVING")),
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::http::StatusCode;
    use axum::response::IntoResponse;
    use axum::routing::post;
    use tokio::net::TcpListener;

    use super::*;

    /// Returns what the check says about a server that gives this answer.
    async fn asked(
        answer: impl IntoResponse + Clone + Send + Sync + 'static,
    ) -> Result<(), String> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let app = Router::new().route(&format!("/{METHOD}"), post(answer));
        let server = tokio::spawn(async { axum::serve(listener, app).await });
        let client = Client::builder().no_proxy().http2_prior_knowledge().build().unwrap();
        let said = serves(&client, &origin).await;
        server.abort();
        said
    }

    #[tokio::test]
    async fn only_a_server_that_serves_is_ready() {
        let not_serving = [0, 0, 0, 0, 2, 0x08, 2];
        assert_eq!(asked(SERVING.to_vec()).await, Ok(()));
        for (answer, error) in [
            (not_serving.to_vec().into_response(), "with SERVING"),
            (Vec::new().into_response(), "with SERVING"),
            ([("grpc-status", "12")].into_response(), "with the gRPC status \"12\""),
            (StatusCode::NOT_FOUND.into_response(), "with 404"),
        ] {
            let (parts, body) = answer.into_parts();
            let body = axum::body::to_bytes(body, 100).await.unwrap();
            let said = asked((parts.status, parts.headers, body)).await.unwrap_err();
            assert!(said.contains(error), "{said}");
        }
    }

    #[tokio::test]
    async fn a_port_without_a_server_of_http2_is_not_ready() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let client = Client::builder().no_proxy().http2_prior_knowledge().build().unwrap();
        let closing = tokio::spawn(async move { drop(listener.accept().await) });
        assert!(serves(&client, &origin).await.unwrap_err().contains("as HTTP/2"));
        closing.await.unwrap();
        assert!(serves(&client, &origin).await.unwrap_err().contains("accept a connection"));
    }
}
