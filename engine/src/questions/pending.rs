//! A question that waits for its answer. Every channel shows it and hands answers in here (waiting.md 3.4 and 3.5).

use super::answer::{Action, Answer, AnsweredBy, Channel};
use super::question::{Level, Mode, Question, QuestionId, QuestionKind};
use ptc_mcp::json::{Kind, Raw, Value, from_str, repeated_key};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// How many times a question is asked again after answers that do not fit.
const MOST_FAULTS: u8 = 3;

/// The fault of an `accept` that reports only an opened page.
pub const NOT_SIGNED_IN: &str = "nobody has signed in yet";

/// A question that waits for its answer, or has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PendingQuestion {
    /// Its id.
    pub id: QuestionId,
    /// The question.
    pub question: Question,
    /// The fault of the last answer, which did not fit.
    pub fault: Option<String>,
    /// Its answer.
    pub answer: Option<Answer>,
    /// How many answers did not fit.
    faults: u8,
}

/// The result of handing in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Receipt {
    /// The answer counts.
    Counted,
    /// The answer does not fit the form, and the question stays open.
    Misfit(String),
    /// The question requires an answer through another channel.
    NotHere,
    /// The question was answered before.
    AlreadyAnswered,
    /// The program has no such open question.
    NotOpen,
    /// The message is no answer: its action is missing or unknown, or a member occurs twice.
    NoAnswer,
}

impl PendingQuestion {
    /// The question, with no answer yet.
    pub fn new(id: QuestionId, question: Question) -> PendingQuestion {
        PendingQuestion { id, question, fault: None, answer: None, faults: 0 }
    }

    /// Whether it has no answer yet.
    pub fn is_open(&self) -> bool {
        self.answer.is_none()
    }

    /// Takes an `ElicitResult` as it was sent.
    #[expect(clippy::disallowed_methods, reason = "entry point: PendingQuestion.take")]
    pub fn take(&mut self, sent: Raw<'_>, by: &AnsweredBy, at_ms: u64) -> Receipt {
        if !self.is_open() {
            return Receipt::AlreadyAnswered;
        }
        if !self.question.accepts(by.channel) {
            return Receipt::NotHere;
        }
        let Some((action, content)) = read_result(sent) else { return Receipt::NoAnswer };
        let (action, content) = match &self.question.mode {
            Mode::Form(form) if action == Action::Accept => {
                let fault = match from_str::<Value>(content) {
                    Ok(content) => form.check(&content).err(),
                    Err(_) => Some("the content is nested too deeply".to_owned()),
                };
                match (fault, RawValue::from_string(content.to_owned())) {
                    (None, Ok(content)) => (action, Some(content)),
                    (Some(fault), _) if self.faults < MOST_FAULTS => return self.misfit(fault),
                    // A question that was answered wrongly too often is cancelled.
                    _ => (Action::Cancel, None),
                }
            }
            _ => (action, None),
        };
        self.settle(Answer { action, content, by: by.clone(), at_ms })
    }

    /// Takes an `accept` that reports only an opened page, although nothing was done there. It does not fit, and counts after
    /// too many misfits.
    pub fn take_opened(&mut self, sent: Raw<'_>, by: &AnsweredBy, at_ms: u64) -> Receipt {
        if self.is_open() && self.question.accepts(by.channel) && self.faults < MOST_FAULTS {
            return self.misfit(NOT_SIGNED_IN.to_owned());
        }
        self.take(sent, by, at_ms)
    }

    /// Takes the word of its page that everything is done there.
    pub fn take_done(&mut self, by: AnsweredBy, at_ms: u64) -> Receipt {
        if !self.is_open() {
            return Receipt::AlreadyAnswered;
        }
        self.settle(Answer { action: Action::Accept, content: None, by, at_ms })
    }

    fn settle(&mut self, answer: Answer) -> Receipt {
        (self.answer, self.fault) = (Some(answer), None);
        Receipt::Counted
    }

    fn misfit(&mut self, fault: String) -> Receipt {
        self.faults += 1;
        self.fault = Some(fault.clone());
        Receipt::Misfit(fault)
    }
}

impl Question {
    /// Whether this channel may answer it.
    pub fn accepts(&self, channel: Channel) -> bool {
        match channel {
            // The model's own word, and an answer of its client, which passes through no hands but the model's.
            Channel::Model => self.kind != QuestionKind::Approval || self.level == Level::Model,
            Channel::Client => self.level != Level::OutOfBand,
            Channel::Console | Channel::Webhook | Channel::Terminal | Channel::Embedder | Channel::Page => {
                true
            }
        }
    }
}

