//! Parses templates: `{{ name }}` between literal text, `{{{{` for a literal `{{`.
//!
//! A name that is not built in is the name of a captured value or of a column of rows.
//!
//! A lone `}}` is literal, because JSON text often ends in `}}`.

use std::ops::Range;

use thiserror::Error;

use super::environment::Environment;
use super::escape::Position;
use super::model::When;
use super::nearest::{list, nearest, suggestion};
use super::secret::Secret;
use super::template::{Piece, Template};

/// Names of the built-in placeholders.
pub const PLACEHOLDERS: [&str; 6] = ["uuid", "int", "name", "user", "iteration", "env"];

/// Names that templates can use at one point of a scenario file, in addition to the built-in
/// placeholders.
pub(super) struct Scope<'a> {
    /// Time at which the current step is sent.
    pub(super) when: When,
    /// Names of the values that earlier steps capture.
    captured: Vec<String>,
    /// Names of the values that any step of the file captures.
    anywhere: Vec<String>,
    /// Name and columns of each CSV file in the scenario; `None` for a file with a fault.
    rows: Vec<(String, Option<Vec<String>>)>,
    /// Source of environment variables; `None` if the scenario is loaded for inspection.
    pub(super) environment: Option<Environment<'a>>,
}

impl Default for Scope<'_> {
    fn default() -> Self {
        Self {
            when: When::Iteration,
            captured: vec![],
            anywhere: vec![],
            rows: vec![],
            environment: None,
        }
    }
}

impl Scope<'_> {
    /// Sets the names of the values that any step captures, at any point of the file.
    pub(super) fn expect(&mut self, names: Vec<String>) {
        self.anywhere = names;
    }

    /// Allows the steps that follow in the file to use these captured values.
    pub(super) fn captured(&mut self, names: Vec<String>) {
        self.captured.extend(names);
    }

    /// Allows the steps that follow in the file to use only these captured values.
    pub(super) fn has_captured(&mut self, names: Vec<String>) {
        self.captured = names;
    }

    /// Allows templates to use these captured values, too, and returns those allowed before.
    pub(super) fn with_captured<'b>(
        &mut self,
        names: impl Iterator<Item = &'b str>,
    ) -> Vec<String> {
        let before = self.captured.clone();
        self.captured.extend(names.map(str::to_owned));
        before
    }

    /// Checks that a condition can look at the value `name`: that any step of the file captures it, or
    /// that it is a column. Returns the message and the help of a fault as an error.
    pub(super) fn check_captured(&self, name: &str) -> Result<(), (String, String)> {
        if self.anywhere.iter().any(|captured| captured == name) || self.has_column(name)? {
            return Ok(());
        }
        let known = self.anywhere.iter().map(String::as_str);
        let help = match self.anywhere.is_empty() {
            true => format!("add a `capture` of `{name}` to a step"),
            false => suggestion(name, known),
        };
        Err((format!("no step captures `{name}`"), help))
    }

    /// Allows templates to use `columns`, each written as `name.column`. If `columns` is `None`,
    /// allows any column of `name`.
    pub(super) fn has_rows(&mut self, name: &str, columns: Option<&[String]>) {
        self.rows.push((name.to_owned(), columns.map(<[String]>::to_vec)));
    }

    /// Returns whether `name` is a column, such as `accounts.email`. Returns the message and the
    /// help of a fault as an error if the file is known, but does not have the column.
    fn has_column(&self, name: &str) -> Result<bool, (String, String)> {
        let rows = |rows: &str| self.rows.iter().find(|(known, _)| known == rows);
        let Some((rows, columns)) = name.split_once('.').and_then(|(name, _)| rows(name)) else {
            return Ok(false);
        };
        match columns {
            Some(columns) if !columns.iter().any(|column| column == name) => {
                let columns = columns.iter().map(String::as_str);
                let help = match nearest(name, columns.clone()) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("the columns are {}", list(columns)),
                };
                Err((format!("`{name}` is not a column of `rows.{rows}`"), help))
            }
            _ => Ok(true),
        }
    }

    /// Returns help for an unknown name: the nearest known name, or the list of known names.
    fn suggestion(&self, name: &str) -> String {
        let columns = self.rows.iter().filter_map(|(_, columns)| columns.as_ref()).flatten();
        let others = self.captured.iter().chain(columns).map(String::as_str);
        suggestion(name, PLACEHOLDERS.into_iter().chain(others))
    }
}

/// Reason why a text is not a valid template.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct TemplateError {
    /// Description of the fault.
    pub message: String,
    /// Byte range of the fault in the text.
    pub place: Range<usize>,
    /// Help to fix the fault.
    pub help: String,
}

