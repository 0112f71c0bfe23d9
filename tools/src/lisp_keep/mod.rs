//! `lisp_keep`: turns a program of this conversation that ended well into a draft, which a person may approve. It approves nothing,
//! and no other tool does.

mod arguments;
mod definition;

use std::sync::Arc;

use futures_util::FutureExt as _;
use ptc_host::credentials::Redactor;
use ptc_host::visible::visible;
use ptc_mcp::json::Raw;
use ptc_programs::draft::Draft;
use ptc_programs::draft_store::DraftStore;
use ptc_programs::draft_text::DraftText;
use ptc_programs::lock::Approval;
use ptc_programs::program::MAX_FILE_BYTES;

use crate::drafts::DraftCheck;
use crate::recent_programs::{RecentProgram, RecentPrograms, RecordedTest};
use arguments::KeepArguments;
use definition::KeptDraft;
use ptc_protocol::principal::Owner;
use ptc_protocol::settings::Profile;
use ptc_protocol::tool::{CallContext, Definition, Preparation, Tool, ToolReply};

/// What the tool works with.
pub struct KeepParts {
    /// The programs of each conversation.
    pub recent: Arc<RecentPrograms>,
    /// Where drafts lie.
    pub store: Arc<dyn DraftStore>,
    /// Looks at them.
    pub check: Arc<DraftCheck>,
    /// Scrubs them.
    pub redactor: Redactor,
    /// How answers look.
    pub profile: Profile,
    /// The address of the console, if it is known.
    pub console: Option<Arc<str>>,
}

/// The tool.
pub struct LispKeep {
    parts: Arc<KeepParts>,
}

impl LispKeep {
    /// The tool over these parts.
    #[must_use]
    pub fn new(parts: KeepParts) -> LispKeep {
        LispKeep { parts: Arc::new(parts) }
    }
}

fn refused(message: &str, advice: &str) -> ToolReply {
    ToolReply::failure("args_error", message, advice)
}

impl Tool for LispKeep {
    fn definition(&self) -> Definition {
        definition::definition(self.parts.profile)
    }

    fn prepare(&self, given: Option<Raw<'_>>, context: &CallContext) -> Preparation {
        let arguments = match KeepArguments::read(given) {
            Ok(arguments) => arguments,
            Err(message) => return Preparation::Done(refused(&message, &message)),
        };
        let Some(ran) = self.parts.recent.find(&context.owner, arguments.program.as_deref()) else {
            let message = match arguments.program {
                None => "no program of this conversation has ended well",
                Some(_) => {
                    "no program of this text is among the last ones of this conversation that ended well"
                }
            };
            let advice = "Run the program with lisp_eval, with \"record\": true, and then keep it.";
            return Preparation::Done(refused(message, advice));
        };
        if arguments.program.is_none() && self.parts.recent.has_failed(&context.owner) {
            let message = "the last run of this conversation did not end well, and the program before it may not be meant";
            let advice = "Run the program again, or name the one to keep by its text as `program`.";
            return Preparation::Done(refused(message, advice));
        }
        let (parts, context) = (self.parts.clone(), context.clone());
        Preparation::Gated(async move { parts.keep(arguments, &ran, &context).await }.boxed())
    }

    fn owner_gone(&self, owner: &Owner) {
        self.parts.recent.forget(owner);
    }

    fn owner_revoked(&self, owner: &Owner) {
        self.parts.recent.forget(owner);
    }
}

impl KeepParts {
    async fn keep(&self, given: KeepArguments, ran: &RecentProgram, context: &CallContext) -> ToolReply {
        let (name, principal) = (given.name.clone(), &context.owner.principal);
        let redactor = self.redactor.for_principal(Some(principal.name()));
        let text = redactor.scrub(&text_of(given, ran)).into_owned();
        if text.len() as u64 > MAX_FILE_BYTES {
            let message =
                format!("the draft has {} bytes, and a program at most {MAX_FILE_BYTES}", text.len());
            let advice = match &ran.test {
                RecordedTest::Test(_) => "Run it on less data with \"record\": true, and keep that run.",
                RecordedTest::None | RecordedTest::Unfit(_) => "Shorten the program.",
            };
            return refused(&message, advice);
        }
        if self.check.is_taken(&name, Some(principal)) {
            let message = format!("another tool has the name {}", name.tool_name());
            return refused(&message, "Choose another name.");
        }
        let draft = Draft {
            name: name.clone(),
            principal: principal.shared_name(),
            at: Approval::now().unwrap_or_default(),
            text: text.into(),
        };
        let program = match draft.read() {
            Ok(program) => program,
            Err(fault) => {
                let message = format!("the draft cannot be used: {}", fault.in_file(&name.file_name()));
                return refused(&message, "Change the arguments, or the program and run it again.");
            }
        };
        match self.check.tests(&program, principal, Some(context.permit.shared())).await {
            Err(why) => return refused(&format!("the draft cannot be used: {why}"), &why),
            Ok(reports) => {
                let failed = reports.iter().find(|report| !report.failures.is_empty());
                if let Some(failed) = failed {
                    let why = redactor.scrub(&failed.failures.join("; ")).into_owned();
                    let message = format!("the test of the draft fails when it is replayed: {why}");
                    let advice = "A program must give the same for the same replies: leave out what differs from run to run, \
                                  run it again with \"record\": true, and keep that run.";
                    return refused(&message, advice);
                }
            }
        }
        let replaced = match self.store.put(&draft).await {
            Ok(replaced) => replaced,
            Err(fault) => {
                tracing::warn!(event = "draft_not_written", reason = %fault);
                return ToolReply::failure(
                    "busy",
                    &format!("the draft was not written: {fault}"),
                    "Tell the person about it.",
                );
            }
        };
        tracing::info!(event = "draft_written", program = %name, owner = principal.hash(), replaced);
        self.answer(&draft, program.head.tests, ran, replaced)
    }

    fn answer(&self, draft: &Draft, tests: usize, ran: &RecentProgram, replaced: bool) -> ToolReply {
        let on_console = match &self.console {
            Some(console) => format!("on the console at {console}, or "),
            None => String::new(),
        };
        let name = &draft.name;
        let next = format!(
            "It is no tool yet: a person must approve it, {on_console}by `ptc program approve --draft {name}` with the --programs and --state-dir of this server. Tell them."
        );
        let (text, digest) = (visible(&draft.text), draft.digest());
        let untested = match &ran.test {
            RecordedTest::Unfit(why) => Some(why.as_str()),
            RecordedTest::None | RecordedTest::Test(_) => None,
        };
        let kept = KeptDraft {
            name: name.as_str(),
            program: &text,
            digest: &digest,
            tests,
            untested,
            replaced,
            next: &next,
        };
        match self.profile {
            Profile::Slim => ToolReply::text(false, kept.text()),
            Profile::Structured | Profile::Debug => ToolReply::structured(false, kept.text(), kept.json()),
        }
    }
}

/// The text of a draft.
fn text_of(given: KeepArguments, ran: &RecentProgram) -> String {
    let test = match &ran.test {
        RecordedTest::Test(test) => Some(test.as_str()),
        RecordedTest::None | RecordedTest::Unfit(_) => None,
    };
    DraftText {
        description: &given.description,
        title: given.title.as_deref(),
        input: Some(given.input.unwrap_or_else(|| ran.input.clone())),
        output: given.output,
        tools: given.tools.unwrap_or_else(|| ran.tools.clone()),
        resources: ran.resources.clone(),
        prompts: ran.prompts.clone(),
        limits: given.limits,
        test,
        program: &ran.program,
    }
    .text()
}
