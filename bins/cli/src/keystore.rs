//! The inboxes that this user knows, with their keys.
