//! Liveness: which read of a local is the last one on every path.
//!
//! A value whose last use moves it out of its slot is held once, so the collection is changed in place instead of being copied.
//! One backward pass runs over each function body, in exactly the reverse of the order in which the generated code evaluates. A
//! read is the last one if its local is not live after it.
//!
//! A loop keeps the locals that it reads from outside alive until it ends. A `recur` makes all of it live, and so does the jump
//! back to the next element of a `for`. A local that an iteration binds is bound anew in the next one.

use smallvec::SmallVec;

use crate::ast::{
    Ast, CaptureSource, FUNCTION_BODY, LocalId, Modifier, Node, NodeId, Pattern, PatternBinding, PatternId,
    PipeKind, TableRange,
};

/// Marks the last uses in all bodies of the program.
pub(crate) fn mark_last_uses(ast: &mut Ast) {
    let mut pass = Pass { ast, live: Live::default(), loops: Vec::new() };
    pass.reverse(pass.ast.program);
    for function in 0..pass.ast.functions.len() {
        for arity in 0..pass.ast.functions[function].arities.len() {
            let body = &pass.ast.functions[function].arities[arity].body;
            let (heads, body) = (body.heads, body.body);
            pass.live = Live::default();
            pass.node(body);
            pass.bindings(heads);
        }
    }
}

/// A set of locals of one body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Live(SmallVec<[u64; 2]>);

impl Live {
    fn contains(&self, local: LocalId) -> bool {
        let (word, bit) = (local.0 as usize / 64, local.0 % 64);
        self.0.get(word).is_some_and(|bits| bits >> bit & 1 == 1)
    }

    fn insert(&mut self, local: LocalId) {
        let (word, bit) = (local.0 as usize / 64, local.0 % 64);
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << bit;
    }

    fn remove(&mut self, local: LocalId) {
        if let Some(bits) = self.0.get_mut(local.0 as usize / 64) {
            *bits &= !(1 << (local.0 % 64));
        }
    }

    fn extend(&mut self, other: &Live) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (bits, more) in self.0.iter_mut().zip(&other.0) {
            *bits |= more;
        }
    }
}

struct Pass<'a> {
    ast: &'a mut Ast,
    /// The locals read after the current place.
    live: Live,
    /// Open loops and the live locals where their `recur` jumps.
    loops: Vec<(u32, Live)>,
}

