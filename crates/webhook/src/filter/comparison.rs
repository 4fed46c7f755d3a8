//! The operators.

use std::borrow::Cow;

use regex::Regex;
use restante_model::webhook::FilterOperator;

use super::expression::{self, ExpressionError};

/// An operator and what it compares with.
#[derive(Debug, Clone)]
pub(super) enum Comparison {
    Exists,
    Matches(Regex),
    Text {
        relation: Relation,
        /// Folded already, if case is.
        value: String,
        case: Case,
    },
}

/// How two texts stand to each other.
#[derive(Debug, Clone, Copy)]
pub(super) enum Relation {
    Equal,
    Contains,
    StartsWith,
    EndsWith,
    /// The first is an address below the domain that is the second.
    Domain,
}

/// Whether upper and lower case differ.
#[derive(Debug, Clone, Copy)]
pub(super) enum Case {
    Kept,
    Folded,
}

impl Case {
    fn apply(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Kept => Cow::Borrowed(text),
            Self::Folded => fold(text),
        }
    }
}

impl Comparison {
    pub(super) fn compile(
        operator: FilterOperator,
        value: &str,
        case_sensitive: bool,
    ) -> Result<Self, ExpressionError> {
        let relation = match operator {
            FilterOperator::Exists => return Ok(Self::Exists),
            FilterOperator::Regex => return expression::compile(value, case_sensitive).map(Self::Matches),
            FilterOperator::Equals => Relation::Equal,
            FilterOperator::Contains => Relation::Contains,
            FilterOperator::StartsWith => Relation::StartsWith,
            FilterOperator::EndsWith => Relation::EndsWith,
            FilterOperator::Domain => Relation::Domain,
        };
        let value = match relation {
            Relation::Domain => value.strip_prefix(['@', '.']).unwrap_or(value),
            _ => value,
        };
        let case = if case_sensitive { Case::Kept } else { Case::Folded };
        Ok(Self::Text {
            relation,
            value: case.apply(value).into_owned(),
            case,
        })
    }

    pub(super) fn matches(&self, found: &str) -> bool {
        match self {
            Self::Exists => true,
            Self::Matches(expression) => expression.is_match(found),
            Self::Text { relation, value, case } => relation.holds(&case.apply(found), value),
        }
    }
}

impl Relation {
    fn holds(self, found: &str, value: &str) -> bool {
        match self {
            Self::Equal => found == value,
            Self::Contains => found.contains(value),
            Self::StartsWith => found.starts_with(value),
            Self::EndsWith => found.ends_with(value),
            Self::Domain => {
                let domain = found.rsplit_once('@').map_or(found, |(_, domain)| domain);
                let above = domain.strip_suffix(value);
                above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
            }
        }
    }
}

/// A text in Unicode lowercase, character by character.
///
/// Unlike in `str::to_lowercase`, no character depends on its neighbours: a sigma at the end of a value is the one in the
/// middle of a text, and each prefix of a text folds to a prefix.
fn fold(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return Cow::Borrowed(text);
    }
    let fold = |c: char| if c == 'ς' { 'σ' } else { c };
    Cow::Owned(text.chars().flat_map(char::to_lowercase).map(fold).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sigmas_are_one_wherever_they_stand() {
        assert_eq!(fold("ὈΔΥΣΣΕΎΣ"), fold("Ὀδυσσεύς"));
        assert!(fold("ΟΔΟΣΑ").starts_with(&*fold("ΟΔΟΣ")));
    }

    #[test]
    fn what_has_no_uppercase_is_not_copied() {
        assert!(matches!(fold("plain text, 1 line"), Cow::Borrowed(_)));
        assert_eq!(fold("Plain TEXT ÄÖ"), "plain text äö");
    }
}
