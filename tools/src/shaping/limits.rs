//! The size limits of a payload under each response profile.

use ptc_protocol::settings::Profile;

/// Lines and bytes of JSON of a program's prints that an answer shows (language.md 6.2). `doc` keeps to them.
const PRINT_LINES: usize = 200;
const PRINT_BYTES: usize = 16_384;

/// The parameters of shaping besides the payload.
#[derive(Debug, Clone, Copy)]
pub struct Shaper {
    /// The response profile.
    pub profile: Profile,
    /// Longest text of a value, in bytes.
    pub max_result_bytes: usize,
    /// Longest printed text, in bytes, if the client has less room than the profile would allow.
    pub room: Option<usize>,
    /// True for a tool whose results have a schema of its own: what is not finished is structured content then, whatever the profile
    /// is, since clients take no other answer of it that is no error.
    pub has_own_schema: bool,
}

impl Shaper {
    /// With the limits of the profile and `max_result_bytes`, for any client.
    pub fn new(profile: Profile, max_result_bytes: usize) -> Self {
        Shaper { profile, max_result_bytes, room: None, has_own_schema: false }
    }

    /// The profile of answers about a program that waits or runs.
    pub(super) fn unfinished(&self) -> Profile {
        if self.has_own_schema { Profile::Structured } else { self.profile }
    }

    /// The same for a client that passes on a text of `room` bytes whole: two thirds for the value, the rest of that
    /// for prints, and a tenth for notes. A text without structured content may be longer for a client that accepts
    /// more; a text beside structured content may not.
    pub(crate) fn fitting(self, room: usize) -> Self {
        let value = room / 3 * 2;
        let max_result_bytes = match self.profile {
            Profile::Slim => value,
            Profile::Structured | Profile::Debug => value.min(self.max_result_bytes),
        };
        Shaper { max_result_bytes, room: Some(room), ..self }
    }
}

/// The caps of one profile.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caps {
    /// Printed lines.
    pub(super) print_lines: usize,
    /// Bytes of the `prints` array.
    pub(super) print_bytes: usize,
    /// Bytes of `feedback`.
    pub(super) feedback_bytes: usize,
    /// Bytes of JSON up to which `validated` is sent whole.
    pub(super) validated_bytes: usize,
    /// Bytes of a string inside `validated_preview`.
    pub(super) preview_string: usize,
    /// Bytes of the whole result object.
    pub(super) result_object: usize,
}

/// The caps of a profile. The whole object must have space for the text if the profile repeats it. `beside` is the
/// bytes of the parts besides the prints.
pub(super) fn caps(shaper: &Shaper, beside: usize) -> Caps {
    let of = |feedback_bytes, validated_bytes, preview_string, result_object| Caps {
        print_lines: PRINT_LINES,
        print_bytes: PRINT_BYTES,
        feedback_bytes,
        validated_bytes,
        preview_string,
        result_object,
    };
    let caps = match shaper.profile {
        Profile::Slim => of(8192, 0, 512, 49_152),
        Profile::Structured => of(16_384, 32_768, 1024, 98_304),
        Profile::Debug => of(65_536, 131_072, 2048, 524_288),
    };
    // A tenth is for notes; at least a quarter is for prints, regardless of the value.
    let most = shaper.room.map_or(usize::MAX, |room| {
        let left = (room / 10 * 9).saturating_sub(beside.min(shaper.max_result_bytes));
        left.max(room / 4)
    });
    Caps {
        print_bytes: caps.print_bytes.min(most),
        feedback_bytes: caps.feedback_bytes.min(most),
        result_object: caps.result_object.max(shaper.max_result_bytes.saturating_mul(4)),
        ..caps
    }
}
