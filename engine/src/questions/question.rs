//! Questions and tasks for a person before a program continues (waiting.md 3).

use super::arguments_digest::ArgumentsDigest;
use super::form::Form;
use ptc_base::visible::visible_line;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// The most calls that one question is about (waiting.md 3.3).
pub const MAX_CALLS: usize = 10;

/// The longest arguments, in characters, that a question shows whole. Longer ones have a question of their own, which shows as
/// much of them: their beginning and their end.
pub const MAX_SHOWN: usize = 2_000;

/// The longest arguments, in bytes, that a question may show: more than a person can judge in any case.
pub const MAX_ASKED_BYTES: usize = 256 << 10;

/// The origin of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum QuestionKind {
    /// The program asks: `(ask …)`.
    Ask,
    /// An upstream server asks before it answers a call.
    Upstream,
    /// The operator's policy wants a call to be approved.
    Approval,
    /// There is no sign-in to an upstream on behalf of the principal.
    SignIn,
}

impl QuestionKind {
    /// All of them.
    pub const ALL: [QuestionKind; 4] =
        [QuestionKind::Ask, QuestionKind::Upstream, QuestionKind::Approval, QuestionKind::SignIn];

    /// The word for it in results.
    pub const fn as_str(self) -> &'static str {
        match self {
            QuestionKind::Ask => "ask",
            QuestionKind::Upstream => "upstream",
            QuestionKind::Approval => "approval",
            QuestionKind::SignIn => "sign_in",
        }
    }
}

/// The channels that may answer an approval (waiting.md 3.5): how independent of the model the answer must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Level {
    /// Any channel, the model's own word included. Questions that are no approvals have this level.
    Model,
    /// The client, by means that do not go through the model; the console; the webhook.
    #[default]
    Client,
    /// The console and the webhook alone.
    OutOfBand,
}

impl Level {
    /// All levels, from the weakest to the strongest.
    pub const ALL: [Level; 3] = [Self::Model, Self::Client, Self::OutOfBand];

    /// The level's word in files, records and answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Client => "client",
            Self::OutOfBand => "out_of_band",
        }
    }

    /// The level of that word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == word)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// How it is answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Mode {
    /// By filling in a form.
    Form(Form),
    /// By doing something on a page, whose address this is.
    Url(Box<str>),
}

/// A call that waits for approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedCall {
    /// The tool as its upstream lists it.
    pub tool: Box<str>,
    /// The exact arguments: the text of a JSON object.
    pub arguments: Box<str>,
    /// The digest of the arguments as they are sent.
    pub digest: ArgumentsDigest,
}

impl AskedCall {
    /// Whether its arguments are too long to be shown among others.
    #[must_use]
    pub fn is_long(&self) -> bool {
        self.arguments.chars().nth(MAX_SHOWN).is_some()
    }
}

/// A task for a person on a page whose completion another party reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedPage {
    /// The upstream.
    pub upstream: Arc<str>,
    /// The binding of the question: for a sign-in the principal, the upstream, and the sign-in that failed.
    pub binding: [u8; 32],
    /// Whether it is a sign-in, whose completion the store of sign-ins shows. Otherwise the upstream itself may announce it.
    pub is_sign_in: bool,
}

/// One question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Its origin.
    pub kind: QuestionKind,
    /// The text that is shown, with its author in front.
    pub message: String,
    /// How it is answered.
    pub mode: Mode,
    /// Whose answer is enough.
    pub level: Level,
    /// The upstream that it is about.
    pub upstream: Option<Arc<str>>,
    /// The calls that are to be approved.
    pub calls: Vec<AskedCall>,
    /// The revision of the policy that wants approval, in hex digits; empty for other kinds.
    pub policy_revision: String,
    /// The binding of the answer: a digest of everything that it answers. An answer counts only for a question of the same
    /// binding.
    pub binding: [u8; 32],
}

impl Question {
    /// Whether it can be asked together with others: all arguments of its calls are shown in its message.
    pub(crate) fn is_shown_whole(&self) -> bool {
        !self.calls.iter().any(AskedCall::is_long)
    }

    /// The page of the question, if another party may report its completion.
    pub fn page(&self) -> Option<AskedPage> {
        let is_sign_in = match (self.kind, &self.mode) {
            (QuestionKind::SignIn, _) => true,
            (QuestionKind::Upstream, Mode::Url(_)) => false,
            _ => return None,
        };
        Some(AskedPage { upstream: self.upstream.clone()?, binding: self.binding, is_sign_in })
    }

    /// One question for several calls: of one tool that wait for approval, or of one upstream that wait for its sign-in. One
    /// answer is the answer for all of them.
    ///
    /// # Panics
    /// If there is none.
    pub(crate) fn together(questions: &[&Question]) -> Question {
        let first = questions.first().copied().expect("there are several");
        if questions.len() == 1 || first.kind != QuestionKind::Approval {
            return first.clone();
        }
        let calls: Vec<AskedCall> = questions.iter().flat_map(|question| question.calls.clone()).collect();
        let shown = calls.iter().map(|call| visible_line(&call.arguments).into_owned());
        let tool = calls.first().map_or("", |call| &*call.tool);
        let message = allow(first.upstream.as_deref().unwrap_or_default(), tool, shown);
        Question { message, calls, ..first.clone() }
    }
}

/// The text that requests approval of calls of one tool: who would do what, and each call as it is `shown`.
pub(super) fn allow(upstream: &str, tool: &str, shown: impl ExactSizeIterator<Item = String>) -> String {
    let (upstream, tool) = (visible_line(upstream), visible_line(tool));
    let mut text = format!("Allow {} call(s) of {tool} at {upstream}?", shown.len());
    for call in shown {
        text.push('\n');
        text.push_str(&call);
    }
    text
}

/// Number of a question within its run. It is never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32")]
pub struct QuestionId(u32);

impl QuestionId {
    /// The question of that number, from 1.
    pub const fn new(number: u32) -> QuestionId {
        QuestionId(number)
    }

    /// Its number.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// Reads `q1`.
    pub fn parse(text: &str) -> Option<QuestionId> {
        let digits = text.strip_prefix('q')?;
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
        digits.parse().ok().filter(|_| is_number).map(QuestionId)
    }
}

impl TryFrom<u32> for QuestionId {
    type Error = &'static str;

    fn try_from(number: u32) -> Result<QuestionId, &'static str> {
        if number > 0 { Ok(QuestionId(number)) } else { Err("questions are counted from 1") }
    }
}

impl fmt::Display for QuestionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "q{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_is_written() {
        for number in [1, 9, 10, 4_000_000_000] {
            let id = QuestionId::new(number);
            assert_eq!(QuestionId::parse(&id.to_string()), Some(id));
        }
        for wrong in ["", "q", "1", "q0", "q01", "Q1", "q1 ", "q-1", "q+1", "q4294967296", "q1x"] {
            assert_eq!(QuestionId::parse(wrong), None, "{wrong}");
        }
    }
}
