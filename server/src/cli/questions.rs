//! Questions of a program, answered at the terminal on which its command runs (waiting.md 3.4).
//!
//! A thread asks, since it waits for the keyboard. The editor reads Ctrl-C and Ctrl-D as keys, so that both dismiss
//! the question, and no reader is left behind that would take the next line.

use super::input::InputLine;
use super::output::write_error;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ptc_host::credentials::Redactor;
use ptc_host::engine::{Asker, Verdict};
use ptc_host::questions::approval::Decision;
use ptc_host::questions::{
    Action, Answer, AnsweredBy, Channel, Choice, Field, Form, Mode, PendingQuestion, Question, QuestionId,
    QuestionKind, Wanted, argument_rows,
};
use ptc_host::time::{self, Clock};
use ptc_host::visible::{visible, visible_line};
use ptc_mcp::json::{Map, Value};
use rustyline::history::DefaultHistory;
use rustyline::{Behavior, Config, Editor};
use serde_json::value::RawValue;
use std::io::{IsTerminal as _, stderr, stdin};
use std::sync::Arc;
use std::time::UNIX_EPOCH;
use tokio::sync::oneshot;

/// The asker at the terminal, if standard input and standard error are one. Nothing known to `redactor` is shown.
pub(super) fn at_terminal(redactor: &Redactor) -> Option<Arc<dyn Asker>> {
    is_at_terminal().then(|| Arc::new(Terminal { redactor: redactor.clone() }) as Arc<dyn Asker>)
}

/// True if a person can be asked: standard input and standard error are a terminal.
pub(super) fn is_at_terminal() -> bool {
    stdin().is_terminal() && stderr().is_terminal()
}

/// Whether a person agrees to the question that stands on the terminal: Enter is yes.
pub(super) fn agrees() -> bool {
    typed().is_some_and(|answer| matches!(answer.as_str(), "" | "y" | "yes"))
}

/// The same for a question to which Enter is no.
pub(super) fn confirms() -> bool {
    typed().is_some_and(|answer| matches!(answer.as_str(), "y" | "yes"))
}

/// The line that a person types, in small letters; `None` at the end of the input.
fn typed() -> Option<String> {
    let mut answer = String::new();
    let length = std::io::stdin().read_line(&mut answer).ok()?;
    (length > 0).then(|| answer.trim().to_ascii_lowercase())
}

struct Terminal {
    redactor: Redactor,
}

impl Asker for Terminal {
    fn ask(&self, open: Vec<PendingQuestion>) -> BoxFuture<'static, Verdict> {
        self.answers(open).map(Verdict::Answered).boxed()
    }

    fn hold(&self, open: Vec<PendingQuestion>, _: String) -> BoxFuture<'static, Vec<(QuestionId, Answer)>> {
        self.answers(open)
    }
}

impl Terminal {
    /// The answers; none if no thread or no editor is available.
    fn answers(&self, open: Vec<PendingQuestion>) -> BoxFuture<'static, Vec<(QuestionId, Answer)>> {
        let (tell, told) = oneshot::channel();
        let redactor = self.redactor.clone();
        let clock = Clock::current();
        let ask = move || {
            let _entered = clock.enter();
            let config = Config::builder().behavior(Behavior::PreferTerm).build();
            let mut editor = Editor::<(), DefaultHistory>::with_config(config);
            let read = |prompt: &str| match &mut editor {
                Ok(editor) => InputLine::from(editor.readline(prompt)),
                Err(error) => InputLine::Failed(format!("cannot use the terminal: {error}")),
            };
            let show = |text: &str| {
                let text = redactor.scrub(text);
                write_error(format_args!("{}\n", visible(&text)));
            };
            let mut person = Person { read, show };
            // The program may have stopped waiting.
            let _ = tell.send(open.iter().map(|open| (open.id, person.answer(&open.question))).collect());
        };
        let thread = std::thread::Builder::new().name("ptc-questions".to_owned()).spawn(ask);
        async move {
            match thread {
                Ok(_) => told.await.unwrap_or_default(),
                Err(_) => Vec::new(),
            }
        }
        .boxed()
    }
}

/// A person who reads the output and types lines.
struct Person<R, S> {
    read: R,
    show: S,
}

/// The question was dismissed.
struct DismissedQuestion;

