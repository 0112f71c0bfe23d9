//! The analyser: one pass over the forms.

use super::analysis::{Analysis, AnalysisBuffers, FreeName, LinkedProgram, MainPart};
use super::loaded_names::LoadedNames;
use super::scope::{NameState, Scope};
use crate::ast::{Ast, LocalId, Node, NodeId, TableRange};
use crate::error::{CompileError, Reason, Result};
use crate::form::{Form, FormKind, Forms, Items};
use crate::names::Name;
use crate::source::{Span, excerpt};
use ptc_vm::SpecialForm;
use ptc_vm::machine::{Library, NameMeaning};
use ptc_vm::meter::{self, MemoryCharge};
use ptc_vm::special_forms::Shadowing;
use smallvec::SmallVec;

/// How deep core forms may be nested: the 65 levels of the reader, and as many special forms in threads.
const MAX_DEPTH: u32 = 130;

/// Steps of analysing a form.
const STEPS_PER_NODE: u64 = 6;
/// Nodes beyond those that were expected that are charged at a time.
const NODES_CHARGED: usize = 256;

/// The value of a [`FormKind::Threaded`].
#[derive(Clone, Copy, Debug)]
pub(super) enum ThreadedValue {
    /// The first steps of a thread, applied to its start.
    Steps { start: Form, steps: Items, place: ThreadPosition },
    /// The value in a local of the body at a level.
    Local { local: LocalId, level: u32 },
    /// The value on the stack, in a call that is a step.
    Hole,
}

/// Where a step takes the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ThreadPosition {
    /// As first argument.
    First,
    /// As last argument.
    Last,
}

pub(super) struct Analyzer<'a, 's> {
    pub(super) source: &'s str,
    pub(super) library: &'static Library,
    pub(super) forms: &'a mut Forms<'s>,
    pub(super) ast: Box<Ast>,
    pub(super) names: Vec<NameState>,
    pub(super) scope: Scope,
    /// Names defined so far on the current path, to be forgotten where the path ends.
    pub(super) defined: Vec<Name>,
    pub(super) free: Vec<FreeName>,
    pub(super) tools: Vec<FreeName>,
    pub(super) threaded: Vec<ThreadedValue>,
    /// How `require` and its kin have the program spell names.
    pub(super) loaded: LoadedNames,
    pub(super) main_part: Option<MainPart>,
    /// The programs that the text brings along.
    pub(super) programs: Vec<LinkedProgram>,
    /// Which of them is analysed; `None` for the main one.
    pub(super) program: Option<usize>,
    /// The text `quote`, once a quote stands in quoted data.
    pub(super) quote: Option<u32>,
    /// How many literals have been looked through for duplicates.
    pub(super) literals: u32,
    depth: u32,
    pub(super) shadows_builtin: bool,
    /// The memory of the tables, on the account of the program.
    held: MemoryCharge,
    /// How many nodes there are when the next ones are to be charged.
    next_charge: usize,
}

pub(super) type Nodes = SmallVec<[NodeId; 8]>;

impl<'a, 's> Analyzer<'a, 's> {
    pub(super) fn new(
        source: &'s str,
        library: &'static Library,
        forms: &'a mut Forms<'s>,
        tables: AnalysisBuffers,
    ) -> Result<Self> {
        let AnalysisBuffers { mut ast, mut names, scope } = tables;
        let refused = |error| CompileError::limit(Span::default(), &error);
        meter::charge_steps(STEPS_PER_NODE * forms.len() as u64).map_err(refused)?;
        let mut held = MemoryCharge::default();
        held.resize(Ast::reserved_bytes(forms.len() + 2) + forms.names.len() * size_of::<NameState>())
            .map_err(refused)?;
        names.resize(forms.names.len(), NameState::default());
        ast.reserve(forms.len() + 2);
        let next_charge = forms.len() + NODES_CHARGED;
        Ok(Self {
            held,
            next_charge,
            source,
            library,
            forms,
            ast,
            names,
            scope,
            defined: Vec::new(),
            free: Vec::new(),
            tools: Vec::new(),
            threaded: Vec::new(),
            loaded: LoadedNames::default(),
            main_part: None,
            programs: Vec::new(),
            program: None,
            quote: None,
            literals: 0,
            depth: 0,
            shadows_builtin: false,
        })
    }

