//! How requests of a draft prove who sends them.

use serde_json::Value as Json;
use url::Url;

use super::document::{Document, Operation};
use super::example::Examples;
use crate::secrets::is_secret;
use crate::{Step, Value};

/// Part of a request by which it proves who sends it, as a scheme of security asks.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Proof {
    /// A header with this value, which may have placeholders.
    Header(String, String),
    /// A pair of the query.
    Query(String, String),
    /// A cookie.
    Cookie(String, String),
    /// `auth` of the step.
    Basic(Value),
}

/// How well proofs suit a load test: the smaller, the better.
const LOGIN: u8 = 1;
const GUESSED_LOGIN: u8 = 2;
const PASSWORD: u8 = 2;
const KEY: u8 = 3;
const TOKEN: u8 = 4;
const SESSION: u8 = 5;

/// Steps that log users in, and the proofs that the schemes of a document ask for.
pub(super) struct Security<'a, 'b> {
    document: &'a Document,
    operations: &'b [Operation<'a>],
    /// Path before that of each operation.
    prefix: &'b str,
    /// Steps that each user sends once, with the names of the operations that they call.
    pub(super) logins: Vec<Step>,
    /// Schemes that were looked at, with their proofs and how well each suits.
    known: Vec<(String, Option<(u8, Proof)>)>,
}

impl<'a, 'b> Security<'a, 'b> {
    pub(super) fn new(
        document: &'a Document,
        operations: &'b [Operation<'a>],
        prefix: &'b str,
    ) -> Self {
        Self { document, operations, prefix, logins: Vec::new(), known: Vec::new() }
    }

    /// Returns the proofs of an operation: those of the alternative that suits a load test best, without a
    /// proof where the operation asks for none.
    pub(super) fn of(
        &mut self,
        operation: &Operation<'a>,
        examples: &mut Examples<'_>,
    ) -> Vec<Proof> {
        let alternatives = self.document.security(operation);
        let mut best: Option<(u8, Vec<Proof>)> = None;
        for names in alternatives {
            let proofs: Option<Vec<(u8, Proof)>> =
                names.iter().map(|name| self.scheme(name, examples)).collect();
            let Some(proofs) = proofs else { continue };
            let cost = proofs.iter().map(|(cost, _)| *cost).max().unwrap_or(0);
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, proofs.into_iter().map(|(_, proof)| proof).collect()));
            }
        }
        best.map(|(_, proofs)| proofs).unwrap_or_default()
    }

    fn scheme(&mut self, name: &str, examples: &mut Examples<'_>) -> Option<(u8, Proof)> {
        if let Some((_, proof)) = self.known.iter().find(|(known, _)| known == name) {
            return proof.clone();
        }
        let scheme = self.document.security_scheme(name);
        let proof = match scheme["type"].as_str() {
            Some("oauth2") => Some(self.oauth2(name, &scheme["flows"], examples)),
            Some("http")
                if scheme["scheme"].as_str().is_some_and(|it| it.eq_ignore_ascii_case("basic")) =>
            {
                let user = examples.variables.placeholder("API_USER", "user");
                let password = examples.variables.placeholder("API_PASSWORD", "password");
                Some((
                    PASSWORD,
                    Proof::Basic(Value::table([("user", user), ("password", password)])),
                ))
            }
            Some("http") | Some("openIdConnect") => Some(self.bearer(name, examples)),
            Some("apiKey") => api_key(name, scheme, examples),
            _ => None,
        };
        self.known.push((name.to_owned(), proof.clone()));
        proof
    }

    /// OAuth 2 (RFC 6749): the flows without a browser log in by themselves; others need a token.
    fn oauth2(&mut self, name: &str, flows: &Json, examples: &mut Examples<'_>) -> (u8, Proof) {
        let url_of = |flow: &str| path_of(flows[flow]["tokenUrl"].as_str()?, self.prefix);
        let mut form = Vec::new();
        let (path, auth) = if let Some(path) = url_of("password") {
            form.push(("grant_type".to_owned(), Value::from("password")));
            for (field, variable) in [("username", "API_USER"), ("password", "API_PASSWORD")] {
                form.push((
                    field.to_owned(),
                    examples.variables.placeholder(variable, field).into(),
                ));
            }
            (path, None)
        } else if let Some(path) = url_of("clientCredentials") {
            form.push(("grant_type".to_owned(), Value::from("client_credentials")));
            let id = examples.variables.placeholder("CLIENT_ID", "client_id");
            let secret = examples.variables.placeholder("CLIENT_SECRET", "client_secret");
            (path, Some(Value::table([("user", id), ("password", secret)])))
        } else {
            return token_of_environment(examples);
        };
        let mut step = Step::new(self.login_name(), "POST", path);
        step.about.push(format!("Logs each user in, as the security scheme {name} says."));
        step.push("when", "start");
        if let Some(auth) = auth {
            step.push("auth", auth);
        }
        step.push("body", Value::table([("form", Value::Table(form))]));
        (LOGIN, self.login(step, "/access_token"))
    }

    /// A bearer token (RFC 6750): of an operation that looks like a login, or of the environment.
    fn bearer(&mut self, name: &str, examples: &mut Examples<'_>) -> (u8, Proof) {
        const TOKENS: [&str; 6] =
            ["access_token", "accessToken", "token", "access", "jwt", "id_token"];
        let found = self.operations.iter().find_map(|it| {
            let properties = self.document.answer(it)["properties"].as_object()?;
            let token = TOKENS.iter().find(|token| properties.contains_key(**token))?;
            let needs_itself = self.document.security(it).iter().flatten().any(|it| *it == name);
            (is_login(it) && !needs_itself).then_some((it, *token))
        });
        let Some((operation, token)) = found else { return token_of_environment(examples) };
        let Some(body) = login_body(self.document, operation, examples) else {
            return token_of_environment(examples);
        };
        let mut step =
            Step::new(self.login_name(), "POST", format!("{}{}", self.prefix, operation.path));
        step.about.push(format!(
            "Guessed: {} looks like the login that gives the token of the security scheme {name}.",
            operation.name()
        ));
        step.push("when", "start");
        step.push("body", body);
        (GUESSED_LOGIN, self.login(step, &format!("/{token}")))
    }

    fn login_name(&self) -> String {
        match self.logins.len() {
            0 => "log in".to_owned(),
            earlier => format!("log in {}", earlier + 1),
        }
    }

    /// Adds a login, and returns the header with its token.
    fn login(&mut self, mut step: Step, pointer: &str) -> Proof {
        let token = match self.logins.len() {
            0 => "token".to_owned(),
            earlier => format!("token_{}", earlier + 1),
        };
        let capture = Value::table([("json", pointer)]);
        step.push("capture", Value::table([(token.as_str(), capture)]));
        self.logins.push(step);
        Proof::Header("authorization".to_owned(), format!("Bearer {{{{ {token} }}}}"))
    }
}