impl<R: FnMut(&str) -> InputLine, S: FnMut(&str)> Person<R, S> {
    fn answer(&mut self, question: &Question) -> Answer {
        (self.show)("");
        let is_approval = question.kind == QuestionKind::Approval;
        match question.message.split_once('\n') {
            // The calls themselves follow in full.
            Some((first, _)) if is_approval => (self.show)(first),
            _ => (self.show)(&question.message),
        }
        for call in &question.calls {
            let mut text = String::from("call:");
            argument_rows(&call.arguments).iter().for_each(|row| row.write(&mut text, "  ", usize::MAX));
            (self.show)(&text);
        }
        let done = match &question.mode {
            Mode::Form(_) if is_approval => self.decision(),
            Mode::Url(url) => {
                (self.show)(&visible_line(url));
                self.line("Enter when it is done: ").map(|_| (Action::Accept, None))
            }
            Mode::Form(form) if form.fields().is_empty() => self.yes_or_no(),
            Mode::Form(form) => self.form(form).map(|content| (Action::Accept, Some(content))),
        };
        let (action, content) = done.unwrap_or((Action::Cancel, None));
        let at_ms = time::time_of_day().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        Answer {
            action,
            content: content.and_then(|content| RawValue::from_string(Value::from(content).to_string()).ok()),
            by: AnsweredBy { channel: Channel::Terminal, name: None },
            at_ms: u64::try_from(at_ms).unwrap_or(u64::MAX),
        }
    }

    fn line(&mut self, prompt: &str) -> Result<String, DismissedQuestion> {
        match (self.read)(prompt) {
            InputLine::Text(text) => Ok(text.trim().to_owned()),
            InputLine::Interrupted | InputLine::End => Err(DismissedQuestion),
            InputLine::Failed(why) => {
                (self.show)(&why);
                Err(DismissedQuestion)
            }
        }
    }

    fn yes_or_no(&mut self) -> Result<(Action, Option<Map>), DismissedQuestion> {
        loop {
            match boolean(&self.line("y/n: ")?) {
                Some(true) => return Ok((Action::Accept, Some(Map::new()))),
                Some(false) => return Ok((Action::Decline, None)),
                None => (self.show)("y or n; Ctrl-D dismisses the question"),
            }
        }
    }

    /// Asks whether calls are allowed. There is no default: Enter asks again.
    fn decision(&mut self) -> Result<(Action, Option<Map>), DismissedQuestion> {
        loop {
            let line = self.line("allow or refuse (y/n): ")?;
            let decision = match boolean(&line) {
                Some(true) => Some(Decision::Allow),
                Some(false) => Some(Decision::Refuse),
                None => Decision::from_word(&line),
            };
            match decision {
                Some(decision) => {
                    let content = [("decision".to_owned(), Value::from(decision.as_str()))];
                    return Ok((Action::Accept, Some(content.into_iter().collect())));
                }
                None => (self.show)("allow or refuse; Ctrl-D dismisses the question"),
            }
        }
    }

    fn form(&mut self, form: &Form) -> Result<Map, DismissedQuestion> {
        let mut content = Map::new();
        for field in form.fields() {
            if let Some(value) = self.field(field)? {
                content.insert(field.name.clone(), value);
            }
        }
        Ok(content)
    }

    /// The value typed for a field; `None` if it stays empty.
    fn field(&mut self, field: &Field) -> Result<Option<Value>, DismissedQuestion> {
        if let Some(description) = &field.description {
            (self.show)(description);
        }
        let many = match &field.wanted {
            Wanted::One { choices, .. } => self.list(choices, ""),
            Wanted::Some { choices, .. } => self.list(choices, ", several with commas between them"),
            _ => String::new(),
        };
        let default = default(&field.wanted);
        let shown = default.as_ref().map_or_else(
            || if field.required { String::new() } else { " [none]".to_owned() },
            |default| format!(" [{}]", plain(default)),
        );
        let label = visible_line(field.title.as_deref().unwrap_or(&field.name)).into_owned();
        let prompt = format!("{label}{many}{shown}: ");
        loop {
            let line = self.line(&prompt)?;
            let value = if line.is_empty() { default.clone() } else { Some(read(&field.wanted, &line)) };
            match field.check(value.as_ref()) {
                Ok(()) => return Ok(value),
                Err(fault) => (self.show)(&format!("{fault}; Ctrl-D dismisses the question")),
            }
        }
    }

