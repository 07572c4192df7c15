//! Documents as frameworks publish them: see `published/`.

use serde_json::{Value as Json, json};

use super::*;
use crate::testing::checked;

const FASTAPI: &str = include_str!("published/fastapi.json");
const LITESTAR: &str = include_str!("published/litestar.json");
const DRF: &str = include_str!("published/drf.yaml");

fn of(document: &str, with_writes: bool) -> Draft {
    draft(document, Options { with_writes }).unwrap()
}

/// Returns the draft of a document with one path.
pub(super) fn of_path(path: &str, item: Json) -> Result<String, DraftError> {
    let document = json!({ "openapi": "3.1.0", "paths": { path: item } });
    draft(&document.to_string(), Options { with_writes: true }).map(|draft| checked(&draft))
}

#[test]
fn a_document_of_fastapi_becomes_a_scenario() {
    let draft = of(FASTAPI, false);
    insta::assert_snapshot!(checked(&draft));
    assert_eq!(draft.notes, ["5 steps in 4 flows; 5 more as comments, with what to decide"]);
    insta::assert_snapshot!("a_document_of_fastapi_with_writes", checked(&of(FASTAPI, true)));
}

#[test]
fn a_document_of_litestar_becomes_a_scenario() {
    insta::assert_snapshot!(checked(&of(LITESTAR, true)));
}

#[test]
fn a_document_in_yaml_of_django_rest_framework_becomes_a_scenario() {
    insta::assert_snapshot!(checked(&of(DRF, true)));
}

/// Removing the signs gives a scenario, too.
#[test]
fn steps_that_are_comments_can_be_used() {
    for document in [FASTAPI, LITESTAR, DRF] {
        let text = checked(&of(document, false));
        let is_option = |line: &str| {
            line.starts_with('#') && !line.starts_with("# ") && !line.starts_with("#:")
        };
        let lines = text.lines().map(|line| if is_option(line) { &line[1..] } else { line });
        let used = lines.collect::<Vec<_>>().join("\n");
        if let Err(error) = loadgen_scenario::parse("draft", "draft.toml", &used) {
            panic!("{used}\n{error:?}");
        }
    }
}

#[test]
fn what_deletes_comes_last_and_only_for_what_was_made() {
    let names = |with_writes| -> Vec<(String, bool)> {
        let draft = of(LITESTAR, with_writes);
        let steps = draft.flows.into_iter().flat_map(|flow| flow.steps);
        steps.map(|step| (step.name, step.off)).collect()
    };
    assert_eq!(names(true).last().unwrap(), &("DELETE /todos/{todo_id}".to_owned(), false));
    assert_eq!(names(false).last().unwrap(), &("DELETE /todos/{todo_id}".to_owned(), true));
}

#[test]
fn a_link_says_where_a_value_comes_from() {
    let document = json!({
        "openapi": "3.0.3",
        "servers": [{ "url": "https://{host}/api/{version}", "variables": { "host": { "default": "a.org" }, "version": { "default": "v2" } } }],
        "paths": {
            "/me": { "get": { "responses": { "200": { "links": {
                "cart": { "operationId": "cart", "parameters": { "cart": "$response.body#/carts/0" } }
            } } } } },
            "/carts/{cart}/lines": { "get": { "operationId": "cart", "tags": ["shop"] } },
        }
    });
    let text = checked(&draft(&document.to_string(), Options::default()).unwrap());
    assert!(text.contains("get = \"/api/v2/carts/{{ cart }}/lines\"\n"), "{text}");
    assert!(
        text.contains("# cart is /carts/0 in a response to GET /me: by the link cart.\n"),
        "{text}"
    );
    assert!(text.contains("capture = { cart = { json = \"/carts/0\" } }\n"), "{text}");
    // The step stands in the flow that needs it, and in its own.
    assert!(
        text.contains("name = \"GET /me (2)\"") || text.contains("name = \"GET /me\""),
        "{text}"
    );
}

