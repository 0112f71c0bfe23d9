//! Why a waiting call continues without an answer, as its program reads it (waiting.md 3.1).

use super::answer::Action;

/// The reason for a missing answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// The person declined.
    Declined,
    /// The person dismissed the question.
    Dismissed,
    /// There is no way to ask.
    Unanswerable,
    /// The program has asked more than it may.
    TooMany,
}

impl Unanswered {
    /// The reason that an action without an answer stands for.
    pub fn of(action: Action) -> Option<Unanswered> {
        match action {
            Action::Accept => None,
            Action::Decline => Some(Unanswered::Declined),
            Action::Cancel => Some(Unanswered::Dismissed),
        }
    }

    /// The `:reason` that a program gets.
    pub const fn reason(self) -> &'static str {
        match self {
            Unanswered::Declined => "declined",
            Unanswered::Dismissed | Unanswered::TooMany => "cancelled",
            Unanswered::Unanswerable => "unanswerable",
        }
    }

    /// The first line of its `:message`.
    pub const fn text(self) -> &'static str {
        match self {
            Unanswered::Declined => "the question was declined",
            Unanswered::Dismissed => "the question was dismissed",
            Unanswered::Unanswerable => "nobody can be asked here",
            Unanswered::TooMany => {
                "the program has asked more questions than it may (flag `--max-questions-per-program`)"
            }
        }
    }
}