    /// Lists choices with titles by number; choices without titles are shown in the prompt.
    fn list(&mut self, choices: &[Choice], how: &str) -> String {
        if choices.iter().all(|choice| choice.title.is_none()) {
            let values: Vec<&str> = choices.iter().map(Choice::label).collect();
            return format!(" ({}{how})", values.join(", "));
        }
        for (at, choice) in choices.iter().enumerate() {
            (self.show)(&format!("  {}. {}", at + 1, choice.label()));
        }
        format!(" (1 to {}{how})", choices.len())
    }
}

/// Parses a typed line. A line of the wrong form is passed on as text, so that the field reports the error.
#[expect(clippy::disallowed_methods, reason = "entry point: read()")]
fn read(wanted: &Wanted, line: &str) -> Value {
    match wanted {
        Wanted::String { .. } => line.into(),
        Wanted::Number { .. } | Wanted::Integer { .. } => match ptc_mcp::json::from_str::<Value>(line) {
            Ok(number) if number.is_number() => number,
            _ => line.into(),
        },
        Wanted::Boolean { .. } => boolean(line).map_or_else(|| line.into(), Value::from),
        Wanted::One { choices, .. } => chosen(choices, line).into(),
        Wanted::Some { choices, .. } => {
            let parts = line.split(',').map(str::trim).filter(|part| !part.is_empty());
            parts.map(|part| chosen(choices, part)).collect()
        }
    }
}

/// The value of the choice that is named by its value or, if it has a title, by that or its number.
fn chosen<'c>(choices: &'c [Choice], text: &'c str) -> &'c str {
    let named = |choice: &&Choice| choice.value == text || choice.title.as_deref() == Some(text);
    let numbered = || {
        let at = text.parse::<usize>().ok()?.checked_sub(1)?;
        choices.get(at).filter(|choice| choice.title.is_some())
    };
    choices.iter().find(named).or_else(numbered).map_or(text, |choice| &choice.value)
}

fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "y" | "yes" | "true" => Some(true),
        "n" | "no" | "false" => Some(false),
        _ => None,
    }
}

fn default(wanted: &Wanted) -> Option<Value> {
    match wanted {
        Wanted::String { default, .. } | Wanted::One { default, .. } => default.clone().map(Value::from),
        Wanted::Number { default, .. } | Wanted::Integer { default, .. } => default.clone().map(Value::from),
        Wanted::Boolean { default } => default.map(Value::from),
        Wanted::Some { default, .. } => default.clone().map(Value::from),
    }
}