/// YAML 1.1 would read these names as `true` and `false`.
#[test]
fn names_in_yaml_stay_names() {
    let text = "openapi: 3.0.3\npaths:\n  /a:\n    post:\n      requestBody: { content: { application/json: { schema:\n        { type: object, required: [x, y, on, country], properties:\n          { x: { const: 1 }, y: { const: 2 }, on: { const: 3 }, country: { enum: [NO, SE] } } } } } }\n";
    let text = checked(&draft(text, Options { with_writes: true }).unwrap());
    assert!(
        text.contains("body = { json = { country = \"NO\", on = 3, x = 1, y = 2 } }"),
        "{text}"
    );
}

#[test]
fn references_to_other_files_are_counted() {
    let document = json!({ "openapi": "3.0.3", "paths": {
        "/a": { "get": { "parameters": [{ "$ref": "parameters.yaml#/page" }] } },
        "/b": { "$ref": "b.yaml" },
    } });
    let draft = draft(&document.to_string(), Options::default()).unwrap();
    assert_eq!(draft.notes.len(), 2);
    assert!(draft.notes[1].starts_with("2 references to other files"), "{:?}", draft.notes);
}

#[test]
fn each_scheme_of_security_has_its_proof() {
    let schemes = json!({
        "basic": { "type": "http", "scheme": "Basic" },
        "bearer": { "type": "http", "scheme": "bearer" },
        "key": { "type": "apiKey", "in": "header", "name": "X-Key" },
        "query": { "type": "apiKey", "in": "query", "name": "api_key" },
        "cookie": { "type": "apiKey", "in": "cookie", "name": "sid" },
        "machine": { "type": "oauth2", "flows": { "clientCredentials": { "tokenUrl": "/oauth/token", "scopes": {} } } },
        "elsewhere": { "type": "oauth2", "flows": { "password": { "tokenUrl": "https://id.example.org/token", "scopes": {} } } },
    });
    let text = |security: Json| {
        let document = json!({
            "openapi": "3.1.0",
            "components": { "securitySchemes": schemes },
            "security": security,
            "paths": { "/a": { "get": {} }, "/open": { "get": { "security": [] } } },
        });
        checked(&draft(&document.to_string(), Options::default()).unwrap())
    };
    for (security, expected) in [
        (
            json!([{ "basic": [] }]),
            "auth = { user = \"{{ env API_USER }}\", password = \"{{ env API_PASSWORD }}\" }",
        ),
        (json!([{ "bearer": [] }]), "headers = { authorization = \"Bearer {{ env API_TOKEN }}\" }"),
        (
            json!([{ "elsewhere": [] }]),
            "headers = { authorization = \"Bearer {{ env API_TOKEN }}\" }",
        ),
        (json!([{ "key": [] }]), "headers = { x-key = \"{{ env API_X_KEY }}\" }"),
        (json!([{ "query": [] }]), "query = { api_key = \"{{ env API_KEY }}\" }"),
        (json!([{ "cookie": [] }]), "headers = { cookie = \"sid={{ env API_SID }}\" }"),
        (json!([{ "machine": [] }]), "post = \"/oauth/token\""),
        (json!([{ "bearer": [] }, { "key": [] }]), "headers = { x-key = \"{{ env API_X_KEY }}\" }"),
        (
            json!([{ "key": [], "cookie": [] }]),
            "headers = { x-key = \"{{ env API_X_KEY }}\", cookie = \"sid={{ env API_SID }}\" }",
        ),
    ] {
        let text = text(security);
        assert!(text.contains(&format!("\n{expected}\n")), "{expected}\n{text}");
        assert!(
            text.contains("get = \"/open\"\n\n") || text.ends_with("get = \"/open\"\n"),
            "{text}"
        );
    }
    // Nothing is proved where nothing need be.
    assert!(!text(json!([{ "key": [] }, {}])).contains("headers"));
}

