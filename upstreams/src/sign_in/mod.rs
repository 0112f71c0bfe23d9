//! Signed in to upstreams, and staying so: OAuth as auth.md has it, over the sans-I/O core of `ptc-oauth`.
//!
//! * [`Site`] — an upstream that is signed in to: [`begin`](Site::begin) and [`complete`](Site::complete) a sign-in with a
//!   browser, [`begin_device`](Site::begin_device) and [`finish_device`](Site::finish_device) one on another machine,
//!   [`sign_out`](Site::sign_out), and [`statuses`](Site::statuses) without the network.
//! * [`SignInContext`] — shared by all of them: the [store], the clock, the redactor, the HTTP client.
//! * [`SignInError`] — why it failed, with the codes and texts of auth.md 16.
//!
//! Transports take a token for each request from the sign-in of their principal, which renews it in time.

mod owner_hash;
pub mod store;

mod bearer;
mod begin;
mod counts;
mod device;
mod errand;
mod fault;
pub(crate) mod fetch;
mod principals;
mod probe;
mod records;
mod sign_in_news;
mod sign_in_wait;
mod site;
mod status;

pub use bearer::{SignIn, Ticket};
pub use begin::{SignInStart, SignedIn};
pub use counts::SignInCounts;
pub use device::DeviceSignIn;
pub use fault::SignInError;
pub(crate) use fault::TokenError;
pub use principals::{NextStep, PROCESS};
pub(crate) use probe::challenge;
pub use site::{SignInContext, Site, document_address, redirect_address};
pub use status::{SignInStatus, SignedOut};

/// The core's types in this interface: callbacks, secrets, failures.
pub use ptc_oauth::registration::client_document;
pub use ptc_oauth::{callback, failure, secret};
