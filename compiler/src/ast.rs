//! Core forms: the program after analysis.
//!
//! Macros are expanded, names are resolved and shapes are checked. All nodes lie in one vector and refer to their children by
//! index. Every part that a program can make long (`->` steps, `cond` clauses, `and` operands, bindings) is a list in *one*
//! node. The tree is therefore never deeper than the text is nested, and passes over it may recurse.

use crate::form::Items;
use crate::names::Name;
use crate::source::Span;

/// A node of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NodeId(u32);

/// A local of one function body, numbered from 0. Parameters come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct LocalId(pub u32);

/// A function of the program; an index into [`Ast::functions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FnId(pub u32);

/// A pattern; an index into [`Ast::patterns`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PatternId(pub u32);

/// A run of elements in one of the tables of [`Ast`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableRange {
    start: u32,
    len: u32,
}

impl TableRange {
    /// How many elements.
    pub(crate) fn len(self) -> usize {
        self.len as usize
    }

    /// The elements of `table`.
    pub(crate) fn of<T>(self, table: &[T]) -> &[T] {
        &table[self.start as usize..][..self.len as usize]
    }

    /// The first `n` elements.
    pub(crate) fn take(self, n: usize) -> Self {
        Self { start: self.start, len: (n as u32).min(self.len) }
    }

    /// Appends to `table` and returns the run.
    pub(crate) fn append<T: Copy>(table: &mut Vec<T>, items: &[T]) -> Self {
        let start = table.len() as u32;
        table.extend_from_slice(items);
        Self { start, len: items.len() as u32 }
    }
}

