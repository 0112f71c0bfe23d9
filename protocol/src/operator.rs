//! What operators see and do beyond what is their own.
//!
//! An operator is a caller whose static token or whose policy rule says so (auth.md 14). This list is all of it: the specification
//! has a table of it (`server.md` 11.7), each is recorded in the audit log, and a test holds the three together. None of it is a
//! call of a tool: what an operator may call, the policy says as of any caller.

/// One thing that an operator sees or does beyond what is its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OperatorUse {
    /// Sees how much all callers use, fetch and save together, on the console.
    SeeLoad,
    /// Sees the running and the latest calls of all callers, with as much of programs, arguments and messages as is recorded.
    SeeCalls,
    /// Sees what each caller holds of memory, and how many calls it has running.
    SeeAccounts,
    /// Sees the sessions of all callers, with their titles, and not their values.
    SeeSessions,
    /// Sees the state and the latest fault of all upstreams: of those outside of its grant, and of connections of other callers.
    SeeUpstreams,
    /// Sees the runs of all callers.
    SeeRuns,
    /// Sees a question of another caller's run, with the arguments of its calls.
    SeeQuestion,
    /// Answers the questions of another caller's run.
    AnswerRun,
    /// Cancels another caller's run.
    CancelRun,
    /// Sees the list of the drafts of all callers.
    SeeDrafts,
    /// Sees a draft of another caller's whole.
    SeeDraft,
    /// Approves a program that was proposed as a draft, so that it is served to all who may call its tools.
    ApproveProgram,
    /// Discards a draft of another caller's.
    DiscardDraft,
    /// Reads the metrics of a server with a policy, which name all upstreams.
    ReadMetrics,
}

impl OperatorUse {
    /// All of them, in the order of the specification.
    pub const ALL: [OperatorUse; 14] = [
        Self::SeeLoad,
        Self::SeeCalls,
        Self::SeeAccounts,
        Self::SeeSessions,
        Self::SeeUpstreams,
        Self::SeeRuns,
        Self::SeeQuestion,
        Self::AnswerRun,
        Self::CancelRun,
        Self::SeeDrafts,
        Self::SeeDraft,
        Self::ApproveProgram,
        Self::DiscardDraft,
        Self::ReadMetrics,
    ];

    /// Its name in the audit log.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SeeLoad => "see_load",
            Self::SeeCalls => "see_calls",
            Self::SeeAccounts => "see_accounts",
            Self::SeeSessions => "see_sessions",
            Self::SeeUpstreams => "see_upstreams",
            Self::SeeRuns => "see_runs",
            Self::SeeQuestion => "see_question",
            Self::AnswerRun => "answer_run",
            Self::CancelRun => "cancel_run",
            Self::SeeDrafts => "see_drafts",
            Self::SeeDraft => "see_draft",
            Self::ApproveProgram => "approve_program",
            Self::DiscardDraft => "discard_draft",
            Self::ReadMetrics => "read_metrics",
        }
    }

    /// True if it changes nothing and pages repeat it by themselves: then one line stands for those of ten minutes.
    pub const fn is_repeated(self) -> bool {
        matches!(
            self,
            Self::SeeLoad
                | Self::SeeCalls
                | Self::SeeAccounts
                | Self::SeeSessions
                | Self::SeeUpstreams
                | Self::SeeRuns
                | Self::SeeDrafts
                | Self::ReadMetrics
        )
    }
}
