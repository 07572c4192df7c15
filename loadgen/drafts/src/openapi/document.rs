//! The document of an API: finds its way through it, also along references.
//!
//! The document stays JSON, of which this module reads what a draft needs. Typed crates refuse what real
//! programs publish: oas3 0.22 refuses all of OpenAPI 3.0, and the relative `tokenUrl` that FastAPI writes;
//! openapiv3 2.2 refuses all of 3.1. A part that a draft has no use for must not cost the rest.

use serde_json::Value as Json;

use crate::DraftError;

/// Longest chain of references that is followed: references may lead in a circle.
const LONGEST_CHAIN: usize = 32;

/// Methods whose operations become steps, in the order in which a journey would use them.
const METHODS: [&str; 7] = ["post", "get", "head", "options", "put", "patch", "delete"];

/// A description of an API.
pub(super) struct Document {
    root: Json,
}

/// An operation: a method at a path.
pub(super) struct Operation<'a> {
    /// Method, in lower case.
    pub(super) method: &'static str,
    /// Path of the document, with `{NAME}` for each parameter.
    pub(super) path: &'a str,
    /// Parameters by name and place; those of the operation replace those of its path.
    pub(super) parameters: Vec<Parameter<'a>>,
    json: &'a Json,
}

/// A parameter of an operation.
pub(super) struct Parameter<'a> {
    /// Its name, as it is sent.
    pub(super) name: &'a str,
    /// `path`, `query`, `header` or `cookie`.
    pub(super) place: &'a str,
    /// Whether a request without it is wrong.
    pub(super) required: bool,
    /// The whole parameter.
    pub(super) json: &'a Json,
}

impl Document {
    /// Reads JSON or YAML.
    pub(super) fn read(text: &str) -> Result<Self, DraftError> {
        let wrong = |why: String| {
            let help = "give the document of an API in OpenAPI 3.0 or 3.1, as JSON or YAML, such as \
                        http://127.0.0.1:8000/openapi.json";
            DraftError::new(why, help)
        };
        let root: Json = if text.trim_start().starts_with('{') {
            serde_json::from_str(text).map_err(|error| wrong(format!("no valid JSON: {error}")))?
        } else if text.trim_start().starts_with('<') {
            return Err(wrong("this is HTML or XML, not the document of an API".to_owned()));
        } else {
            // Names such as `y`, `on` and `NO` are texts, as in YAML 1.2.
            let options = serde_saphyr::options! { strict_booleans: true };
            serde_saphyr::from_str_with_options(text, options)
                .map_err(|error| wrong(format!("no valid YAML: {error}")))?
        };
        let version = match &root["openapi"] {
            Json::String(version) => version.clone(),
            // YAML without quotes.
            Json::Number(version) => version.to_string(),
            _ if root.get("swagger").is_some() => {
                let help = "convert the document to OpenAPI 3 first: most frameworks have a setting for it, \
                            and `npx swagger2openapi` converts a file";
                return Err(DraftError::new("the document is Swagger 2.0, not OpenAPI 3", help));
            }
            _ => return Err(wrong("the document has no `openapi` with its version".to_owned())),
        };
        if !["3.0", "3.1", "3.2"].iter().any(|known| version.starts_with(known)) {
            return Err(wrong(format!("OpenAPI {version:.20} is not known")));
        }
        Ok(Self { root })
    }

    /// Returns the title of the API.
    pub(super) fn title(&self) -> &str {
        self.root["info"]["title"].as_str().unwrap_or("an API")
    }

    /// Returns the URL of the first server, with the defaults of its variables.
    pub(super) fn server(&self) -> Option<String> {
        let server = self.root["servers"].get(0)?;
        let mut url = server["url"].as_str()?.to_owned();
        for (name, variable) in server["variables"].as_object().into_iter().flatten() {
            url = url.replace(&format!("{{{name}}}"), variable["default"].as_str()?);
        }
        Some(url)
    }

    /// Follows the references of a value to what they mean: to `null` if that does not exist.
    pub(super) fn resolve<'a>(&'a self, mut json: &'a Json) -> &'a Json {
        for _ in 0..LONGEST_CHAIN {
            let Some(reference) = json.get("$ref").and_then(Json::as_str) else { return json };
            let Some(pointer) = reference.strip_prefix('#') else { return &Json::Null };
            let pointer = percent_encoding::percent_decode_str(pointer).decode_utf8_lossy();
            json = self.root.pointer(&pointer).unwrap_or(&Json::Null);
        }
        &Json::Null
    }

    /// Returns the number of references to other files, which are not followed.
    pub(super) fn foreign_references(&self) -> usize {
        fn count(json: &Json) -> usize {
            let inside = match json {
                Json::Array(items) => items.iter().map(count).sum(),
                Json::Object(members) => members.values().map(count).sum(),
                _ => 0,
            };
            let reference = json.get("$ref").and_then(Json::as_str);
            inside + usize::from(reference.is_some_and(|it| !it.starts_with('#')))
        }
        count(&self.root)
    }

