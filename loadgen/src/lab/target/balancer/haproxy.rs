//! Writes the settings of HAProxy, and reads its statistics.

use std::fmt::Write as _;

use super::{Address, Conditions};

/// Columns of HAProxy's statistics that count the responses of a server, by class of status. An
/// interim response (1xx) comes before the response of its request.
const RESPONSES: [&str; 5] = ["hrsp_2xx", "hrsp_3xx", "hrsp_4xx", "hrsp_5xx", "hrsp_other"];

/// Returns HAProxy's settings.
pub(super) fn settings(conditions: &Conditions<'_>) -> String {
    let Conditions { listen, threads, connections, word, replicas } = conditions;
    // The times are longer than any measurement. Only a client or a replica ends a connection: by
    // default, HAProxy closes idle connections to replicas after seconds, or if many files are open.
    let mut text = format!(
        "global\n    nbthread {threads}\n    maxconn {connections}\n    tune.pool-low-fd-ratio 100\n    \
         tune.pool-high-fd-ratio 100\n\
         defaults\n    mode http\n    maxconn {connections}\n    retries 0\n    timeout connect 24h\n    \
         timeout client 24h\n    timeout server 24h\n    default-server pool-purge-delay 24h\n\
         frontend clients\n    bind \"{listen}\" backlog 2048\n    stats enable\n    \
         stats uri /{word}\n    default_backend replicas\n\
         backend replicas\n    balance roundrobin\n"
    );
    for (number, address) in (1..).zip(*replicas) {
        let address = match address {
            Address::Port(address) => address.clone(),
            Address::Socket(path) => format!("\"unix@{}\"", path.display()),
        };
        let _ = writeln!(text, "    server {number} {address}");
    }
    text
}

/// Reads the responses of each server from HAProxy's statistics, in CSV; `None` for a text of another
/// form. (*HAProxy Management Guide*, Statistics and monitoring.)
pub(super) fn parse(text: &str) -> Option<Vec<u64>> {
    let mut reader = csv::Reader::from_reader(text.trim_start_matches("# ").as_bytes());
    let headers = reader.headers().ok()?.clone();
    let column = |name: &str| headers.iter().position(|header| header == name);
    let (proxy, server) = (column("pxname")?, column("svname")?);
    let columns: Vec<usize> = RESPONSES.into_iter().map(column).collect::<Option<_>>()?;
    let mut all = Vec::new();
    for row in reader.records() {
        let row = row.ok()?;
        if row.get(proxy)? != "replicas" || row.get(server)? == "BACKEND" {
            continue;
        }
        let counts = columns.iter().map(|column| row.get(*column)?.parse::<u64>().ok());
        all.push(counts.sum::<Option<u64>>()?);
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_responses_of_each_replica_are_read_from_the_statistics() {
        let text = "# pxname,svname,stot,hrsp_1xx,hrsp_2xx,hrsp_3xx,hrsp_4xx,hrsp_5xx,hrsp_other,\n\
                    clients,FRONTEND,9,0,8,0,0,0,1,\n\
                    replicas,1,4,7,4,0,0,0,0,\n\
                    replicas,2,4,0,1,0,2,1,0,\n\
                    replicas,BACKEND,8,0,5,0,2,1,0,\n";
        assert_eq!(parse(text), Some(vec![4, 4]));
        assert_eq!(parse("<html>"), None);
        assert_eq!(parse(&text.replace("hrsp_other", "other")), None);
        assert_eq!(parse(&text.replace("replicas,2,4,0,1", "replicas,2,4,0,x")), None);
    }

    #[test]
    fn the_settings_name_each_replica() {
        let replicas =
            [Address::Port("127.0.0.1:7001".to_owned()), Address::Socket("/tmp/a b.sock".into())];
        let text = settings(&Conditions {
            listen: "127.0.0.1:${PORT}",
            threads: 1,
            connections: 8_000,
            word: "secret",
            replicas: &replicas,
        });
        assert!(text.contains("    stats uri /secret\n"), "{text}");
        assert!(
            text.ends_with("    server 1 127.0.0.1:7001\n    server 2 \"unix@/tmp/a b.sock\"\n")
        );
    }
}
