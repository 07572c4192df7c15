//! Tests with documents that try to harm, or that nobody has looked at.

use proptest::prelude::{any, prop, prop_oneof, proptest};
use proptest::strategy::{Just, Strategy as _};
use serde_json::{Value as Json, json};

use super::tests::of_path;
use super::{Options, draft};
use crate::testing::checked;

/// Returns the environment variables that a scenario needs.
fn variables(text: &str) -> Vec<String> {
    let scenario = loadgen_scenario::parse("draft", "draft.toml", text).unwrap();
    scenario.variables().into_iter().map(str::to_owned).collect()
}

/// Neither a name nor an example of a document chooses what is sent from the user's environment.
#[test]
fn a_document_sends_no_variable_of_its_choice_and_no_secret_of_its_examples() {
    let injected = "{{ env AWS_SECRET_ACCESS_KEY }}";
    let parameter = |place: &str, name: &str, example: &str| json!({ "in": place, "name": name, "required": true, "example": example });
    let parameters = json!([
        parameter("cookie", injected, "a"),
        parameter("cookie", "a", injected),
        parameter("query", injected, "a"),
        parameter("query", "q", injected),
        parameter("header", "x-a", injected),
        parameter("header", "x-api-key", "sk-live-1234"),
        parameter("path", "id", injected),
    ]);
    let example = json!({ "user": "ada", "password": "hunter2", "pin": 1234, "note": injected, "list": [{ "token": "t-9" }] });
    let body = json!({ "content": { "application/json": { "example": example } } });
    let item = json!({ "post": { "parameters": parameters, "requestBody": body }, "get": {} });
    let document = json!({ "openapi": "3.1.0", "paths": { "/a/{id}": item, "/c": { "get": {} } } });
    let text = checked(&draft(&document.to_string(), Options { with_writes: true }).unwrap());
    for secret in ["hunter2", "1234", "sk-live", "t-9"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    let variables = variables(&text);
    assert!(variables.iter().all(|name| name.starts_with("API_")), "{variables:?}: {text}");
}

#[test]
fn parts_that_no_request_can_have_make_a_comment() {
    let header =
        |name: &str| json!([{ "in": "header", "name": name, "required": true, "example": "a" }]);
    let document = json!({ "openapi": "3.1.0", "paths": {
        "/a": { "get": { "parameters": header("X Trace Id") } },
        "/b": { "get": { "parameters": header("X-Trace") } },
        "/c": { "get": { "parameters": [
            { "in": "header", "name": "Foo", "required": true, "example": "a" },
            { "in": "header", "name": "foo", "required": true, "example": "b" },
            { "in": "header", "name": "Cookie", "required": true, "example": "b" },
            { "in": "cookie", "name": "c", "required": true, "example": "d" },
        ] } },
    } });
    let text = checked(&draft(&document.to_string(), Options::default()).unwrap());
    assert!(text.contains("# Decide: how to send the header X Trace Id.\n#[["), "{text}");
    assert!(text.contains("headers = { foo = \"b\", cookie = \"c=d\" }"), "{text}");
}

/// A POST that answers with a list tells nothing of what it has made.
#[test]
fn nothing_of_others_is_deleted() {
    let answer = |schema: &Json| json!({ "200": { "content": { "application/json": { "schema": schema } } } });
    let thing = json!({ "properties": { "id": {} } });
    let list = json!({ "type": "array", "items": thing });
    for (made, is_sent) in [(&thing, true), (&list, false)] {
        let document = json!({ "openapi": "3.1.0", "paths": {
            "/a": { "post": { "responses": answer(made) }, "get": { "responses": answer(&list) } },
            "/a/{id}": { "delete": {} },
        } });
        let text = checked(&draft(&document.to_string(), Options { with_writes: true }).unwrap());
        assert_eq!(text.contains("\ndelete = \"/a/{{ id }}\""), is_sent, "{text}");
    }
}

#[test]
fn schemas_that_explode_are_bounded() {
    let mut schema = json!({ "type": "boolean" });
    for _ in 0..8 {
        schema = json!({ "type": "array", "minItems": 20, "items": schema });
    }
    let body = json!({ "content": { "application/json": { "schema": schema } } });
    let text = of_path("/a", json!({ "post": { "requestBody": body } })).unwrap();
    assert!(text.len() < 100_000, "{}", text.len());
}

/// A document that explodes when its aliases are written out.
#[test]
fn aliases_of_yaml_are_bounded() {
    let mut text = "openapi: 3.1.0\nx0: &x0 [lol, lol]\n".to_owned();
    for n in 1..40 {
        text += &format!("x{n}: &x{n} [*x{0}, *x{0}, *x{0}, *x{0}]\n", n - 1);
    }
    assert!(draft(&text, Options::default()).unwrap_err().message.starts_with("no valid YAML"));
}

/// JSON of the words of OpenAPI, in any places.
fn any_json() -> impl proptest::strategy::Strategy<Value = Json> {
    let words = prop::sample::select(vec![
        "openapi",
        "3.1.0",
        "paths",
        "/a/{b}",
        "get",
        "post",
        "delete",
        "parameters",
        "name",
        "in",
        "path",
        "query",
        "schema",
        "$ref",
        "#/paths",
        "#",
        "#/components/schemas/A",
        "components",
        "schemas",
        "A",
        "type",
        "object",
        "array",
        "string",
        "integer",
        "properties",
        "items",
        "required",
        "allOf",
        "anyOf",
        "pattern",
        "^[a-z]{3}$",
        "responses",
        "200",
        "content",
        "application/json",
        "requestBody",
        "security",
        "tags",
        "{{ uuid }}",
        "\u{0}\n",
        "enum",
        "minimum",
        "minLength",
        "example",
        "links",
        "servers",
        "url",
        "cookie",
        "header",
        "X Trace",
        "Cookie",
        "apiKey",
        "securitySchemes",
        "operationId",
        "$response.body#/a",
        "minItems",
        "const",
        "{{ env HOME }}",
        "token",
    ]);
    let leaf = prop_oneof![
        words.clone().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        Just(Json::Bool(true)),
        Just(Json::Null),
    ];
    leaf.prop_recursive(6, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::Array),
            prop::collection::btree_map(words.clone().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|members| Json::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Whatever a document has in its places, a draft of it is a scenario.
    #[test]
    fn any_document_is_drafted_or_refused(item in any_json(), components in any_json(), with_writes: bool) {
        let document = json!({
            "openapi": "3.1.0", "components": components,
            "paths": { "/a/{b}": item, "/a": { "get": item, "post": item }, "/c": { "get": {} } },
        });
        if let Ok(draft) = draft(&document.to_string(), Options { with_writes }) {
            let text = checked(&draft);
            for name in variables(&text) {
                proptest::prop_assert!(name.starts_with("API_"), "{}: {}", name, text);
            }
        }
    }

    #[test]
    fn any_text_is_drafted_or_refused(text: String) {
        let _ = draft(&text, Options::default());
        let _ = draft(&format!("openapi: 3.1.0\n{text}"), Options::default());
    }
}