/// A core form. A [`TableRange`] without further remark is one of [`Ast::lists`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Node {
    /// `nil`
    Nil,
    /// `true`, `false`
    Bool(bool),
    /// A 64-bit integer.
    Int(i64),
    /// A larger integer, by its number in the forms.
    BigInt(u32),
    /// A float, special ones included.
    Float(f64),
    /// A string, by its number in the forms.
    Str(u32),
    /// A regex, by the number of its pattern in the forms.
    Regex(u32),
    /// A keyword.
    Keyword(Name),
    /// A keyword or a symbol reference that does not stand in the program as a whole.
    Joined {
        /// The number of its text in the forms.
        text: u32,
        /// Which of the two.
        is_keyword: bool,
    },
    /// A symbol reference.
    Symbol(Name),
    /// A tool reference.
    Tool(Name),
    /// A builtin that no definition can replace: a qualified name, or the function of a special form.
    Builtin(u16),

    /// A local. `last`: nothing reads it afterwards, on any path.
    Local {
        /// Which one.
        local: LocalId,
        /// Set by [`liveness`](crate::liveness).
        last: bool,
    },
    /// A captured value of the running closure.
    Capture(u32),
    /// The running closure.
    SelfFn,
    /// A sibling in a `letfn` group.
    Sibling(FnId),
    /// A name of the user namespace, or else the builtin of that name.
    Global(Name),
    /// As `Global`, but nil if there is neither: a bare operand of `or`.
    GlobalOrNil(Name),
    /// `data/name`
    Data(Name),
    /// `data/name` in a called program.
    DataOf {
        /// Its argument.
        argument: NodeId,
        /// The key.
        name: Name,
    },
    /// The call of a kept program.
    CallProgram {
        /// The function that its text is.
        function: FnId,
        /// The map of arguments.
        argument: NodeId,
    },
    /// `*1`
    History(u8),
    /// `budget/remaining`
    Budget,
    /// In a call that is a step of a [`Node::Thread`]: the value of the steps before it, already on the stack.
    Hole,

    /// A collection that stands for itself, as it was read.
    Literal {
        /// Which one.
        kind: Collection,
        /// Its forms; keys and values of a map in turn.
        items: Items,
    },
    /// A vector. `constant`: all elements are.
    Vector {
        /// Elements.
        items: TableRange,
        /// Whether it can be built before the program runs.
        constant: bool,
    },
    /// A quoted list, or `()`.
    List(TableRange),
    /// A map; keys and values in turn.
    Map {
        /// Keys and values.
        items: TableRange,
        /// Whether it can be built before the program runs.
        constant: bool,
    },
    /// A set.
    Set {
        /// Elements.
        items: TableRange,
        /// Whether it can be built before the program runs.
        constant: bool,
    },

    /// Forms in order; the value of the last, nil if there is none.
    Do(TableRange),
    /// Condition, then, else.
    If(NodeId, NodeId, NodeId),
    /// Operands; there is at least one.
    And(TableRange),
    /// Operands; there is at least one.
    Or(TableRange),
    /// Test and result in turn, and the default at the end.
    Cond(TableRange),
    /// An index into [`Ast::cases`].
    Case(u32),
    /// An index into [`Ast::condps`].
    Condp(u32),
    /// An index into [`Ast::conditional_lets`].
    ConditionalLet(u32),
    /// `bindings` is a run of [`Ast::bindings`].
    Let {
        /// Patterns and values, in order.
        bindings: TableRange,
        /// The body that sees them.
        body: NodeId,
    },
    /// An index into [`Ast::loops`].
    Loop(u32),
    /// Back to the innermost loop or function body.
    Recur {
        /// New values of the loop variables.
        arguments: TableRange,
        /// Index into [`Ast::loops`], or [`FUNCTION_BODY`].
        target: u32,
    },
    /// A new closure.
    Fn(FnId),
    /// An index into [`Ast::groups`].
    Letfn(u32),

    /// A call of any value.
    Call {
        /// The callee.
        callee: NodeId,
        /// Arguments.
        arguments: TableRange,
    },
    /// A call of a global name: a definition or a builtin.
    CallGlobal {
        /// Its name.
        name: Name,
        /// Arguments.
        arguments: TableRange,
    },
    /// Calls one inside the other, innermost first: each has a [`Node::Hole`] among its arguments that stands for the one
    /// before it, the first for `base`.
    Thread {
        /// The innermost expression.
        base: NodeId,
        /// Nodes of kind `Call` or `CallGlobal`.
        calls: TableRange,
    },
    /// An index into [`Ast::pipes`].
    Pipe(u32),
    /// An index into [`Ast::comprehensions`].
    For(u32),

    /// An index into [`Ast::definitions`].
    Def(u32),
    /// The var of a name, without a definition.
    Var(Name),
    /// `(return value)`
    Return(NodeId),
    /// `(fail value)`
    Fail(NodeId),
    /// `(task id value)`
    Task(NodeId, NodeId),
}

/// The kinds of literal collections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Collection {
    /// `[ … ]`
    Vector,
    /// `{ … }`
    Map,
    /// `#{ … }`
    Set,
}

/// The target of a [`Node::Recur`] that restarts its function.
pub(crate) const FUNCTION_BODY: u32 = u32::MAX;

/// A pattern and the value that it takes apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PatternBinding {
    /// The pattern that is bound.
    pub pattern: PatternId,
    /// Its value.
    pub value: NodeId,
}

/// A binding form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pattern {
    /// A name.
    Bind(LocalId),
    /// `[p … & rest :as whole]`
    Vector {
        /// A run of [`Ast::pattern_lists`].
        items: TableRange,
        /// The pattern after `&`.
        rest: Option<PatternId>,
        /// The name after `:as`.
        whole: Option<LocalId>,
    },
    /// `{…}`
    Map {
        /// A run of [`Ast::entries`].
        entries: TableRange,
        /// The name after `:as`.
        whole: Option<LocalId>,
        /// Whether the value may be a vector of keyword arguments: the pattern stands after `&`.
        keyword_arguments: bool,
    },
}

