//! The size limits of a payload under each response profile.

use super::Shaper;
use crate::settings::Profile;

/// The caps of one profile.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caps {
    /// Printed texts.
    pub(super) print_entries: usize,
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

/// The caps of a profile. The whole object must have space for the text if the profile repeats it.
pub(super) fn caps(shaper: &Shaper) -> Caps {
    let caps = match shaper.profile {
        Profile::Slim => Caps {
            print_entries: 20,
            print_bytes: 8192,
            feedback_bytes: 8192,
            validated_bytes: 0,
            preview_string: 512,
            result_object: 32_768,
        },
        Profile::Structured => Caps {
            print_entries: 50,
            print_bytes: 16_384,
            feedback_bytes: 16_384,
            validated_bytes: 32_768,
            preview_string: 1024,
            result_object: 98_304,
        },
        Profile::Debug => Caps {
            print_entries: 200,
            print_bytes: 65_536,
            feedback_bytes: 65_536,
            validated_bytes: 131_072,
            preview_string: 2048,
            result_object: 524_288,
        },
    };
    let most = shaper.max_print_bytes.unwrap_or(usize::MAX);
    Caps {
        print_bytes: caps.print_bytes.min(most),
        feedback_bytes: caps.feedback_bytes.min(most),
        result_object: caps.result_object.max(shaper.max_result_bytes.saturating_mul(4)),
        ..caps
    }
}
