//! Reads what a Dockerfile and compose files say about how a project starts.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Form, Said};
use crate::commands::init::targets::folder::Folder;

/// Names of compose files, in the order in which compose looks for them.
const COMPOSE: [&str; 4] =
    ["compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml"];

const DOCKERFILES: [&str; 2] = ["Dockerfile", "Containerfile"];

/// Command and variables of the last stage of a Dockerfile.
#[derive(Debug, Default, Clone)]
struct Image {
    entrypoint: Option<Form>,
    command: Option<Form>,
    env: BTreeMap<String, String>,
    ports: Vec<u16>,
    folder: Option<String>,
}

/// Returns what the Dockerfile of the folder says.
pub(super) fn dockerfile(folder: &Folder) -> Option<Said> {
    let (place, text) = DOCKERFILES.iter().find_map(|name| Some((*name, folder.text(name)?)))?;
    let image = image(&text);
    let form = started(image.entrypoint, image.command)?;
    let (env, ports, folder) = (image.env, image.ports, image.folder);
    Some(Said { place: place.to_owned(), form, env, ports, folder })
}

/// Returns what the compose file says about its services that are built from the folder.
pub(super) fn compose(folder: &Folder) -> Vec<Said> {
    let file = COMPOSE.iter().find_map(|name| Some((*name, folder.text(name)?)));
    let Some((place, text)) = file else { return Vec::new() };
    let Ok(value) = serde_saphyr::from_str::<Value>(&text) else { return Vec::new() };
    let dockerfile = DOCKERFILES.iter().find_map(|name| folder.text(name)).unwrap_or_default();
    let services = value["services"].as_object().into_iter().flatten();
    let said = services.filter_map(|(name, service)| {
        let command = form(&service["command"])?;
        let is_here = |build: &Value| [".", "./"].contains(&build.as_str().unwrap_or("?"));
        let build = &service["build"];
        if !is_here(build) && !is_here(&build["context"]) {
            return None;
        }
        let image = image(&dockerfile);
        let entrypoint = form(&service["entrypoint"]).or(image.entrypoint);
        let mut env = image.env;
        env.extend(variables(&service["environment"]));
        let inner = service["ports"].as_array().into_iter().flatten().filter_map(inner_port);
        let ports = image.ports.into_iter().chain(inner).collect();
        let form = started(entrypoint, Some(command))?;
        let place = format!("{place}, service {name}");
        Some(Said { place, form, env, ports, folder: image.folder })
    });
    said.collect()
}

/// Reads the last stage of a Dockerfile, and what it has of the stages before.
fn image(text: &str) -> Image {
    let mut stages: BTreeMap<String, Image> = BTreeMap::new();
    let (mut image, mut name) = (Image::default(), String::new());
    for line in instructions(text) {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((&line, ""));
        let rest = rest.trim();
        match word.to_ascii_uppercase().as_str() {
            "FROM" => {
                stages.insert(std::mem::take(&mut name), std::mem::take(&mut image));
                let words = rest.split_whitespace().filter(|word| !word.starts_with("--"));
                let words: Vec<&str> = words.collect();
                image =
                    words.first().and_then(|base| stages.get(*base)).cloned().unwrap_or_default();
                name = words.get(2).copied().unwrap_or_default().to_owned();
            }
            "CMD" => image.command = Some(instruction(rest)),
            "ENTRYPOINT" => image.entrypoint = Some(instruction(rest)),
            "WORKDIR" => image.folder = Some(rest.trim_end_matches('/').to_owned()),
            "EXPOSE" => {
                let ports = rest.split_whitespace().filter_map(|it| it.split('/').next());
                image.ports.extend(ports.filter_map(|port| port.parse::<u16>().ok()));
            }
            "ENV" => image.env.extend(env_of(rest)),
            _ => {}
        }
    }
    image
}

/// Returns the lines of a Dockerfile without comments, with continued lines as one.
fn instructions(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut line = String::new();
    for next in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
        match next.trim_end().strip_suffix('\\') {
            Some(begun) => line += begun,
            None => {
                line += next;
                all.push(std::mem::take(&mut line).trim().to_owned());
            }
        }
    }
    all
}

