//! Tests the messages for wrong scenarios: the whole message, for each kind of fault.

use std::path::Path;

use loadgen::scenario::{ScenarioError, load, parse, parse_to_run};
use miette::{GraphicalReportHandler, GraphicalTheme};

/// Renders the message as a terminal of 80 columns shows it, without colour.
fn rendered(error: &ScenarioError) -> String {
    let mut out = String::new();
    GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor())
        .with_width(80)
        .render_report(&mut out, error)
        .unwrap();
    out
}

fn message(text: &str) -> String {
    rendered(&parse("broken", "scenarios/broken.toml", text).unwrap_err())
}

/// Returns the message for a scenario to be run with
/// one environment variable, `LINES`, of two lines.
fn to_run(text: &str) -> String {
    let environment = |name: &str| (name == "LINES").then(|| "secret\nlines".to_owned());
    let message =
        rendered(&parse_to_run("broken", "scenarios/broken.toml", text, &environment).unwrap_err());
    assert!(!message.contains("secret"), "{message}");
    message
}

/// Returns the message for a scenario that is valid except for this `[load]`.
fn load_table(lines: &str) -> String {
    message(&format!("[load]\n{lines}\n\n[[step]]\nget = \"/\"\n"))
}

/// Returns the message for a scenario that is valid except for this step.
fn step(lines: &str) -> String {
    message(&format!("[[step]]\n{lines}\n"))
}

/// Returns the message for a scenario with these rows `r`
/// and this placeholder, in the folder of a few CSV files.
fn rows(lines: &str, placeholder: &str) -> String {
    let text = format!("[rows.r]\n{lines}\n\n[[step]]\nget = \"/{{{{ {placeholder} }}}}\"\n");
    rendered(&parse("broken", "tests/data/broken.toml", &text).unwrap_err())
}

/// Returns the message for a scenario that is valid except for this `[http]`.
fn http_table(lines: &str) -> String {
    message(&format!("[http]\n{lines}\n\n[[step]]\nget = \"/\"\n"))
}

/// Returns the message for a scenario with a step
/// `redis3` that is valid except for these thresholds.
fn thresholds(lines: &str) -> String {
    message(&format!("[[step]]\nname = \"redis3\"\nget = \"/\"\n\n[thresholds]\n{lines}\n"))
}

/// Returns the message for a scenario that counts `queued`,
/// runs Redis, and is valid except for this proof.
fn proof(lines: &str) -> String {
    message(&format!(
        "backends = [\"redis\"]\n\n[[step]]\nget = \"/\"\ncounters = {{ queued = \"/n\" }}\n\n\
         [[proof]]\n{lines}\n"
    ))
}

/// Services, as seen from the folder of the tests' data.
const GREETER: &str = "proto = \"greeter.proto\"";
const EVERYTHING: &str = "proto = \"../../core/src/engine/grpc/everything.proto\"";

/// Returns the message for a scenario with this `[grpc]` and these lines, in the folder of the tests' data.
fn calls(grpc: &str, lines: &str) -> String {
    let text = format!("[grpc]\n{grpc}\n\n{lines}\n");
    rendered(&parse("broken", "tests/data/broken.toml", &text).unwrap_err())
}

/// Returns the message for a scenario with a call that has this body.
fn call_body(body: &str) -> String {
    calls(EVERYTHING, &format!("[[step]]\ngrpc = \"all.Echo/Say\"\nbody = {body}"))
}

