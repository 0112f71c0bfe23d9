//! Answers that come page by page: the signs in a page that there is more, and the argument of the tool that requests it.
//!
//! The names are those of public APIs: cursors and tokens, the id of the last item, offsets and totals, numbers of pages,
//! addresses of the next page, and flags, in the page itself or in maps around its items (functions.md 32, decision 184).
//!
//! * [`Parameters`] — a tool's parameters; [`PageArguments`] — a call's arguments for them.
//! * [`Page`] — a page that was read: the place of its items, and its signs.
//! * [`NextPage`] — the next page.
//! * [`Standing`] — the same for notes to a reader of an answer that is not complete.

mod address;
mod names;
mod next;
mod page;
mod parameters;
mod signs;
mod standing;

pub use names::Role;
pub(crate) use next::{NextPage, next, pairs};
pub(crate) use page::{Page, is_list};
pub use parameters::{PageArguments, Parameter, ParameterKind, Parameters, Scalar};
pub use standing::{CallFacts, More, RestMethod, Standing};
