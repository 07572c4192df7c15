//! Faults of `[http]`.

use super::message;

/// Returns the message for a scenario that is valid except for this `[http]`.
fn http_table(lines: &str) -> String {
    message(&format!("[http]\n{lines}\n\n[[step]]\nget = \"/\"\n"))
}

faults! {
    many_http_faults: http_table(
        "version = 2\nredirect = 3\nredirects = -1\ncookies = \"yes\"\nproxy = \"\"\ntransport = \"htp1\""
    );
    unknown_version: http_table("version = \"3\"");
    too_many_redirects: http_table("redirects = 21");
    too_many_redirects_of_a_step: message("[[step]]\nget = \"/\"\nredirects = 21\n");
    proxy_without_scheme: http_table("proxy = \"10.0.0.1:3128\"");
    proxy_of_another_scheme: http_table("proxy = \"socks5://10.0.0.1:1080\"");
    proxy_with_a_path: http_table("proxy = \"http://10.0.0.1:3128/proxy.pac\"");
    proxy_with_a_placeholder: http_table("proxy = \"http://usr:{{ env PW }}@10.0.0.1:3128\"");
    proxy_on_no_host: http_table("proxy = \"http://{proxy}:3128\"");
    http1_with_http_2: http_table("version = \"2\"\ntransport = \"http1\"");
    http2_with_http_1: http_table("transport = \"http2\"");
    shared_connections_of_http_1: http_table("streams = 10");
    shared_connections_of_reqwest:
        http_table("version = \"2\"\nconnections = 10\nstreams = 1\ntransport = \"reqwest\"");
    shared_connections_per_request:
        http_table("version = \"2\"\nconnections = 10\nconnection = \"per-request\"");
    no_limit_of_a_connection: http_table("connection = {}");
    faulty_limits_of_a_connection: http_table("connection = { requests = 0, age = \"0s\", users = 1 }");
    another_word_for_a_connection: http_table("connection = \"keepalive\"");
    a_limit_of_a_connection_of_reqwest:
        http_table("connection = { requests = 10 }\ntransport = \"reqwest\"");
    no_shared_connection: http_table("version = \"2\"\nconnections = 0\nstreams = \"two\"");
    fewer_streams_than_users: message(
        "[http]\nversion = \"2\"\nconnections = 2\nstreams = 10\n[load]\nusers = 21\n[[step]]\nget = \"/\"\n"
    );
    headers_of_a_connection_in_http_2: message(
        "http = { version = \"2\" }\n[[step]]\nget = \"/\"\nheaders = { Connection = \"close\", TE = \"trailers\" }\n"
    );
}
