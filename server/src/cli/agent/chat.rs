//! Asks the model: one question, or a chat that keeps its history.

use crate::cli::output::outln;
use ptc_host::visible::visible;
use ptc_mcp::json::Value as Json;

use super::setup::Host;
use crate::cli::input::{Input, InputLine};
use crate::cli::{report, tools, upstreams};
use ptc_agent::llm::{Message, Usage};
use ptc_agent::run::{ChatState, Step};
use rustyline::DefaultEditor;
use std::process::ExitCode;

const HELP: &str = "Ask anything; the answer may take several programs and tool calls.
  /new    forget what was said and defined
  /tools  list the tools of the upstreams
  /usage  tokens so far
  /help   this text
  /quit   leave, as Ctrl-D does
Ctrl-C stops an answer that is under way.";

/// Answers one question.
pub(super) async fn once(host: &Host, question: &str) -> ExitCode {
    match ask(host, question, host.before.clone(), None).await {
        Ok(step) => {
            host.keep_images(&step);
            host.keep(&step.messages);
            let written = host.screen.answer(&text(&step));
            match host.model.replayed.as_ref().map(|replayed| replayed.finish()) {
                Some(Err(why)) => report::fault(&why.to_string()),
                _ if written => ExitCode::SUCCESS,
                _ => ExitCode::FAILURE,
            }
        }
        Err(why) => {
            if let Some(cut) = &why.cut {
                host.keep(&cut.messages);
                host.screen.part(&cut.text);
            }
            host.screen.fault(&why.text);
            ExitCode::FAILURE
        }
    }
}

/// A question without an answer: the reason, and what is available all the same.
struct UnansweredQuestion {
    text: String,
    tokens: Usage,
    state: Option<ChatState>,
    cut: Option<Cut>,
}

/// An answer that was cut off.
struct Cut {
    text: String,
    messages: Vec<Message>,
}

/// Chats at a terminal until the person leaves.
pub(super) async fn converse(host: &Host) -> ExitCode {
    let mut input = match Input::terminal(DefaultEditor::new, typed) {
        Ok(input) => input,
        Err(error) => return report::fault(&format!("cannot start a thread: {error}")),
    };
    outln!(
        "ptc {} with {} (/help for help, Ctrl-D to leave)",
        ptc_protocol::identity::VERSION,
        host.model.name
    );
    let mut messages: Vec<Message> = host.before.clone();
    let mut state: Option<ChatState> = None;
    let mut used = Usage::default();
    loop {
        let line = match input.line().await {
            InputLine::Text(line) => line,
            InputLine::Interrupted => continue,
            InputLine::End => {
                outln!("Goodbye!");
                return ExitCode::SUCCESS;
            }
            InputLine::Failed(why) => return report::fault(&why),
        };
        match line.trim() {
            "" => {}
            "/quit" | "/exit" => return ExitCode::SUCCESS,
            "/help" => outln!("{HELP}"),
            "/new" => {
                messages.clear();
                state = None;
                host.forget();
            }
            "/usage" => outln!("{} tokens in, {} out", used.input, used.output),
            "/tools" => match &host.upstreams {
                Some(upstreams) => {
                    let table = tools::table(&tools::find(&upstreams.unfiltered().catalog(), None));
                    outln!("{}", visible(table.trim_end()));
                }
                None => outln!("{}", upstreams::UNCONFIGURED),
            },
            command if command.starts_with('/') && !command.contains(' ') => {
                outln!("unknown command {}; /help lists them", visible(command));
            }
            question => {
                let asked = tokio::select! {
                    asked = ask(host, question, messages.clone(), state.clone()) => Some(asked),
                    Ok(()) = tokio::signal::ctrl_c() => None,
                };
                match asked {
                    Some(Ok(step)) => {
                        host.keep_images(&step);
                        host.screen.answer(&text(&step));
                        used += step.usage.tokens;
                        messages = step.messages;
                        state = step.state;
                        host.keep(&messages);
                    }
                    Some(Err(why)) => {
                        // The partial answer was shown: the person may ask for the rest.
                        if let Some(cut) = why.cut {
                            host.screen.part(&cut.text);
                            messages = cut.messages;
                            host.keep(&messages);
                        }
                        used += why.tokens;
                        state = why.state;
                        host.screen.fault(&why.text);
                    }
                    // The question counts as not asked: a history must not end within a turn.
                    None => {
                        host.screen.settle();
                        outln!("(stopped)");
                    }
                }
            }
        }
    }
}

/// Reads one line with an editor that remembers the lines of this process.
fn typed(editor: &mut DefaultEditor) -> InputLine {
    let read = editor.readline("> ");
    if let Ok(text) = &read {
        // A history that is full or refuses repeats is no reason to stop.
        let _ = editor.add_history_entry(text);
    }
    read.into()
}

/// Runs the agent once. Definitions of its programs persist from question to question.
async fn ask(
    host: &Host,
    question: &str,
    before: Vec<Message>,
    state: Option<ChatState>,
) -> Result<Step, UnansweredQuestion> {
    let agent = host.agent(question);
    let agent = agent.map_err(|text| UnansweredQuestion {
        text,
        tokens: Usage::default(),
        state: state.clone(),
        cut: None,
    })?;
    let mut options = host.options();
    // With the first question of a conversation, also of a continued one.
    if before.is_empty() || before.len() == host.before.len() {
        options.images.clone_from(&host.images);
    }
    options.initial_messages = before;
    options.state = state;
    agent.run(options).await.map_err(|step| {
        let mut text = step.fail.as_ref().map(ToString::to_string).unwrap_or_default();
        let is_cut = step.fail.as_ref().is_some_and(|fail| fail.reason == "answer_cut");
        if is_cut {
            text.push_str("; --max-tokens allows more");
        }
        let said = step.turns.last().map(|turn| turn.raw_response.clone()).unwrap_or_default();
        let cut = is_cut.then_some(Cut { text: said, messages: step.messages });
        UnansweredQuestion { text, tokens: step.usage.tokens, state: step.state, cut }
    })
}

/// The answer as printed: text unchanged, other values as JSON.
fn text(step: &Step) -> String {
    match &step.value {
        Some(Json::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => String::new(),
    }
}