macro_rules! faults {
    ($($name:ident: $message:expr;)*) => {
        $(#[test] fn $name() { insta::assert_snapshot!($message); })*
    };
}

faults! {
    existing_items_without_postgres: message("existing_items = 10\n\n[[step]]\nget = \"/\"\n");
    too_many_existing_items: message("backends = [\"postgres\"]\nexisting_items = 20_000_000\n\n[[step]]\nget = \"/\"\n");
    unknown_moment: step("get = \"/\"\nwhen = \"begin\"");
    no_step_for_iterations: step("get = \"/\"\nwhen = \"start\"");
    weight_outside_iterations: message(
        "[[step]]\nget = \"/a\"\nwhen = \"start\"\nweight = 3\n\n[[step]]\nget = \"/b\"\n",
    );
    iteration_number_in_a_start: message(
        "[[step]]\nget = \"/{{ iteration }}\"\nwhen = \"start\"\n\n[[step]]\nget = \"/b\"\n",
    );
    starts_and_stops_out_of_order: message(
        "[[step]]\nname = \"bye\"\nget = \"/\"\nwhen = \"stop\"\n\n[[step]]\nget = \"/b\"\n\n\
         [[step]]\nname = \"hi\"\nget = \"/\"\nwhen = \"start\"\n",
    );
    rows_of_a_missing_file: rows("file = \"nowhere.csv\"", "r.email");
    rows_without_a_file: rows("use = \"once\"", "r.email");
    rows_with_a_short_line: rows("file = \"short.csv\"", "r.email");
    rows_in_an_unknown_order: rows("file = \"accounts.csv\"\nuse = \"one\"", "r.email");
    too_few_rows_to_use_once: rows("file = \"one.csv\"\nuse = \"once\"", "r.email");
    rows_without_the_column: rows("file = \"accounts.csv\"", "r.emial");
    unused_rows: rows("file = \"accounts.csv\"", "user");
    rows_of_an_unknown_name: rows("file = \"accounts.csv\"", "q.email");
    many_faults_at_once: message(r#"
description = 5
targets = ["sanic", "", "sanic"]
backends = ["reddis"]
on_error = "stop"
usrs = 10

[load]
model = "open"
users = 0
ramp_up = "-2s"
duration = "10"
iterations = 0

[[step]]
name = "read"
get = "redis3"
timout = "3s"
expect = { status = 99, json = { "values.0" = "value-1" }, body = "" }

[[step]]
name = "write"
post = "/items"
put = "/items"
headers = { Content-Length = "5" }
body = { json = { sku = "{{ uid }}" }, repeat = 0 }

[thresholds]
"red.p99" = "< 100ms"
error_rate = "< 101%"
"#);

    not_toml: message("[load]\nusers = \n\n[[step]\nget = \"/\"\n");
    key_given_twice: message("[[step]]\nget = \"/\"\nget = \"/again\"\n");
    empty_file: message("");
    no_step: message("description = \"nothing to do\"\n");
    step_without_brackets: message("[step]\nget = \"/\"\n");
    unknown_key_near: load_table("usres = 5");
    unknown_key_far: load_table("pacing = 5");
    target_twice: message("targets = [\"sanic\", \"sanic\"]\n[[step]]\nget = \"/\"\n");
    unknown_backend: message("backends = [\"mysql\", \"postgre\"]\n[[step]]\nget = \"/\"\n");

    zero_users: load_table("users = 0");
    too_many_users: load_table("users = 1_000_001");
    users_of_a_wrong_type: load_table("users = \"100\"");
    rate_in_the_closed_model: load_table("users = 5\nrate = 500\narrivals = \"even\"");
    no_rate_in_the_open_model: load_table("model = \"open\"\nduration = \"3s\"");
    rate_of_zero: load_table("model = \"open\"\nrate = 0");
    rate_as_a_text: load_table("model = \"open\"\nrate = \"500/s\"");
    incomplete_think_time: load_table("think_time = { min = \"1s\" }");
    think_time_of_an_empty_range: load_table("think_time = { min = \"3s\", max = \"1s\" }");
    unknown_arrivals: load_table("model = \"open\"\nrate = 1\narrivals = \"poison\"");
    unknown_model: load_table("model = \"opne\"\nrate = 1");
    iterations_per_user_in_the_open_model:
        load_table("model = \"open\"\nrate = 1\niterations_per_user = 3");
    stages_beside_users_and_duration:
        load_table("users = 5\nduration = \"3s\"\nstages = [{ users = 5, over = \"1s\" }]");
    stages_without_load: load_table("stages = [{ users = 0, over = \"1s\" }]");
    stages_of_the_other_model: load_table("stages = [{ rate = 5, over = \"1s\" }, { users = 1 }]");
    stages_longer_than_a_day:
        load_table("stages = [{ users = 1, over = \"20h\" }, { users = 1, over = \"20h\" }]");
    negative_duration: load_table("duration = \"-3s\"");
    duration_without_unit: load_table("duration = \"10\"");
    duration_as_a_number: load_table("duration = 10");
    duration_of_zero: load_table("duration = \"0s\"");
    two_ends: load_table("duration = \"3s\"\niterations = 100");
    load_longer_than_a_day: load_table("ramp_up = \"1h\"\nduration = \"24h\"");

    many_http_faults: http_table(
        "version = 2\nredirect = 3\nredirects = -1\ncookies = \"yes\"\nproxy = \"\"\ntransport = \"htp1\""
    );
    unknown_version: http_table("version = \"3\"");
    too_many_redirects: http_table("redirects = 21");
    proxy_without_scheme: http_table("proxy = \"10.0.0.1:3128\"");
    proxy_of_another_scheme: http_table("proxy = \"socks5://10.0.0.1:1080\"");
    proxy_with_a_path: http_table("proxy = \"http://10.0.0.1:3128/proxy.pac\"");
    proxy_on_no_host: http_table("proxy = \"http://{proxy}:3128\"");
    http1_with_redirects_and_a_proxy: http_table(
        "transport = \"http1\"\nversion = \"1.1\"\nredirects = 3\ncookies = false\nproxy = \"http://10.0.0.1:3128\""
    );
    http1_with_http_2: http_table("version = \"2\"\ntransport = \"http1\"");
    http2_with_http_1: http_table("transport = \"http2\"");
    http2_with_cookies: http_table("version = \"2\"\ncookies = true\ntransport = \"http2\"");
    shared_connections_of_http_1: http_table("streams = 10");
    shared_connections_with_redirects: http_table("version = \"2\"\nconnections = 10\nredirects = 3");
    shared_connections_of_reqwest:
        http_table("version = \"2\"\nconnections = 10\nstreams = 1\ntransport = \"reqwest\"");
    shared_connections_per_request:
        http_table("version = \"2\"\nconnections = 10\nconnection = \"per-request\"");
    no_shared_connection: http_table("version = \"2\"\nconnections = 0\nstreams = \"two\"");
    fewer_streams_than_users: message(
        "[http]\nversion = \"2\"\nconnections = 2\nstreams = 10\n[load]\nusers = 21\n[[step]]\nget = \"/\"\n"
    );
    headers_of_a_connection_in_http_2: message(
        "http = { version = \"2\" }\n[[step]]\nget = \"/\"\nheaders = { Connection = \"close\", TE = \"trailers\" }\n"
    );

    no_request: step("name = \"idle\"");
    two_requests: step("get = \"/\"\nhead = \"/\"");
    path_with_host: step("get = \"http://localhost:8000/\"");
    path_with_a_space: step("get = \"/a b\"");
    timeout_too_long: step("get = \"/\"\ntimeout = \"1h\"");
    same_name_twice: step("name = \"a\"\nget = \"/\"\n\n[[step]]\nname = \"a\"\nget = \"/b\"");
    same_default_name_twice: step("get = \"/\"\n\n[[step]]\nget = \"/\"");
    invalid_header_names: step("get = \"/\"\nheaders = { \"a b\" = \"1\", Transfer-Encoding = \"chunked\" }");
    header_twice: step("get = \"/\"\nheaders = { Accept = \"*/*\", accept = \"*/*\" }");
    header_with_a_line_break: step("get = \"/\"\nheaders = { x = \"a\\r\\nb: c\" }");
    content_type_beside_a_body:
        step("post = \"/\"\nheaders = { Content-Type = \"a/b\" }\nbody = { text = \"x\" }");

    unknown_placeholder: step("get = \"/items/{{ usr }}\"");
    unclosed_placeholder: step("get = \"/items/{{ user\"");
    placeholder_behind_escapes: step("post = \"/\"\nbody = { text = \"\\tline\\n{{ usr }}\" }");
    placeholder_in_lines: step("post = \"/\"\nbody = { text = '''\nline\n{{ int 5 1 }}\n''' }");

    empty_body: step("post = \"/\"\nbody = {}");
    body_of_two_kinds: step("post = \"/\"\nbody = { json = 1, text = \"1\" }");
    repeated_text: step("post = \"/\"\nbody = { text = \"1\", repeat = 2 }");
    json_with_unsupported_values: step("post = \"/\"\nbody = { json = [2026-01-01, inf, 1] }");

    faulty_files: step(r#"post = "/a"
body = { file = "none.jpg", content_tpe = "image/jpeg" }

[[step]]
post = "/b"
body = { file = "src", repeat = 2 }

[[step]]
post = "/c"
body = { file = "/dev/zero" }"#);
    faulty_fields: step(r#"post = "/"
[step.body]
content_type = "multipart/form-data"
[step.body.multipart]
a = { file = "none.jpg" }
b = { text = "{{ usr }}", fil = "x" }
c = { text = "1", json = 1 }
d = { filename = "a.jpg" }
e = [[1], 2026-01-01]
f = { text = "1", filename = "a\u0000" }
"g\u0000" = 1"#);
    no_fields: step("post = \"/\"\nbody = { multipart = {} }");

    faulty_auth: to_run(r#"http.auth = { user = "{{ iteration }}", pasword = "x" }

[[step]]
get = "/a"
auth = { user = "a:b", password = "a\tb" }

[[step]]
get = "/b"
auth = { user = "{{ env LINES }}", password = "{{ env LINES }}" }

[[step]]
get = "/c"
auth = { user = "anna", password = "" }
headers = { Authorization = "Bearer x" }

[[step]]
get = "/d"
auth = "anna:x""#);

    captured_nowhere: step("name = \"a\"\npost = \"/\"\ncapture = { token = { json = \"/token\" } }\n\n[[step]]\nget = \"/{{ tokn }}\"");
    captured_further_down: step("name = \"a\"\nget = \"/{{ id }}\"\n\n[[step]]\nget = \"/\"\nheaders = { x = \"{{ id }}\" }\ncapture = { id = { json = \"/id\" } }");
    invalid_captures: step(r#"post = "/"
[step.capture]
user = { json = "/user" }
"a b" = { json = "a.b" }
none = {}
two = { json = "/a", header = "x-a" }
header = { header = "x a" }
regex = { regex = '\d+(' }
unknown = { jsn = "/a" }
text = "/a""#);
    captures_from_the_answer_to_head: step("head = \"/\"\ncapture = { a = { json = \"/a\" }, b = { header = \"x-b\" } }");
    captured_value_with_arguments: step("name = \"a\"\nget = \"/\"\ncapture = { id = { json = \"/id\" } }\n\n[[step]]\nget = \"/{{ id 1 }}\"");

    variable_without_a_name: step("get = \"/{{ env }}\"\nheaders = { x = \"{{ env A B }}\" }");
    unset_variable: to_run("[[step]]\nget = \"/{{ env NONE }}\"\nheaders = { authorization = \"Bearer {{ env API_TOKN }}\" }");
    variable_invalid_in_a_header: to_run("[[step]]\nget = \"/{{ env LINES }}\"\nheaders = { x = \"{{ env LINES }}\" }");

    invalid_pointers: step("get = \"/\"\nexpect.json = { \"values.0\" = 1, \"/a~b\" = 1 }\ncounters = { n = \"$.inserted\" }");
    body_of_head: step("head = \"/\"\nexpect = { body = \"x\" }\ncounters = { n = \"/n\" }");
    status_of_a_wrong_type: step("get = \"/\"\nexpect = { status = 2.5 }");

    expectations_of_unknown_form: step(r#"get = "/"
expect.status = [200, "2x", 99]
expect.regex = '('
expect.json_type = { "/a" = "list" }
expect.json_size = { "/a" = "many", "/b" = [1] }
expect.headers = { a = 1, b = { regx = 'x' }, c = false, "d e" = true }
expect.not = { status = 200, body = "" }
expect.within = "40s""#);
    methods_that_cannot_be_sent: message("[[step]]\nrequest = \"/files\"\n\n[[step]]\nrequest = \"CONNECT /a\"\n\n\
        [[step]]\nrequest = \"PROP(FIND /b\"\n\n[[step]]\nrequest = \"PROPFIND files\"\n");
    faulty_pairs: step("post = \"/\"\nquery = { a = { b = 1 }, c = [\"{{ non }}\"] }\nbody = { form = { d = [[1]] }, repeat = 2 }");
    no_status_is_expected: step("get = \"/\"\nexpect = { status = [] }");

    flows_without_names_or_steps: message(
        "assign = \"users\"\n\n[[flow]]\nweight = 0\n\n[[flow]]\nname = \"iteration\"\nwieght = 1\n\n\
         [[flow.step]]\nget = \"/\"\nwhen = \"start\"\n",
    );
    steps_outside_flows: message(
        "[[step]]\nget = \"/a\"\n\n[[flow]]\nname = \"a\"\n\n[[flow.step]]\nget = \"/{{ later }}\"\n\n\
         [[flow.step]]\nget = \"/b\"\ncapture = { later = { json = \"/n\" } }\n",
    );
    flows_steps_and_groups_of_one_name: message(
        "[[flow]]\nname = \"a\"\n\n[[flow.step]]\nname = \"a\"\nget = \"/\"\n\n\
         [[flow]]\nname = \"b\"\n\n[[flow.step]]\nname = \"c\"\nget = \"/\"\ngroup = \"b\"\n\n\
         [thresholds]\n\"d.p95\" = \"< 1s\"\n\"b.unsent\" = \"<= 0\"\niteration = \"< 1s\"\n",
    );
    assign_without_flows: message("assign = \"user\"\n[[step]]\nget = \"/\"\n");
    faulty_conditions: message(
        "[[step]]\nname = \"a\"\nget = \"/\"\nwhen = { present = \"tokn\" }\n\
         capture = { token = { json = \"/t\", optional = 1 } }\n\n\
         [[step]]\nname = \"b\"\nget = \"/\"\nwhen = { present = \"token\", absent = \"token\" }\n\n\
         [[step]]\nname = \"c\"\nget = \"/\"\nwhen = {}\n\n\
         [[step]]\nname = \"d\"\nget = \"/\"\nwhen = { equal = { token = 1, tken = \"x\" } }\n",
    );
    faulty_repetitions: message(
        "[[step]]\nname = \"a\"\nget = \"/\"\nwhen = \"start\"\nrepeat = 2\n\n\
         [[step]]\nname = \"b\"\nget = \"/\"\nrepeat = 0\n\n\
         [[step]]\nname = \"c\"\nget = \"/\"\nrepeat = { min = 3, max = 2 }\n\n\
         [[step]]\nname = \"d\"\nget = \"/\"\nrepeat = { max = 2 }\n",
    );

    threshold_of_unknown_step: thresholds("\"redis.p99\" = \"< 1s\"");
    threshold_of_unknown_metric: thresholds("\"redis3.eror_rate\" = \"< 1%\"\nredis3 = \"< 1s\"");
    threshold_without_quotes: thresholds("redis3.p99.9 = \"< 1s\"");
    percentile_out_of_range: thresholds("p100 = \"< 1s\"\n\"redis3.p0\" = \"< 1s\"");
    percentage_over_100: thresholds("error_rate = \"< 101%\"");
    negative_percentage: thresholds("error_rate = \"< -1%\"");
    negative_latency: thresholds("p99 = \"< -1ms\"");
    threshold_of_a_counter_without_a_reader: thresholds("\"counter.items\" = \"> 5\"");
    threshold_of_unknown_counter: message("[[step]]\nget = \"/\"\ncounters = { items = \"/n\" }\n\n\
        [thresholds]\n\"counter.itms\" = \"> 5\"\n\"counter.items\" = \"> 1%\"\n");
    threshold_of_a_stream_without_one: thresholds("\"redis3.gap.p99\" = \"< 1ms\"\nevent_rate = \"> 1\"");
    threshold_of_the_first_byte_of_iterations: thresholds("\"iteration.ttfb.p99\" = \"< 1ms\"");
    threshold_without_operator: thresholds("rate = \"500\"\np99 = 100");

    stream_of_nothing: step("get = \"/\"\nexpect.stream = false");
    stream_of_a_head: step("head = \"/\"\nexpect.stream = true");
    stream_of_wrong_values: step(
        "get = \"/\"\nexpect.stream = { format = \"sse\", events = \"many\", end = \"\", idle = 1 }"
    );
    stream_with_an_invalid_end: step("get = \"/\"\nexpect.stream = { end = { regex = '(' } }");
    stream_with_an_empty_end: step("get = \"/\"\nexpect.stream = { end = {} }");

    empty_proof: proof("");
    proof_with_two_questions:
        proof("redis = \"LLEN queue\"\npostgres = \"SELECT 1\"\ncounter = \"queued\"\nvalue = 1");
    proof_with_unknown_keys: proof("rediss = \"LLEN queue\"\nvalu = 1");
    proof_by_a_backend_that_does_not_run:
        proof("postgres = \"SELECT count(*) FROM items\"\ncounter = \"queued\"");
    proof_of_an_unknown_counter: proof("redis = \"LLEN queue\"\ncounter = \"queud\"");
    proof_of_a_counter_without_a_reader: message(
        "backends = [\"redis\"]\n[[step]]\nget = \"/\"\n\n[[proof]]\nredis = \"LLEN queue\"\ncounter = \"queued\"\n"
    );
    proof_of_wrong_types: proof("redis = [\"LLEN\", \"queue\"]\nvalue = \"0\"");
    proof_with_an_empty_question: proof("redis = \" \"\nvalue = 0");
    proof_of_a_negative_value: proof("redis = \"LLEN queue\"\nvalue = -1");
    proofs_without_brackets: message("proof = 5\n[[step]]\nget = \"/\"\n");

    websocket_that_no_step_opens: message(
        "[[step]]\nget = \"/\"\n\n[[step]]\nsend = { text = \"a\" }\n\n[[step]]\nclose = true\n\n\
         [[step]]\nwebsocket = \"/ws\"\n"
    );
    websocket_of_another_flow: message(
        "assign = \"user\"\n[[flow]]\nname = \"a\"\n[[flow.step]]\nwebsocket = \"/ws\"\n\n\
         [[flow]]\nname = \"b\"\n[[flow.step]]\nreceive = true\n"
    );
    keys_without_meaning_for_a_websocket: message(
        "[[step]]\nwebsocket = \"/ws\"\nbody = { text = \"a\" }\nexpect = { json = { \"\" = 1 }, stream = true }\n\n\
         [[step]]\nsend = { text = \"a\" }\nheaders = { x-a = \"1\" }\n\
         expect = { status = 200, not = { headers = { x-a = true } } }\n\
         capture = { a = { header = \"x-a\" } }\n\n\
         [[step]]\nname = \"quiet\"\nsend = { text = \"a\", reply = false }\ncounters = { n = \"/n\" }\n\n\
         [[step]]\nclose = true\nexpect = { body = \"a\" }\n\n\
         [[step]]\nget = \"/\"\nsubprotocol = \"chat\"\n"
    );
    websocket_of_wrong_types: message(
        "[[step]]\nwebsocket = \"ws://host/\"\n[[step]]\nsend = \"hello\"\n\
         [[step]]\nname = \"a\"\nsend = { text = \"a\", json = 1 }\n\
         [[step]]\nname = \"b\"\nsend = { reply = false }\n[[step]]\nreceive = 1\n[[step]]\nclose = false\n"
    );
    headers_of_the_opening_handshake: step(
        "websocket = \"/ws\"\nsubprotocol = \"two words\"\n\
         headers = { Sec-WebSocket-Protocol = \"chat\", upgrade = \"h2c\" }"
    );
    websocket_over_http_2: message("[http]\nversion = \"2\"\n\n[[step]]\nwebsocket = \"/ws\"\n");
    websocket_with_cookies:
        message("[http]\nredirects = 0\ncookies = true\n\n[[step]]\nwebsocket = \"/ws\"\n");
    websocket_with_reqwest: message("[http]\ntransport = \"reqwest\"\n[[step]]\nwebsocket = \"/ws\"\n");

    call_without_services: step("grpc = \"loadgen.Greeter/Hello\"");
    services_without_a_call: calls(GREETER, "[[step]]\nget = \"/\"");
    services_without_a_file: calls("protos = \"a.proto\"", "[[step]]\ngrpc = \"a.B/C\"");
    services_of_missing_files: calls("proto = [\"absent.proto\", \"\"]\ninclude = []", "[[step]]\ngrpc = \"a.B/C\"");
    services_that_cannot_be_read: calls("proto = \"absent.proto\"", "[[step]]\ngrpc = \"a.B/C\"");
    services_with_a_syntax_error: calls("proto = \"broken.proto\"", "[[step]]\ngrpc = \"a.B/C\"");
    services_with_a_missing_import: calls("proto = \"incomplete.proto\"", "[[step]]\ngrpc = \"a.B/C\"");
    services_with_a_missing_type: calls("proto = \"types.proto\"", "[[step]]\ngrpc = \"a.B/C\"");
    calls_of_unknown_methods: calls(
        GREETER,
        "[[step]]\ngrpc = \"loadgen.Greeter/Helo\"\n\n[[step]]\ngrpc = \"/loadgen.Greeter/Hello\"\n\n\
         [[step]]\ngrpc = \"shop.Orders/List\"\n\n[[step]]\ngrpc = 1"
    );
    call_of_a_streaming_method: calls(EVERYTHING, "[[step]]\ngrpc = \"all.Echo/Stream\"");
    keys_without_meaning_for_a_call: calls(
        GREETER,
        "[[step]]\ngrpc = \"loadgen.Greeter/Hello\"\nquery = { a = 1 }\nsubprotocol = \"chat\"\n\
         body = { form = { a = 1 }, repeat = 2, content_type = \"application/grpc\" }\n\
         headers = { te = \"gzip\", Content-Type = \"a/b\", grpc-timeout = \"1S\", grpc-encoding = \"gzip\" }\n\
         expect = { status = 200, stream = true }\n\n\
         [[step]]\nget = \"/\"\nexpect = { grpc_status = \"OK\" }"
    );
    unknown_statuses_of_calls: calls(
        GREETER,
        "[[step]]\nname = \"a\"\ngrpc = \"loadgen.Greeter/Hello\"\nexpect = { grpc_status = [\"OK\", \"NOTFOUND\", 5] }\n\n\
         [[step]]\nname = \"b\"\ngrpc = \"loadgen.Greeter/Hello\"\nexpect = { grpc_status = [] }"
    );
    messages_with_unknown_fields: call_body(
        "{ json = { txt = \"a\", inner = { smal = 1 }, many = [{ small = 1 }, { smoll = 2 }], \
         byNumber = { 1 = { nothing = 1 } } } }"
    );
    messages_with_impossible_values: call_body(
        "{ json = { small = \"{{ uuid }}\", text = 1, truth = \"yes\", color = \"GREEN\", \
         huge = -1, numbers = 1, inner = 2, counts = [1], at = \"noon\", large = \"{{ int 1 9 }}\" } }"
    );
    message_with_two_alternatives: call_body("{ json = { left = \"a\", right = 1 } }");
    message_that_is_no_table: call_body("{ json = [1] }");
    call_without_a_message: call_body("{ once = true }");
    call_over_http_1: calls(GREETER, "[http]\nversion = \"1.1\"\n\n[[step]]\ngrpc = \"loadgen.Greeter/Hello\"");
    call_with_cookies: calls(GREETER, "[http]\ncookies = true\n\n[[step]]\ngrpc = \"loadgen.Greeter/Hello\"");
    call_with_reqwest:
        calls(GREETER, "[http]\ntransport = \"reqwest\"\n\n[[step]]\ngrpc = \"loadgen.Greeter/Hello\"");
    call_beside_a_websocket: calls(
        GREETER,
        "[[step]]\nwebsocket = \"/ws\"\n\n[[step]]\ngrpc = \"loadgen.Greeter/Hello\""
    );

    missing_file: rendered(&load(Path::new("scenarios/absent.toml")).unwrap_err());
}
