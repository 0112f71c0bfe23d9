//! The kinds of nodes, and the numbers that stand for them.

use crate::error::Reason;
use crate::value::CombinatorKind;

/// Gives each kind its number, and makes the table of names and contents.
macro_rules! node_kinds {
    ($($number:literal $kind:ident $content:literal;)*) => {
        /// The kind of a node.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum NodeKind {
            $($kind = $number),*
        }

        impl NodeKind {
            /// The kind with this number.
            pub(super) fn of(number: u8) -> Option<NodeKind> {
                Some(match number {
                    $($number => NodeKind::$kind,)*
                    _ => return None,
                })
            }
        }

        /// The name and the content of each kind, for the fingerprint of a build.
        pub(crate) const NODE_KINDS: &[(&str, &str)] = &[$((stringify!($kind), $content)),*];
    };
}

node_kinds! {
    0 Int "signed";
    1 Float "8 bytes";
    2 Big "bytes, two's complement, lowest first";
    3 Keyword "text";
    4 Str "text";
    5 Var "node of a string";
    6 Symbol "node of a string";
    7 Tool "node of a string";
    8 Regex "node of a string";
    9 Builtin "text";
    10 Vector "count, places";
    11 LongVector "uniform (0 first step | 1 place), start, count of lengths, lengths, places";
    12 Shape "of a reply, count, places";
    13 ShapedMap "node of a shape, places";
    14 WatchedMap "node of a shape, places, watch";
    15 TreeMap "count, pairs of places";
    16 ShapedSet "node of a shape";
    17 TreeSet "count, places";
    18 Closure "program, function, node of captures";
    19 Captures "count, places";
    20 Combinator "kind, count, places";
    21 Date "signed";
    22 Instant "signed, digits";
    23 Duration "signed";
    24 Cursor "place, taken";
    25 InfoOfProgram "program, index";
    26 Info "documentation or none, parameters, text";
    27 Error "reason, message, position or none, payload or none, hint or none, nil arguments or none";
    28 Blob "kind, type, address, base64";
    29 Unnamed "text";
    30 Constant "program, number of a part of its constants";
    31 List "node of a vector";
    32 Queue "node of a vector";
    33 LocalDateTime "signed, digits";
    34 ZonedDateTime "signed, digits, text";
}

/// The kinds of combinators, each at the index that stands for it.
pub(super) const COMBINATORS: [CombinatorKind; 12] = [
    CombinatorKind::Comp,
    CombinatorKind::Complement,
    CombinatorKind::Constantly,
    CombinatorKind::Endless,
    CombinatorKind::EveryPred,
    CombinatorKind::Fnil,
    CombinatorKind::Juxt,
    CombinatorKind::Memoize,
    CombinatorKind::Partial,
    CombinatorKind::Reduced,
    CombinatorKind::SomeFn,
    CombinatorKind::Transducer,
];

/// The reason of this word.
pub(super) fn reason(word: &str) -> Option<Reason> {
    Reason::ALL.into_iter().find(|reason| reason.as_str() == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_number() {
        for (index, (name, _)) in NODE_KINDS.iter().enumerate() {
            let kind = NodeKind::of(index as u8).expect("a kind");
            assert_eq!((kind as usize, format!("{kind:?}").as_str()), (index, *name));
        }
        assert_eq!(NodeKind::of(NODE_KINDS.len() as u8), None);
        for (index, kind) in COMBINATORS.into_iter().enumerate() {
            assert_eq!(kind as usize, index);
        }
        assert_eq!(CombinatorKind::Transducer as usize + 1, COMBINATORS.len(), "the last one is known");
        for found in Reason::ALL {
            assert_eq!(reason(found.as_str()), Some(found));
        }
    }
}
