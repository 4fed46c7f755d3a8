//! Filters: which arrivals a webhook is told of.
//!
//! Source: docs/spec/interface.md, "Filters"; docs/spec/decisions.md, section 7.

mod comparison;
mod expression;
mod field;

use restante_model::ArrivalEvent;
use restante_model::webhook::{FilterConfig, FilterMode, FilterOperator, FilterRule};

use comparison::Comparison;
pub use expression::ExpressionError;
use field::Field;

/// The rules of a webhook, ready to be run.
///
/// Time is linear in what they look at: expressions run on an engine that never backtracks.
#[derive(Debug, Clone)]
pub struct Filter {
    mode: FilterMode,
    rules: Vec<Rule>,
}

#[derive(Debug, Clone)]
struct Rule {
    field: Field,
    comparison: Comparison,
}

/// Why a filter cannot be run; `rule` counts from 0, as in the JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// The field is none of those that there are.
    #[error(
        "filter.rules[{rule}].field: `{field}` is no field; allowed are subject, from.address, from.name, to.address, to.name, body.text, body.html and header.<Name>"
    )]
    Field {
        /// The rule.
        rule: usize,
        /// What it names.
        field: String,
    },
    /// The operator compares with a value, and there is none.
    #[error("filter.rules[{rule}].value: missing; only the operator `exists` needs none")]
    NoValue {
        /// The rule.
        rule: usize,
    },
    /// The regular expression is none, or too large.
    #[error("filter.rules[{rule}].value: {source}")]
    Expression {
        /// The rule.
        rule: usize,
        /// Why.
        source: ExpressionError,
    },
}

impl Filter {
    /// Makes the rules ready.
    ///
    /// # Errors
    /// The first rule that cannot be run.
    pub fn compile(config: &FilterConfig) -> Result<Self, FilterError> {
        let rules = config.rules.iter().enumerate();
        Ok(Self {
            mode: config.mode,
            rules: rules
                .map(|(number, rule)| Rule::compile(number, rule))
                .collect::<Result<_, _>>()?,
        })
    }

    /// How many regular expressions it has.
    pub(crate) fn expressions(&self) -> usize {
        let is_expression = |rule: &&Rule| matches!(rule.comparison, Comparison::Matches(_));
        self.rules.iter().filter(is_expression).count()
    }

    /// Whether an arrival is one that the rules ask for; no rules ask for everything.
    ///
    /// What `requireAuth` asks for is in [`requires_auth`] and `EventAuth::passed`.
    pub fn matches_arrival(&self, event: &ArrivalEvent) -> bool {
        let mut rules = self.rules.iter();
        match self.mode {
            FilterMode::All => rules.all(|rule| rule.matches(event)),
            FilterMode::Any => self.rules.is_empty() || rules.any(|rule| rule.matches(event)),
        }
    }
}

impl Rule {
    fn compile(number: usize, rule: &FilterRule) -> Result<Self, FilterError> {
        let field = Field::parse(&rule.field).ok_or_else(|| FilterError::Field {
            rule: number,
            field: rule.field.clone(),
        })?;
        let value = match (&rule.value, rule.operator) {
            (Some(value), _) => value.as_str(),
            (None, FilterOperator::Exists) => "",
            (None, _) => return Err(FilterError::NoValue { rule: number }),
        };
        let comparison = Comparison::compile(rule.operator, value, rule.case_sensitive)
            .map_err(|source| FilterError::Expression { rule: number, source })?;
        Ok(Self { field, comparison })
    }

    /// A field that is missing fails, whatever the operator.
    fn matches(&self, event: &ArrivalEvent) -> bool {
        self.field.has(event, |value| self.comparison.matches(value))
    }
}

/// Whether a name is that of a field which rules can look at.
pub fn is_field(name: &str) -> bool {
    Field::parse(name).is_some()
}

/// Whether a webhook with this filter asks that SPF, DKIM and DMARC passed.
pub fn requires_auth(filter: Option<&FilterConfig>, default: bool) -> bool {
    filter.and_then(|filter| filter.require_auth).unwrap_or(default)
}

/// Whether a webhook with this filter is told of removals: nothing of the email is left for rules to look at.
pub fn matches_removals(filter: Option<&FilterConfig>, require_auth_default: bool) -> bool {
    filter.is_none_or(|filter| filter.rules.is_empty()) && !requires_auth(filter, require_auth_default)
}