/// A default in the form in which it would be typed.
fn plain(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Bool(yes) => if *yes { "y" } else { "n" }.to_owned(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    };
    visible_line(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_host::questions::{ArgumentsDigest, AskedCall, Level, QuestionKind};

    fn question(message: &str, mode: Mode) -> Question {
        Question {
            kind: QuestionKind::Ask,
            message: message.to_owned(),
            mode,
            level: Level::Model,
            upstream: None,
            calls: Vec::new(),
            policy_revision: String::new(),
            binding: [0; 32],
        }
    }

    fn form(properties: &str, required: &str) -> Mode {
        let text = format!(r#"{{"type":"object","properties":{properties},"required":{required}}}"#);
        Mode::Form(Form::parse(&text).expect("a form"))
    }

    /// The answer of a person who types these lines and then Ctrl-D, and all output.
    fn typed(question: &Question, lines: &[&str]) -> (Action, Option<String>, Vec<String>) {
        let shown = std::cell::RefCell::new(Vec::new());
        let mut lines = lines.iter();
        let read = |prompt: &str| {
            shown.borrow_mut().push(prompt.to_owned());
            lines.next().map_or(InputLine::End, |line| InputLine::Text((*line).to_owned()))
        };
        let show = |text: &str| shown.borrow_mut().push(text.to_owned());
        let answer = Person { read, show }.answer(question);
        assert_eq!(answer.by.channel, Channel::Terminal);
        assert!(answer.at_ms > 0);
        (answer.action, answer.content.map(|content| content.get().to_owned()), shown.into_inner())
    }

    #[test]
    fn a_form_is_filled_in_field_by_field() {
        let mode = form(
            r#"{"region":{"type":"string","enum":["eu","us"],"default":"eu"},
                "count":{"type":"integer","title":"How many","description":"At least one.","minimum":1},
                "sure":{"type":"boolean","default":true},
                "zone":{"type":"string","oneOf":[{"const":"a","title":"First"},{"const":"b","title":"Second"}]},
                "tags":{"type":"array","items":{"type":"string","enum":["x","y","z"]}},
                "note":{"type":"string"}}"#,
            r#"["count","zone"]"#,
        );
        let asked = question("A program asks: Which?", mode);
        let lines = ["", "none", "0", "3", "no", "2", "x, z", ""];
        let (action, content, shown) = typed(&asked, &lines);
        assert_eq!(action, Action::Accept);
        assert_eq!(
            content.as_deref(),
            Some(r#"{"region":"eu","count":3,"sure":false,"zone":"b","tags":["x","z"]}"#)
        );
        assert_eq!(
            shown,
            [
                "",
                "A program asks: Which?",
                "region (eu, us) [eu]: ",
                "At least one.",
                "How many: ",
                "field \"count\": got \"none\", wanted an integer of at least 1; Ctrl-D dismisses the question",
                "How many: ",
                "field \"count\": got 0, wanted an integer of at least 1; Ctrl-D dismisses the question",
                "How many: ",
                "sure [y]: ",
                "  1. First",
                "  2. Second",
                "zone (1 to 2): ",
                "tags (x, y, z, several with commas between them) [none]: ",
                "note [none]: ",
            ]
        );
    }

    #[test]
    fn yes_no_and_nothing_are_told_apart() {
        let asked = question("A program asks: Sure?", Mode::Form(Form::yes_or_no()));
        assert_eq!(typed(&asked, &["Y"]).0, Action::Accept);
        assert_eq!(typed(&asked, &["y"]).1.as_deref(), Some("{}"));
        assert_eq!(typed(&asked, &["maybe", "", "no"]).0, Action::Decline);
        assert_eq!(typed(&asked, &[]).0, Action::Cancel);
        assert_eq!(typed(&asked, &["maybe"]).0, Action::Cancel);
    }

    #[test]
    fn an_approval_shows_all_of_its_arguments_and_has_no_default() {
        let mode = form(r#"{"decision":{"type":"string","enum":["allow","refuse"]}}"#, r#"["decision"]"#);
        let arguments: Box<str> = format!("{{\"text\":\"{}\",\"n\":1}}", "y".repeat(2_001)).into();
        let call = AskedCall { tool: "send".into(), arguments, digest: ArgumentsDigest::new([0; 32]) };
        let message = "Allow 1 call(s) of send at mail?\n{…}";
        let asked = Question { kind: QuestionKind::Approval, calls: vec![call], ..question(message, mode) };
        let (action, content, shown) = typed(&asked, &["", "maybe", "allow"]);
        assert_eq!((action, content.as_deref()), (Action::Accept, Some(r#"{"decision":"allow"}"#)));
        assert_eq!(shown[1], "Allow 1 call(s) of send at mail?");
        assert_eq!(shown[2].matches('y').count(), 2_001, "{shown:?}");
        assert!(shown[2].starts_with("call:\n  n: 1\n  text: ("), "short values first: {shown:?}");
        assert_eq!(shown.iter().filter(|line| *line == "allow or refuse (y/n): ").count(), 3);
        for (line, decision) in [("refuse", "refuse"), ("n", "refuse"), ("Yes", "allow"), ("y", "allow")] {
            let content = format!(r#"{{"decision":"{decision}"}}"#);
            assert_eq!(typed(&asked, &[line]).1.as_deref(), Some(content.as_str()), "{line}");
        }
        assert_eq!(typed(&asked, &[""]).0, Action::Cancel);
    }

    #[test]
    fn a_page_is_shown_and_waited_for() {
        let asked = question("mail asks: Sign in.", Mode::Url("https://example.com/in".into()));
        let (action, content, shown) = typed(&asked, &[""]);
        assert_eq!((action, content), (Action::Accept, None));
        assert_eq!(shown, ["", "mail asks: Sign in.", "https://example.com/in", "Enter when it is done: "]);
        assert_eq!(typed(&asked, &[]).0, Action::Cancel);
    }
}
