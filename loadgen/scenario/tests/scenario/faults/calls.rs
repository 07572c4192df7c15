//! Faults of `[grpc]`, and of calls.

use super::{beside_data, step};

/// Services, as seen from the folder of the tests' data.
const GREETER: &str = "proto = \"greeter.proto\"";
const EVERYTHING: &str = "proto = \"../../../engine/src/grpc/everything.proto\"";

/// Returns the message for a scenario with this `[grpc]` and these lines, in the folder of the tests' data.
fn calls(grpc: &str, lines: &str) -> String {
    let text = format!("[grpc]\n{grpc}\n\n{lines}\n");
    beside_data(&text)
}

/// Returns the message for a scenario with a call that has this body.
fn call_body(body: &str) -> String {
    calls(EVERYTHING, &format!("[[step]]\ngrpc = \"all.Echo/Say\"\nbody = {body}"))
}

faults! {
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
    keys_without_meaning_for_messages: calls(
        EVERYTHING,
        "[[step]]\ngrpc = \"all.Echo/Stream\"\nbody = { json = [{ small = 1 }, { smoll = 2 }] }\n\
         expect.stream = { events = 2, format = \"lines\", end = \"x\" }\n\n\
         [[step]]\nname = \"again\"\ngrpc = \"all.Echo/Stream\"\nbody = { json = [{ small = 1 }], repeat = 2 }"
    );
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
}
