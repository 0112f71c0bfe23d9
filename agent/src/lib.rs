//! Drives a language model in a loop, offers it the host's tools, and lets it escalate to PTC-Lisp programs.
//!
//! | Module | What it is |
//! |---|---|
//! | [`agent`] | an agent's prompt, tools and limits, checked when it is built |
//! | [`run`] | one run: turns, tool calls, programs, the answer |
//! | [`chat`] | an agent asked again and again |
//! | [`signature`] | types of arguments and answers: read, print, check, coerce, JSON Schema |
//! | [`llm`] | what is said to a model and heard from it |
//! | [`tool`] | the host's tools, who may call them, and how one is run |
//! | [`cache`] | results that native calls and programs share within a run |
//! | [`preview`] | what the model sees of a result that is kept for programs |
//! | [`telemetry`] | what happens in a run, told as it happens |

pub mod agent;
pub mod cache;
pub mod chat;
mod compaction;
pub mod llm;
mod nested;
pub mod preview;
pub mod run;
pub mod signature;
pub mod telemetry;
mod template;
pub mod tool;
