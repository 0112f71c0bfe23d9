//! Checks an answer against its question.

use ptc_host::questions::{Action, Answer, AnsweredBy, Mode};
use ptc_mcp::json::{Kind, Raw, Value, from_str, repeated_key};
use serde_json::value::RawValue;

/// How many times a question is asked again after answers that do not fit (waiting.md 3.4).
pub(crate) const MOST_FAULTS: u8 = 3;

/// The fault of an `accept` that reports only an opened page.
pub(crate) const NOT_SIGNED_IN: &str = "nobody has signed in yet";

/// The verdict on an answer.
#[derive(Debug)]
pub(crate) enum Judged {
    /// The answer counts.
    Answer(Answer),
    /// The answer does not fit, and the question is asked again.
    Fault(String),
    /// The message is no answer at all.
    NoAnswer,
}

/// Judges an `ElicitResult` as sent: its action, and its content against the form. `faults` counts the earlier
/// answers that did not fit.
#[expect(clippy::disallowed_methods, reason = "entry point: judged()")]
pub(crate) fn judged(sent: Raw<'_>, mode: &Mode, faults: u8, by: &AnsweredBy, at_ms: u64) -> Judged {
    if repeated_key(sent.text()).is_some() {
        return Judged::NoAnswer;
    }
    let (mut action, mut content) = (None, None);
    for (name, value) in sent.members().into_iter().flatten() {
        match &*name {
            "action" => action = value.as_str().and_then(|action| Action::from_name(&action)),
            "content" => content = Some(value).filter(|content| content.kind() != Kind::Null),
            _ => {}
        }
    }
    let Some(action) = action else { return Judged::NoAnswer };
    let answer = |action, content| Judged::Answer(Answer { action, content, by: by.clone(), at_ms });
    let Mode::Form(form) = mode else { return answer(action, None) };
    if action != Action::Accept {
        return answer(action, None);
    }
    let text = content.map_or("{}", Raw::text);
    let fault = match from_str::<Value>(text) {
        Ok(content) => form.check(&content).err(),
        Err(_) => Some("the content is nested too deeply".to_owned()),
    };
    match (fault, RawValue::from_string(text.to_owned())) {
        (None, Ok(content)) => answer(Action::Accept, Some(content)),
        (Some(fault), _) if faults < MOST_FAULTS => Judged::Fault(fault),
        // A question that was answered wrongly too often is cancelled.
        _ => answer(Action::Cancel, None),
    }
}

#[cfg(test)]
mod tests {
    use ptc_host::questions::{Channel, Form};

    use super::*;

    fn told(sent: &str, mode: &Mode, faults: u8) -> String {
        let by = AnsweredBy { channel: Channel::Client, name: Some("alice".into()) };
        match judged(Raw::parse(sent).unwrap(), mode, faults, &by, 7) {
            Judged::Answer(answer) => {
                assert_eq!((answer.by.channel, answer.by.name.as_deref()), (Channel::Client, Some("alice")));
                let content = answer.content.map_or(String::new(), |content| content.get().to_owned());
                format!("{}{content}", answer.action.as_str())
            }
            Judged::Fault(fault) => fault,
            Judged::NoAnswer => "none".into(),
        }
    }

    #[test]
    fn content_fits_the_form_or_is_asked_for_again_until_it_is_enough() {
        let schema = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#;
        let form = Mode::Form(Form::parse(schema).unwrap());
        assert_eq!(told(r#"{"action":"accept","content":{"n":1}}"#, &form, 0), r#"accept{"n":1}"#);
        assert_eq!(told(r#"{"action":"decline","content":{"n":"x"}}"#, &form, 0), "decline");
        assert_eq!(told(r#"{"action":"cancel"}"#, &form, 0), "cancel");
        for bad in [r#"{"n":"x"}"#, r#"{"n":1,"m":2}"#, "{}", "[]", "null", "7"] {
            let sent = format!(r#"{{"action":"accept","content":{bad}}}"#);
            let fault = told(&sent, &form, 2);
            assert!(!fault.starts_with("accept") && fault != "cancel", "{bad}: {fault}");
            assert_eq!(told(&sent, &form, MOST_FAULTS), "cancel", "{bad}");
        }
        for none in [r#"{"action":"maybe"}"#, r#"{"action":1}"#, "{}", "[]", "7"] {
            assert_eq!(told(none, &form, 0), "none", "{none}");
        }
    }

    #[test]
    fn an_answer_with_a_member_twice_is_none() {
        let schema = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#;
        let form = Mode::Form(Form::parse(schema).unwrap());
        let page = Mode::Url("https://example.com/".into());
        for twice in [
            r#"{"action":"decline","action":"accept","content":{"n":1}}"#,
            r#"{"action":"accept","content":{"n":1},"content":{"n":2}}"#,
            r#"{"action":"accept","content":{"n":1,"n":2}}"#,
            r#"{"action":"accept","content":{"n":1,"\u006e":2}}"#,
            r#"{"action":"decline","_meta":{"a":[{"b":1,"b":2}]}}"#,
        ] {
            assert_eq!(told(twice, &form, 0), "none", "{twice}");
            assert_eq!(told(twice, &page, 0), "none", "{twice}");
        }
    }

    #[test]
    fn a_page_has_no_content() {
        let page = Mode::Url("https://example.com/".into());
        assert_eq!(told(r#"{"action":"accept","content":{"n":1}}"#, &page, 0), "accept");
        assert_eq!(told(r#"{"action":"accept"}"#, &Mode::Form(Form::yes_or_no()), 0), "accept{}");
    }
}
