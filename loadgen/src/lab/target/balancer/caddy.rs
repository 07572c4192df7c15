//! Writes the settings of Caddy as a balancer, and reads its metrics.
//!
//! Caddy has no count of the responses of each upstream. It counts the responses of each route, by the host of
//! the request. The settings therefore have two routes: the first passes the request on, and sets the host of the
//! request to the address of the chosen replica once the response is there; the second copies the response to
//! the client. The metrics of the second route count the responses of each replica when their headers are
//! written. This second count costs about a tenth of Caddy's CPU time.
//! (*Caddy documentation*, JSON config structure, `http.handlers.reverse_proxy` and `apps.http.metrics`.)

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Address, Conditions};

/// Time that Caddy gives open requests when it ends.
pub(super) const GRACE: Duration = Duration::from_millis(100);

/// Longer than any measurement.
const NEVER: &str = "24h";

/// Handler of the second route, and the metric whose count says how many headers the route has written.
const COPY: &str = "copy_response";
const METRIC: &str = "caddy_http_response_duration_seconds_count";

/// Headers that Caddy adds to requests. The settings remove them, also from requests that had them before:
/// HAProxy adds none, and servers do more work for requests that have them.
pub(super) const ADDED: [&str; 4] =
    ["Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"];

/// Returns Caddy's settings, in JSON. Caddy has no limit on connections of clients; the limit bounds its idle
/// connections to the replicas.
pub(super) fn settings(conditions: &Conditions<'_>) -> String {
    let Conditions { listen, connections, word, replicas, .. } = conditions;
    let upstreams: Vec<Value> =
        replicas.iter().map(|replica| json!({ "dial": dial(replica) })).collect();
    let set_host = json!({
        "handler": "headers",
        "request": { "set": { "Host": ["{http.reverse_proxy.upstream.hostport}"] } },
    });
    let pass_on = json!({
        "handler": "reverse_proxy",
        "upstreams": upstreams,
        "load_balancing": { "selection_policy": { "policy": "round_robin" } },
        "headers": { "request": { "delete": ADDED } },
        "transport": {
            "protocol": "http",
            "versions": ["1.1"],
            "compression": false,
            "network_proxy": { "from": "none" },
            "dial_timeout": NEVER,
            "keep_alive": {
                "idle_timeout": NEVER,
                "max_idle_conns": connections,
                "max_idle_conns_per_host": connections,
            },
        },
        "handle_response": [{ "routes": [{ "handle": [set_host] }] }],
    });
    let clients = json!({
        "listen": [listen],
        "protocols": ["h1"],
        "idle_timeout": NEVER,
        "read_header_timeout": NEVER,
        "automatic_https": { "disable": true },
        "routes": [
            {
                "match": [{ "path": [format!("/{word}")] }],
                "handle": [{ "handler": "metrics" }],
                "terminal": true,
            },
            { "handle": [pass_on] },
            { "handle": [{ "handler": COPY }] },
        ],
    });
    let all = json!({
        "admin": { "disabled": true, "config": { "persist": false } },
        // Not a line for each request that fails.
        "logging": { "logs": { "default": { "level": "ERROR", "exclude": ["http.log"] } } },
        "apps": { "http": {
            "grace_period": format!("{}ms", GRACE.as_millis()),
            "metrics": { "per_host": true, "observe_catchall_hosts": true },
            "servers": { "clients": clients },
        } },
    });
    format!("{all:#}\n")
}

