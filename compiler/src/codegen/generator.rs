//! The parts that are generated once per program: functions, global names and documentation.

use std::rc::Rc;

use ptc_vm::Program;
use ptc_vm::Value;
use ptc_vm::code::{
    Arity, Capture, DefInfo, Function, Op, PROGRAM_NAMESPACE, Parameters, ProgramPart, Requirement,
    ReservedMemory,
};
use ptc_vm::error::Position;
use ptc_vm::meter::{self, MemoryCharge};
use ptc_vm::value::{Layouts, Str};

use super::body::FunctionCode;
use super::positions::Lines;
use super::rows::Rows;
use crate::analyze::{Analysis, FreeName};
use crate::ast::{self, Ast, CaptureSource, FnId, ParameterDisplay};
use crate::error::{CompileError, Result};
use crate::form::Forms;
use crate::names::Name;
use crate::source::Span;

/// Steps of generating the code of a node, and of marking its last uses before.
const STEPS_PER_NODE: u64 = 6;
/// Bytes of a function and its documentation, besides its code.
const FUNCTION_BYTES: usize = 256;
/// Bytes of a name, besides its text.
const NAME_BYTES: usize = 64;

/// The buffers of generation, without the program: reused from one program to the next.
#[derive(Default)]
pub(crate) struct GeneratorBuffers {
    body: Option<Box<FunctionCode>>,
    global_of: Vec<u32>,
    keywords: Vec<Option<Value>>,
    strings: Vec<Option<Str>>,
}

/// The parts that are generated once per program.
pub(super) struct Generator<'a> {
    pub(super) source: &'a str,
    pub(super) forms: &'a Forms<'a>,
    pub(super) analysis: &'a Analysis,
    pub(super) ast: &'a Ast,
    pub(super) lines: Lines<'a>,
    /// The program itself and those of [`Ast::functions`], in this order.
    functions: Vec<Rc<Function>>,
    /// Helpers, which come after them.
    helpers: Vec<Rc<Function>>,
    /// The captures of closures over each of [`Ast::functions`], once code that makes them has been generated.
    captures: Vec<Option<Vec<Capture>>>,
    globals: Vec<Rc<str>>,
    /// Index of each name in `globals`, plus one; zero for those that are not in it. Filled in with the first.
    global_of: Vec<u32>,
    /// One keyword value a name, so that equal keywords are mostly the same allocation. Filled in with the first.
    pub(super) keywords: Vec<Option<Value>>,
    /// Short string constants, those that came last at each place. Filled in with the first.
    pub(super) strings: Vec<Option<Str>>,
    /// An empty body, for the next one to be generated.
    pub(super) spare: Option<Box<FunctionCode>>,
    /// Keys of the literal maps so far whose keys are keywords.
    pub(super) rows: Rows,
    /// Keys of the other constant maps so far: those that have the same ones share them.
    pub(super) layouts: Layouts,
    defs: Vec<Rc<DefInfo>>,
    def_positions: Vec<Position>,
    /// The memory of the code so far, on the account of the program.
    held: MemoryCharge,
    code_bytes: usize,
    /// Bytes that the account held before the first constant.
    live_before: i64,
}

impl<'a> Generator<'a> {
    pub(super) fn new(
        source: &'a str,
        forms: &'a Forms<'a>,
        analysis: &'a Analysis,
        tables: GeneratorBuffers,
    ) -> Self {
        let ast = &*analysis.ast;
        let GeneratorBuffers { body, global_of, keywords, strings } = tables;
        let mut captures = vec![None; ast.functions.len()];
        for part in &analysis.programs {
            // They capture nothing, and stand before all code that mentions them.
            captures[part.function.0 as usize] = Some(Vec::new());
            captures[part.entry.0 as usize] = Some(Vec::new());
        }
        Self {
            source,
            forms,
            analysis,
            ast,
            lines: Lines::new(source),
            functions: Vec::with_capacity(ast.functions.len() + 1),
            helpers: Vec::new(),
            captures,
            globals: Vec::new(),
            global_of,
            keywords,
            strings,
            spare: body,
            rows: Rows::default(),
            layouts: Layouts::default(),
            defs: Vec::new(),
            def_positions: Vec::new(),
            held: MemoryCharge::default(),
            code_bytes: 0,
            live_before: meter::live(),
        }
    }

    /// Charges the code so far, and the values it has.
    fn charge(&mut self, span: Span) -> Result<()> {
        self.held
            .resize(self.code_bytes)
            .and_then(|()| meter::check_memory())
            .map_err(|error| CompileError::limit(span, &error))
    }

