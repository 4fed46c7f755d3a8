//! Reading an exported inbox: the rules of the interface in their order.

/// Which rule an export breaks (interface, "Exported inbox data").
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The text is not JSON, or not an object.
    #[error("the export is not a JSON object: {0}")]
    Json(String),
}
