//! Answers that come page by page: what of a page says that there is more, and which argument of the tool asks for it.
//!
//! The names are those of public APIs: cursors and tokens, the id of the last item, offsets and totals, numbers of pages,
//! addresses of the next page, and flags, in the page itself or in maps around its items (functions.md 32, decision 184).
//!
//! * [`Parameters`] — what a tool takes; [`Sent`] — what of that a call gave.
//! * [`Page`] — a page that was read: where its items lie, and what it says.
//! * [`Next`] — what comes next.
//! * [`Standing`] — the same for whoever tells a reader of an answer that it is not all.

mod address;
mod names;
mod next;
mod page;
mod parameters;
mod signs;
mod standing;

pub use names::Role;
pub(crate) use next::{Next, next, pairs};
pub(crate) use page::{Page, is_list};
pub use parameters::{Kind, Parameter, Parameters, Scalar, Sent};
pub use standing::{Asked, More, Standing, Way};
