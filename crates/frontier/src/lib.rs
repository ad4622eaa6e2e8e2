//! What to visit next.
