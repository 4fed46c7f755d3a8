//! Reading paths and query strings.

use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::error::ApiError;

/// Rows of a page, at most.
pub const LIMIT_MAX: usize = 1000;

/// The percent-decoded variable segments of a path.
pub(crate) struct Segments<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Segments<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let path = Path::<T>::from_request_parts(parts, state).await;
        path.map(|Path(segments)| Self(segments))
            .map_err(|_| ApiError::invalid("path must be percent-encoded UTF-8"))
    }
}

/// The query string; parameters that nobody asks for are ignored.
pub(crate) struct Parameters(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for Parameters {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        let query = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
        query
            .map(|Query(pairs)| Self(pairs))
            .map_err(|_| ApiError::invalid("query must be percent-encoded UTF-8"))
    }
}

impl Parameters {
    /// The value of a parameter; the last one if it is repeated.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .rev()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// `limit`: 1 to 1000.
    ///
    /// # Errors
    /// 400 for anything else.
    pub(crate) fn limit(&self) -> Result<Option<usize>, ApiError> {
        let Some(text) = self.value("limit") else {
            return Ok(None);
        };
        let limit = text.parse().ok().filter(|limit| (1..=LIMIT_MAX).contains(limit));
        limit
            .map(Some)
            .ok_or_else(|| ApiError::invalid(format!("limit must be a number from 1 to {LIMIT_MAX}")))
    }

    /// A parameter that is `true` or `false`, and `false` when absent.
    ///
    /// # Errors
    /// 400 for anything else.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, ApiError> {
        match self.value(name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(ApiError::invalid(format!("{name} must be true or false"))),
        }
    }

    /// A parameter of a type that is read from text.
    ///
    /// # Errors
    /// 400 with what was expected.
    pub(crate) fn parsed<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, ApiError>
    where
        T::Err: std::fmt::Display,
    {
        let read = |text: &str| {
            text.parse()
                .map_err(|error| ApiError::invalid(format!("{name}: {error}")))
        };
        self.value(name).map(read).transpose()
    }
}
