//! Where a step stands in its file.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::step::METHODS;

/// Returns the number of the line at which the step with this name begins, counted from 1. A step without a
/// name of its own is found by its method and path, which name it; nothing for one that is named otherwise.
#[must_use]
pub fn step_line(text: &str, name: &str) -> Option<usize> {
    let (tree, _) = DeTable::parse_recoverable(text);
    let tree = tree.into_inner();
    let flows = array(tree.get("flow"));
    let of_flows = flows.iter().filter_map(|flow| flow.get_ref().as_table());
    let of_flows = of_flows.flat_map(|flow| array(flow.get("step")));
    let step = array(tree.get("step")).iter().chain(of_flows).find(|step| {
        step.get_ref().as_table().is_some_and(|table| named(table).as_deref() == Some(name))
    })?;
    // The span of a table in an array begins at its header, and that of an inline table at its brace.
    Some(text.get(..step.span().start)?.matches('\n').count() + 1)
}

fn array<'a>(value: Option<&'a Spanned<DeValue<'a>>>) -> &'a [Spanned<DeValue<'a>>] {
    value.and_then(|value| value.get_ref().as_array()).map_or(&[], |array| array)
}

fn named(step: &DeTable<'_>) -> Option<String> {
    let text = |key: &str| step.get(key)?.get_ref().as_str().map(str::to_owned);
    text("name").or_else(|| text("request")).or_else(|| {
        METHODS.iter().find_map(|(key, method)| {
            Some(format!("{} {}", method.name(), text(key)?).trim_end().to_owned())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_found_at_their_lines() {
        let text = "#:schema x\n[[step]]\nname = \"a\"\nget = \"/\"\n\n# b\n[[step]]\npost = \"/b\"\n\n\
                    [[flow]]\nname = \"f\"\n\n[[flow.step]]\nname = \"c\"\nget = \"/c\"\n";
        for (name, line) in [("a", Some(2)), ("POST /b", Some(7)), ("c", Some(13)), ("f", None)] {
            assert_eq!(step_line(text, name), line, "{name}");
        }
        assert_eq!(step_line("step = [\n{ get = \"/\" }]", "GET /"), Some(2));
    }
}
