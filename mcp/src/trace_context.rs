//! W3C Trace Context: `traceparent` and `tracestate`, which `_meta` and HTTP headers carry alike.

use std::fmt;
use std::sync::Arc;

/// Most members of a `tracestate`, by the recommendation of the W3C.
const MAX_MEMBERS: usize = 32;
/// Longest `tracestate` that is passed on, in bytes: what everybody has to pass on at least.
const MAX_STATE: usize = 512;
/// Longest `tracestate` that is read: that of the most members of the longest keys and values.
const MAX_READ: usize = MAX_MEMBERS * (256 + 256 + 4);
/// Members longer than this are the first to go where there is no room for all.
const LONG_MEMBER: usize = 128;
/// Length of a `traceparent` of version 00.
const PARENT_LENGTH: usize = 55;
/// The flag of a trace that is recorded.
const SAMPLED: u8 = 1;

/// The id of a trace; never all zeros.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceId(pub [u8; 16]);

/// The id of a span; never all zeros.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanId(pub [u8; 8]);

/// The position of a request in a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext {
    /// The trace.
    pub trace_id: TraceId,
    /// The span that is the parent of whatever happens next.
    pub span_id: SpanId,
    /// Whether the trace is recorded, for all that its sender knows.
    pub is_sampled: bool,
    /// What others in the trace have noted, a valid `tracestate` of at most 512 bytes.
    pub state: Option<Arc<str>>,
}

impl TraceContext {
    /// Reads a `traceparent` and the `tracestate` beside it. `None` if the former is not valid; an invalid `tracestate` is left
    /// out.
    pub fn parse(parent: &str, state: Option<&str>) -> Option<TraceContext> {
        let bytes = parent.as_bytes();
        let [version, trace_id, span_id, flags] =
            [bytes.get(..2)?, bytes.get(3..35)?, bytes.get(36..52)?, bytes.get(53..PARENT_LENGTH)?];
        if [2, 35, 52].iter().any(|at| bytes[*at] != b'-') {
            return None;
        }
        let [version]: [u8; 1] = from_hex(version)?;
        // A later version may be longer, behind another dash.
        let fits = match version {
            0 => bytes.len() == PARENT_LENGTH,
            0xff => false,
            _ => bytes.get(PARENT_LENGTH).is_none_or(|next| *next == b'-'),
        };
        let (trace_id, span_id, [flags]) = (from_hex(trace_id)?, from_hex(span_id)?, from_hex::<1>(flags)?);
        if !fits || trace_id == [0; 16] || span_id == [0; 8] {
            return None;
        }
        Some(TraceContext {
            trace_id: TraceId(trace_id),
            span_id: SpanId(span_id),
            is_sampled: flags & SAMPLED != 0,
            state: state.and_then(valid_state).map(Arc::from),
        })
    }

    /// The same with another span as the parent.
    #[must_use]
    pub fn below(&self, span_id: SpanId) -> TraceContext {
        TraceContext { span_id, ..self.clone() }
    }

    /// The value of `traceparent`.
    pub fn parent(&self) -> String {
        format!("00-{}-{}-{:02x}", self.trace_id, self.span_id, u8::from(self.is_sampled))
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", u64::from_be_bytes(self.0))
    }
}

impl fmt::Debug for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Bytes of lower-case hexadecimal digits.
fn from_hex<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut out = [0; N];
    if digits.len() != 2 * N {
        return None;
    }
    for (pair, byte) in digits.chunks_exact(2).zip(&mut out) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(out)
}

/// The part of a `tracestate` that is passed on; `None` if it is not valid, or empty.
fn valid_state(text: &str) -> Option<String> {
    if text.len() > MAX_READ {
        return None;
    }
    let members: Vec<&str> = text
        .split(',')
        .map(|member| member.trim_matches([' ', '\t']))
        .filter(|member| !member.is_empty())
        .collect();
    let keys: Vec<&str> = members.iter().map(|member| member_key(member)).collect::<Option<_>>()?;
    let repeats = keys.iter().enumerate().any(|(at, key)| keys[..at].contains(key));
    if members.is_empty() || members.len() > MAX_MEMBERS || repeats {
        return None;
    }
    let length = |kept: &[&str]| kept.iter().map(|member| member.len() + 1).sum::<usize>() - 1;
    let mut kept = members;
    if length(&kept) > MAX_STATE {
        kept.retain(|member| member.len() <= LONG_MEMBER);
    }
    while !kept.is_empty() && length(&kept) > MAX_STATE {
        kept.pop();
    }
    (!kept.is_empty()).then(|| kept.join(","))
}

