//! Tests the meaning of valid scenarios with gRPC calls.

use std::fs;

use loadgen_scenario::{Action, HttpVersion, Scenario, TransportKind, load};

use super::files::{only_text, rendered};

const MONEY: &str = "syntax = 'proto3'; package common; message Money { int64 cents = 1; }";

const SHOP: &str =
    "syntax = 'proto3'; package shop; import 'common/money.proto'; import 'kinds.proto';
    message Order { common.Money price = 1; Kind the_kind = 2; }
    service Orders { rpc Put(Order) returns (Order); }";

const KINDS: &str = "syntax = 'proto3'; package shop; enum Kind { ANY = 0; TEA = 1; }";

const STOCK: &str = "syntax = 'proto3'; package stock; import 'google/protobuf/empty.proto';
    service Stock { rpc Count(google.protobuf.Empty) returns (google.protobuf.Empty); }";

/// Returns a scenario in a folder with several `.proto` files.
fn scenario(text: &str) -> Scenario {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in [
        ("protos/common/money.proto", MONEY),
        ("api/shop.proto", SHOP),
        ("api/kinds.proto", KINDS),
        ("stock.proto", STOCK),
        ("s.toml", text),
    ] {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let scenario = load(&folder.path().join("s.toml"));
    scenario.unwrap_or_else(|error| panic!("{:?}", miette::Report::new(error)))
}

const SERVICES: &str = "[grpc]\nproto = ['api/shop.proto', 'stock.proto']\ninclude = 'protos'\n";

#[test]
fn imports_are_found_in_the_included_folders_and_beside_the_file() {
    let scenario = scenario(&format!(
        "{SERVICES}[[step]]\ngrpc = 'shop.Orders/Put'\n\
         body.json = {{ price = {{ cents = '{{{{ int 5 5 }}}}' }}, theKind = 'TEA' }}\n\
         [[step]]\ngrpc = 'stock.Stock/Count'\nexpect.grpc_status = ['OK', 'ABORTED']\n\
         [[step]]\nname = 'by its other name'\ngrpc = 'shop.Orders/Put'\nbody.json.the_kind = 1\n"
    ));
    let names: Vec<&str> = scenario.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["GRPC shop.Orders/Put", "GRPC stock.Stock/Count", "by its other name"]);
    let [put, count, _] = scenario.steps.as_slice() else { panic!("three steps") };
    assert_eq!((put.action, put.method.name()), (Action::Call, "POST"));
    let of = |step: &loadgen_scenario::Step| rendered(only_text(step.body.as_ref().unwrap()), 1);
    assert_eq!(of(put), r#"{"price":{"cents":5},"theKind":"TEA"}"#);
    assert_eq!(of(count), "{}", "an empty message");
    let expected = |step: &loadgen_scenario::Step| {
        let statuses = step.expect.grpc_status.as_ref().unwrap().to_string();
        format!("{} {statuses}", step.expect.status)
    };
    assert_eq!(
        (expected(put), expected(count)),
        ("200 OK".to_owned(), "200 OK or ABORTED".to_owned())
    );
    let bytes = rmp_serde::to_vec_named(&scenario).unwrap();
    let sent = rmp_serde::from_slice::<Scenario>(&bytes).unwrap();
    assert_eq!(sent, scenario);
    assert_eq!(sent.grpc.unwrap().methods(), ["shop.Orders/Put", "stock.Stock/Count"]);
}

#[test]
fn calls_use_http_2_unless_nothing_calls() {
    let call = format!("{SERVICES}[[step]]\ngrpc = 'stock.Stock/Count'\n");
    for text in [
        call.clone(),
        format!("[http]\nconnections = 2\n{call}[[step]]\nget = '/'\n"),
        format!("[http]\nversion = '2'\ntransport = 'http2'\n{call}"),
        format!("[http]\nconnection = 'per-request'\n{call}"),
        format!("{SERVICES}[[flow]]\nname = 'a'\n[[flow.step]]\ngrpc = 'stock.Stock/Count'\n"),
    ] {
        let scenario = scenario(&text);
        assert_eq!(scenario.http.version, HttpVersion::Http2, "{text}");
        assert_eq!(scenario.http.transport(), TransportKind::Http2, "{text}");
        assert!(scenario.uses_http() && !scenario.uses_websocket(), "{text}");
    }
    let without = scenario("[[step]]\nget = '/'\n");
    assert_eq!((without.http.version, without.grpc), (HttpVersion::Http11, None));
}