    /// Charges nodes beyond the expected number, and the growth of the tables.
    #[cold]
    fn charge(&mut self, span: Span) -> Result<()> {
        self.next_charge = self.ast.len() + NODES_CHARGED;
        let bytes = self.ast.bytes() + self.names.capacity() * size_of::<NameState>();
        meter::charge_steps(STEPS_PER_NODE * NODES_CHARGED as u64)
            .and_then(|()| self.held.resize(bytes))
            .map_err(|error| CompileError::limit(span, &error))
    }

    /// Charges work on `count` things besides the resulting nodes, such as scanning a list.
    pub(super) fn charge_work(&self, count: usize, span: Span) -> Result<()> {
        meter::charge_steps(count as u64).map_err(|error| CompileError::limit(span, &error))
    }

    pub(super) fn program(&mut self, items: Items) -> Result<()> {
        // The program's own body captures nothing, so it has no list.
        self.scope.enter_function(u32::MAX);
        let mut nodes = Nodes::new();
        self.top_level(items, &mut nodes)?;
        for &name in &self.defined {
            self.names[name.index()].top_level = true;
        }
        self.ast.program = self.list(&nodes);
        self.ast.program_locals = self.scope.leave_function().locals;
        Ok(())
    }

    /// Forms at top level, as are those of a `do` there.
    pub(super) fn top_level(&mut self, items: Items, nodes: &mut Nodes) -> Result<()> {
        for i in 0..items.len() {
            let form = self.forms.at(items, i);
            match self.do_forms(form) {
                Some(inner) => self.top_level(inner, nodes)?,
                None if self.loads(form)? => nodes.push(self.nil(form.span)),
                None => nodes.push(self.flow(form, false)?),
            }
        }
        Ok(())
    }

    /// The forms in a `do`, if there are any.
    fn do_forms(&self, form: Form) -> Option<Items> {
        let FormKind::List(items) = form.kind else { return None };
        if items.len() < 2 {
            return None;
        }
        let FormKind::Symbol(head) = self.forms.at(items, 0).kind else { return None };
        (self.text(head) == "do").then(|| items.skip(1))
    }

    pub(super) fn finish(self) -> Analysis {
        let names = &self.names;
        let mut requires = self.free;
        // A function body may use what the program defines further down (ruling 15).
        requires.retain(|free| !(free.in_function && names[free.name.index()].top_level));
        first_uses(&mut requires);
        let mut tools = self.tools;
        first_uses(&mut tools);
        let mut local_names = Vec::new();
        if !requires.is_empty() {
            local_names = self.forms.names.all().filter(|name| names[name.index()].bound).collect();
        }
        Analysis {
            _held: self.held,
            ast: self.ast,
            requires,
            tools,
            local_names,
            shadows_builtin: self.shadows_builtin,
            main_part: self.main_part,
            programs: self.programs,
            library: self.library,
            names: self.names,
            scope: self.scope,
        }
    }

    /// Analyses a form. Its definitions are certain only inside it.
    pub(super) fn expr(&mut self, form: Form, tail: bool) -> Result<NodeId> {
        let mark = self.defined.len();
        let node = self.flow(form, tail);
        self.forget_definitions(mark);
        node
    }

    pub(super) fn forget_definitions(&mut self, mark: usize) {
        for name in self.defined.drain(mark..) {
            self.names[name.index()].defined -= 1;
        }
    }

