//! The aggregator: one runtime that owns all configured upstreams and answers programs' requests.
//!
//! [`Aggregator::start`] turns a checked configuration into running upstreams and a catalog. Programs reach it through
//! [`HostCalls`](ptc_engine::HostCalls): `tool/call` and the discovery forms. World faults are returned as data; a
//! defect of the program is an error (upstreams.md 1).

mod approval;
mod attempt;
mod audit;
mod call;
mod call_watch;
mod caller;
mod cold_start;
mod configured_upstream;
mod current_tools;
mod current_upstreams;
mod discovery;
mod features;
mod idle_patterns;
mod input;
mod input_progress;
mod list_cache;
mod notes;
mod notes_on_pages;
mod options;
mod outside_calls;
mod overview;
mod own_lists;
mod page_keys;
mod program_fault;
mod rate;
mod read_pins;
mod reported_roots;
mod requests;
mod runtime;
mod sampler;
mod sampling;
mod seen_shapes;
mod shape_file;
mod sign_in;
mod start;
mod task;
mod upkeep;
mod usage;
mod view;

pub use audit::{AuditedCall, AuditedDenial, AuditedSampling, AuditedSignIn, CallAudit, DenialReason};
pub use call_watch::{CallWatch, SentCall};
pub use current_upstreams::{CurrentUpstreams, UpstreamChanges};
pub use features::{FeatureKind, Features, Listing};
pub use list_cache::ListCache;
pub use notes::{note_on_failures, notes, notes_on_calls};
pub use options::{AggregatorLimits, AggregatorOptions, SnapshotMode};
pub use page_keys::sent_pages;
pub use runtime::Aggregator;
pub use sampler::Sampler;
pub use sampler::SamplingCounts;
pub use start::StartError;
pub use usage::count_call;
pub use view::View;
