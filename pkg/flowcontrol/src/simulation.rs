//! Long random lives of a server's queues, on a clock that is moved by hand. A seed says everything that happens.

mod fairness;
mod random_run;