    /// Returns a scheme of security by its name.
    pub(super) fn security_scheme(&self, name: &str) -> &Json {
        self.resolve(&self.root["components"]["securitySchemes"][name])
    }

    /// Returns all operations that are not deprecated, by path.
    pub(super) fn operations(&self) -> Vec<Operation<'_>> {
        let mut all = Vec::new();
        for (path, item) in self.root["paths"].as_object().into_iter().flatten() {
            let item = self.resolve(item);
            for method in METHODS {
                let json = &item[method];
                if json.is_object()
                    && path.starts_with('/')
                    && json["deprecated"] != Json::Bool(true)
                {
                    let parameters = self.parameters(&item["parameters"], &json["parameters"]);
                    all.push(Operation { method, path, parameters, json });
                }
            }
        }
        all
    }

    fn parameters<'a>(&'a self, of_path: &'a Json, own: &'a Json) -> Vec<Parameter<'a>> {
        let mut all: Vec<Parameter<'_>> = Vec::new();
        for json in [of_path, own].into_iter().filter_map(Json::as_array).flatten() {
            let json = self.resolve(json);
            let (Some(name), Some(place)) = (json["name"].as_str(), json["in"].as_str()) else {
                continue;
            };
            let required = place == "path" || json["required"] == Json::Bool(true);
            all.retain(|other| (other.name, other.place) != (name, place));
            all.push(Parameter { name, place, required, json });
        }
        all
    }

    /// Returns the names of the schemes of each alternative that the security of an operation allows;
    /// none of them for an operation that needs no security.
    pub(super) fn security<'a>(&'a self, operation: &Operation<'a>) -> Vec<Vec<&'a str>> {
        let own = operation.json.get("security").unwrap_or(&self.root["security"]);
        let alternatives = own.as_array().into_iter().flatten();
        alternatives
            .map(|one| {
                one.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect()
            })
            .collect()
    }

    /// Returns the responses of an operation with their statuses, such as `200`, `2XX` or `default`.
    pub(super) fn responses<'a>(&'a self, operation: &Operation<'a>) -> Vec<(&'a str, &'a Json)> {
        let responses = operation.json["responses"].as_object().into_iter().flatten();
        responses.map(|(status, response)| (status.as_str(), self.resolve(response))).collect()
    }

    /// Returns the schema of the first successful response in JSON.
    pub(super) fn answer<'a>(&'a self, operation: &Operation<'a>) -> &'a Json {
        let responses = self.responses(operation);
        let successes = responses.iter().filter(|(status, _)| status.starts_with('2'));
        let mut contents = successes.filter_map(|(_, response)| response["content"].as_object());
        let json = contents.find_map(|content| {
            content.iter().find(|(media_type, _)| is_json(media_type)).map(|(_, it)| &it["schema"])
        });
        json.map_or(&Json::Null, |schema| self.resolve(schema))
    }

    /// Returns the media types of a request's body with their descriptions.
    pub(super) fn body<'a>(&'a self, operation: &Operation<'a>) -> Vec<(&'a str, &'a Json)> {
        let body = self.resolve(&operation.json["requestBody"]);
        let content = body["content"].as_object().into_iter().flatten();
        content.map(|(media_type, it)| (media_type.as_str(), it)).collect()
    }
}

impl<'a> Operation<'a> {
    /// Whether the operation only reads, as RFC 9110, 9.2.1 promises of its method.
    pub(super) fn is_safe(&self) -> bool {
        matches!(self.method, "get" | "head" | "options")
    }

    /// Returns the tag under which documents group the operation: the first one, or the first part of the
    /// path that is no parameter, after a prefix such as `/api/v1`.
    pub(super) fn group(&self) -> String {
        if let Some(tag) = self.json["tags"].get(0).and_then(Json::as_str) {
            return tag.to_owned();
        }
        let is_version = |part: &&str| {
            part.strip_prefix('v')
                .is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
        };
        let parts = self.path.split('/').filter(|part| !part.is_empty() && !part.starts_with('{'));
        let first =
            parts.filter(|part| *part != "api" && !is_version(part)).map(str::to_owned).next();
        first.unwrap_or_else(|| "root".to_owned())
    }

    /// Returns the operation's identifier, to which links refer.
    pub(super) fn id(&self) -> Option<&'a str> {
        self.json["operationId"].as_str()
    }

    /// Returns method and path, which are unique.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.method.to_uppercase(), self.path)
    }

    /// Returns what the document says of the operation in one line.
    pub(super) fn summary(&self) -> Option<&'a str> {
        self.json["summary"].as_str()
    }
}

/// Whether a media type is JSON by its name.
pub(super) fn is_json(media_type: &str) -> bool {
    let name = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    name == "application/json" || name.ends_with("+json")
}
