//! Finds what is valid in a scenario, but hardly meant.

use std::ops::Range;

use super::flow::{Flow, Given};
use super::model::{Scenario, Step};
use super::template::Template;

/// Media type of a form (WHATWG URL, section 5).
const FORM: &str = "application/x-www-form-urlencoded";

impl Scenario {
    /// Returns a sentence for each part of the scenario that is probably a mistake.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let steps = self.steps.iter().enumerate();
        let uncertain = steps.flat_map(|(index, step)| self.uncertain_captures(index, step));
        let forms = self.all_steps().filter_map(unencoded_form);
        let never = self.steps.iter().filter_map(|step| self.never_sent(step));
        uncertain.chain(forms).chain(never).collect()
    }

    /// Returns a sentence for each value that a step sends, but that only steps capture of which an
    /// iteration sends one among others.
    fn uncertain_captures(&self, index: usize, step: &Step) -> Vec<String> {
        let mut names: Vec<&str> = step.templates().flat_map(|template| template.taken()).collect();
        names.sort_unstable();
        names.dedup();
        let given: Vec<&str> = step.given.iter().flat_map(Given::present).collect();
        names.retain(|name| !given.contains(name));
        let uncertain = names.into_iter().filter_map(|name| {
            let others = self.steps.iter().enumerate().filter(|(other, _)| *other != index);
            let others = self.once.iter().chain(others.map(|(_, it)| it));
            let by = others.filter(|it| it.captures.iter().any(|it| it.name == name));
            let by: Vec<String> = by.map(|it| format!("`{}`", it.name)).collect();
            let is_shared = self.once.iter().rfind(|it| it.captures.iter().any(|it| it.name == name));
            let is_shared = is_shared.is_some_and(|step| step.surely(name));
            let is_certain = is_shared || self.once_or_alone(index).any(|mut before| {
                !before.contains(&index) && before.all(|other| self.steps[other].surely(name))
            });
            (!by.is_empty() && !is_certain).then(|| {
                format!(
                    "`{}` needs {{{{ {name} }}}}, which only {} captures, and not in each iteration: \
                     without the value the request fails, and when = {{ present = \"{name}\" }} would \
                     leave it out",
                    step.name,
                    by.join(" or ")
                )
            })
        });
        uncertain.collect()
    }

    /// Returns a sentence if the condition of a step needs a value that only steps with the same
    /// condition capture.
    fn never_sent(&self, step: &Step) -> Option<String> {
        let needs = |step: &Step, name: &str| {
            step.given.iter().flat_map(Given::present).any(|present| present == name)
        };
        let mut names = step.given.iter().flat_map(Given::present);
        let name = names.find(|name| {
            let before = self.once.iter().chain(&self.steps);
            let mut by = before.filter(|it| it.captures.iter().any(|it| it.name == *name));
            let is_captured = by.clone().next().is_some();
            is_captured && by.all(|it| needs(it, name))
        })?;
        Some(format!(
            "`{}` is never sent: only steps that need {{{{ {name} }}}} themselves capture it",
            step.name
        ))
    }

    /// Returns the steps before `index` as ranges, of each of which a user sends one: start steps, stop
    /// steps and steps without alternatives alone, and alternatives together. Of several flows, only
    /// that of the step counts, because a user may never take the others.
    fn once_or_alone(&self, index: usize) -> impl Iterator<Item = Range<usize>> {
        let alone = self.start_steps().chain(self.stop_steps()).map(|step| step..step + 1);
        let is_certain = |flow: &&Flow| self.flows.len() == 1 || flow.steps.contains(&index);
        let choices = self.flows.iter().filter(is_certain).flat_map(|flow| self.choices(flow));
        let all: Vec<Range<usize>> = alone.chain(choices).collect();
        all.into_iter().filter(move |range| range.start < index)
    }
}

impl Step {
    /// Returns whether a user has a value of this name after each expected response to the step.
    fn surely(&self, name: &str) -> bool {
        let captures = self.captures.iter().any(|it| it.name == name && !it.optional);
        // A step that is left out because the value is there is as good as one that captures it.
        let is_kept = matches!(&self.given, Some(Given::Absent(absent)) if absent == name);
        captures && (self.given.is_none() || is_kept)
    }
}

