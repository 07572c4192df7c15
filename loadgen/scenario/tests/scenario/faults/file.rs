//! Faults of a file as a whole: its form, and the keys outside of tables.

use std::path::Path;

use loadgen_scenario::load;

use super::{message, rendered};

faults! {
    not_toml: message("[load]\nusers = \n\n[[step]\nget = \"/\"\n");
    key_given_twice: message("[[step]]\nget = \"/\"\nget = \"/again\"\n");
    empty_file: message("");
    no_step: message("description = \"nothing to do\"\n");
    step_without_brackets: message("[step]\nget = \"/\"\n");

    target_twice: message("targets = [\"sanic\", \"sanic\"]\n[[step]]\nget = \"/\"\n");
    unknown_backend: message("backends = [\"mysql\", \"postgre\"]\n[[step]]\nget = \"/\"\n");

    existing_items_without_postgres: message("existing_items = 10\n\n[[step]]\nget = \"/\"\n");
    too_many_existing_items: message("backends = [\"postgres\"]\nexisting_items = 20_000_000\n\n[[step]]\nget = \"/\"\n");

    missing_file: rendered(&load(Path::new("scenarios/absent.toml")).unwrap_err());

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
}