/// One key of a map pattern.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct EntryPattern {
    /// A constant.
    pub key: NodeId,
    /// The pattern that takes its value.
    pub pattern: PatternId,
    /// The value for an absent key.
    pub default: Option<NodeId>,
}

/// `(case subject constants result … default)`
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// The value that is compared.
    pub subject: NodeId,
    /// Constants (a run of lists) and result.
    pub clauses: Vec<(TableRange, NodeId)>,
    /// The value otherwise.
    pub default: NodeId,
}

/// `(condp predicate subject test result … default)`
#[derive(Clone, Debug)]
pub(crate) struct Condp {
    /// Called with test and subject.
    pub predicate: NodeId,
    /// The value that is compared.
    pub subject: NodeId,
    /// The clauses.
    pub clauses: Vec<CondpClause>,
    /// The value otherwise.
    pub default: NodeId,
}

/// A clause of `condp`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CondpClause {
    /// First argument of the predicate.
    pub test: NodeId,
    /// The result, or with `:>>` the function that is called with the predicate's result.
    pub result: NodeId,
    /// Whether `:>>` stands between them.
    pub applies: bool,
}

/// The condition of a [`ConditionalLet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// Neither nil nor false (`if-let`).
    Truthy,
    /// Not nil (`if-some`).
    NonNil,
    /// A first element, which is bound (`when-first`).
    First,
}

/// `if-let` and its kin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConditionalLet {
    /// The condition on the value.
    pub condition: Condition,
    /// The pattern that takes the value.
    pub pattern: PatternId,
    /// The value.
    pub value: NodeId,
    /// If the answer is yes; sees the names of the pattern.
    pub then: NodeId,
    /// Otherwise. Sees the name if the pattern is one and the name means nothing else.
    pub otherwise: NodeId,
}

/// A `loop`, or a function body with its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Loop {
    /// The loop variables, each with its first value (a run of bindings to plain names).
    pub variables: TableRange,
    /// The patterns that are matched anew in each round (a run of bindings).
    pub heads: TableRange,
    /// The body.
    pub body: NodeId,
    /// Locals from outside that the loop reads (a run of [`Ast::read_sets`]), if it goes round.
    pub reads: TableRange,
}

/// `as->`, `cond->`, `some->`, `doto`: one value that goes from step to step in a local.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pipe {
    /// How the steps are chained.
    pub kind: PipeKind,
    /// The local that holds the value.
    pub local: LocalId,
    /// The first value.
    pub start: NodeId,
    /// The steps; with [`PipeKind::Cond`] test and step in turn.
    pub steps: TableRange,
}

/// How a [`Pipe`] chains its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PipeKind {
    /// Each step gives the next value.
    As,
    /// So does each whose test holds.
    Cond,
    /// Each step gives the next value, until one is nil.
    Some,
    /// The value stays the same, results of steps are dropped.
    Doto,
}

/// `for` and `doseq`.
#[derive(Clone, Debug)]
pub(crate) struct Comprehension {
    /// Whether the values of the body are collected.
    pub collects: bool,
    /// The loops, outermost first.
    pub levels: Vec<ComprehensionLoop>,
    /// The body.
    pub body: NodeId,
}

/// One loop of a [`Comprehension`].
#[derive(Clone, Debug)]
pub(crate) struct ComprehensionLoop {
    /// The pattern that takes each element.
    pub pattern: PatternId,
    /// Where the elements come from.
    pub collection: NodeId,
    /// The modifiers after the pair, in order.
    pub modifiers: Vec<Modifier>,
    /// Locals from outside this level that the repeated part reads (a run of [`Ast::read_sets`]).
    pub reads: TableRange,
}

/// A modifier of a [`ComprehensionLoop`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Modifier {
    /// `:when`
    When(NodeId),
    /// `:while`
    While(NodeId),
    /// `:let`, a run of bindings
    Let(TableRange),
}

