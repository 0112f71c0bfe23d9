//! The meter of a search: the engines know no machine, only this trait.

/// Counts the work of a search, and may refuse it.
pub(crate) trait Meter {
    /// Why it refuses.
    type Refusal;
    /// Memory that is charged as long as this lives.
    type Held;

    /// Charges steps of work that is about to be done.
    fn charge(&self, steps: u64) -> Result<(), Self::Refusal>;

    /// Lets others have the thread, if it is time, in the middle of work whose steps have been charged before it. Refuses when
    /// the work is no longer wanted.
    fn pause(&self) -> Result<(), Self::Refusal>;

    /// Asks for memory that is about to be taken.
    fn reserve(&self, bytes: usize) -> Result<(), Self::Refusal>;

    /// Charges memory that a search takes for itself.
    fn hold(&self, bytes: usize) -> Result<Self::Held, Self::Refusal>;

    /// Whether this part of the pattern has been paid for already: each program pays once for the parts it uses, also if
    /// another one has had them built.
    fn has_paid(&self, part: CompiledForm) -> bool;

    /// Charges a part that is about to be built or used for the first time: its steps and its bytes. `pattern` stands for
    /// the pattern's text.
    fn pay(&self, pattern: u64, part: CompiledForm, steps: u64, bytes: usize) -> Result<(), Self::Refusal>;
}

/// The compiled forms of a pattern, each built at its first use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub(crate) enum CompiledForm {
    /// The automaton of plain searches.
    Find = 1,
    /// The automaton for texts with a mark at the end.
    Marked = 2,
    /// The automaton that matches whole texts.
    Whole = 4,
    /// The automaton that finds where plain searches stop.
    Looker = 8,
    /// The automaton that finds where searches in texts with a mark stop.
    MarkedLooker = 16,
    /// The engine of short searches.
    Sequence = 32,
    /// The instructions of the backtracking engine.
    Instructions = 64,
    /// Searches long texts in steps.
    Bounds = 128,
    /// Searches long texts with a mark in steps.
    MarkedBounds = 256,
    /// Matches whole long texts in steps.
    WholeBounds = 512,
}

impl CompiledForm {
    /// All of them.
    pub(crate) const ALL: u16 = 2 * CompiledForm::WholeBounds as u16 - 1;
}

/// Why a search ended without an answer.
pub(crate) enum SearchStop<R> {
    /// The pattern takes more steps on this text than a search may.
    TooComplex,
    /// The meter refused.
    Refused(R),
}

impl<R> From<R> for SearchStop<R> {
    fn from(refusal: R) -> SearchStop<R> {
        SearchStop::Refused(refusal)
    }
}

/// The result of a search under a meter.
pub(crate) type SearchOutcome<T, M> = Result<T, SearchStop<<M as Meter>::Refusal>>;
