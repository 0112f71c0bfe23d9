//! A stored question of a run, and who may answer it (waiting.md 3.5).

use std::sync::Arc;

use ptc_host::digest::hex;
use ptc_host::questions::{
    Action, Answer, AnsweredBy, ArgumentsDigest, AskedCall, Channel, Form, FormDialect, Level, Mode,
    OpenQuestion, Question, QuestionId, QuestionKind,
};
use ptc_mcp::json::Raw;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::answers::{Judged, MOST_FAULTS, NOT_SIGNED_IN, judged};

/// A question of a run that waits.
#[derive(Clone, Debug)]
pub(crate) struct KeptQuestion {
    /// Its id.
    pub(crate) id: QuestionId,
    /// The question itself.
    pub(crate) question: Question,
    /// Why the last answer did not fit.
    pub(crate) fault: Option<String>,
    /// Its answer.
    pub(crate) answer: Option<Answer>,
    /// How many answers did not fit.
    faults: u8,
}

/// The result of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Took {
    /// The answer counts.
    Counted,
    /// The answer does not fit the form, and the question stays open.
    Misfit(String),
    /// The question requires an answer through another channel.
    NotHere,
    /// The question was answered before.
    AlreadyAnswered,
    /// The run has no such open question.
    NotOpen,
    /// The message is no answer: its action is missing or unknown, or a member occurs twice.
    NoAnswer,
}

impl KeptQuestion {
    /// The question, with no answer yet.
    pub(super) fn new(open: &OpenQuestion) -> KeptQuestion {
        KeptQuestion { id: open.id, question: open.question.clone(), fault: None, answer: None, faults: 0 }
    }

    /// Takes an `accept` that reports only an opened page, although nothing was done there. It does not fit, and
    /// counts after too many misfits.
    pub(super) fn take_undone(&mut self, sent: Raw<'_>, by: &AnsweredBy, at_ms: u64) -> Took {
        let is_open = self.answer.is_none() && is_enough(by.channel, &self.question);
        if !is_open || self.faults >= MOST_FAULTS {
            return self.take(sent, by, at_ms);
        }
        self.faults += 1;
        self.fault = Some(NOT_SIGNED_IN.to_owned());
        Took::Misfit(NOT_SIGNED_IN.to_owned())
    }

    /// Takes an `ElicitResult` as sent.
    pub(super) fn take(&mut self, sent: Raw<'_>, by: &AnsweredBy, at_ms: u64) -> Took {
        if self.answer.is_some() {
            return Took::AlreadyAnswered;
        }
        if !is_enough(by.channel, &self.question) {
            return Took::NotHere;
        }
        match judged(sent, &self.question.mode, self.faults, by, at_ms) {
            Judged::Answer(answer) => {
                (self.answer, self.fault) = (Some(answer), None);
                Took::Counted
            }
            Judged::Fault(fault) => {
                self.faults += 1;
                self.fault = Some(fault.clone());
                Took::Misfit(fault)
            }
            Judged::NoAnswer => Took::NoAnswer,
        }
    }
}

/// True if this channel may answer the question.
pub(crate) fn is_enough(channel: Channel, question: &Question) -> bool {
    match channel {
        // The model's own word, and an answer of its client, which passes through no hands but the model's.
        Channel::Model => question.kind != QuestionKind::Approval || question.level == Level::Model,
        Channel::Client => question.level != Level::OutOfBand,
        Channel::Console | Channel::Webhook | Channel::Terminal | Channel::Embedder | Channel::Page => true,
    }
}

/// The form of a question in a record.
#[derive(Serialize, Deserialize)]
struct Written {
    id: u32,
    kind: String,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    form: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    level: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    upstream: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    calls: Vec<WrittenCall>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    policy_revision: String,
    binding: String,
    #[serde(default)]
    faults: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<WrittenAnswer>,
}

#[derive(Serialize, Deserialize)]
struct WrittenCall {
    tool: String,
    arguments: String,
    digest: String,
}

#[derive(Serialize, Deserialize)]
struct WrittenAnswer {
    action: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<Box<RawValue>>,
    channel: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    at_ms: u64,
}

