//! How a call ended.

/// How a call ended, as in its file name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// With a success.
    Ok,
    /// With a failure.
    Error,
    /// It was cancelled.
    Cancelled,
    /// With an internal error.
    Crashed,
}

impl Status {
    /// All of them.
    pub(super) const ALL: [Status; 4] = [Status::Ok, Status::Error, Status::Cancelled, Status::Crashed];

    /// The word in file names.
    pub(super) fn name(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Error | Status::Crashed => "error",
            Status::Cancelled => "cancelled",
        }
    }
}
