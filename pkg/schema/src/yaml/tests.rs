//! YAML in and out.
