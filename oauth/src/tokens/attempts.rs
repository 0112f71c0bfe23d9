//! The attempts of one call to use its token.

/// The action after a 401.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterRefusal {
    /// Ask [`TokenState::decide`](super::TokenState::decide) again; the request is then repeated with the token that it gives.
    Renew,
    /// The call ends. [`TokenState::rejected`](super::TokenState::rejected) is called, and metadata are read anew, which shows
    /// whether the resource has moved to another server (`auth.md` 2.5).
    End,
}

/// One call. A request that was refused is repeated once (`auth.md` 6.1), the store is looked at once, and a token that an
/// errand of this call brought is used as it is, so that no call ever goes round in circles.
#[derive(Clone, Copy, Debug, Default)]
pub struct Attempts {
    /// The serial of the token that was refused last.
    pub(super) refused: Option<u64>,
    /// Whether an errand was waited for since then.
    pub(super) waited: bool,
    /// Whether the store was looked at.
    pub(super) looked: bool,
}

impl Attempts {
    /// Notes a 401 to a request that carried the token with this serial.
    pub fn refused(&mut self, serial: u64) -> AfterRefusal {
        self.waited = false;
        if self.refused.replace(serial).is_some() { AfterRefusal::End } else { AfterRefusal::Renew }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_repeated_once() {
        let mut call = Attempts::default();
        let after = [1, 2, 2].map(|serial| call.refused(serial));
        assert_eq!(after, [AfterRefusal::Renew, AfterRefusal::End, AfterRefusal::End]);
    }
}