impl Template {
    /// Parses a template that may use built-in placeholders, but no captured values and no rows.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        Self::parse_in(text, &Scope::default())
    }

    /// Parses a template that may use built-in placeholders and the names in `scope`.
    pub(super) fn parse_in(text: &str, scope: &Scope<'_>) -> Result<Self, TemplateError> {
        let mut template = Self::default();
        let mut at = 0;
        while let Some(found) = text[at..].find("{{") {
            let open = at + found;
            template.push(Piece::Literal(text[at..open].to_owned()));
            if text[open..].starts_with("{{{{") {
                template.push(Piece::Literal("{{".to_owned()));
                at = open + 4;
                continue;
            }
            let inner = open + 2;
            let close = find_close(text, inner).ok_or_else(|| unclosed(open))?;
            let inner = text[inner..close].trim();
            template.push(parse_placeholder(inner, open..close + 2, scope)?);
            at = close + 2;
        }
        template.push(Piece::Literal(text[at..].to_owned()));
        Ok(template)
    }

    /// Parses the template of a path. Values inserted into the path are percent-encoded where
    /// necessary.
    pub(super) fn parse_path(text: &str, scope: &Scope<'_>) -> Result<Self, TemplateError> {
        let mut template = Self::parse_in(text, scope)?.standing_in(Position::Path);
        for piece in &mut template.pieces {
            if let Piece::Name { between } = piece {
                *between = "%20".to_owned();
            }
        }
        Ok(template)
    }
}

/// Returns the byte offset of the `}}` that closes the placeholder opened before `from`. Returns
/// `None` if no `}}` follows, or if another `{{` comes first.
fn find_close(text: &str, from: usize) -> Option<usize> {
    let rest = &text[from..];
    let close = rest.find("}}")?;
    let reopened = rest.find("{{").is_some_and(|open| open < close);
    (!reopened).then_some(from + close)
}

fn unclosed(open: usize) -> TemplateError {
    TemplateError {
        message: "a placeholder is opened by `{{` but not closed".to_owned(),
        place: open..open + 2,
        help: "close it with `}}`, or write `{{{{` for two literal braces".to_owned(),
    }
}

fn parse_placeholder(
    inner: &str,
    place: Range<usize>,
    scope: &Scope<'_>,
) -> Result<Piece, TemplateError> {
    let mut words = inner.split_whitespace();
    let name = words.next().unwrap_or_default();
    let arguments: Vec<&str> = words.collect();
    let fault = |message: String, help: &str| {
        let (place, help) = (place.clone(), help.to_owned());
        TemplateError { message, place, help }
    };
    let piece = match name {
        "int" => return parse_int(&arguments).map_err(|message| fault(message, INT_HELP)),
        "env" => {
            return parse_variable(&arguments, scope)
                .map_err(|(message, help)| fault(message, &help));
        }
        "uuid" => Piece::Uuid,
        "name" => Piece::Name { between: " ".to_owned() },
        "user" if !scope.when.is_of_users() => {
            let message = "`user` is not available in a step that no user sends".to_owned();
            return Err(fault(message, "use `{{ uuid }}`"));
        }
        "user" => Piece::User,
        "iteration" if scope.when != When::Iteration => {
            let message = "`iteration` is not available in a step that is sent once".to_owned();
            let help = if scope.when.is_of_users() {
                "use `{{ user }}` or `{{ uuid }}`"
            } else {
                "use `{{ uuid }}`"
            };
            return Err(fault(message, help));
        }
        "iteration" => Piece::Iteration,
        _ if scope.captured.iter().any(|captured| captured == name) => {
            Piece::Captured { name: name.to_owned(), place: Position::Text }
        }
        _ if scope.has_column(name).map_err(|(message, help)| fault(message, &help))? => {
            if !scope.when.is_of_users() {
                let message = format!("`{name}` is not available in a step that no user sends");
                return Err(fault(
                    message,
                    "rows belong to users: write the value, or `{{ env NAME }}`",
                ));
            }
            Piece::Captured { name: name.to_owned(), place: Position::Text }
        }
        _ if scope.anywhere.iter().any(|captured| captured == name)
            && scope.when == When::Finally =>
        {
            let message = format!("only users have `{name}`, and no user sends this step");
            let help = format!("capture `{name}` in a step with when = \"once\"");
            return Err(fault(message, &help));
        }
        _ if scope.anywhere.iter().any(|captured| captured == name) => {
            let message = format!("`{name}` is used before the step that captures `{name}`");
            let help = format!("move the step that captures `{name}` above this step");
            return Err(fault(message, &help));
        }
        _ => {
            let message = format!("`{name}` is not a placeholder");
            return Err(fault(message, &scope.suggestion(name)));
        }
    };
    if arguments.is_empty() {
        return Ok(piece);
    }
    let help = format!("write `{{{{ {name} }}}}`");
    Err(fault(format!("`{name}` takes no arguments"), &help))
}

