//! Questions to people that a program waits for, and their answers (waiting.md 3).
//!
//! * [`Question`], [`Answer`] — a question to a person and the answer; the engine collects them (`engine::asking`).
//! * [`PendingQuestion`] — a question that waits, with what was answered so far; all channels hand answers in here.
//! * [`Form`] — the fields to fill in.
//! * [`Level`] — how independent of the model an answer must be.
//! * [`approval`] — the question before a call that policy does not admit by itself.

mod answer;
#[cfg(feature = "seals")]
pub mod approval;
mod argument_rows;
mod arguments_digest;
mod form;
mod pending;
mod question;

pub use answer::{Action, Answer, AnsweredBy, Channel, Unanswered};
pub use argument_rows::{ArgumentRow, argument_rows};
pub use arguments_digest::ArgumentsDigest;
pub use form::{Choice, Field, Form, FormDialect, FormFault, Length, Range, StringFormat, Wanted};
pub use pending::{NOT_SIGNED_IN, PendingQuestion, Receipt};
pub use question::{
    AskedCall, AskedPage, Level, MAX_ASKED_BYTES, MAX_CALLS, MAX_SHOWN, Mode, Question, QuestionId,
    QuestionKind,
};
