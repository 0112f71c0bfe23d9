//! How much a caller may use (auth.md 14.4).

/// The limits of one caller. `None`: the policy sets none; those of the server hold as well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Upstream calls a minute.
    pub calls_per_minute: Option<u64>,
    /// Programs a minute.
    pub programs_per_minute: Option<u64>,
    /// Steps of all its programs a minute.
    pub steps_per_minute: Option<u64>,
    /// Programs at a time.
    pub concurrent_programs: Option<u64>,
    /// Upstream calls at a time, over all its programs.
    pub in_flight_calls: Option<u64>,
    /// `ptc` sessions at a time.
    pub sessions: Option<u64>,
    /// Bytes that the values of one session may take.
    pub session_memory_bytes: Option<u64>,
    /// Bytes that its programs and sessions may take together.
    pub memory_bytes: Option<u64>,
}

impl Limits {
    /// The names of the limits, as the file has them.
    pub const NAMES: [&'static str; 8] = [
        "calls_per_minute",
        "programs_per_minute",
        "steps_per_minute",
        "concurrent_programs",
        "in_flight_calls",
        "sessions",
        "session_memory_bytes",
        "memory_bytes",
    ];

    /// Whether none is set.
    pub fn is_empty(&self) -> bool {
        *self == Limits::default()
    }

    /// The limit of that name.
    pub(super) fn named(&mut self, name: &str) -> Option<&mut Option<u64>> {
        Some(match name {
            "calls_per_minute" => &mut self.calls_per_minute,
            "programs_per_minute" => &mut self.programs_per_minute,
            "steps_per_minute" => &mut self.steps_per_minute,
            "concurrent_programs" => &mut self.concurrent_programs,
            "in_flight_calls" => &mut self.in_flight_calls,
            "sessions" => &mut self.sessions,
            "session_memory_bytes" => &mut self.session_memory_bytes,
            "memory_bytes" => &mut self.memory_bytes,
            _ => return None,
        })
    }

    /// Of each limit the least that may hold: up to the first rule that matches for certain and sets it. `rules`: whether each
    /// matches for certain, and its limits, in the order of the file.
    pub(super) fn least<'l>(rules: impl Iterator<Item = (bool, &'l Limits)> + Clone) -> Limits {
        let mut least = Limits::default();
        for name in Self::NAMES {
            let set = |(is_certain, limits): (bool, &Limits)| {
                Some((is_certain, limits.clone().named(name).and_then(|limit| *limit)?))
            };
            let mut is_settled = false;
            let candidates = rules.clone().filter_map(set).take_while(|(is_certain, _)| {
                let goes_on = !is_settled;
                is_settled |= is_certain;
                goes_on
            });
            let found = candidates.map(|(_, limit)| limit).min();
            if let Some(limit) = least.named(name) {
                *limit = found;
            }
        }
        least
    }

    /// These, with what they leave open taken from `further`.
    pub(super) fn or(mut self, further: &Limits) -> Limits {
        let mut further = further.clone();
        for name in Self::NAMES {
            if let (Some(own), Some(theirs)) = (self.named(name), further.named(name)) {
                *own = own.or(*theirs);
            }
        }
        self
    }
}
