//! `auth`: user and password of requests (HTTP Basic authentication, RFC 7617).

use super::keys::{Custom, Key, Keys, TEMPLATE, key};
use super::moment;
use super::reader::{Faults, Value};
use crate::error::Fault;
use crate::escape::Position;
use crate::model::{Step, When};
use crate::template::{Piece, Template};

/// Name of the header that has user and password, in lower case.
const HEADER: &str = "authorization";

keys! {
    /// user and password (HTTP Basic authentication)
    pub(super) const KEYS: Keys = table("`auth`");

    /// name of the user
    const USER: Key<Custom> = key("user", TEMPLATE).required();
    /// password, such as `"{{ env PASSWORD }}"`
    const PASSWORD: Key<Custom> = key("password", TEMPLATE).required();
}

/// A header's name and value.
type Header = (String, Template);

/// Adds the header of a step's `auth` to the step's other headers.
pub(super) fn beside(
    value: Option<Value<'_>>,
    headers: Option<Vec<Header>>,
    faults: &mut Faults<'_>,
) -> Option<Vec<Header>> {
    let Some(value) = value else { return headers };
    let header = read(&value, faults);
    let mut headers = headers?;
    if headers.iter().any(|(name, _)| name == HEADER) {
        let help = "leave out one of the two";
        let message = "`auth` sets the header `authorization`, which `headers` sets, too";
        return value.fault(message, "a second value", help, faults);
    }
    headers.push(header?);
    Some(headers)
}

/// Reads the `auth` of all steps, in the table `[http]`.
pub(super) fn of_all(http: &Value<'_>, faults: &mut Faults<'_>) -> Option<Header> {
    let value = http.node.get_ref().as_table().and_then(|_| http.table("[http]", faults))?;
    let value = value.peek("auth")?;
    // Steps that are sent once have no iteration.
    let when = std::mem::replace(&mut faults.scope.when, When::Start);
    let header = read(&value, faults);
    faults.scope.when = when;
    header
}

/// Adds a fault if the credentials of all steps differ for each user, and one of these steps, which no user sends, has
/// none of its own.
pub(super) fn refuse_of_users<'a>(
    (name, value): &Header,
    mut of_round: impl Iterator<Item = &'a Step>,
    http: &Value<'_>,
    faults: &mut Faults<'_>,
) {
    let lacks = |step: &&Step| !step.headers.iter().any(|(own, _)| own == name);
    if value.is_of_users()
        && let Some(step) = of_round.find(lacks)
    {
        let message = format!(
            "`auth` of [http] differs for each user, but no user sends `{}`, with when = \"{}\"",
            step.name,
            moment::word(step.when)
        );
        let help = "give this step an `auth` of its own";
        faults.add(Fault::new(message).at(http.key_place.clone(), "for each user").help(help));
    }
}

/// Adds a header to each step that sends headers and does not have one of the same name.
pub(super) fn send_with_all(header: &Header, steps: &mut [Step]) {
    for step in steps.iter_mut().filter(|step| !step.action.needs_socket()) {
        if !step.headers.iter().any(|(name, _)| *name == header.0) {
            step.headers.push(header.clone());
        }
    }
}

fn read(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Header> {
    let mut table = KEYS.open(value, faults)?;
    let (user, password) = (USER.take(&mut table), PASSWORD.take(&mut table));
    table.finish(faults);
    let (Some(user), Some(password)) = (user, password) else {
        let help = "write auth = { user = \"anna\", password = \"{{ env PASSWORD }}\" }";
        return value.fault("`auth` needs both `user` and `password`", "here", help, faults);
    };
    let user = read_part(&user, Position::User, faults);
    let password = read_part(&password, Position::Password, faults);
    let mut text = Template::literal("Basic ");
    text.push(Piece::Credentials { user: user?, password: password? });
    Some((HEADER.to_owned(), text))
}

fn read_part(value: &Value<'_>, place: Position, faults: &mut Faults<'_>) -> Option<Template> {
    let template = value.template(faults)?.standing_in(place);
    let is_right = |text: &str| place.push(text, "", &mut String::new()).is_ok();
    let help = match place {
        Position::User => "a user has no colon and no control character (RFC 7617)",
        _ => "a password has no control character (RFC 7617)",
    };
    if !template.literals().all(is_right) {
        let message = format!("`{}` contains a character that `auth` cannot send", value.key);
        return value.fault(message, "not sent", help, faults);
    }
    if let Some(variable) = template.misplaced_variable() {
        let message = format!("the value of `{variable}` has a character that `auth` cannot send");
        return value.fault(message, "from the environment", help, faults);
    }
    Some(template)
}
