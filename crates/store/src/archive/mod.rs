//! The field's formats, in and out.
