//! The enumerated option values, and the error texts for unknown ones (agent.md 3).

use super::ConfigError;
use std::str::FromStr;

/// The form of a model's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Output {
    /// PTC-Lisp programs, whose value is the answer.
    #[default]
    PtcLisp,
    /// Text, which is the answer.
    Text,
}

/// The form in which the model writes programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Transport {
    /// In a fenced block of its text.
    #[default]
    Content,
    /// As the argument of the native tool `lisp_eval`.
    ToolCall,
}

/// How an agent works: output and transport together (agent.md 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Mode {
    /// [`Output::PtcLisp`] with [`Transport::Content`]: one program in a fenced block a turn.
    #[default]
    Lisp,
    /// [`Output::PtcLisp`] with [`Transport::ToolCall`]: programs by `lisp_eval`, the only native tool.
    LispTool,
    /// [`Output::Text`] without transport: it chats and calls native tools.
    Text,
    /// [`Output::Text`] with [`Transport::ToolCall`]: as text, and it may run programs with `lisp_eval`.
    Combined,
}

impl Mode {
    /// The mode of this output and transport.
    ///
    /// # Errors
    /// Text output has no programs in its text.
    pub(crate) fn of(output: Output, transport: Option<Transport>) -> Result<Mode, ConfigError> {
        match (output, transport) {
            (Output::PtcLisp, None | Some(Transport::Content)) => Ok(Mode::Lisp),
            (Output::PtcLisp, Some(Transport::ToolCall)) => Ok(Mode::LispTool),
            (Output::Text, None) => Ok(Mode::Text),
            (Output::Text, Some(Transport::ToolCall)) => Ok(Mode::Combined),
            (Output::Text, Some(Transport::Content)) => Err(ConfigError::new(
                "ptc_transport: :content is not supported with output: :text — use ptc_transport: :tool_call for \
                 combined mode, or omit ptc_transport",
            )),
        }
    }

    /// The form of the model's output.
    #[must_use]
    pub fn output(self) -> Output {
        match self {
            Mode::Lisp | Mode::LispTool => Output::PtcLisp,
            Mode::Text | Mode::Combined => Output::Text,
        }
    }

    /// The form in which the model writes programs, if it writes any.
    #[must_use]
    pub fn transport(self) -> Option<Transport> {
        match self {
            Mode::Lisp => Some(Transport::Content),
            Mode::LispTool | Mode::Combined => Some(Transport::ToolCall),
            Mode::Text => None,
        }
    }

    /// Whether the native tool `lisp_eval` is offered.
    #[must_use]
    pub(crate) fn has_lisp_eval(self) -> bool {
        matches!(self, Mode::LispTool | Mode::Combined)
    }
}

/// When a program of a PTC-Lisp agent ends the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CompletionMode {
    /// At `(return v)` or `(fail v)`; for an agent of one turn without tools also at its last value, and when the
    /// turns are used up the last successful value stands in for an answer.
    #[default]
    Implicit,
    /// Only at `(return v)` or `(fail v)`. Retry turns then follow any failure of the last turn.
    Explicit,
}

/// The effect of definitions that exceed the memory limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MemoryStrategy {
    /// The run ends.
    #[default]
    Strict,
    /// The program's definitions are dropped and the model reads why.
    Rollback,
}

/// How much of the language the system prompt of combined mode explains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PtcReference {
    /// A reference of some 270 to 450 tokens.
    #[default]
    Compact,
}

macro_rules! words {
    ($type:ty, $option:literal, $choices:literal, { $($word:literal => $value:expr),+ $(,)? }) => {
        impl FromStr for $type {
            type Err = ConfigError;

            /// Reads the option's word, with or without its leading colon.
            fn from_str(text: &str) -> Result<Self, ConfigError> {
                match text.strip_prefix(':').unwrap_or(text) {
                    $($word => Ok($value),)+
                    other => Err(ConfigError::new(format!(concat!($option, " must be ", $choices, ", got :{}"), other))),
                }
            }
        }
    };
}

words!(Output, "output", ":ptc_lisp or :text", { "ptc_lisp" => Output::PtcLisp, "text" => Output::Text });
words!(Transport, "ptc_transport", ":content or :tool_call", {
    "content" => Transport::Content, "tool_call" => Transport::ToolCall,
});
words!(CompletionMode, "completion_mode", ":implicit or :explicit", {
    "implicit" => CompletionMode::Implicit, "explicit" => CompletionMode::Explicit,
});
words!(MemoryStrategy, "memory_strategy", ":strict or :rollback", {
    "strict" => MemoryStrategy::Strict, "rollback" => MemoryStrategy::Rollback,
});

impl FromStr for PtcReference {
    type Err = ConfigError;

    /// Reads the option's word, with or without its leading colon.
    fn from_str(text: &str) -> Result<Self, ConfigError> {
        match text.strip_prefix(':').unwrap_or(text) {
            "compact" => Ok(PtcReference::Compact),
            "full" => Err(ConfigError::new("ptc_reference: :full is deferred (v1 supports :compact only)")),
            other => Err(ConfigError::new(format!("ptc_reference must be :compact, got :{other}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong<T: FromStr<Err = ConfigError>>(text: &str) -> String {
        text.parse::<T>().err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn words_are_read_and_refused_with_the_exact_texts() {
        assert_eq!(":tool_call".parse(), Ok(Transport::ToolCall));
        assert_eq!("compact".parse(), Ok(PtcReference::Compact));
        assert_eq!(wrong::<Output>("json"), "output must be :ptc_lisp or :text, got :json");
        assert_eq!(wrong::<Transport>("fax"), "ptc_transport must be :content or :tool_call, got :fax");
        assert_eq!(wrong::<MemoryStrategy>(":lax"), "memory_strategy must be :strict or :rollback, got :lax");
        assert_eq!(wrong::<CompletionMode>("x"), "completion_mode must be :implicit or :explicit, got :x");
        assert_eq!(wrong::<PtcReference>("false"), "ptc_reference must be :compact, got :false");
        assert_eq!(
            wrong::<PtcReference>(":full"),
            "ptc_reference: :full is deferred (v1 supports :compact only)"
        );
    }

    #[test]
    fn text_has_no_content_transport() {
        assert_eq!(Mode::of(Output::default(), None), Ok(Mode::Lisp));
        assert_eq!(Mode::of(Output::Text, Some(Transport::ToolCall)), Ok(Mode::Combined));
        assert_eq!(
            Mode::of(Output::Text, Some(Transport::Content)).unwrap_err().to_string(),
            "ptc_transport: :content is not supported with output: :text — use ptc_transport: :tool_call for combined \
             mode, or omit ptc_transport"
        );
    }
}
