//! Long random runs of a server's queues with a manual clock. The seed determines every event.

mod fairness;
mod random_run;