/// The action of an `ElicitResult`, and the text of its content; `None` if it is none, or has a member twice at any depth.
fn read_result(sent: Raw<'_>) -> Option<(Action, &str)> {
    if repeated_key(sent.text()).is_some() {
        return None;
    }
    let (mut action, mut content) = (None, "{}");
    for (name, value) in sent.members().into_iter().flatten() {
        match &*name {
            "action" => action = value.as_str().and_then(|action| Action::from_name(&action)),
            "content" if value.kind() != Kind::Null => content = value.text(),
            _ => {}
        }
    }
    Some((action?, content))
}

#[cfg(test)]
mod tests {
    use super::super::{ArgumentsDigest, AskedCall, Form};
    use super::*;

    fn pending(kind: QuestionKind, level: Level, mode: Mode) -> PendingQuestion {
        let digest = ArgumentsDigest::new([7; 32]);
        let call = AskedCall { tool: "move_file".into(), arguments: "{\"a\":1}".into(), digest };
        let question = Question {
            kind,
            message: "Allow?".into(),
            mode,
            level,
            upstream: Some("files".into()),
            calls: vec![call],
            policy_revision: "ab".into(),
            binding: [0xfe; 32],
        };
        PendingQuestion::new(QuestionId::new(1), question)
    }

    fn by(channel: Channel) -> AnsweredBy {
        AnsweredBy { channel, name: Some("ada".into()) }
    }

    fn number() -> Mode {
        let schema = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#;
        Mode::Form(Form::parse(schema).unwrap())
    }

    fn page() -> Mode {
        Mode::Url("https://ptc.example/oauth/start?upstream=u".into())
    }

    /// The result for a client's answer to a question with that many misfits.
    fn told(sent: &str, mode: Mode, faults: u8) -> String {
        let mut pending = PendingQuestion { faults, ..pending(QuestionKind::Ask, Level::Model, mode) };
        match pending.take(Raw::parse(sent).unwrap(), &by(Channel::Client), 7) {
            Receipt::Counted => {
                let answer = pending.answer.unwrap();
                assert_eq!((answer.by, answer.at_ms), (by(Channel::Client), 7));
                let content = answer.content.map_or(String::new(), |content| content.get().to_owned());
                format!("{}{content}", answer.action.as_str())
            }
            Receipt::Misfit(fault) => fault,
            other => format!("{other:?}"),
        }
    }

    const ACCEPT: &str = r#"{"action":"accept","content":{}}"#;