/// The key of a member of `tracestate`, if both it and its value are valid.
fn member_key(member: &str) -> Option<&str> {
    let (key, value) = member.split_once('=')?;
    let is_key = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-' | b'*' | b'/' | b'@')
    };
    let is_value = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'=';
    let begins = key.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let is_valid = begins
        && key.len() <= 256
        && key.bytes().all(is_key)
        && (1..=256).contains(&value.len())
        && value.bytes().all(is_value);
    is_valid.then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_valid_context_is_written_as_it_was_read() {
        let context = TraceContext::parse(PARENT, Some("rojo=00f067aa0ba902b7, congo=t61rcWkgMzE")).unwrap();
        assert_eq!(context.parent(), PARENT);
        assert_eq!(context.trace_id.to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(context.state.as_deref(), Some("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"));
        let below = context.below(SpanId([0xab; 8]));
        assert_eq!(below.parent(), "00-4bf92f3577b34da6a3ce929d0e0e4736-abababababababab-01");
        assert_eq!(below.state, context.state);
    }

    #[test]
    fn flags_besides_the_one_that_is_known_are_not_passed_on() {
        let parse = |text: &str| TraceContext::parse(text, None).map(|context| context.parent());
        let of_flags = |flags: &str| parse(&format!("{}{flags}", &PARENT[..53]));
        assert_eq!(of_flags("ff").as_deref(), Some(PARENT));
        assert!(of_flags("02").unwrap().ends_with("-00"));
    }

    #[test]
    fn a_later_version_may_have_more_behind_a_dash() {
        let parse = |text: String| TraceContext::parse(&text, None).map(|context| context.parent());
        assert_eq!(parse(format!("cc{}-more", &PARENT[2..])).as_deref(), Some(PARENT));
        assert_eq!(parse(format!("cc{}", &PARENT[2..])).as_deref(), Some(PARENT));
        assert_eq!(parse(format!("cc{}more", &PARENT[2..])), None);
    }

    #[test]
    fn what_is_no_context_is_none() {
        for text in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 ",
            " 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00F067AA0BA902B7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01",
            "00-4bf92f3577b34da6a3ce929d0e0e473\u{e9}00f067aa0ba902b7-01-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0g",
        ] {
            assert_eq!(TraceContext::parse(text, None), None, "{text:?}");
        }
        let giant = format!("00-{}", "a".repeat(1 << 20));
        assert_eq!(TraceContext::parse(&giant, None), None);
        let later = format!("01{}{}", &PARENT[2..], "f".repeat(1 << 20));
        assert_eq!(TraceContext::parse(&later, None), None);
    }

    #[test]
    fn an_invalid_state_is_left_out_and_its_parent_stays() {
        let of_state = |state: &str| TraceContext::parse(PARENT, Some(state)).unwrap().state;
        let many: Vec<String> = (0..600).map(|number| format!("k{number}=v")).collect();
        for state in [
            "",
            ",",
            " , ",
            "a",
            "=b",
            "a=",
            "A=b",
            "a=b,a=c",
            "a=b=c",
            "a=\u{1}",
            "a=\u{e4}",
            "-a=b",
            &many.join(","),
        ] {
            assert_eq!(of_state(state), None, "{state:?}");
        }
        assert_eq!(of_state(&many[..32].join(",")).as_deref(), Some(&*many[..32].join(",")));
        assert_eq!(of_state(&many[..33].join(",")), None);
    }

    #[test]
    fn a_state_that_is_too_long_loses_its_long_members_and_then_its_last_ones() {
        let of_state = |state: &str| TraceContext::parse(PARENT, Some(state)).unwrap().state;
        let long = format!("long={}", "x".repeat(200));
        let rest: Vec<String> = (0..8).map(|number| format!("k{number}={}", "y".repeat(60))).collect();
        let state = of_state(&format!("first=1,{long},{}", rest.join(","))).unwrap();
        assert_eq!(&*state, format!("first=1,{}", rest[..7].join(",")));
        assert!(state.len() <= MAX_STATE);
        let longest = format!("a={}", "x".repeat(256));
        assert_eq!(of_state(&format!("{longest},b{longest}")), None);
    }
}
