//! Restricts what each worker may do, by the access control of the manager's Zenoh session.
//! Everything that is not named here is denied, so that no worker can read, forge or command for
//! another worker, even if the worker runs another program.
//!
//! A rule allows a message if the rule's keys include all keys of the message. `**` does not
//! match key parts that begin with `@`, so rules must name such parts. `zenoh_ext` uses such
//! parts to recover missed reports.

use serde_json::{Value, json};

/// Returns Zenoh's access-control settings for the `workers` workers of `run`, whose
/// user names are `worker-0` and so on.
pub(super) fn permissions(run: &str, workers: usize) -> Value {
    let mut rules = vec![to_workers(run), from_workers(run)];
    let (mut who, mut policies) = (Vec::new(), Vec::new());
    let of_all: Vec<String> =
        rules.iter().filter_map(|rule| rule["id"].as_str().map(str::to_owned)).collect();
    for worker in 0..workers {
        let name = format!("worker-{worker}");
        let own = from_worker(run, worker);
        let ids = own.iter().filter_map(|rule| rule["id"].as_str().map(str::to_owned));
        let ids: Vec<String> = of_all.iter().cloned().chain(ids).collect();
        who.push(json!({ "id": name, "usernames": [name] }));
        policies.push(json!({ "rules": ids, "subjects": [name] }));
        rules.extend(own);
    }
    json!({
        "enabled": true,
        "default_permission": "deny",
        "rules": rules,
        "subjects": who,
        "policies": policies,
    })
}

fn rule(id: String, flow: &str, messages: &[&str], keys: &[String]) -> Value {
    json!({
        "id": id,
        "permission": "allow",
        "flows": [flow],
        "messages": messages,
        "key_exprs": keys,
    })
}

/// Returns the rule for the messages that the manager may send to any worker: queries and the
/// answers to queries, but no reports.
fn to_workers(run: &str) -> Value {
    let messages = [
        "query",
        "reply",
        "declare_queryable",
        "declare_subscriber",
        "liveliness_token",
        "declare_liveliness_subscriber",
        "liveliness_query",
    ];
    let all = [format!("loadgen/{run}/**"), format!("loadgen/{run}/worker/*/report/@adv/**")];
    rule("to-workers".to_owned(), "egress", &messages, &all)
}

/// Returns the rule for the messages that any worker may send: requests to
/// watch whether the manager is alive.
fn from_workers(run: &str) -> Value {
    let watches = ["declare_liveliness_subscriber", "liveliness_query"];
    let alive = [format!("loadgen/{run}/manager/alive")];
    rule("watch-manager".to_owned(), "ingress", &watches, &alive)
}

/// Returns the rules for the messages that only the worker with the number `worker` may send.
fn from_worker(run: &str, worker: usize) -> [Value; 4] {
    let mine = format!("loadgen/{run}/worker/{worker}");
    let reports = [format!("{mine}/report"), format!("{mine}/report/@adv/**")];
    let reporting = ["put", "reply", "declare_queryable", "liveliness_token"];
    let obeying = ["reply", "declare_queryable"];
    [
        rule(format!("hello-{worker}"), "ingress", &["query"], &[format!("{mine}/hello")]),
        rule(format!("report-{worker}"), "ingress", &reporting, &reports),
        rule(format!("obey-{worker}"), "ingress", &obeying, &[format!("{mine}/command")]),
        rule(
            format!("alive-{worker}"),
            "ingress",
            &["liveliness_token"],
            &[format!("{mine}/alive")],
        ),
    ]
}
