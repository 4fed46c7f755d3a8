//! Results of email authentication (RFC 8601; interface, `AuthResults`).

use serde::{Deserialize, Serialize};

/// All results for one email in one inbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthResults {
    /// Sender Policy Framework (RFC 7208).
    pub spf: SpfResult,
    /// One entry a signature (RFC 6376), never empty.
    pub dkim: Vec<DkimResult>,
    /// DMARC (RFC 9989).
    pub dmarc: DmarcResult,
    /// `iprev` (RFC 8601 section 2.7.3).
    pub reverse_dns: ReverseDnsResult,
}

impl AuthResults {
    /// The results of an email that was not checked.
    pub fn skipped() -> Self {
        Self {
            spf: SpfResult {
                result: SpfVerdict::Skipped,
                domain: None,
                ip: None,
                details: None,
            },
            dkim: vec![DkimResult {
                result: Verdict::Skipped,
                domain: None,
                selector: None,
                signature: None,
                details: None,
            }],
            dmarc: DmarcResult {
                result: Verdict::Skipped,
                policy: None,
                aligned: None,
                domain: None,
                details: None,
            },
            reverse_dns: ReverseDnsResult {
                result: Verdict::Skipped,
                verified: None,
                ip: None,
                hostname: None,
                details: None,
            },
        }
    }
}

/// The verdict of SPF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the words of RFC 7208 section 2.6")]
pub enum SpfVerdict {
    Pass,
    Fail,
    Softfail,
    Neutral,
    None,
    Temperror,
    Permerror,
    Skipped,
}

impl SpfVerdict {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Softfail => "softfail",
            Self::Neutral => "neutral",
            Self::None => "none",
            Self::Temperror => "temperror",
            Self::Permerror => "permerror",
            Self::Skipped => "skipped",
        }
    }
}

/// The verdict of DKIM, DMARC and reverse DNS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the words of the interface")]
pub enum Verdict {
    Pass,
    Fail,
    None,
    Skipped,
}

impl Verdict {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::None => "none",
            Self::Skipped => "skipped",
        }
    }
}

/// What a DMARC record asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the words of RFC 9989 section 4.7")]
pub enum DmarcPolicy {
    None,
    Quarantine,
    Reject,
}

/// The result of SPF.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpfResult {
    /// The verdict.
    pub result: SpfVerdict,
    /// The domain whose policy was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// The client's address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip: Option<String>,
    /// Why, for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
}

/// The result of one DKIM signature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DkimResult {
    /// The verdict.
    pub result: Verdict,
    /// The signing domain (`d=`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// The selector (`s=`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// The signature (`b=`) without white space.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// Why, for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
}

/// The result of DMARC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DmarcResult {
    /// The verdict.
    pub result: Verdict,
    /// The policy of the domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<DmarcPolicy>,
    /// Whether SPF or DKIM passed for an aligned domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aligned: Option<bool>,
    /// The domain of the From header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// Why, for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
}

/// The result of the reverse DNS check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReverseDnsResult {
    /// The verdict.
    pub result: Verdict,
    /// Whether it passed; shown in the `vaultsandbox` profile only (decisions, section 1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<bool>,
    /// The client's address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip: Option<String>,
    /// The name that the address points to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// Why, for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
}