/// Returns the variables of Caddy's environment: the number of its threads, and a folder for its state.
pub(super) fn variables(folder: &Path, threads: usize) -> Vec<(String, String)> {
    let folder = folder.to_string_lossy().into_owned();
    let folders = ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"].map(|name| (name, folder.clone()));
    let all = folders.into_iter().chain([("GOMAXPROCS", threads.to_string())]);
    all.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Returns a replica's address as Caddy's settings write it.
fn dial(replica: &Address) -> String {
    match replica {
        Address::Port(address) => address.clone(),
        Address::Socket(path) => format!("unix/{}", path.display()),
    }
}

/// Reads the responses of each of these replicas from Caddy's metrics; `None` for a text of another form.
/// (*Prometheus*, Exposition formats.)
pub(super) fn parse(text: &str, replicas: &[Address]) -> Option<Vec<u64>> {
    // Caddy has counted at least the request that checked whether a replica answers.
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for line in text.lines().filter_map(|line| line.strip_prefix(METRIC)) {
        let (labels, value) = line.rsplit_once(' ')?;
        let labels = labels.strip_prefix('{')?.strip_suffix('}')?;
        if label(labels, "handler")? == COPY {
            *counts.entry(label(labels, "host")?).or_default() += value.parse::<u64>().ok()?;
        }
    }
    let host = |replica: &Address| match replica {
        Address::Port(address) => address.clone(),
        // Caddy writes hosts in small letters.
        Address::Socket(path) => path.to_string_lossy().to_lowercase(),
    };
    let count = |replica| counts.get(&host(replica)).copied().unwrap_or(0);
    (!counts.is_empty()).then(|| replicas.iter().map(count).collect())
}

/// Returns the value of a label.
fn label(labels: &str, name: &str) -> Option<String> {
    let begins = format!("{name}=\"");
    let at = match labels.strip_prefix(&begins) {
        Some(rest) => rest,
        None => labels.split_once(&format!(",{begins}"))?.1,
    };
    let (mut value, mut characters) = (String::new(), at.chars());
    loop {
        match characters.next()? {
            '"' => return Some(value),
            '\\' => value.push(match characters.next()? {
                'n' => '\n',
                other => other,
            }),
            other => value.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replicas() -> [Address; 3] {
        [
            Address::Port("127.0.0.1:7001".to_owned()),
            Address::Port("127.0.0.1:7002".to_owned()),
            Address::Socket("/tmp/loadgen-A\"b/app.sock".into()),
        ]
    }

    #[test]
    fn the_settings_pass_on_each_request_once_and_in_turn() {
        let replicas = replicas();
        let text = settings(&Conditions {
            listen: "127.0.0.1:{env.PORT}",
            threads: 2,
            connections: 8_000,
            word: "secret",
            replicas: &replicas,
        });
        let settings: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(settings["admin"]["disabled"], true);
        let clients = &settings["apps"]["http"]["servers"]["clients"];
        assert_eq!(clients["listen"], json!(["127.0.0.1:{env.PORT}"]));
        assert_eq!(clients["routes"][0]["match"], json!([{ "path": ["/secret"] }]));
        let pass_on = &clients["routes"][1]["handle"][0];
        let dials: Vec<&str> = pass_on["upstreams"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["dial"].as_str().unwrap())
            .collect();
        assert_eq!(dials, ["127.0.0.1:7001", "127.0.0.1:7002", "unix//tmp/loadgen-A\"b/app.sock"]);
        // Without `retries` and `try_duration`, Caddy passes on a request once.
        assert_eq!(
            pass_on["load_balancing"],
            json!({ "selection_policy": { "policy": "round_robin" } })
        );
        assert_eq!(pass_on["health_checks"], Value::Null);
        assert_eq!(pass_on["transport"]["keep_alive"]["max_idle_conns_per_host"], 8_000);
        assert_eq!(pass_on["transport"]["compression"], false);
        assert_eq!(clients["routes"][2]["handle"][0]["handler"], "copy_response");
        assert!(variables(Path::new("/x"), 2).contains(&("GOMAXPROCS".to_owned(), "2".to_owned())));
    }

    #[test]
    fn the_responses_of_each_replica_are_read_from_the_metrics() {
        let of = |route: &str, host: &str, code: u16, count: u32| {
            format!(
                "{METRIC}{{code=\"{code}\",handler=\"{route}\",host=\"{host}\",method=\"GET\",server=\"clients\"}} {count}\n"
            )
        };
        let text = "# TYPE caddy_http_response_duration_seconds histogram\n".to_owned()
            + &of("copy_response", "127.0.0.1:7001", 200, 40)
            + &of("copy_response", "127.0.0.1:7001", 404, 2)
            + &of("copy_response", "/tmp/loadgen-a\\\"b/app.sock", 200, 41)
            + &of("reverse_proxy", "127.0.0.1:9", 200, 83)
            + "caddy_http_response_duration_seconds_bucket{handler=\"copy_response\"} 7\n";
        assert_eq!(parse(&text, &replicas()), Some(vec![42, 0, 41]));
        assert_eq!(parse("<html>", &replicas()), None);
        assert_eq!(parse(&text.replace("} 40", "} x"), &replicas()), None);
        assert_eq!(parse(&text.replace("handler", "route"), &replicas()), None);
    }
}
