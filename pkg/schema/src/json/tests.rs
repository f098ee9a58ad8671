//! What the decoder takes, and what it says about what it refuses.
