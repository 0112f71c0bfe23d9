//! The compiler and the machine together: what programs give, refuse, cost, and become as bytes.

mod clojure_forms;
mod collections;
mod deadline;
mod endless;
mod generated;
mod identity;
mod kept_programs;
mod keywords;
mod lists;
mod messages;
mod nil_origins;
mod pages;
mod patterns;
mod programs;
mod queues;
mod refusals;
mod sequences;
mod sizes;
mod snapshot_damage;
mod snapshots;
mod support;
mod suspension;
mod tools;
