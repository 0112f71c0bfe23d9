//! Requests for tokens, and their answers.
//!
//! [`GrantContext`] makes the requests of one step, and [`read`] reads their answers. The grants of several steps are
//! [`DeviceAuthorization`] with [`Polling`], and [`IdJag`].

mod answer;
mod device;
mod id_jag;
mod request;

pub(crate) use answer::successful;
pub use answer::{GrantError, TokenAnswer, read};
pub use device::{DeviceAuthorization, Poll, Polling};
pub use id_jag::{IdJag, IdJagFlow, Subject, SubjectTokenType};
pub use request::{GrantContext, TokenKind};
