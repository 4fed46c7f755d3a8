//! The fields of a JSON object in a request: every wrong one is named by its path, and none is passed over.

use serde_json::{Map, Value};

/// The fields of an object that were not taken yet, and what was wrong with those that were.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    /// What stands before the name of a field in an error: empty, or the path of the object and a dot.
    prefix: String,
    left: Map<String, Value>,
    errors: Vec<String>,
}

/// A field of a request that changes something.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Given<T> {
    /// It is not there.
    Absent,
    /// It is `null`.
    Null,
    /// It has a value.
    Value(T),
}

impl Fields {
    /// The fields of a request's body.
    pub(crate) fn of_body(fields: Map<String, Value>) -> Self {
        Self {
            left: fields,
            ..Self::default()
        }
    }

    /// The fields of an object at a path; its errors go to [`Fields::absorb`] of what holds it.
    pub(crate) fn at(path: &str, fields: Map<String, Value>) -> Self {
        Self {
            prefix: format!("{path}."),
            left: fields,
            errors: Vec::new(),
        }
    }

    /// How a field is named in an error.
    pub(crate) fn path(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// Takes a field; `null` is absent.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        self.left.remove(name).filter(|value| !value.is_null())
    }

    /// Takes a field where `null` has a meaning of its own.
    pub(crate) fn given(&mut self, name: &str) -> Given<Value> {
        match self.left.remove(name) {
            None => Given::Absent,
            Some(Value::Null) => Given::Null,
            Some(value) => Given::Value(value),
        }
    }

    /// Takes a text.
    pub(crate) fn text(&mut self, name: &str) -> Option<String> {
        match self.take(name)? {
            Value::String(text) => Some(text),
            _ => self.wrong(name, "must be a string"),
        }
    }

    /// Takes a boolean.
    pub(crate) fn flag(&mut self, name: &str) -> Option<bool> {
        match self.take(name)? {
            Value::Bool(flag) => Some(flag),
            _ => self.wrong(name, "must be a boolean"),
        }
    }

    /// Takes a whole number. One below 0 or above 64 bits becomes the nearest that fits: for its reader to say which range
    /// it is out of.
    pub(crate) fn whole_number(&mut self, name: &str) -> Option<u64> {
        let value = self.take(name)?;
        whole_number(&value).or_else(|| self.wrong(name, "must be a whole number"))
    }

    /// Takes an object: its fields, for [`Fields::absorb`] when they are read.
    pub(crate) fn object(&mut self, name: &str) -> Option<Self> {
        match self.take(name)? {
            Value::Object(fields) => Some(Self::at(&self.path(name), fields)),
            _ => self.wrong(name, "must be an object"),
        }
    }

    /// Whether a field is there and `null`; it is not taken.
    pub(crate) fn is_null(&self, name: &str) -> bool {
        self.left.get(name).is_some_and(Value::is_null)
    }

    /// Notes that a field breaks a rule.
    pub(crate) fn note(&mut self, name: &str, rule: &str) {
        self.errors.push(format!("{} {rule}", self.path(name)));
    }

    /// The same in the place of its value.
    pub(crate) fn wrong<T>(&mut self, name: &str, rule: &str) -> Option<T> {
        self.note(name, rule);
        None
    }

    /// Takes everything that is left: nobody knows what it should be.
    pub(crate) fn forget(&mut self) {
        self.left.clear();
    }

    /// Takes over the errors of an object in this one, those of its unknown fields too.
    pub(crate) fn absorb(&mut self, inner: Self) {
        self.errors.extend(inner.into_errors());
    }

    /// Every error, those of the fields that were not taken last.
    pub(crate) fn into_errors(self) -> Vec<String> {
        let Self { prefix, left, errors } = self;
        let unknown = left
            .keys()
            .map(|name| format!("property {prefix}{name} should not exist"));
        errors.into_iter().chain(unknown).collect()
    }
}

/// A value as a whole number; one that does not fit becomes the nearest that does.
pub(crate) fn whole_number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_f64().and_then(whole))
}

/// `60.0` is a whole number in JSON, which has only one type of number.
fn whole(number: f64) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "what does not fit becomes the nearest that does"
    )]
    let nearest = number as u64;
    (number.fract() == 0.0).then_some(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(json: &str) -> Fields {
        Fields::of_body(serde_json::from_str(json).unwrap())
    }

    #[test]
    fn every_error_is_named_at_once() {
        let mut body = object(r#"{"ttl": "60", "emailAuth": 1, "emailAddress": [], "ttll": 3}"#);
        assert_eq!(body.whole_number("ttl"), None);
        assert_eq!(body.flag("emailAuth"), None);
        assert_eq!(body.text("emailAddress"), None);
        let expected = [
            "ttl must be a whole number",
            "emailAuth must be a boolean",
            "emailAddress must be a string",
            "property ttll should not exist",
        ];
        assert_eq!(body.into_errors(), expected);
    }

    #[test]
    fn null_is_absent_and_whole_floats_are_whole() {
        let mut body = object(r#"{"a": null, "b": 60.0, "c": 60.5, "d": -1.5, "e": -1, "f": 1e300}"#);
        assert_eq!(body.text("a"), None);
        assert_eq!(body.whole_number("b"), Some(60));
        assert_eq!(body.whole_number("c"), None);
        assert_eq!(body.whole_number("d"), None);
        assert_eq!(body.whole_number("e"), Some(0));
        assert_eq!(body.whole_number("f"), Some(u64::MAX));
        assert_eq!(
            body.into_errors(),
            ["c must be a whole number", "d must be a whole number"]
        );
    }

    #[test]
    fn an_object_knows_where_it_stands() {
        let mut body = object(r#"{"a": {"b": {"c": "1"}, "d": null}, "e": [], "f": null}"#);
        let mut a = body.object("a").unwrap();
        let mut b = a.object("b").unwrap();
        assert_eq!(b.flag("c"), None);
        a.absorb(b);
        assert!(a.is_null("d") && !a.is_null("b"));
        body.absorb(a);
        assert!(body.object("e").is_none() && body.object("f").is_none() && body.object("g").is_none());
        let expected = [
            "a.b.c must be a boolean",
            "property a.d should not exist",
            "e must be an object",
        ];
        assert_eq!(body.into_errors(), expected);
    }

    #[test]
    fn a_change_tells_null_from_absent() {
        let mut body = object(r#"{"a": null, "b": 1}"#);
        assert_eq!(body.given("a"), Given::Null);
        assert_eq!(body.given("b"), Given::Value(1.into()));
        assert_eq!(body.given("c"), Given::Absent);
        assert_eq!(body.into_errors(), [""; 0]);
    }

    #[test]
    fn errors_of_an_inner_object_name_their_path() {
        let mut body = object(r#"{"filter": {"mode": 1, "rulez": []}, "x": 1}"#);
        let Some(Value::Object(inner)) = body.take("filter") else {
            panic!("an object");
        };
        let mut filter = Fields::at("filter", inner);
        assert_eq!(filter.text("mode"), None);
        body.absorb(filter);
        let expected = [
            "filter.mode must be a string",
            "property filter.rulez should not exist",
            "property x should not exist",
        ];
        assert_eq!(body.into_errors(), expected);
    }
}
