//! Tries targets of `loadgen.toml`: starts each of them as a run does, and sends it one request.

use std::fs;
use std::path::Path;
use std::pin::pin;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use regex::Regex;

use super::outcome::{Failed, Outcome};
use crate::lab::service::dropped_have_ended;
use crate::lab::service::listener::ports_below;
use crate::lab::{Home, Lab, LabError, Layout, Options, Runtime, Size, file_name};

/// Time in which a target must be ready.
const READY_WITHIN: Duration = Duration::from_secs(20);

/// Time in which a build must end.
const BUILT_WITHIN: Duration = Duration::from_secs(180);

/// Time in which the response must come.
const ANSWERED_WITHIN: Duration = Duration::from_secs(10);

/// Longest reason, in characters.
const LONGEST: usize = 160;

/// Matches the line of a log that names the cause, such as the last one of a traceback.
static CAUSE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)^\s*(?:\w+\.)*\w*(?:error|exception|exit)\b.*:|^error\b|^panic:| - error ")
        .ok()
});

/// Matches the user and the password of a URL. A password may have an `@` or a slash that is not encoded.
static USER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"://(?:[^\s"'/@:]*:[^\s"']*@|[^\s"'/@]*@)"#).ok());

/// Tries the targets of these names, one after the other, and calls `done` with the place and the outcome of each.
/// Dropping the future ends what was started.
pub(super) async fn try_each(
    folder: &Path,
    names: &[&str],
    mut done: impl FnMut(usize, Outcome),
) -> Result<(), LabError> {
    let home = Home::at(folder.to_owned())?;
    let logs = tempfile::tempdir().map_err(LabError::io("create a folder for logs"))?;
    let options = Options {
        logs: logs.path().to_owned(),
        cpus: Layout::unpinned(),
        runtime: Runtime::Process,
        connections: 0,
    };
    let mut lab = Lab::prepare(home, options, Arc::new(|_| ())).await?;
    for (number, name) in names.iter().enumerate() {
        let tried = try_one(&mut lab, name).await;
        dropped_have_ended().await;
        done(
            number,
            tried.unwrap_or_else(|failed| {
                let detail = explained(&failed.detail, logs.path(), name);
                Outcome::Failed(Failed { detail, ..failed })
            }),
        );
    }
    lab.stop().await
}

async fn try_one(lab: &mut Lab, name: &str) -> Result<Outcome, Failed> {
    let said = |error: LabError| match error {
        // The command in the file has the name of the program already.
        LabError::Missing { what, .. } => told(what),
        error => not_started(first_line(&error.to_string()).to_owned()),
    };
    let names = [name.to_owned()];
    let build = tokio::time::timeout(BUILT_WITHIN, lab.build(&names));
    build.await.map_err(|_| told(over("its build did not end", BUILT_WITHIN)))?.map_err(said)?;
    let start = async {
        let log = format!("{}.log", file_name(name));
        lab.launch_target(name, &log, None, Size::of_workers(1)).await?.ready().await
    };
    let mut start = pin!(start);
    let started = tokio::time::timeout(READY_WITHIN, &mut start).await;
    let target = started.map_err(|_| told(elsewhere()))?.map_err(said)?;
    let answered = get(&target.url).await.map_err(told);
    let stopped = target.stop().await.map_err(said);
    answered.and_then(|status| stopped.map(|()| Outcome::Answered(status)))
}

/// Returns a failure whose text is loadgen's own, so that the file may have it.
fn told(what: String) -> Failed {
    Failed { kind: what.clone(), detail: what }
}

/// Returns a failure whose text may be that of the server.
fn not_started(detail: String) -> Failed {
    Failed { kind: "it did not start".to_owned(), detail }
}

/// Explains why a server that runs is not ready. loadgen runs no other process meanwhile.
fn elsewhere() -> String {
    match ports_below(std::process::id()).first() {
        Some(port) => format!("it listened on port {port}, and not on the one that it was given"),
        None => over("it did not listen on the port that it was given", READY_WITHIN),
    }
}

fn over(what: &str, limit: Duration) -> String {
    format!("{what} within {}", humantime::format_duration(limit))
}

/// Sends `GET /`, and returns the status. Follows no redirect: it is an answer.
async fn get(url: &str) -> Result<u16, String> {
    let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
    let client = client.timeout(ANSWERED_WITHIN).build().map_err(|error| error.to_string())?;
    let answer = client.get(format!("{url}/")).send().await;
    let wrong = |error: reqwest::Error| match error.is_timeout() {
        true => over("it started, but did not answer GET /", ANSWERED_WITHIN),
        false => "it started, but did not answer GET /".to_owned(),
    };
    answer.map(|answer| answer.status().as_u16()).map_err(wrong)
}

/// Adds the line of the target's log that names the cause, or else its last line.
fn explained(what: &str, logs: &Path, name: &str) -> String {
    let name = file_name(name);
    let log = ["", "-build"].iter().find_map(|kind| {
        let text = fs::read(logs.join(format!("{name}{kind}.log"))).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    });
    let log = log.unwrap_or_default();
    let lines = || log.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let is_cause = |line: &&str| CAUSE.as_ref().is_some_and(|pattern| pattern.is_match(line));
    let text = match lines().find(is_cause).or_else(|| lines().next()) {
        Some(line) => format!("{what}: {line}"),
        None => what.to_owned(),
    };
    let text = masked(&text.replace(char::is_control, " "));
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Masks the user and the password of each URL.
fn masked(text: &str) -> String {
    match USER.as_ref() {
        Some(pattern) => pattern.replace_all(text, "://…@").into_owned(),
        None => text.to_owned(),
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_has_the_line_of_the_log_that_names_the_cause() {
        let logs = tempfile::tempdir().unwrap();
        for (log, reason) in [
            (
                "Traceback\n  x\nModuleNotFoundError: No module named 'a'\n[3] shutting down\n",
                "it ended: ModuleNotFoundError: No module named 'a'",
            ),
            ("panic: no port\n\ngoroutine 1\n", "it ended: panic: no port"),
            ("a.ts:1 - error TS1: wrong\nFound 1\n", "it ended: a.ts:1 - error TS1: wrong"),
            ("first\n\u{1b}last\n\n", "it ended:  last"),
            (
                "OperationalError: no postgres://app:hunter2@db/shop\n",
                "it ended: OperationalError: no postgres://…@db/shop",
            ),
            ("Error: redis://:p@ss/w0rd@cache:1", "it ended: Error: redis://…@cache:1"),
            ("", "it ended"),
        ] {
            fs::write(logs.path().join("shop.log"), log).unwrap();
            assert_eq!(explained("it ended", logs.path(), "shop"), reason);
        }
        fs::write(logs.path().join("shop.log"), "x".repeat(500)).unwrap();
        let long = explained("it ended", logs.path(), "shop");
        assert_eq!(long.chars().count(), LONGEST + 1);
    }
}