    #[test]
    fn misfits_are_asked_again_until_they_cancel_the_question() {
        assert_eq!(told(r#"{"action":"accept","content":{"n":1}}"#, number(), 0), r#"accept{"n":1}"#);
        assert_eq!(told(r#"{"action":"decline","content":{"n":"x"}}"#, number(), 0), "decline");
        assert_eq!(told(r#"{"action":"cancel"}"#, number(), 0), "cancel");
        for bad in [r#"{"n":"x"}"#, r#"{"n":1,"m":2}"#, "{}", "[]", "null", "7"] {
            let sent = format!(r#"{{"action":"accept","content":{bad}}}"#);
            let fault = told(&sent, number(), 2);
            assert!(!fault.starts_with("accept") && fault != "cancel", "{bad}: {fault}");
            assert_eq!(told(&sent, number(), MOST_FAULTS), "cancel", "{bad}");
        }
        for none in [r#"{"action":"maybe"}"#, r#"{"action":1}"#, "{}", "[]", "7"] {
            assert_eq!(told(none, number(), 0), "NoAnswer", "{none}");
        }
    }

    #[test]
    fn an_answer_with_a_member_twice_is_none() {
        for twice in [
            r#"{"action":"decline","action":"accept","content":{"n":1}}"#,
            r#"{"action":"accept","content":{"n":1},"content":{"n":2}}"#,
            r#"{"action":"accept","content":{"n":1,"n":2}}"#,
            r#"{"action":"accept","content":{"n":1,"\u006e":2}}"#,
            r#"{"action":"decline","_meta":{"a":[{"b":1,"b":2}]}}"#,
        ] {
            assert_eq!(told(twice, number(), 0), "NoAnswer", "{twice}");
            assert_eq!(told(twice, page(), 0), "NoAnswer", "{twice}");
        }
    }

    #[test]
    fn a_page_has_no_content() {
        assert_eq!(told(r#"{"action":"accept","content":{"n":1}}"#, page(), 0), "accept");
        assert_eq!(told(r#"{"action":"accept"}"#, Mode::Form(Form::yes_or_no()), 0), "accept{}");
    }

    #[test]
    fn channels_answer_only_the_levels_that_admit_them() {
        use Channel::{Client, Console, Model, Webhook};
        for (kind, level, enough) in [
            (QuestionKind::Ask, Level::Model, [true, true, true, true]),
            (QuestionKind::Upstream, Level::Model, [true, true, true, true]),
            (QuestionKind::Approval, Level::Model, [true, true, true, true]),
            (QuestionKind::Approval, Level::Client, [false, true, true, true]),
            (QuestionKind::SignIn, Level::Model, [true, true, true, true]),
            (QuestionKind::Approval, Level::OutOfBand, [false, false, true, true]),
        ] {
            let can = [Model, Client, Console, Webhook].map(|channel| {
                let mut pending = pending(kind, level, Mode::Form(Form::yes_or_no()));
                let receipt = pending.take(Raw::parse(ACCEPT).unwrap(), &by(channel), 1);
                assert!(matches!(receipt, Receipt::Counted | Receipt::NotHere), "{receipt:?}");
                receipt == Receipt::Counted
            });
            assert_eq!(can, enough, "{kind:?} {level:?}");
        }
    }

    #[test]
    fn an_opened_page_is_a_misfit_three_times_and_then_the_answer() {
        let mut pending = pending(QuestionKind::SignIn, Level::Model, page());
        let accept = Raw::parse(r#"{"action":"accept"}"#).unwrap();
        for _ in 0..MOST_FAULTS {
            let receipt = pending.take_opened(accept, &by(Channel::Model), 1);
            assert_eq!(receipt, Receipt::Misfit(NOT_SIGNED_IN.into()));
            let written = serde_json::to_string(&pending).unwrap();
            let question = pending.question;
            pending = serde_json::from_str(&written).unwrap();
            assert_eq!(pending.question, question);
        }
        assert_eq!(pending.take_opened(accept, &by(Channel::Model), 2), Receipt::Counted);
        assert_eq!(pending.take_opened(accept, &by(Channel::Model), 3), Receipt::AlreadyAnswered);
        assert_eq!(pending.take_done(by(Channel::Page), 3), Receipt::AlreadyAnswered);
    }

    #[test]
    fn the_first_answer_counts() {
        let mut pending = pending(QuestionKind::Ask, Level::Model, Mode::Form(Form::yes_or_no()));
        let sent = |text| Raw::parse(text).unwrap();
        assert_eq!(pending.take(sent(r#"{"action":"maybe"}"#), &by(Channel::Model), 1), Receipt::NoAnswer);
        assert_eq!(pending.take(sent(r#"{"action":"decline"}"#), &by(Channel::Model), 2), Receipt::Counted);
        assert_eq!(pending.take(sent(ACCEPT), &by(Channel::Console), 3), Receipt::AlreadyAnswered);
        assert_eq!(pending.answer.unwrap().at_ms, 2);
    }

    #[test]
    fn a_question_is_written_with_its_answer_and_read_again() {
        let mut pending = pending(QuestionKind::Approval, Level::OutOfBand, number());
        let misfit =
            pending.take(Raw::parse(r#"{"action":"accept","content":7}"#).unwrap(), &by(Channel::Console), 5);
        assert!(matches!(misfit, Receipt::Misfit(_)), "{misfit:?}");
        for is_answered in [false, true] {
            if is_answered {
                let sent = Raw::parse(r#"{"action":"accept","content":{"n":1}}"#).unwrap();
                assert_eq!(pending.take(sent, &by(Channel::Webhook), 6), Receipt::Counted);
            }
            let text = serde_json::to_string(&pending).unwrap();
            let back: PendingQuestion = serde_json::from_str(&text).unwrap();
            assert_eq!((&back, back.is_open()), (&pending, !is_answered));
        }
        let text = serde_json::to_string(&pending).unwrap();
        for (from, to) in [
            ("\"id\":1", "\"id\":0"),
            ("Approval", "Aproval"),
            ("[254,", "["),
            ("Webhook", "x"),
            (r#"{\"type"#, r#"{\"tipe"#),
            (r#"{\"n\":1}"#, r#"{\"n\":}"#),
        ] {
            let damaged = text.replacen(from, to, 1);
            assert_ne!(damaged, text, "{from}");
            assert!(serde_json::from_str::<PendingQuestion>(&damaged).is_err(), "{damaged}");
        }
    }
}
