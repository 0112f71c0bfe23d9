//! Answers that come page by page: the signs in a page that there is more, and the argument of the tool that requests it.
//!
//! The names are those of public APIs: cursors and tokens, the id of the last item, offsets and totals, numbers of pages,
//! addresses of the next page, and flags, in the page itself or in maps around its items (functions.md 32, decision 184).
//!
//! * [`Parameters`] — a tool's parameters; [`Sent`] — a call's arguments for them.
//! * [`Page`] — a page that was read: the place of its items, and its signs.
//! * [`Next`] — the next page.
//! * [`Standing`] — the same for notes to a reader of an answer that is not complete.

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