impl Serialize for KeptQuestion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let question = &self.question;
        let (form, url) = match &question.mode {
            Mode::Form(form) => (RawValue::from_string(form.to_json(FormDialect::Current)).ok(), None),
            Mode::Url(url) => (None, Some(url.to_string())),
        };
        let call = |call: &AskedCall| WrittenCall {
            tool: call.tool.to_string(),
            arguments: call.arguments.to_string(),
            digest: call.digest.to_string(),
        };
        let answer = |answer: &Answer| WrittenAnswer {
            action: answer.action.as_str().to_owned(),
            content: answer.content.clone(),
            channel: answer.by.channel.as_str().to_owned(),
            name: answer.by.name.as_deref().map(str::to_owned),
            at_ms: answer.at_ms,
        };
        let written = Written {
            id: self.id.number(),
            kind: question.kind.as_str().to_owned(),
            message: question.message.clone(),
            form,
            url,
            level: question.level.as_str().to_owned(),
            upstream: question.upstream.as_deref().map(str::to_owned),
            calls: question.calls.iter().map(call).collect(),
            policy_revision: question.policy_revision.clone(),
            binding: hex(&question.binding),
            faults: self.faults,
            fault: self.fault.clone(),
            answer: self.answer.as_ref().map(answer),
        };
        written.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for KeptQuestion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<KeptQuestion, D::Error> {
        let written = Written::deserialize(deserializer)?;
        written.read().ok_or_else(|| D::Error::custom("no question of ours"))
    }
}

impl Written {
    fn read(self) -> Option<KeptQuestion> {
        let mode = match (&self.form, self.url) {
            (Some(form), None) => Mode::Form(Form::parse(form.get()).ok()?),
            (None, Some(url)) => Mode::Url(url.into()),
            _ => return None,
        };
        let call = |call: WrittenCall| {
            let digest = ArgumentsDigest::parse(&call.digest)?;
            Some(AskedCall { tool: call.tool.into(), arguments: call.arguments.into(), digest })
        };
        let answer = |answer: WrittenAnswer| {
            let channel = Channel::ALL.into_iter().find(|channel| channel.as_str() == answer.channel)?;
            Some(Answer {
                action: Action::from_name(&answer.action)?,
                content: answer.content,
                by: AnsweredBy { channel, name: answer.name.map(Arc::from) },
                at_ms: answer.at_ms,
            })
        };
        let answer = match self.answer {
            Some(written) => Some(answer(written)?),
            None => None,
        };
        Some(KeptQuestion {
            id: Some(self.id).filter(|id| *id > 0).map(QuestionId::new)?,
            question: Question {
                kind: QuestionKind::ALL.into_iter().find(|kind| kind.as_str() == self.kind)?,
                message: self.message,
                mode,
                level: Level::from_word(&self.level)?,
                upstream: self.upstream.map(Arc::from),
                calls: self.calls.into_iter().map(call).collect::<Option<_>>()?,
                policy_revision: self.policy_revision,
                binding: digest(&self.binding)?,
            },
            fault: self.fault,
            answer,
            faults: self.faults,
        })
    }
}

