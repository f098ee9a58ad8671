//! Claims about clients.