/// Whether an operation looks like a login by its path.
fn is_login(operation: &Operation<'_>) -> bool {
    const WORDS: [&str; 11] = [
        "login",
        "signin",
        "token",
        "tokens",
        "accesstoken",
        "jwt",
        "auth",
        "authenticate",
        "authorize",
        "session",
        "sessions",
    ];
    const AFTER: [&str; 3] = ["create", "obtain", "new"];
    let plain = |part: &str| part.to_lowercase().replace(['-', '_'], "");
    let mut parts = operation.path.split('/').filter(|part| !part.is_empty()).rev().map(plain);
    let is_word = |part: Option<String>| part.is_some_and(|it| WORDS.contains(&it.as_str()));
    let last = parts.next();
    let is_after = last.as_deref().is_some_and(|it| AFTER.contains(&it));
    operation.method == "post"
        && !operation.path.contains('{')
        && (is_word(last) || (is_after && is_word(parts.next())))
}

/// Returns the body of a login, which has a password: names of users and secrets come from the environment.
fn login_body(
    document: &Document,
    operation: &Operation<'_>,
    examples: &mut Examples<'_>,
) -> Option<Value> {
    const USERS: [&str; 6] = ["user", "username", "user_name", "email", "login", "identifier"];
    let (media_type, json) = *document.body(operation).first()?;
    let schema = document.resolve(&json["schema"]);
    let Some(Value::Table(members)) =
        examples.of("login", &serde_json::json!({ "schema": schema }))
    else {
        return None;
    };
    let is_password = |name: &str| {
        let name = name.to_lowercase();
        ["passw", "pwd", "passphrase"].iter().any(|part| name.contains(part)) || name == "pass"
    };
    if !members.iter().any(|(name, _)| is_password(name)) {
        return None;
    }
    let members = members.into_iter().map(|(name, value)| {
        let lower = name.to_lowercase();
        let value = match () {
            () if USERS.contains(&lower.as_str()) => {
                examples.variables.placeholder("API_USER", "user").into()
            }
            () if is_secret(&name) => {
                examples.variables.placeholder("API_PASSWORD", "password").into()
            }
            () => value,
        };
        (name, value)
    });
    let kind = if super::document::is_json(media_type) { "json" } else { "form" };
    Some(Value::table([(kind, Value::Table(members.collect()))]))
}

fn token_of_environment(examples: &mut Examples<'_>) -> (u8, Proof) {
    let token = examples.variables.placeholder("API_TOKEN", "bearer");
    (TOKEN, Proof::Header("authorization".to_owned(), format!("Bearer {token}")))
}

fn api_key(scheme: &str, json: &Json, examples: &mut Examples<'_>) -> Option<(u8, Proof)> {
    let name = json["name"].as_str()?.to_owned();
    let key = examples.variables.placeholder(&name, scheme);
    match json["in"].as_str()? {
        "header" => Some((KEY, Proof::Header(name.to_ascii_lowercase(), key))),
        "query" => Some((KEY, Proof::Query(name, key))),
        "cookie" => Some((SESSION, Proof::Cookie(name, key))),
        _ => None,
    }
}

/// Returns the path of the URL of tokens, which may be relative to the API; nothing for that of another
/// server, whose login is no part of the load.
fn path_of(url: &str, prefix: &str) -> Option<String> {
    if Url::parse(url).is_ok() || url.starts_with("//") {
        return None;
    }
    let base = Url::parse(&format!("http://host{prefix}/")).ok()?;
    let joined = base.join(url).ok()?;
    Some(joined.path().to_owned())
}