fn digest(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 2 * bytes.len() || !text.is_ascii() {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A yes-or-no question of that kind and level.
    pub(in crate::runs) fn question(number: u32, kind: QuestionKind, level: Level) -> OpenQuestion {
        let digest = ArgumentsDigest::Sent([7; 32]);
        let call = AskedCall { tool: "move_file".into(), arguments: "{\"a\":1}".into(), digest };
        let question = Question {
            kind,
            message: "Allow?".into(),
            mode: Mode::Form(Form::yes_or_no()),
            level,
            upstream: Some("files".into()),
            calls: vec![call],
            policy_revision: "ab".into(),
            binding: [0xfe; 32],
        };
        OpenQuestion { id: QuestionId::new(number), question }
    }

    fn by(channel: Channel) -> AnsweredBy {
        AnsweredBy { channel, name: Some("ada".into()) }
    }

    const ACCEPT: &str = r#"{"action":"accept","content":{}}"#;

    #[test]
    fn a_question_is_json_and_back() {
        let open = question(3, QuestionKind::Approval, Level::OutOfBand);
        let mut kept = KeptQuestion::new(&open);
        let misfit =
            kept.take(Raw::parse(r#"{"action":"accept","content":7}"#).unwrap(), &by(Channel::Console), 5);
        assert!(matches!(misfit, Took::Misfit(_)), "{misfit:?}");
        for answered in [false, true] {
            if answered {
                assert_eq!(kept.take(Raw::parse(ACCEPT).unwrap(), &by(Channel::Webhook), 6), Took::Counted);
            }
            let text = serde_json::to_string(&kept).unwrap();
            let back: KeptQuestion = serde_json::from_str(&text).unwrap();
            assert_eq!((back.id, &back.question, &back.fault), (kept.id, &kept.question, &kept.fault));
            assert_eq!(serde_json::to_string(&back).unwrap(), text);
            assert_eq!(back.answer.is_some(), answered);
        }
        let text = serde_json::to_string(&kept).unwrap();
        for (from, to) in [
            ("\"id\":3", "\"id\":0"),
            ("approval", "aproval"),
            ("fefe", "fexx"),
            ("fefe", "fe"),
            ("webhook", "x"),
        ] {
            let damaged = text.replacen(from, to, 1);
            assert!(serde_json::from_str::<KeptQuestion>(&damaged).is_err(), "{damaged}");
        }
    }

    #[test]
    fn nobody_says_more_than_they_may() {
        use Channel::{Client, Console, Model, Webhook};
        for (kind, level, enough) in [
            (QuestionKind::Ask, Level::Model, [true, true, true, true]),
            (QuestionKind::Upstream, Level::Model, [true, true, true, true]),
            (QuestionKind::Approval, Level::Model, [true, true, true, true]),
            (QuestionKind::Approval, Level::Client, [false, true, true, true]),
            (QuestionKind::SignIn, Level::Model, [true, true, true, true]),
            (QuestionKind::Approval, Level::OutOfBand, [false, false, true, true]),
        ] {
            let open = question(1, kind, level);
            let can = [Model, Client, Console, Webhook].map(|channel| {
                let took = KeptQuestion::new(&open).take(Raw::parse(ACCEPT).unwrap(), &by(channel), 1);
                assert!(matches!(took, Took::Counted | Took::NotHere), "{took:?}");
                took == Took::Counted
            });
            assert_eq!(can, enough, "{kind:?} {level:?}");
        }
    }

    #[test]
    fn a_page_that_was_only_opened_is_no_answer_three_times() {
        let mut open = question(1, QuestionKind::SignIn, Level::Model);
        open.question.mode = Mode::Url("https://ptc.example/oauth/start?upstream=u".into());
        let mut kept = KeptQuestion::new(&open);
        let accept = Raw::parse(r#"{"action":"accept"}"#).unwrap();
        for _ in 0..MOST_FAULTS {
            let took = kept.take_undone(accept, &by(Channel::Model), 1);
            assert_eq!(took, Took::Misfit("nobody has signed in yet".into()));
            let written = serde_json::to_string(&kept).unwrap();
            kept = serde_json::from_str(&written).unwrap();
            assert_eq!(kept.question, open.question);
        }
        assert_eq!(kept.take_undone(accept, &by(Channel::Model), 2), Took::Counted);
        assert_eq!(kept.take_undone(accept, &by(Channel::Model), 3), Took::AlreadyAnswered);
    }

    #[test]
    fn the_first_answer_counts() {
        let mut kept = KeptQuestion::new(&question(1, QuestionKind::Ask, Level::Model));
        let sent = |text| Raw::parse(text).unwrap();
        assert_eq!(kept.take(sent(r#"{"action":"maybe"}"#), &by(Channel::Model), 1), Took::NoAnswer);
        assert_eq!(kept.take(sent(r#"{"action":"decline"}"#), &by(Channel::Model), 2), Took::Counted);
        assert_eq!(kept.take(sent(ACCEPT), &by(Channel::Console), 3), Took::AlreadyAnswered);
        assert_eq!(kept.answer.unwrap().at_ms, 2);
    }
}