    pub(super) fn program(&mut self) -> Result<()> {
        let nodes = self.ast.len();
        let span = Span::default();
        meter::charge_steps(STEPS_PER_NODE * nodes as u64)
            .and_then(|()| meter::reserve(nodes * size_of::<Op>()))
            .map_err(|error| CompileError::limit(span, &error))?;
        let mut body = self.open_body(self.ast.program_locals);
        body.sequence(self, self.ast.program, true)?;
        let arity = self.close_body(body, Parameters { required: 0, rest: false });
        self.functions.push(Rc::new(Function {
            name: None,
            arities: vec![Rc::new(arity)],
            captures: Vec::new(),
            display: Rc::from("#fn[]"),
            position: self.lines.position(0),
        }));
        // A function is generated after the one it stands in, which says what it captures.
        for index in 0..self.ast.functions.len() {
            let function = match self.captures[index].take() {
                Some(captures) => self.function(FnId(index as u32), captures)?,
                // It stands where no code can come.
                None => self.stub(0, self.ast.functions[index].span),
            };
            self.functions.push(Rc::new(function));
            self.code_bytes += FUNCTION_BYTES;
            self.charge(self.ast.functions[index].span)?;
        }
        self.charge(span)
    }

    fn function(&mut self, id: FnId, captures: Vec<Capture>) -> Result<Function> {
        let ast = self.ast;
        let function = &ast.functions[id.0 as usize];
        let mut arities: Vec<Rc<Arity>> = Vec::with_capacity(function.arities.len());
        for arity in &function.arities {
            arities.push(Rc::new(self.arity(function, arity)?));
        }
        Ok(Function {
            name: function.name.map(|name| Rc::from(self.text(name))),
            arities,
            captures,
            display: self.display(function).into(),
            position: self.lines.position(function.span.start),
        })
    }

    pub(super) fn arity(&mut self, function: &ast::Function, arity: &ast::Arity) -> Result<Arity> {
        let parameters = Parameters { required: arity.required, rest: arity.rest.is_some() };
        let mut body = self.open_body(arity.locals);
        body.enter_function(arity);
        body.bindings(self, arity.body.heads)?;
        body.node(self, arity.body.body, true)?;
        body.check(function.span)?;
        Ok(self.close_body(body, parameters))
    }

    /// Bodies are generated one after the other, in the same tables.
    fn open_body(&mut self, locals: u32) -> Box<FunctionCode> {
        let mut body = self.spare.take().unwrap_or_default();
        body.begin(locals);
        body
    }

    fn close_body(&mut self, mut body: Box<FunctionCode>, parameters: Parameters) -> Arity {
        let arity = body.finish(parameters);
        self.code_bytes += arity.heap_bytes();
        self.spare = Some(body);
        arity
    }

    /// `#fn[x & more]`; the parameter lists of several bodies are listed.
    fn display(&self, function: &ast::Function) -> String {
        let mut text = String::from("#fn");
        let several = function.arities.len() > 1;
        if several {
            text.push('(');
        }
        for (n, arity) in function.arities.iter().enumerate() {
            if n > 0 {
                text.push(' ');
            }
            text.push('[');
            for (i, display) in arity.display.of(&self.ast.display).iter().enumerate() {
                if i > 0 {
                    text.push(' ');
                }
                if arity.rest.is_some() && i == arity.required as usize {
                    text.push_str("& ");
                }
                match display {
                    ParameterDisplay::Name(name) => text.push_str(self.text(*name)),
                    ParameterDisplay::Pattern => text.push('_'),
                    ParameterDisplay::Placeholder(n) => {
                        text.push('p');
                        text.push_str(&n.to_string());
                    }
                    ParameterDisplay::Rest => text.push_str("rest"),
                }
            }
            text.push(']');
        }
        if several {
            text.push(')');
        }
        text
    }

    pub(super) fn finish(mut self, tables: &mut GeneratorBuffers) -> Program {
        let analysis = self.analysis;
        let requirement = |free: &FreeName| Requirement {
            name: Rc::from(self.forms.names.text(free.name)),
            position: self.lines.position(free.span.start),
        };
        let (requires, tools) = (
            analysis.requires.iter().map(requirement).collect(),
            analysis.tools.iter().map(requirement).collect(),
        );
        let parts = self.program_parts();
        let names: usize = self.globals.iter().map(|name| NAME_BYTES + name.len()).sum();
        // What the tables keep for the next program is dropped before the constants are counted.
        let mut functions = self.functions;
        functions.append(&mut self.helpers);
        self.global_of.clear();
        self.keywords.clear();
        self.strings.clear();
        drop((self.rows, self.layouts));
        drop(self.held);
        let constants = meter::live() - self.live_before;
        *tables = GeneratorBuffers {
            body: self.spare,
            global_of: self.global_of,
            keywords: self.keywords,
            strings: self.strings,
        };
        let heap_bytes = size_of::<Program>()
            + self.code_bytes
            + names
            + parts.iter().map(ProgramPart::heap_bytes).sum::<usize>()
            + usize::try_from(constants).unwrap_or(0);
        Program {
            requires,
            tools,
            functions,
            globals: self.globals,
            defs: self.defs,
            def_positions: self.def_positions,
            local_names: analysis
                .local_names
                .iter()
                .map(|name| Rc::from(self.forms.names.text(*name)))
                .collect(),
            derived: Default::default(),
            notes: self.forms.notes().map(Rc::from).collect(),
            shadows_builtin: analysis.shadows_builtin,
            source_bytes: self.source.len(),
            text: None,
            code_digest: Default::default(),
            heap_bytes,
            parts,
            reserved: ReservedMemory::default(),
        }
    }

