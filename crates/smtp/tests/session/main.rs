//! The session as its driver sees it: dialogues and properties.

mod dialogues;
mod outside;
mod properties;