#[test]
fn a_login_is_guessed_by_its_name_and_its_answer() {
    let document = json!({
        "openapi": "3.1.0",
        "components": { "securitySchemes": { "jwt": { "type": "http", "scheme": "bearer" } } },
        "paths": {
            "/auth/login": { "post": {
                "requestBody": { "content": { "application/json": { "schema": {
                    "required": ["email", "password"], "properties": { "email": { "type": "string" }, "password": { "type": "string" } }
                } } } },
                "responses": { "200": { "content": { "application/json": { "schema": { "properties": { "accessToken": {} } } } } } },
            } },
            "/orders": { "get": { "security": [{ "jwt": [] }] } },
        }
    });
    insta::assert_snapshot!(checked(&draft(&document.to_string(), Options::default()).unwrap()));
}

#[test]
fn only_a_login_is_taken_for_one() {
    let text = |path: &str, property: &str| {
        let document = json!({
            "openapi": "3.1.0",
            "components": { "securitySchemes": { "jwt": { "type": "http", "scheme": "bearer" } } },
            "paths": {
                path: { "post": {
                    "requestBody": { "content": { "application/json": { "schema": {
                        "required": [property], "properties": { property: { "type": "string" } }
                    } } } },
                    "responses": { "200": { "content": { "application/json": { "schema": { "properties": { "access": {} } } } } } },
                } },
                "/orders": { "get": { "security": [{ "jwt": [] }] } },
            }
        });
        checked(&draft(&document.to_string(), Options::default()).unwrap())
    };
    for (path, property) in
        [("/authors", "password"), ("/device-tokens", "password"), ("/token", "device")]
    {
        assert!(!text(path, property).contains("log in"), "{path}");
    }
    assert!(text("/auth/jwt/create/", "password").contains("log in"));
}

#[test]
fn bodies_have_their_media_types() {
    let text = |media_type: &str, schema: Json| {
        let body = json!({ "content": { media_type: { "schema": schema } } });
        of_path("/a", json!({ "post": { "requestBody": body } }))
    };
    let schema = json!({ "required": ["a"], "properties": { "a": { "type": "array", "items": { "const": 1 } } } });
    for (media_type, expected) in [
        ("application/json", "body = { json = { a = [1] } }"),
        (
            "application/merge-patch+json",
            "body = { json = { a = [1] }, content_type = \"application/merge-patch+json\" }",
        ),
        ("application/x-www-form-urlencoded", "body = { form = { a = [1] } }"),
        ("multipart/form-data", "body = { multipart = { a = [1] } }"),
        ("text/csv", "body = { text = \"example\", content_type = \"text/csv\" }"),
    ] {
        let text = text(media_type, schema.clone()).unwrap();
        assert!(text.contains(&format!("\n{expected}\n")), "{expected}\n{text}");
    }
    let refused = text("application/octet-stream", schema).unwrap_err();
    assert!(refused.message.starts_with("none of the 1 operations"), "{refused}");
}

#[test]
fn what_is_no_document_is_refused_with_advice() {
    for (text, message) in [
        ("<!doctype html>", "this is HTML or XML, not the document of an API"),
        ("{ \"a\": 1", "no valid JSON: "),
        ("a: [", "no valid YAML: "),
        ("swagger: '2.0'", "the document is Swagger 2.0, not OpenAPI 3"),
        ("openapi: 4.0.0", "OpenAPI 4.0.0 is not known"),
        ("a: 1", "the document has no `openapi` with its version"),
        ("openapi: 3.1.0\npaths: {}", "the document describes no operation"),
        (
            "openapi: 3.1\npaths: { /a: { delete: {} } }",
            "none of the 1 operations can be sent as it is: they may change data, or need a value that \
             the document does not give",
        ),
    ] {
        let refused = draft(text, Options::default()).unwrap_err();
        assert!(refused.message.starts_with(message), "{refused}");
        assert!(!refused.help.is_empty());
    }
}
