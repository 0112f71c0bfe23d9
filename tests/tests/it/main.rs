//! Tests of the whole product: real servers in processes of their own and in this one, with their clients, upstreams and stores.

mod access_tokens;
mod agent;
mod aggregation;
mod approvals;
mod changing_upstreams;
mod exposed;
mod faults;
mod features;
mod golden;
mod guidance;
mod hosted_servers;
mod insight;
mod limits;
mod listing;
mod many_upstreams;
mod memory_budget;
mod policy;
mod quotas;
mod remote;
mod replicas;
mod results;
mod slow_requests;
mod stepped_time;
mod task;
mod turns;
mod unasked;
