//! Why a call that waits for a person goes on without an answer, as its program is told (waiting.md 3.1).

use super::answer::Action;

/// Why there is no answer to go on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unanswered {
    /// Somebody said no.
    Declined,
    /// Somebody dismissed the question.
    Dismissed,
    /// Nobody can be asked.
    Unanswerable,
    /// The program has asked more than it may.
    TooMany,
}

impl Unanswered {
    /// What an action comes to that is no answer.
    pub(crate) fn of(action: Action) -> Option<Unanswered> {
        match action {
            Action::Accept => None,
            Action::Decline => Some(Unanswered::Declined),
            Action::Cancel => Some(Unanswered::Dismissed),
        }
    }

    /// The `:reason` that a program gets.
    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Unanswered::Declined => "declined",
            Unanswered::Dismissed | Unanswered::TooMany => "cancelled",
            Unanswered::Unanswerable => "unanswerable",
        }
    }

    /// The first line of its `:message`.
    pub(crate) const fn text(self) -> &'static str {
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
