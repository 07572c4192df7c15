//! Where the value of a parameter comes from: the response of another operation.

use serde_json::Value as Json;

use super::document::{Document, Operation};

/// A value in the response of an operation.
#[derive(Debug, PartialEq)]
pub(super) struct Source {
    /// Number of the operation.
    pub(super) operation: usize,
    /// JSON pointer, in which `*` stands for any item of an array.
    pub(super) pointer: String,
    /// Why the value is the parameter's, as a person would say it.
    pub(super) why: String,
}

impl Source {
    /// Whether the value is that of any of several things.
    pub(super) fn is_one_of_many(&self) -> bool {
        self.pointer.contains("/*")
    }
}

/// Members of an object that list what a page holds.
const LISTS: [&str; 7] = ["items", "results", "data", "content", "records", "rows", "values"];

/// Returns the source of a parameter in the path of an operation: a link of OpenAPI, or a guess by names.
/// With `with_writes`, what an operation has just created comes first: other users need not have it.
pub(super) fn of(
    document: &Document,
    operations: &[Operation<'_>],
    wanted: &Operation<'_>,
    parameter: &str,
    with_writes: bool,
) -> Option<Source> {
    if let Some(source) = by_link(document, operations, wanted, parameter) {
        return Some(source);
    }
    let placeholder = format!("{{{parameter}}}");
    let collection = wanted.path.split(&placeholder).next()?.trim_end_matches('/');
    let at = |method: &str| {
        let is_there =
            |it: &Operation<'_>| it.method == method && it.path.trim_end_matches('/') == collection;
        operations.iter().position(is_there)
    };
    // Other lists of the same things, such as `/pets/findByStatus`.
    let below = format!("{collection}/");
    let lists = operations.iter().enumerate().filter(|(_, it)| {
        it.method == "get" && it.path.starts_with(&below) && !it.path[below.len()..].contains('{')
    });
    let made = if with_writes { [at("post"), at("get")] } else { [at("get"), None] };
    let last = if with_writes { None } else { at("post") };
    let all = made.into_iter().flatten().chain(lists.map(|(number, _)| number)).chain(last);
    all.into_iter().find_map(|number| {
        let operation = &operations[number];
        let pointer = pointer(document, document.answer(operation), parameter)?;
        let why =
            format!("Guessed: {parameter} is {pointer} in a response to {}.", operation.name());
        Some(Source { operation: number, pointer, why })
    })
}

/// Returns the source that a link of a response names (OpenAPI 3.1.1, 4.20).
fn by_link(
    document: &Document,
    operations: &[Operation<'_>],
    wanted: &Operation<'_>,
    parameter: &str,
) -> Option<Source> {
    operations.iter().enumerate().find_map(|(number, operation)| {
        let responses = document.responses(operation);
        let links =
            responses.iter().filter_map(|(_, response)| response["links"].as_object()).flatten();
        links.map(|(name, link)| (name, document.resolve(link))).find_map(|(name, link)| {
            if link["operationId"].as_str()? != wanted.id()? {
                return None;
            }
            let parameters = &link["parameters"];
            let value =
                parameters.get(parameter).or_else(|| parameters.get(format!("path.{parameter}")));
            let pointer = value?.as_str()?.strip_prefix("$response.body#")?.to_owned();
            if !pointer.starts_with('/') {
                return None;
            }
            let why = format!(
                "{parameter} is {pointer} in a response to {}: by the link {name}.",
                operation.name()
            );
            Some(Source { operation: number, pointer, why })
        })
    })
}

/// Returns where a response has the value of a parameter: in the object itself, or in each of its items.
fn pointer(document: &Document, schema: &Json, parameter: &str) -> Option<String> {
    if let Some(member) = member(document, schema, parameter) {
        return Some(format!("/{member}"));
    }
    let of_items = |list: &Json, before: &str| {
        let list = document.resolve(list);
        let member = member(document, document.resolve(list.get("items")?), parameter)?;
        Some(format!("{before}/*/{member}"))
    };
    of_items(schema, "").or_else(|| {
        let properties = schema["properties"].as_object()?;
        let known = LISTS.iter().filter_map(|name| properties.get_key_value(*name));
        known.chain(properties.iter()).find_map(|(name, list)| of_items(list, &format!("/{name}")))
    })
}

/// Returns the member of an object that has the value of a parameter by its name: `item_id` is `item_id`,
/// or the `id` of an item.
fn member(document: &Document, schema: &Json, parameter: &str) -> Option<String> {
    let schema = document.resolve(schema);
    let mut names: Vec<String> = schema["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name.clone())
        .collect();
    for part in schema["allOf"].as_array().into_iter().flatten() {
        let properties = document.resolve(part)["properties"].as_object();
        names.extend(properties.into_iter().flatten().map(|(name, _)| name.clone()));
    }
    let plain = |name: &str| name.replace(['_', '-'], "").to_lowercase();
    let wanted = plain(parameter);
    let is_last_word = |name: &&String| {
        let name = plain(name);
        ["id", "pk", "uuid", "slug", "key", "code", "name", "username"].contains(&name.as_str())
            && wanted.ends_with(&name)
    };
    let exact = names.iter().find(|name| plain(name) == wanted);
    exact.or_else(|| names.iter().find(is_last_word)).cloned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(answer: Json, parameter: &str) -> Option<String> {
        let document = json!({
            "openapi": "3.0.3",
            "components": { "schemas": { "Thing": { "properties": { "id": { "type": "integer" }, "slug": {} } } } },
            "paths": {
                "/things": { "get": { "responses": { "200": { "content": { "application/json": { "schema": answer } } } } } },
                format!("/things/{{{parameter}}}"): { "get": { "operationId": "one" } },
            }
        });
        let document = Document::read(&document.to_string()).unwrap();
        let operations = document.operations();
        let wanted = operations.iter().find(|it| it.path.contains('{')).unwrap();
        of(&document, &operations, wanted, parameter, false).map(|source| source.pointer)
    }

    #[test]
    fn another_list_of_the_same_things_has_their_keys_too() {
        let pets = json!({ "200": { "content": { "application/json": { "schema": {
            "type": "array", "items": { "properties": { "id": {} } }
        } } } } });
        let document = json!({ "openapi": "3.0.3", "paths": {
            "/pet/findByStatus": { "get": { "responses": pets } },
            "/pet/{petId}": { "get": {} },
        } });
        let document = Document::read(&document.to_string()).unwrap();
        let operations = document.operations();
        let source = of(&document, &operations, &operations[1], "petId", false).unwrap();
        assert_eq!((source.operation, source.pointer.as_str()), (0, "/*/id"));
    }

    #[test]
    fn a_list_has_the_keys_of_its_things() {
        let thing = json!({ "$ref": "#/components/schemas/Thing" });
        let list = json!({ "type": "array", "items": thing });
        for (answer, parameter, pointer) in [
            (list.clone(), "thing_id", Some("/*/id")),
            (list.clone(), "thingSlug", Some("/*/slug")),
            (list.clone(), "version", None),
            (
                json!({ "properties": { "count": {}, "results": list } }),
                "id",
                Some("/results/*/id"),
            ),
            (json!({ "properties": { "things": list } }), "thing-id", Some("/things/*/id")),
            (json!({ "type": "array", "items": { "allOf": [thing] } }), "id", Some("/*/id")),
            (thing.clone(), "id", Some("/id")),
            (json!({}), "id", None),
        ] {
            assert_eq!(
                found(answer.clone(), parameter).as_deref(),
                pointer,
                "{parameter}: {answer}"
            );
        }
    }
}
