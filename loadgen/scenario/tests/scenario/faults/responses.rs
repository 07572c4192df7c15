//! Faults of the expected response, and of streams.

use super::step;

faults! {
    invalid_pointers: step("get = \"/\"\nexpect.json = { \"values.0\" = 1, \"/a~b\" = 1 }\ncounters = { n = \"$.inserted\" }");
    body_of_head: step("head = \"/\"\nexpect = { body = \"x\" }\ncounters = { n = \"/n\" }");
    status_of_a_wrong_type: step("get = \"/\"\nexpect = { status = 2.5 }");

    no_status_is_expected: step("get = \"/\"\nexpect = { status = [] }");

    expectations_of_unknown_form: step(r#"get = "/"
expect.status = [200, "2x", 99]
expect.regex = '('
expect.json_type = { "/a" = "list" }
expect.json_size = { "/a" = "many", "/b" = [1] }
expect.headers = { a = 1, b = { regx = 'x' }, c = false, "d e" = true }
expect.not = { status = 200, body = "" }
expect.within = "40s""#);

    stream_of_nothing: step("get = \"/\"\nexpect.stream = false");
    stream_of_a_head: step("head = \"/\"\nexpect.stream = true");
    stream_of_wrong_values: step(
        "get = \"/\"\nexpect.stream = { format = \"sse\", events = \"many\", end = \"\", idle = 1 }"
    );
    stream_with_an_invalid_end: step("get = \"/\"\nexpect.stream = { end = { regex = '(' } }");
    stream_that_closes_at_no_event:
        step("get = \"/\"\nexpect.stream = { events = \">= 3\", close = true }");
    stream_that_closes_before_an_event:
        step("get = \"/\"\nexpect.stream = { events = 0, close = true }");
    stream_with_an_empty_end: step("get = \"/\"\nexpect.stream = { end = {} }");
}
