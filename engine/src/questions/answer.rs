//! A person's answer, and its channel (waiting.md 3.5).

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::sync::Arc;

/// The reaction to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Action {
    /// It was answered.
    Accept,
    /// No.
    Decline,
    /// It was dismissed without an answer.
    Cancel,
}

impl Action {
    /// All of them.
    pub const ALL: [Action; 3] = [Action::Accept, Action::Decline, Action::Cancel];

    /// The word for it in MCP.
    pub const fn as_str(self) -> &'static str {
        match self {
            Action::Accept => "accept",
            Action::Decline => "decline",
            Action::Cancel => "cancel",
        }
    }

    /// The action of that name.
    pub fn from_name(name: &str) -> Option<Action> {
        Action::ALL.into_iter().find(|action| action.as_str() == name)
    }
}

/// The channel of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Channel {
    /// `lisp_resume`: the model's word.
    Model,
    /// The client: `inputResponses`, `tasks/update`, the reply to `elicitation/create`.
    Client,
    /// The console.
    Console,
    /// The webhook.
    Webhook,
    /// The terminal where the program runs.
    Terminal,
    /// The program that embeds the engine.
    Embedder,
    /// The page itself: completing it answers the question.
    Page,
}

impl Channel {
    /// All of them.
    pub const ALL: [Channel; 7] = [
        Channel::Model,
        Channel::Client,
        Channel::Console,
        Channel::Webhook,
        Channel::Terminal,
        Channel::Embedder,
        Channel::Page,
    ];

    /// The word for it in the audit log.
    pub const fn as_str(self) -> &'static str {
        match self {
            Channel::Model => "lisp_resume",
            Channel::Client => "client",
            Channel::Console => "console",
            Channel::Webhook => "webhook",
            Channel::Terminal => "terminal",
            Channel::Embedder => "embedder",
            Channel::Page => "page",
        }
    }
}

/// The author of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnsweredBy {
    /// By which way.
    pub channel: Channel,
    /// Their name, as far as it is known: a principal, or a name that the webhook gave.
    pub name: Option<Arc<str>>,
}

/// The answer to a question.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// The reaction.
    pub action: Action,
    /// The filled-in form: a JSON object. The channel that took it has checked it against the question's form.
    #[serde(with = "json_text")]
    pub content: Option<Box<RawValue>>,
    /// The author.
    pub by: AnsweredBy,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
}

impl PartialEq for Answer {
    fn eq(&self, other: &Answer) -> bool {
        let [content, others] = [self, other].map(|answer| answer.content.as_deref().map(RawValue::get));
        (self.action, &self.by, self.at_ms, content) == (other.action, &other.by, other.at_ms, others)
    }
}

impl Answer {
    /// The answer to a question that was never shown.
    pub(crate) fn cancelled() -> Answer {
        let by = AnsweredBy { channel: Channel::Embedder, name: None };
        Answer { action: Action::Cancel, content: None, by, at_ms: 0 }
    }
}

/// Why a waiting call continues without an answer, as its program reads it (waiting.md 3.1).
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

/// JSON as a string, for codecs that are not JSON.
mod json_text {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::value::RawValue;

    pub(super) fn serialize<S: Serializer>(json: &Option<Box<RawValue>>, to: S) -> Result<S::Ok, S::Error> {
        json.as_deref().map(RawValue::get).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Box<RawValue>>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| RawValue::from_string(text).map_err(D::Error::custom)).transpose()
    }
}