/// `def`, `defonce`, `defn`
#[derive(Clone, Copy, Debug)]
pub(crate) struct Definition {
    /// The defined name.
    pub name: Name,
    /// Its value.
    pub value: NodeId,
    /// The docstring, by its number in the forms.
    pub doc: Option<u32>,
    /// Whether an existing definition is left alone.
    pub once: bool,
    /// The whole form.
    pub span: Span,
}

/// A function: `fn`, `defn`, `#( … )`, a member of `letfn`.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    /// Its own name.
    pub name: Option<Name>,
    /// Bodies by ascending number of parameters, a variadic one last.
    pub arities: Vec<Arity>,
    /// Index into [`Ast::captures`].
    pub captures: u32,
    /// Where it stands.
    pub span: Span,
}

/// One body of a function.
#[derive(Clone, Debug)]
pub(crate) struct Arity {
    /// Parameters by position: locals 0 to `required` − 1.
    pub required: u32,
    /// The local of the one after `&`.
    pub rest: Option<LocalId>,
    /// The patterns that are matched at the start, and the body.
    pub body: Loop,
    /// How many locals it has.
    pub locals: u32,
    /// The parameter vector, as it stands in the text; empty for `#( … )`.
    pub parameters: Span,
    /// How the parameters print.
    pub display: TableRange,
}

/// How a parameter prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParameterDisplay {
    /// A name.
    Name(Name),
    /// `_`: it is taken apart.
    Pattern,
    /// `pN` of a short function.
    Placeholder(u8),
    /// `rest` of a short function.
    Rest,
}

/// A `letfn` group.
#[derive(Clone, Debug)]
pub(crate) struct LetfnGroup {
    /// The functions, and the locals that hold them in the body.
    pub members: Vec<(FnId, LocalId)>,
    /// The body that sees them.
    pub body: NodeId,
}

/// Where a new closure takes a captured value from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CaptureSource {
    /// A local of the creating body.
    Local(LocalId),
    /// A captured value of the creating closure.
    Capture(u32),
    /// The creating closure.
    SelfFn,
    /// A sibling of the creating closure.
    Sibling(FnId),
}

/// A whole program as core forms.
#[derive(Debug, Default)]
pub(crate) struct Ast {
    nodes: Vec<Node>,
    spans: Vec<Span>,
    /// Children.
    pub lists: Vec<NodeId>,
    /// Patterns.
    pub patterns: Vec<Pattern>,
    /// Children of vector patterns.
    pub pattern_lists: Vec<PatternId>,
    /// Keys of map patterns.
    pub entries: Vec<EntryPattern>,
    /// Bindings.
    pub bindings: Vec<PatternBinding>,
    /// `case`
    pub cases: Vec<Case>,
    /// `condp`
    pub condps: Vec<Condp>,
    /// `if-let` and its kin
    pub conditional_lets: Vec<ConditionalLet>,
    /// `loop`
    pub loops: Vec<Loop>,
    /// `as->` and its kin
    pub pipes: Vec<Pipe>,
    /// `for`, `doseq`
    pub comprehensions: Vec<Comprehension>,
    /// `def`
    pub definitions: Vec<Definition>,
    /// Functions.
    pub functions: Vec<Function>,
    /// How parameters print.
    pub display: Vec<ParameterDisplay>,
    /// `letfn`
    pub groups: Vec<LetfnGroup>,
    /// The captures of functions; a `letfn` group and the bodies of one function share a list.
    pub captures: Vec<Vec<CaptureSource>>,
    /// Locals that loops read from outside.
    pub read_sets: Vec<LocalId>,
    /// The forms of the program.
    pub program: TableRange,
    /// How many locals the program's own body has.
    pub program_locals: u32,
}

impl Ast {
    /// Makes room for so many nodes.
    pub(crate) fn reserve(&mut self, nodes: usize) {
        self.nodes.reserve(nodes);
        self.spans.reserve(nodes);
        self.lists.reserve(nodes);
    }

