//! Converts TOML values to JSON.

use serde_json::{Map, Number, Value as Json};
use toml::Spanned;
use toml::de::{DeFloat, DeInteger, DeValue};

use super::reader::{Faults, Value, parse_integer};
use crate::escape::Position;
use crate::template::{Piece, Template};

/// Converts a TOML value to JSON, to compare with values in responses. Placeholders stay literal
/// text.
pub(super) fn read(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Json> {
    match value.node.get_ref() {
        DeValue::String(text) => Some(Json::String(text.to_string())),
        DeValue::Boolean(boolean) => Some(Json::Bool(*boolean)),
        DeValue::Integer(integer) => read_integer(integer, value, faults),
        DeValue::Float(float) => read_float(float, value, faults),
        DeValue::Datetime(_) => {
            value.fault("JSON has no dates", "a date or time", "write the date as a string", faults)
        }
        DeValue::Array(_) => {
            let items: Vec<_> = items(value).iter().map(|item| read(item, faults)).collect();
            items.into_iter().collect::<Option<_>>().map(Json::Array)
        }
        DeValue::Table(_) => {
            let fields: Vec<_> = fields(value)
                .iter()
                .map(|field| Some((field.key.to_owned(), read(field, faults)?)))
                .collect();
            fields.into_iter().collect::<Option<Map<_, _>>>().map(Json::Object)
        }
    }
}

/// Converts a TOML value to a template that always renders as JSON. Literal parts of strings are
/// escaped here. Captured values and environment variables are escaped when they are rendered.
/// Other generated parts need no escaping.
pub(super) fn read_template(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Template> {
    match value.node.get_ref() {
        DeValue::String(_) => value.template(faults).map(string_template),
        DeValue::Array(_) => {
            let items: Vec<_> =
                items(value).iter().map(|item| read_template(item, faults)).collect();
            Some(enclosed('[', items.into_iter().collect::<Option<_>>()?, ']'))
        }
        DeValue::Table(_) => {
            let fields: Vec<_> =
                fields(value).iter().map(|field| read_field(field, faults)).collect();
            Some(enclosed('{', fields.into_iter().collect::<Option<_>>()?, '}'))
        }
        _ => Some(Template::literal(read(value, faults)?.to_string())),
    }
}

fn read_field(field: &Value<'_>, faults: &mut Faults<'_>) -> Option<Template> {
    let mut template = Template::literal(format!("{}:", Json::from(field.key)));
    template.append(read_template(field, faults)?);
    Some(template)
}

/// Returns a template of a JSON string, or of a JSON number if a numeric placeholder is the whole
/// text.
fn string_template(template: Template) -> Template {
    if let [piece] = template.pieces.as_slice()
        && piece.is_numeric()
    {
        return template;
    }
    let mut string = Template::literal("\"");
    for piece in template.standing_in(Position::Json).pieces {
        string.push(match piece {
            Piece::Literal(text) => Piece::Literal(escaped(&text)),
            generated => generated,
        });
    }
    string.push(Piece::Literal("\"".to_owned()));
    string
}

/// Escapes text for the inside of a JSON string, without the quotation marks.
fn escaped(text: &str) -> String {
    let quoted = Json::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Joins templates with commas, between the characters `open` and `close`.
fn enclosed(open: char, items: Vec<Template>, close: char) -> Template {
    let mut all = Template::literal(open);
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            all.push(Piece::Literal(",".to_owned()));
        }
        all.append(item);
    }
    all.push(Piece::Literal(close.to_string()));
    all
}

/// Returns the items of an array; none for any other value.
pub(super) fn items<'a>(value: &Value<'a>) -> Vec<Value<'a>> {
    let item = |node: &'a Spanned<DeValue<'a>>| Value { node, ..value.clone() };
    value.node.get_ref().as_array().map_or_else(Vec::new, |array| array.iter().map(item).collect())
}

/// Returns the values of a table, with their keys; none for any other value.
pub(super) fn fields<'a>(value: &Value<'a>) -> Vec<Value<'a>> {
    let table = value.node.get_ref().as_table();
    table.map_or_else(Vec::new, |table| {
        super::reader::Table::new("JSON", value.place(), table).rest()
    })
}

fn read_integer(
    integer: &DeInteger<'_>,
    value: &Value<'_>,
    faults: &mut Faults<'_>,
) -> Option<Json> {
    match parse_integer(integer).and_then(|number| i64::try_from(number).ok()) {
        Some(number) => Some(Json::from(number)),
        None => value.fault(
            "the number has more than 64 bits",
            "too large",
            "write the number as a string",
            faults,
        ),
    }
}

fn read_float(float: &DeFloat<'_>, value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Json> {
    let number = float.as_str().parse().ok().and_then(Number::from_f64);
    match number {
        Some(number) => Some(Json::Number(number)),
        None => value.fault(
            "JSON has no such number",
            "not finite",
            "write a finite number, or a string",
            faults,
        ),
    }
}