fn instruction(text: &str) -> Form {
    match serde_json::from_str::<Vec<String>>(text) {
        Ok(words) => Form::Exec(words),
        Err(_) => Form::Shell(text.to_owned()),
    }
}

/// Returns the variables of an instruction `ENV`: `NAME=VALUE …`, or in the old form `NAME VALUE`.
fn env_of(text: &str) -> Vec<(String, String)> {
    let pair = |word: &str| {
        let (name, value) = word.split_once('=')?;
        Some((name.to_owned(), value.trim_matches(['"', '\'']).to_owned()))
    };
    let first = text.split_whitespace().next().unwrap_or_default();
    match text.split_once(char::is_whitespace) {
        Some((name, value)) if !first.contains('=') => {
            vec![(name.to_owned(), value.trim().to_owned())]
        }
        _ => text.split_whitespace().filter_map(pair).collect(),
    }
}

/// Returns the command of a container. A script that prepares the container and then runs the command is left out.
fn started(entrypoint: Option<Form>, command: Option<Form>) -> Option<Form> {
    match (entrypoint, command) {
        (Some(Form::Exec(mut words)), Some(Form::Exec(more))) => {
            let is_script = words.last().is_some_and(|word| word.ends_with(".sh"));
            if is_script {
                return Some(Form::Exec(more));
            }
            words.extend(more);
            Some(Form::Exec(words))
        }
        (Some(Form::Exec(words)), Some(command))
            if words.last().is_some_and(|it| it.ends_with(".sh")) =>
        {
            Some(command)
        }
        (Some(entrypoint), _) => Some(entrypoint),
        (None, command) => command,
    }
}

fn form(value: &Value) -> Option<Form> {
    match value {
        Value::String(text) => Some(Form::Shell(text.replace("$$", "$"))),
        Value::Array(words) => {
            let words = words.iter().map(|it| it.as_str().map(|text| text.replace("$$", "$")));
            words.collect::<Option<_>>().map(Form::Exec)
        }
        _ => None,
    }
}

/// Returns the variables of a service, which are a table or a list.
fn variables(value: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(is) => Some(is.to_string()),
        _ => None,
    };
    let table = value.as_object().into_iter().flatten();
    let table = table.filter_map(|(name, value)| Some((name.clone(), text(value)?)));
    let list = value.as_array().into_iter().flatten().filter_map(|line| {
        let (name, value) = line.as_str()?.split_once('=')?;
        Some((name.to_owned(), value.to_owned()))
    });
    table.chain(list).collect()
}

/// Returns the port in the container of an entry of `ports`, such as "8080:80".
fn inner_port(port: &Value) -> Option<u16> {
    if let Some(number) = port.as_u64().or_else(|| port["target"].as_u64()) {
        return number.try_into().ok();
    }
    port.as_str()?.split('/').next()?.rsplit(':').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_stage_counts_with_what_it_inherits() {
        let text = "FROM python AS base\nENV PORT=80 A=\"b\"\nWORKDIR /app/\nCMD [\"a\"]\nFROM node\nCMD b \\\n  c\n\
                    FROM base\nEXPOSE 80/tcp 81\nENV OLD form\n";
        let image = image(text);
        assert_eq!(image.command, Some(Form::Exec(vec!["a".to_owned()])));
        assert_eq!((image.ports, image.folder.as_deref()), (vec![80, 81], Some("/app")));
        let env: Vec<_> = image.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(env, ["A=b", "OLD=form", "PORT=80"]);
    }

    #[test]
    fn an_entrypoint_comes_first_unless_it_is_a_script() {
        let exec = |text: &str| Some(Form::Exec(text.split(' ').map(str::to_owned).collect()));
        assert_eq!(started(exec("python"), exec("app.py")), exec("python app.py"));
        assert_eq!(started(exec("/entry.sh"), exec("a b")), exec("a b"));
        assert_eq!(started(exec("a"), None), exec("a"));
    }
}
