//! What a spam filter said of an email.
//!
//! Field order is the order of the JSON. Source: interface additions, "Spam analysis".

use serde::{Deserialize, Serialize};

/// The outcome of an analysis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum SpamAnalysis {
    /// It was not asked for.
    Skipped {
        /// Why.
        info: String,
    },
    /// The filter answered.
    Analyzed(SpamScore),
    /// The filter did not answer; the email is stored all the same.
    #[serde(rename_all = "camelCase")]
    Error {
        /// What happened.
        info: String,
        /// How long it took, in milliseconds.
        processing_time_ms: u64,
    },
}

impl SpamAnalysis {
    /// Of an email that no analysis was asked for.
    pub fn skipped(why: &str) -> Self {
        Self::Skipped { info: why.to_owned() }
    }
}

/// Nothing is known of an analysis.
impl Default for SpamAnalysis {
    fn default() -> Self {
        Self::skipped("Spam analysis was not asked for")
    }
}

/// What the filter said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SpamScore {
    /// The sum of the scores of all symbols: the higher, the more likely spam.
    pub score: f64,
    /// The score from which the filter takes mail for spam.
    pub required_score: f64,
    /// What the filter would do, for example `no action` or `reject`.
    pub action: String,
    /// Whether the score is at least the required one.
    pub is_spam: bool,
    /// What the filter found.
    pub symbols: Vec<SpamSymbol>,
    /// How long it took, in milliseconds.
    pub processing_time_ms: u64,
}

/// One finding of the filter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpamSymbol {
    /// For example `GTUBE`.
    pub name: String,
    /// What it adds to the score.
    pub score: f64,
    /// What it means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What exactly was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<String>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_tells_the_outcomes_apart() {
        let skipped = r#"{"status":"skipped","info":"off"}"#;
        assert_eq!(serde_json::to_string(&SpamAnalysis::skipped("off")).unwrap(), skipped);
        let error = r#"{"status":"error","info":"away","processingTimeMs":7}"#;
        let read: SpamAnalysis = serde_json::from_str(error).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), error);
        let analyzed = r#"{"status":"analyzed","score":1.5,"requiredScore":15.0,"action":"no action","isSpam":false,"symbols":[{"name":"A","score":1.5}],"processingTimeMs":3}"#;
        let read: SpamAnalysis = serde_json::from_str(analyzed).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), analyzed);
    }
}
