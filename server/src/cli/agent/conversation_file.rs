//! The last conversation, stored in a file so that `--continue` resumes it.
//!
//! The file holds the messages and the answers of tools, scrubbed of every known secret, and only its owner can read
//! it. It never holds a key: the messages of a conversation have none, and the redactor knows the keys.

use super::args::ModeArg;
use crate::cli::setup::atomic_file;
use crate::cli::state;
use clap::ValueEnum as _;
use ptc_agent::llm::Message;
use ptc_host::credentials::Redactor;
use ptc_mcp::json::json;
use serde::Deserialize;
use std::path::PathBuf;

/// The file of the last conversation. A new conversation replaces the previous one.
pub(super) struct ConversationFile {
    path: PathBuf,
    mode: &'static str,
}

/// The content of the file.
#[derive(Deserialize)]
struct SavedConversation {
    mode: String,
    messages: Vec<Message>,
}

impl ConversationFile {
    /// The file; `None` without a home.
    pub(super) fn place(mode: ModeArg) -> Option<ConversationFile> {
        let mode = match mode {
            ModeArg::Combined => "combined",
            ModeArg::Text => "text",
            ModeArg::Lisp => "lisp",
            ModeArg::LispTool => "lisp-tool",
        };
        Some(ConversationFile { path: state::file("conversation.json")?, mode })
    }

    /// Reads the conversation.
    ///
    /// # Errors
    /// One sentence: there is no conversation, it cannot be read, or it is of another mode.
    #[expect(clippy::disallowed_methods, reason = "entry point: ConversationFile.load")]
    pub(super) fn load(&self) -> Result<Vec<Message>, String> {
        let shown = self.path.display();
        let text = atomic_file::read(&self.path)?;
        let text = text.ok_or_else(|| format!("--continue: there is no conversation in {shown}"))?;
        let unreadable = |error: &dyn std::fmt::Display| {
            format!("--continue: {shown} cannot be read ({error}); `ptc agent --forget` removes it")
        };
        let kept: SavedConversation = serde_json::from_str(&text).map_err(|error| unreadable(&error))?;
        let mode = kept.mode.as_str();
        // A program in a fence and a program in a tool call are different histories.
        if mode != self.mode {
            return match ModeArg::from_str(mode, false) {
                Ok(_) => {
                    Err(format!("--continue: the conversation was held with --mode {mode}; say so again"))
                }
                Err(_) => Err(unreadable(&"it names no mode")),
            };
        }
        Ok(kept.messages)
    }

    /// Replaces the stored conversation.
    ///
    /// # Errors
    /// One sentence.
    pub(super) fn save(&self, messages: &[Message], redactor: &Redactor) -> Result<(), String> {
        let said: Vec<&Message> =
            messages.iter().filter(|message| !matches!(message, Message::System { .. })).collect();
        let mut kept = json!({"mode": self.mode, "messages": said});
        redactor.scrub_json(&mut kept);
        atomic_file::write(&self.path, &kept.to_string())
            .map_err(|why| format!("the conversation is not kept: {why}"))
    }

    /// Removes the stored conversation.
    ///
    /// # Errors
    /// One sentence.
    pub(super) fn forget(&self) -> Result<(), String> {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(format!("{}: {error}", self.path.display()))
            }
            _ => Ok(()),
        }
    }
}
