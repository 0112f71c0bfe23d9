//! What a search asks before it works: the engines know no machine, only somebody who counts.

/// Who counts the work of a search, and may refuse it.
pub(crate) trait Meter {
    /// Why it refuses.
    type Refusal;

    /// Charges steps of work that is about to be done.
    fn charge(&self, steps: u64) -> Result<(), Self::Refusal>;

    /// Asks for memory that is about to be taken.
    fn reserve(&self, bytes: usize) -> Result<(), Self::Refusal>;
}

/// Why a search ended without an answer.
pub(crate) enum Stop<R> {
    /// The pattern takes more steps on this text than a search may.
    TooComplex,
    /// The meter refused.
    Refused(R),
}

impl<R> From<R> for Stop<R> {
    fn from(refusal: R) -> Stop<R> {
        Stop::Refused(refusal)
    }
}

/// What a search comes to under a meter.
pub(crate) type Searched<T, M> = Result<T, Stop<<M as Meter>::Refusal>>;