    /// The programs that the text is made of.
    fn program_parts(&self) -> Box<[ProgramPart]> {
        let global = |name: &Name| self.global_of.get(name.index())?.checked_sub(1);
        let Some(main) = &self.analysis.main_part else { return Box::default() };
        let main = ProgramPart {
            name: Rc::from(""),
            bytes: main.span.start..main.span.end,
            has_head: main.has_head,
            function: 0,
            entry: 0,
            globals: Box::default(),
        };
        let called = self.analysis.programs.iter().map(|program| {
            let mut globals: Box<[u32]> = program.defined.iter().filter_map(global).collect();
            globals.sort_unstable();
            ProgramPart {
                name: program.name.clone(),
                bytes: program.span.start..program.span.end,
                has_head: true,
                function: program.function.0 + 1,
                entry: program.entry.0 + 1,
                globals,
            }
        });
        std::iter::once(main).chain(called).collect()
    }

    pub(super) fn text(&self, name: Name) -> &'a str {
        self.forms.names.text(name)
    }

    /// The index of a global name.
    pub(super) fn global(&mut self, name: Name) -> u32 {
        if self.global_of.is_empty() {
            self.global_of.resize(self.forms.names.len(), 0);
        }
        if let Some(index) = self.global_of[name.index()].checked_sub(1) {
            return index;
        }
        let program = self.analysis.programs.iter().find(|program| program.defined.contains(&name));
        self.globals.push(match program {
            Some(program) => Rc::from(format!("{PROGRAM_NAMESPACE}{}/{}", program.name, self.text(name))),
            None => Rc::from(self.text(name)),
        });
        self.global_of[name.index()] = self.globals.len() as u32;
        self.globals.len() as u32 - 1
    }

    /// The index of a global name where an instruction has 16 bits for it.
    pub(super) fn short_global(&mut self, name: Name, span: Span) -> Result<u16> {
        u16::try_from(self.global(name)).map_err(|_| CompileError::too_large(span, "65 536 global names"))
    }

    /// Records the captures of closures over a function, in terms of the body that creates them.
    pub(super) fn capture(&mut self, id: FnId, body: &FunctionCode) {
        let list = self.ast.functions[id.0 as usize].captures;
        let sources = &self.ast.captures[list as usize];
        let captures = sources
            .iter()
            .map(|&source| match source {
                CaptureSource::Local(local) => Capture::Local(body.slot(local)),
                CaptureSource::Capture(index) => Capture::Capture(index),
                CaptureSource::SelfFn => Capture::SelfFn,
                CaptureSource::Sibling(id) => Capture::Sibling(id.0 + 1),
            })
            .collect();
        self.captures[id.0 as usize] = Some(captures);
    }

    /// Documentation of a definition, if its value is a function.
    pub(super) fn documentation(&mut self, definition: &ast::Definition) -> Option<u32> {
        let ast::Node::Fn(id) = self.ast.node(definition.value) else { return None };
        let function = &self.ast.functions[id.0 as usize];
        let parameters = function.arities.iter().map(|arity| Rc::from(arity.parameters.text(self.source)));
        // The text of a definition inside another one is kept with both.
        self.code_bytes += FUNCTION_BYTES + 2 * definition.span.text(self.source).len();
        self.defs.push(Rc::new(DefInfo {
            doc: definition.doc.map(|doc| Rc::from(self.forms.string(doc))),
            parameters: parameters.collect(),
            source: Rc::from(definition.span.text(self.source)),
        }));
        self.def_positions.push(self.lines.position(definition.span.start));
        Some(self.defs.len() as u32 - 1)
    }

    /// A function that takes `count` arguments, to be called with another number of them.
    pub(super) fn arity_check(&mut self, count: u32, span: Span) -> u32 {
        let stub = self.stub(count, span);
        self.helpers.push(Rc::new(stub));
        (self.ast.functions.len() + self.helpers.len()) as u32
    }

    /// A function whose body never runs.
    fn stub(&self, count: u32, span: Span) -> Function {
        let arity = Arity {
            parameters: Parameters { required: count, rest: false },
            code: vec![Op::Nil, Op::Return],
            constants: Vec::new(),
            max_stack: count + 1,
            lookups: Vec::new(),
            positions: Vec::new(),
        };
        Function {
            name: None,
            arities: vec![Rc::new(arity)],
            captures: Vec::new(),
            display: Rc::from("#fn[]"),
            position: self.lines.position(span.start),
        }
    }
}