    /// Analyses a form whose definitions hold for the forms after it. `tail`: `recur` may stand here.
    pub(super) fn flow(&mut self, form: Form, tail: bool) -> Result<NodeId> {
        let node = match form.kind {
            FormKind::Nil => Node::Nil,
            FormKind::Bool(b) => Node::Bool(b),
            FormKind::Int(n) => Node::Int(n),
            FormKind::BigInt(n) => Node::BigInt(n),
            FormKind::Float(f) | FormKind::SpecialFloat(f) => Node::Float(f),
            FormKind::Str(s) => Node::Str(s),
            FormKind::Regex(s) => Node::Regex(s),
            FormKind::Keyword(name) => Node::Keyword(name),
            FormKind::JoinedKeyword { text, .. } => Node::Joined { text, is_keyword: true },
            FormKind::QuotedSymbol(name) => Node::Symbol(name),
            FormKind::History(n) => Node::History(n),
            FormKind::Symbol(name) => self.symbol(name, form.span)?,
            FormKind::Qualified { namespace, name } => self.qualified_value(namespace, name, form.span)?,
            FormKind::List(items) => return self.nested(form, |this| this.list_form(form, items, tail)),
            FormKind::Vector(items) => return self.nested(form, |this| this.vector(form, items)),
            FormKind::Map(items) => return self.nested(form, |this| this.map(form, items)),
            FormKind::Set(items) => return self.nested(form, |this| this.set(form, items)),
            FormKind::ShortFn(items) => return self.nested(form, |this| this.short_fn(items, form.span)),
            FormKind::Quoted(items) => return self.quoted(self.forms.at(items, 0)),
            FormKind::Threaded(index) => {
                return self.nested(form, |this| this.threaded_value(index, form.span));
            }
        };
        Ok(self.ast.add(node, form.span))
    }

    /// Counts a level of nesting.
    fn nested(&mut self, form: Form, inner: impl FnOnce(&mut Self) -> Result<NodeId>) -> Result<NodeId> {
        if self.depth >= MAX_DEPTH {
            let text = format!("special forms inside each other exceed a depth of {MAX_DEPTH}");
            return Err(CompileError::prefixed(Reason::InvalidThreadForm, form.span, text));
        }
        if self.ast.len() >= self.next_charge {
            self.charge(form.span)?;
        }
        self.depth += 1;
        let node = inner(self);
        self.depth -= 1;
        node
    }

    pub(super) fn list_form(&mut self, form: Form, items: Items, tail: bool) -> Result<NodeId> {
        if items.is_empty() {
            return Ok(self.ast.add(Node::List(TableRange::default()), form.span));
        }
        let head = self.forms.at(items, 0);
        match self.special_form(head) {
            Some(special) => self.special(special, form.span, items.skip(1), tail),
            None => self.call(head, items.skip(1), form.span),
        }
    }

    /// The special form that a list with this head is.
    pub(super) fn special_form(&mut self, head: Form) -> Option<SpecialForm> {
        let name = match head.kind {
            FormKind::Symbol(name) => name,
            FormKind::Qualified { namespace, name } if self.is_core(namespace) => {
                // What the evaluator itself knows has no namespace in Clojure either.
                let is_macro = |form: &SpecialForm| {
                    form.shadowing() != Shadowing::Never || *form == SpecialForm::Defonce
                };
                return self.known(name).special.filter(is_macro);
            }
            _ => return None,
        };
        let special = self.known(name).special?;
        let state = self.names[name.index()];
        let shadowed = match special.shadowing() {
            Shadowing::Never => false,
            Shadowing::Local => state.binding != 0,
            Shadowing::Definition => state.binding != 0 || state.defined > 0,
        };
        (!shadowed).then_some(special)
    }

