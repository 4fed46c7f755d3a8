//! Webhooks (docs/spec/interface.md, "Webhook", "Events", "Limits"; docs/spec/decisions.md, section 7).