/// Parses the arguments of the placeholder `env`. The error holds the message and the help of a
/// fault.
fn parse_variable(arguments: &[&str], scope: &Scope<'_>) -> Result<Piece, (String, String)> {
    let [name] = arguments else {
        let given = arguments.len();
        let message = format!("`env` takes one argument, the NAME of a variable, not {given}");
        return Err((message, "write `{{ env NAME }}`, such as `{{ env API_TOKEN }}`".to_owned()));
    };
    let value = scope.environment.map(|environment| {
        let unset = || {
            let message = format!("the environment variable `{name}` is not set");
            (message, format!("set the variable for loadgen: export {name}=…"))
        };
        environment(name).map(Secret::new).ok_or_else(unset)
    });
    let value = value.transpose()?;
    Ok(Piece::Variable { name: (*name).to_owned(), value, place: Position::Text })
}

const INT_HELP: &str =
    "write `{{ int MIN MAX }}`, such as `{{ int 1 100 }}`; both ends are included";

fn parse_int(arguments: &[&str]) -> Result<Piece, String> {
    let [min, max] = arguments else {
        let given = arguments.len();
        return Err(format!("`int` takes two arguments, MIN and MAX, not {given}"));
    };
    let whole = |word: &str| {
        let number = word.parse::<i64>();
        number.map_err(|_| format!("`{word}` is not a whole number of 64 bits"))
    };
    let (min, max) = (whole(min)?, whole(max)?);
    if min > max {
        return Err(format!("the range of `int` is empty: {min} is greater than {max}"));
    }
    Ok(Piece::Int { min, max })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fault(text: &str) -> (String, &str, String) {
        let TemplateError { message, place, help } = Template::parse(text).unwrap_err();
        (message, &text[place], help)
    }

    #[test]
    fn a_faulty_placeholder_is_refused_and_underlined() {
        let cases = [
            ("a {{ uid }}", "`uid` is not a placeholder", "{{ uid }}", "did you mean `uuid`?"),
            (
                "{{}}",
                "`` is not a placeholder",
                "{{}}",
                "expected one of: `uuid`, `int`, `name`, `user`, `iteration`, `env`",
            ),
            ("{{ uuid 4 }}", "`uuid` takes no arguments", "{{ uuid 4 }}", "write `{{ uuid }}`"),
            ("{{int 1}}", "`int` takes two arguments, MIN and MAX, not 1", "{{int 1}}", INT_HELP),
            ("{{ int 1 x }}", "`x` is not a whole number of 64 bits", "{{ int 1 x }}", INT_HELP),
            (
                "{{ int 2 1 }}",
                "the range of `int` is empty: 2 is greater than 1",
                "{{ int 2 1 }}",
                INT_HELP,
            ),
        ];
        for (text, message, place, help) in cases {
            assert_eq!(fault(text), (message.to_owned(), place, help.to_owned()));
        }
    }

    #[test]
    fn an_unclosed_placeholder_is_underlined_at_its_opening() {
        for text in ["a {{ user", "a {{ user }", "a {{ user {{ user }}"] {
            let error = Template::parse(text).unwrap_err();
            assert_eq!(error.message, "a placeholder is opened by `{{` but not closed");
            assert_eq!(error.place, 2..4);
        }
    }

    #[test]
    fn closing_braces_alone_are_literal() {
        let json = r#"{"a":{"b":{{ int 1 1 }}}}"#;
        let template = Template::parse(json).unwrap();
        assert_eq!(template.to_string(), json);
        assert_eq!(template.pieces.len(), 3);
    }

    #[test]
    fn a_name_in_a_path_is_encoded() {
        let template = Template::parse_path("/hello/{{ name }}", &Scope::default()).unwrap();
        let mut path = String::new();
        template.render(&mut super::super::data::Data::new(1, 1), &mut path).unwrap();
        assert!(path.contains("%20") && !path.contains(' '), "{path}");
        assert_eq!(template.to_string(), "/hello/{{ name }}");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "([{}]|int|user|[ -9]|\\PC){0,30}") {
            if let Err(error) = Template::parse(&text) {
                prop_assert!(text.get(error.place).is_some());
            }
        }
    }
}