impl Pass<'_> {
    /// Nodes that are evaluated one after the other.
    fn reverse(&mut self, nodes: TableRange) {
        for i in (0..nodes.len()).rev() {
            self.node(self.ast.child(nodes, i));
        }
    }

    /// A path that is taken or not: the locals live before it are those live on either way.
    fn maybe(&mut self, path: impl FnOnce(&mut Self)) {
        let around = self.live.clone();
        path(self);
        self.live.extend(&around);
    }

    fn read_all(&mut self, reads: TableRange) {
        for &local in reads.of(&self.ast.read_sets) {
            self.live.insert(local);
        }
    }

    fn node(&mut self, id: NodeId) {
        match self.ast.node(id) {
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
            | Node::Capture(_)
            | Node::SelfFn
            | Node::Sibling(_)
            | Node::Global(_)
            | Node::GlobalOrNil(_)
            | Node::Data(_)
            | Node::History(_)
            | Node::Budget
            | Node::Hole
            | Node::Literal { .. }
            | Node::List(_)
            | Node::Var(_) => {}
            Node::Local { local, .. } => {
                let last = !self.live.contains(local);
                *self.ast.node_mut(id) = Node::Local { local, last };
                self.live.insert(local);
            }
            Node::Vector { items, constant }
            | Node::Map { items, constant }
            | Node::Set { items, constant } => {
                if !constant {
                    self.reverse(items);
                }
            }
            Node::Do(items) => self.reverse(items),
            Node::If(condition, then, otherwise) => {
                self.branches(|this| this.node(then), |this| this.node(otherwise));
                self.node(condition);
            }
            Node::And(items) | Node::Or(items) => {
                let after = self.live.clone();
                for i in (0..items.len()).rev() {
                    // Each operand but the last may end the form.
                    if i + 1 < items.len() {
                        self.live.extend(&after);
                    }
                    self.node(self.ast.child(items, i));
                }
            }
            Node::Cond(items) => self.cond(items),
            Node::Case(index) => {
                let case = &self.ast.cases[index as usize];
                let (subject, default) = (case.subject, case.default);
                let after = self.live.clone();
                self.node(default);
                for i in 0..self.ast.cases[index as usize].clauses.len() {
                    let (_, result) = self.ast.cases[index as usize].clauses[i];
                    let others = std::mem::replace(&mut self.live, after.clone());
                    self.node(result);
                    self.live.extend(&others);
                }
                self.node(subject);
            }
            Node::Condp(index) => self.condp(index),
            Node::ConditionalLet(index) => {
                let form = self.ast.conditional_lets[index as usize];
                self.branches(
                    |this| {
                        this.node(form.then);
                        this.pattern(form.pattern);
                    },
                    |this| this.node(form.otherwise),
                );
                self.node(form.value);
            }
            Node::Let { bindings, body } => {
                self.node(body);
                self.bindings(bindings);
            }
            Node::Loop(index) => {
                let form = &self.ast.loops[index as usize];
                let (variables, heads, body, reads) = (form.variables, form.heads, form.body, form.reads);
                let after = self.live.clone();
                self.read_all(reads);
                let again = std::mem::replace(&mut self.live, after);
                self.loops.push((index, again));
                self.node(body);
                self.loops.pop();
                self.bindings(heads);
                self.bindings(variables);
            }
            Node::Recur { arguments, target } => {
                self.live = match self.loops.last() {
                    Some((index, again)) if *index == target => again.clone(),
                    // All locals of a function body are bound anew.
                    _ => {
                        debug_assert_eq!(target, FUNCTION_BODY);
                        Live::default()
                    }
                };
                self.reverse(arguments);
            }
            Node::DataOf { argument, .. } => self.node(argument),
            Node::CallProgram { function, argument } => {
                self.node(argument);
                self.captures(self.ast.functions[function.0 as usize].captures);
            }
            Node::Fn(function) => {
                let captures = self.ast.functions[function.0 as usize].captures;
                self.captures(captures);
            }
            Node::Letfn(index) => {
                let group = &self.ast.groups[index as usize];
                let (body, first) = (group.body, group.members.first().copied());
                self.node(body);
                if let Some((function, _)) = first {
                    self.captures(self.ast.functions[function.0 as usize].captures);
                }
            }
            Node::Call { callee, arguments } => {
                self.reverse(arguments);
                self.node(callee);
            }
            Node::CallGlobal { arguments, .. } => self.reverse(arguments),
            Node::Thread { base, calls } => self.thread(base, calls),
            Node::Pipe(index) => self.pipe(index),
            Node::For(index) => self.comprehension(index),
            Node::Def(index) => self.node(self.ast.definitions[index as usize].value),
            Node::Return(value) | Node::Fail(value) => self.node(value),
            Node::Task(id, value) => {
                self.maybe(|this| this.node(value));
                self.node(id);
            }
        }
    }

    fn branches(&mut self, one: impl FnOnce(&mut Self), other: impl FnOnce(&mut Self)) {
        let after = self.live.clone();
        other(self);
        let before_other = std::mem::replace(&mut self.live, after);
        one(self);
        self.live.extend(&before_other);
    }

    fn captures(&mut self, list: u32) {
        for source in &self.ast.captures[list as usize] {
            if let CaptureSource::Local(local) = *source {
                self.live.insert(local);
            }
        }
    }

    fn bindings(&mut self, bindings: TableRange) {
        for i in (0..bindings.len()).rev() {
            let PatternBinding { pattern, value } = self.ast.binding(bindings, i);
            self.pattern(pattern);
            self.node(value);
        }
    }

    /// Keys are evaluated in a pattern, and defaults, each where its key is absent.
    fn pattern(&mut self, pattern: PatternId) {
        match self.ast.patterns[pattern.0 as usize] {
            Pattern::Bind(_) => {}
            Pattern::Vector { items, rest, .. } => {
                if let Some(rest) = rest {
                    self.pattern(rest);
                }
                for i in (0..items.len()).rev() {
                    self.pattern(items.of(&self.ast.pattern_lists)[i]);
                }
            }
            Pattern::Map { entries, .. } => {
                for i in (0..entries.len()).rev() {
                    let entry = entries.of(&self.ast.entries)[i];
                    self.pattern(entry.pattern);
                    if let Some(default) = entry.default {
                        self.maybe(|this| this.node(default));
                    }
                    self.node(entry.key);
                }
            }
        }
    }

    fn cond(&mut self, items: TableRange) {
        let after = self.live.clone();
        self.node(self.ast.child(items, items.len() - 1));
        for i in (0..items.len() - 1).step_by(2).rev() {
            let rest = std::mem::replace(&mut self.live, after.clone());
            self.node(self.ast.child(items, i + 1));
            self.live.extend(&rest);
            self.node(self.ast.child(items, i));
        }
    }

    fn condp(&mut self, index: u32) {
        let form = &self.ast.condps[index as usize];
        let (predicate, subject, default) = (form.predicate, form.subject, form.default);
        let after = self.live.clone();
        self.node(default);
        for i in (0..self.ast.condps[index as usize].clauses.len()).rev() {
            let clause = self.ast.condps[index as usize].clauses[i];
            let rest = std::mem::replace(&mut self.live, after.clone());
            self.node(clause.result);
            self.live.extend(&rest);
            self.node(clause.test);
        }
        self.node(subject);
        self.node(predicate);
    }

    /// Evaluated: callees and arguments before the hole, outermost call first; the base; arguments after the hole and the
    /// calls themselves, innermost first.
    fn thread(&mut self, base: NodeId, calls: TableRange) {
        let parts = |ast: &Ast, i: usize| match ast.node(ast.child(calls, i)) {
            Node::Call { callee, arguments } => (Some(callee), arguments),
            Node::CallGlobal { arguments, .. } => (None, arguments),
            _ => (None, TableRange::default()),
        };
        let hole = |ast: &Ast, arguments: TableRange| {
            ast.list(arguments)
                .iter()
                .position(|&node| ast.node(node) == Node::Hole)
                .unwrap_or(arguments.len())
        };
        for i in (0..calls.len()).rev() {
            let (_, arguments) = parts(self.ast, i);
            for at in (hole(self.ast, arguments)..arguments.len()).rev() {
                self.node(self.ast.child(arguments, at));
            }
        }
        self.node(base);
        for i in 0..calls.len() {
            let (callee, arguments) = parts(self.ast, i);
            self.reverse(arguments.take(hole(self.ast, arguments)));
            if let Some(callee) = callee {
                self.node(callee);
            }
        }
    }

    fn pipe(&mut self, index: u32) {
        let pipe = self.ast.pipes[index as usize];
        let after = self.live.clone();
        match pipe.kind {
            PipeKind::As => {
                for i in (0..pipe.steps.len()).rev() {
                    // Each step replaces the value.
                    self.live.remove(pipe.local);
                    self.node(self.ast.child(pipe.steps, i));
                }
            }
            PipeKind::Cond => {
                self.live.insert(pipe.local);
                for i in (0..pipe.steps.len()).step_by(2).rev() {
                    self.maybe(|this| {
                        this.live.remove(pipe.local);
                        this.node(this.ast.child(pipe.steps, i + 1));
                    });
                    self.node(self.ast.child(pipe.steps, i));
                }
            }
            PipeKind::Some => {
                for i in (0..pipe.steps.len()).rev() {
                    self.live.remove(pipe.local);
                    self.node(self.ast.child(pipe.steps, i));
                    self.live.extend(&after);
                    self.live.insert(pipe.local);
                }
            }
            PipeKind::Doto => {
                self.live.insert(pipe.local);
                self.reverse(pipe.steps);
            }
        }
        self.node(pipe.start);
    }

    fn comprehension(&mut self, index: u32) {
        let form = &self.ast.comprehensions[index as usize];
        let (body, levels) = (form.body, form.levels.len());
        // The way back to the next element, and out of the loops.
        for i in 0..levels {
            self.read_all(self.ast.comprehensions[index as usize].levels[i].reads);
        }
        let again = self.live.clone();
        self.node(body);
        for i in (0..levels).rev() {
            let level = &self.ast.comprehensions[index as usize].levels[i];
            let (pattern, collection) = (level.pattern, level.collection);
            for j in (0..level.modifiers.len()).rev() {
                match self.ast.comprehensions[index as usize].levels[i].modifiers[j] {
                    Modifier::When(test) | Modifier::While(test) => {
                        self.live.extend(&again);
                        self.node(test);
                    }
                    Modifier::Let(bindings) => self.bindings(bindings),
                }
            }
            self.pattern(pattern);
            self.live.extend(&again);
            self.node(collection);
        }
    }
}