    /// Bytes that [`reserve`](Ast::reserve) takes at most for so many nodes.
    pub(crate) fn reserved_bytes(nodes: usize) -> usize {
        nodes * (size_of::<Node>() + size_of::<Span>() + size_of::<NodeId>())
    }

    /// How many nodes there are.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Bytes that it holds on to.
    pub(crate) fn bytes(&self) -> usize {
        fn of<T>(table: &Vec<T>) -> usize {
            table.capacity() * size_of::<T>()
        }
        let nodes = of(&self.nodes) + of(&self.spans) + of(&self.lists);
        let patterns = of(&self.patterns) + of(&self.pattern_lists) + of(&self.entries) + of(&self.bindings);
        let forms = of(&self.cases)
            + of(&self.condps)
            + of(&self.conditional_lets)
            + of(&self.loops)
            + of(&self.pipes)
            + of(&self.comprehensions)
            + of(&self.definitions);
        let functions = of(&self.functions) + of(&self.display) + of(&self.groups) + of(&self.captures);
        let captured: usize = self.captures.iter().map(of).sum();
        nodes + patterns + forms + functions + captured + of(&self.read_sets)
    }

    /// Takes everything out, for the next program.
    pub(crate) fn clear(&mut self) {
        let Self {
            nodes,
            spans,
            lists,
            patterns,
            pattern_lists,
            entries,
            bindings,
            cases,
            condps,
            conditional_lets,
            loops,
            pipes,
            comprehensions,
            definitions,
            functions,
            display,
            groups,
            captures,
            read_sets,
            program,
            program_locals,
        } = self;
        nodes.clear();
        spans.clear();
        lists.clear();
        patterns.clear();
        pattern_lists.clear();
        entries.clear();
        bindings.clear();
        cases.clear();
        condps.clear();
        conditional_lets.clear();
        loops.clear();
        pipes.clear();
        comprehensions.clear();
        definitions.clear();
        functions.clear();
        display.clear();
        groups.clear();
        captures.clear();
        read_sets.clear();
        (*program, *program_locals) = (TableRange::default(), 0);
    }

    /// Enters a node.
    pub(crate) fn add(&mut self, node: Node, span: Span) -> NodeId {
        self.nodes.push(node);
        self.spans.push(span);
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// All nodes.
    pub(crate) fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    /// A node.
    pub(crate) fn node(&self, id: NodeId) -> Node {
        self.nodes[id.0 as usize]
    }

    /// A node, to be changed.
    pub(crate) fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.0 as usize]
    }

    /// Where a node stands in the text.
    pub(crate) fn span(&self, id: NodeId) -> Span {
        self.spans[id.0 as usize]
    }

    /// The children of a run.
    pub(crate) fn list(&self, run: TableRange) -> &[NodeId] {
        run.of(&self.lists)
    }

    /// The `n`th child of a run.
    pub(crate) fn child(&self, run: TableRange, n: usize) -> NodeId {
        self.list(run)[n]
    }

    /// The `n`th binding of a run.
    pub(crate) fn binding(&self, run: TableRange, n: usize) -> PatternBinding {
        run.of(&self.bindings)[n]
    }

    /// Whether the value of a node is known before the program runs.
    pub(crate) fn is_constant(&self, id: NodeId) -> bool {
        match self.node(id) {
            Node::Nil
            | Node::Bool(_)
            | Node::Int(_)
            | Node::BigInt(_)
            | Node::Float(_)
            | Node::Str(_)
            | Node::Regex(_)
            | Node::Keyword(_)
            | Node::Joined { .. }
            | Node::Symbol(_)
            | Node::Tool(_)
            | Node::Builtin(_)
            | Node::Literal { .. }
            | Node::List(_) => true,
            Node::Vector { constant, .. } | Node::Map { constant, .. } | Node::Set { constant, .. } => {
                constant
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_two_words() {
        assert_eq!(size_of::<Node>(), 16);
    }
}
