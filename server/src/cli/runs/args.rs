//! Arguments of `ptc runs answer` and its kin.

use clap::Args;

#[derive(Args, Debug)]
pub(super) struct AnswerArgs {
    /// The run's id, as `ptc runs` lists it
    #[arg(value_name = "ID")]
    pub(super) id: String,

    /// The question, as `ptc runs` lists it [default: the only one that is open]
    #[arg(value_name = "QUESTION")]
    pub(super) question: Option<String>,

    /// Answer all open ones of this kind, if there are several
    #[arg(long, conflicts_with = "question")]
    pub(super) all_questions: bool,
}

#[derive(Args, Debug)]
pub(super) struct FormArgs {
    /// The run's id, as `ptc runs` lists it
    #[arg(value_name = "ID")]
    pub(super) id: String,

    /// The question [default: the only one that is open], then its fields; what is no text for a field is JSON
    #[arg(value_name = "[QUESTION] KEY=VALUE")]
    pub(super) words: Vec<String>,
}