/// Returns a sentence if the step sends a form as plain text, in which no value is encoded.
fn unencoded_form(step: &Step) -> Option<String> {
    let body = step.body.as_ref()?;
    let is_text =
        body.content_type.starts_with(FORM) && body.texts().any(Template::has_plain_values);
    is_text.then(|| {
        format!(
            "`{}` sends values in `body.text` of a form as they are, and `&` or `=` in a value \
             changes the form: use `body.form`",
            step.name
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::parse;

    fn warnings(text: &str) -> Vec<String> {
        parse("test", "test.toml", text).unwrap().warnings()
    }

    #[test]
    fn a_value_that_an_iteration_may_lack_is_named() {
        let login = |name: &str, weight: &str| {
            format!(
                "[[step]]\nname = \"{name}\"\nget = \"/\"\n{weight}\n\
                 capture = {{ id = {{ json = \"/id\" }} }}\n"
            )
        };
        let other = "[[step]]\nname = \"other\"\nget = \"/\"\nweight = 1\n";
        let between = "[[step]]\nname = \"between\"\nget = \"/b\"\n";
        let next = "[[step]]\nname = \"next\"\nget = \"/{{ id }}\"\n";
        let weighted = login("login", "weight = 1");
        let said = "`next` needs {{ id }}, which only `login` captures, and not in each iteration: \
                    without the value the request fails, and when = { present = \"id\" } would leave it \
                    out";
        assert_eq!(warnings(&[&weighted, other, between, next].concat()), [said]);
        for certain in [
            [login("login", ""), next.to_owned()].concat(),
            [login("login", "when = \"start\""), next.to_owned()].concat(),
            [weighted.clone(), login("second", "weight = 2"), next.to_owned()].concat(),
            [weighted.clone(), next.to_owned()].concat(),
            [
                other.to_owned(),
                login("login", "when = \"stop\""),
                next.replace("get", "when = \"stop\"\nget"),
            ]
            .concat(),
        ] {
            assert_eq!(warnings(&certain), [""; 0], "{certain}");
        }
        let absent = "when = { absent = \"id\" }";
        assert_eq!(warnings(&[&login("login", absent), next].concat()), [""; 0]);
        let present = "when = { present = \"id\" }";
        let never = "`login` is never sent: only steps that need {{ id }} themselves capture it";
        assert_eq!(warnings(&[&login("login", present), other].concat()), [never]);
        let optional = login("login", "").replace("\" } }", "\", optional = true } }");
        assert_eq!(warnings(&[optional.as_str(), next].concat()), [said]);
        let given = next.replace("get", "when = { present = \"id\" }\nget");
        assert_eq!(warnings(&[optional, given].concat()), [""; 0]);
        let flow = |name: &str, step: &str| {
            format!("[[flow]]\nname = \"{name}\"\n{}", step.replace("[[step]]", "[[flow.step]]"))
        };
        let flows = [flow("a", &login("login", "")), flow("b", next)].concat();
        assert_eq!(warnings(&flows), [said]);
        let one = flow("a", &[&login("login", ""), next].concat());
        assert_eq!(warnings(&one), [""; 0]);
        let same = [&weighted, "[[step]]\nname = \"next\"\nget = \"/{{ id }}\"\nweight = 1\n"];
        assert_eq!(warnings(&same.concat()), [said]);
    }

    #[test]
    fn a_form_in_plain_text_is_named() {
        let form = |text: &str, kind: &str| {
            warnings(&format!(
                "[[step]]\nname = \"a\"\nget = \"/x\"\ncapture = {{ v = {{ json = \"/v\" }} }}\n\
                 [[step]]\nname = \"b\"\npost = \"/\"\n\
                 body = {{ text = \"{text}\", content_type = \"{kind}\" }}"
            ))
        };
        let kind = "application/x-www-form-urlencoded";
        let said = "`b` sends values in `body.text` of a form as they are, and `&` or `=` in a value \
                    changes the form: use `body.form`";
        assert_eq!(form("v={{ v }}", kind), [said]);
        assert_eq!(form("v={{ v }}", "text/plain"), [""; 0]);
        assert_eq!(form("v={{ int 1 9 }}", kind), [""; 0]);
    }
}
