//! Faults of placeholders, and of the captures and variables that they name.

use super::{step, to_run};

faults! {
    unknown_placeholder: step("get = \"/items/{{ usr }}\"");
    unclosed_placeholder: step("get = \"/items/{{ user\"");
    placeholder_behind_escapes: step("post = \"/\"\nbody = { text = \"\\tline\\n{{ usr }}\" }");
    placeholder_in_lines: step("post = \"/\"\nbody = { text = '''\nline\n{{ int 5 1 }}\n''' }");

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
    invalid_matches: step(r#"post = "/"
[step.capture]
one = { json = "/a", match = 2 }
header = { header = "x-a", match = "last" }
zero = { json = "/*/a", match = 0 }
word = { regex = 'a', match = "lats" }
kind = { regex = 'a', match = true }"#);
    captures_from_the_answer_to_head: step("head = \"/\"\ncapture = { a = { json = \"/a\" }, b = { header = \"x-b\" } }");
    captured_value_with_arguments: step("name = \"a\"\nget = \"/\"\ncapture = { id = { json = \"/id\" } }\n\n[[step]]\nget = \"/{{ id 1 }}\"");

    variable_without_a_name: step("get = \"/{{ env }}\"\nheaders = { x = \"{{ env A B }}\" }");
    unset_variable: to_run("[[step]]\nget = \"/{{ env NONE }}\"\nheaders = { authorization = \"Bearer {{ env API_TOKN }}\" }");
    variable_invalid_in_a_header: to_run("[[step]]\nget = \"/{{ env LINES }}\"\nheaders = { x = \"{{ env LINES }}\" }");
}
