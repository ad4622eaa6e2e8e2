//! The guarded HTTP client.