    pub(super) fn special(
        &mut self,
        special: SpecialForm,
        span: Span,
        items: Items,
        tail: bool,
    ) -> Result<NodeId> {
        match special {
            SpecialForm::Do => self.body(items, tail, span),
            SpecialForm::Comment => Ok(self.ast.add(Node::Nil, span)),
            SpecialForm::Quote => self.quote(items, span),
            SpecialForm::Def | SpecialForm::Defonce => self.def(special, items, span),
            SpecialForm::Defn | SpecialForm::DefnPrivate => self.defn(special, items, span),
            SpecialForm::Declare => self.declare(items, span),
            SpecialForm::If | SpecialForm::IfNot => self.if_form(special, items, span, tail),
            SpecialForm::When | SpecialForm::WhenNot => self.when(special, items, span, tail),
            SpecialForm::And | SpecialForm::Or => self.and_or(special, items, span, tail),
            SpecialForm::Cond => self.cond(items, span, tail),
            SpecialForm::Case => self.case(items, span, tail),
            SpecialForm::Condp => self.condp(items, span, tail),
            SpecialForm::IfLet
            | SpecialForm::IfSome
            | SpecialForm::WhenLet
            | SpecialForm::WhenSome
            | SpecialForm::WhenFirst => self.conditional_let(special, items, span, tail),
            SpecialForm::Let => self.let_form(items, span, tail),
            SpecialForm::Loop => self.loop_form(items, span),
            SpecialForm::Recur => self.recur(items, span, tail),
            SpecialForm::Fn => self.fn_form(items, span),
            SpecialForm::Letfn => self.letfn(items, span, tail),
            SpecialForm::ThreadFirst | SpecialForm::ThreadLast => self.thread(special, items, span, tail),
            SpecialForm::ThreadAs => self.as_thread(items, span, tail),
            SpecialForm::CondThreadFirst | SpecialForm::CondThreadLast => {
                self.cond_thread(special, items, span, tail)
            }
            SpecialForm::SomeThreadFirst | SpecialForm::SomeThreadLast => {
                self.some_thread(special, items, span, tail)
            }
            SpecialForm::Doto => self.doto(items, span),
            SpecialForm::For | SpecialForm::Doseq => self.comprehension(special, items, span),
            SpecialForm::Dotimes => self.dotimes(items, span),
            SpecialForm::Return | SpecialForm::Fail => self.exit(special, items, span),
            SpecialForm::Task | SpecialForm::StepDone | SpecialForm::TaskReset => {
                self.journal(special, items, span)
            }
            SpecialForm::Apply | SpecialForm::Juxt | SpecialForm::Pmap | SpecialForm::Pcalls => {
                self.function_form(special, items, span)
            }
            SpecialForm::Dot => self.dot(items, span),
            SpecialForm::WithOutStr => self.with_out_str(items, span),
            SpecialForm::Apropos
            | SpecialForm::Dir
            | SpecialForm::Doc
            | SpecialForm::Meta
            | SpecialForm::NsPublics
            | SpecialForm::NsName
            | SpecialForm::AllNs
            | SpecialForm::Source => self.discovery(special, items, span),
        }
    }

    /// Forms in order, as the body of a form that is itself certain to run.
    pub(super) fn body(&mut self, items: Items, tail: bool, span: Span) -> Result<NodeId> {
        match items.len() {
            0 => return Ok(self.ast.add(Node::Nil, span)),
            1 => return self.flow(self.forms.at(items, 0), tail),
            _ => {}
        }
        let mut nodes = Nodes::new();
        for i in 0..items.len() {
            nodes.push(self.flow(self.forms.at(items, i), tail && i + 1 == items.len())?);
        }
        let list = self.list(&nodes);
        Ok(self.ast.add(Node::Do(list), span))
    }

    /// Forms in order, as the body of a form that may not run: its definitions are not certain outside.
    pub(super) fn uncertain_body(&mut self, items: Items, tail: bool, span: Span) -> Result<NodeId> {
        let mark = self.defined.len();
        let node = self.body(items, tail, span);
        self.forget_definitions(mark);
        node
    }

    /// The values of all forms, none of them in tail position.
    pub(super) fn values(&mut self, items: Items) -> Result<TableRange> {
        let mut nodes = Nodes::new();
        for i in 0..items.len() {
            nodes.push(self.expr(self.forms.at(items, i), false)?);
        }
        Ok(self.list(&nodes))
    }

    pub(super) fn list(&mut self, nodes: &[NodeId]) -> TableRange {
        TableRange::append(&mut self.ast.lists, nodes)
    }

    pub(super) fn nil(&mut self, span: Span) -> NodeId {
        self.ast.add(Node::Nil, span)
    }

    pub(super) fn known(&mut self, name: Name) -> NameMeaning {
        let text = self.forms.names.text(name);
        *self.names[name.index()].known.get_or_insert_with(|| self.library.known(text))
    }

    pub(super) fn text(&self, name: Name) -> &'s str {
        self.forms.names.text(name)
    }

    /// A form as the text shows it, shortened, for messages.
    pub(super) fn excerpt(&self, form: Form) -> String {
        excerpt(self.source, form.span)
    }
}

/// Sorts by place and keeps the first use of each name.
fn first_uses(names: &mut Vec<FreeName>) {
    if names.len() < 2 {
        return;
    }
    names.sort_by_key(|free| free.span.start);
    let mut seen = ahash::AHashSet::new();
    names.retain(|free| seen.insert(free.name));
}
