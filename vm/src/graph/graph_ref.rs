//! How a graph refers to its values.

/// A value of a graph: the number of its node, or the value itself if it is `nil`, a boolean or an integer of at most 62 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GraphRef(pub(super) u64);

/// The value or node that a [`GraphRef`] stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GraphRefKind {
    Nil,
    False,
    True,
    Int(i64),
    Node(u64),
}

impl GraphRef {
    pub(super) const NIL: GraphRef = GraphRef(0);
    pub(super) const FALSE: GraphRef = GraphRef(2);
    pub(super) const TRUE: GraphRef = GraphRef(4);
    /// Places that are even and less than this stand for values.
    pub(super) const FIRST_NODE: u64 = 6;

    pub(super) fn node(number: u32) -> GraphRef {
        GraphRef(GraphRef::FIRST_NODE + 2 * u64::from(number))
    }

    /// The place of an integer, if that is no node.
    pub(super) fn int(n: i64) -> Option<GraphRef> {
        let zigzag = zigzag(n);
        (zigzag <= u64::MAX >> 1).then_some(GraphRef(zigzag << 1 | 1))
    }

    pub(super) fn told(self) -> GraphRefKind {
        match self.0 {
            0 => GraphRefKind::Nil,
            2 => GraphRefKind::False,
            4 => GraphRefKind::True,
            odd if odd & 1 == 1 => GraphRefKind::Int(unzigzag(odd >> 1)),
            even => GraphRefKind::Node((even - GraphRef::FIRST_NODE) / 2),
        }
    }
}

/// An integer with its sign in the lowest bit, so that small ones are short.
pub(super) fn zigzag(n: i64) -> u64 {
    (n << 1 ^ n >> 63) as u64
}

pub(super) fn unzigzag(n: u64) -> i64 {
    (n >> 1) as i64 ^ -((n & 1) as i64)
}
