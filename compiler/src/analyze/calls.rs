//! Names in value position and calls.

use super::analysis::FreeName;
use super::analyzer::{Analyzer, Nodes};
use super::namespaces;
use crate::ast::{FnId, Node, NodeId};
use crate::error::{CompileError, Result};
use crate::form::{Form, FormKind, Items};
use crate::names::Name;
use crate::source::Span;
use ptc_vm::machine::{Library, Native, qualified_hint};
use ptc_vm::value::BuiltinId;

/// The meaning of a qualified name.
enum QualifiedName {
    Data,
    Tool,
    Budget,
    Builtin(BuiltinId),
    /// The function that calls a kept program.
    Program(FnId),
}

impl Analyzer<'_, '_> {
    /// A name in value position.
    pub(super) fn symbol(&mut self, name: Name, span: Span) -> Result<Node> {
        if self.forms.names.starts_with(name, b'%') {
            return self.placeholder(name, span);
        }
        if let Some(node) = self.lexical(name) {
            return Ok(node);
        }
        Ok(match self.referred(name) {
            Some(id) => Node::Builtin(id),
            None => match self.own_builtin(name) {
                Some(id) => Node::Builtin(id),
                None => self.global(name, span),
            },
        })
    }

    /// The builtin that a name is in a called program, whatever the programs around it define.
    fn own_builtin(&mut self, name: Name) -> Option<BuiltinId> {
        self.program?;
        if self.names[name.index()].defined > 0 { None } else { self.builtin_value(name) }
    }

    /// The builtin that the program calls by a bare name that is not its own (`:refer`).
    fn referred(&self, name: Name) -> Option<BuiltinId> {
        let id = self.loaded.referred(name, self.text(name), self.library)?;
        (self.names[name.index()].defined == 0).then_some(id)
    }

    /// The part before the `/` of a qualified name, aliases resolved. `clojure.math` needs no `require`, as no namespace does
    /// whose members the language has.
    fn prefix(&self, namespace: Name) -> &str {
        match self.loaded.alias(namespace).unwrap_or_else(|| self.text(namespace)) {
            "clojure.math" => "Math",
            prefix => prefix,
        }
    }

    /// Whether a namespace is that of the language's own names.
    pub(super) fn is_core(&self, namespace: Name) -> bool {
        matches!(self.prefix(namespace), "clojure.core" | "core")
    }

    /// A name that is not lexical. Names that nothing certainly defines are noted for phase 5.
    pub(super) fn global(&mut self, name: Name, span: Span) -> Node {
        if !self.is_bound_globally(name) {
            let in_function = self.scope.in_function();
            self.free.push(FreeName { name, span, in_function });
        }
        Node::Global(name)
    }

    /// Whether a name that is not lexical certainly has a value here. Methods are looked at when they are called.
    pub(super) fn is_bound_globally(&mut self, name: Name) -> bool {
        self.names[name.index()].defined > 0
            || self.forms.names.starts_with(name, b'.')
            || self.builtin_value(name).is_some()
    }

    /// The builtin that a name is in value position. Most special forms have no value.
    pub(super) fn builtin_value(&mut self, name: Name) -> Option<BuiltinId> {
        let known = self.known(name);
        let is_value = known.special.is_none() || matches!(self.text(name), "apply" | "juxt");
        known.builtin.filter(|_| is_value)
    }

    /// `namespace/name` in value position.
    pub(super) fn qualified_value(&mut self, namespace: Name, name: Name, span: Span) -> Result<Node> {
        Ok(match self.qualified(namespace, name, span)? {
            QualifiedName::Data => self.data(name, span),
            QualifiedName::Program(entry) => Node::Fn(entry),
            QualifiedName::Tool => self.tool(name, span),
            QualifiedName::Budget => Node::Budget,
            QualifiedName::Builtin(id) => Node::Builtin(id),
        })
    }

    fn qualified(&mut self, namespace: Name, name: Name, span: Span) -> Result<QualifiedName> {
        let (prefix, member) = (self.prefix(namespace), self.text(name));
        match prefix {
            "data" => return Ok(QualifiedName::Data),
            "tool" => return Ok(QualifiedName::Tool),
            "program" => return self.program_named(member, span).map(QualifiedName::Program),
            "budget" if member == "remaining" => return Ok(QualifiedName::Budget),
            "budget" => {
                let text = format!("Unknown budget function: budget/{member}. Available: budget/remaining");
                return Err(CompileError::form(span, text));
            }
            _ => {}
        }
        match namespaces::member(prefix, member, self.library) {
            Some(id) => Ok(QualifiedName::Builtin(id)),
            // The context is there beside what an alias of `clojure.data` adds to it.
            None if self.text(namespace) == "data" => Ok(QualifiedName::Data),
            None => {
                let mut hint = qualified_hint(prefix, member, self.library);
                if hint.is_empty() && may_be_server(prefix) && !namespaces::exists(prefix, self.library) {
                    hint = tool_hint(prefix, member, "{…}");
                }
                Err(CompileError::form(span, namespaces::not_available(prefix, member, &hint)))
            }
        }
    }

    fn tool(&mut self, name: Name, span: Span) -> Node {
        // These come with upstreams and are checked when they are called.
        if !matches!(self.text(name), "call" | "call!" | "pages" | "servers") {
            self.tools.push(FreeName { name, span, in_function: false });
        }
        Node::Tool(name)
    }

    /// A call: a list that is no special form.
    pub(super) fn call(&mut self, head: Form, arguments: Items, span: Span) -> Result<NodeId> {
        let callee = match head.kind {
            FormKind::Symbol(name) if !self.forms.names.starts_with(name, b'%') => match self.lexical(name) {
                Some(node) => self.ast.add(node, head.span),
                None => match self.referred(name).or_else(|| self.own_builtin(name)) {
                    Some(id) => self.ast.add(Node::Builtin(id), head.span),
                    None => {
                        self.global(name, head.span);
                        let arguments = self.values(arguments)?;
                        return Ok(self.ast.add(Node::CallGlobal { name, arguments }, span));
                    }
                },
            },
            FormKind::Qualified { namespace, name } => {
                let callee = self.qualified_callee(namespace, name, head.span, arguments)?;
                if arguments.is_empty() && is_constant(callee, self.library) {
                    // `(Double/NaN)` and `(budget/remaining)` are what they are without parentheses.
                    return Ok(self.ast.add(callee, span));
                }
                self.ast.add(callee, head.span)
            }
            FormKind::List(items) if items.is_empty() => {
                return Err(CompileError::form(head.span, "Empty list is not a valid expression"));
            }
            _ => self.expr(head, false)?,
        };
        let arguments = self.values(arguments)?;
        Ok(self.ast.add(Node::Call { callee, arguments }, span))
    }

    fn qualified_callee(
        &mut self,
        namespace: Name,
        name: Name,
        span: Span,
        arguments: Items,
    ) -> Result<Node> {
        let (prefix, member) = (self.prefix(namespace), self.text(name));
        match prefix {
            "data" => return Err(CompileError::form(span, namespaces::unknown("data", ""))),
            "mcp" => {
                let text = format!("Unknown mcp function: mcp/{member}. Available: tool/servers");
                return Err(CompileError::form(span, text));
            }
            "tool" if member == "servers" && !arguments.is_empty() => {
                return Err(CompileError::arity(span, "(tool/servers) takes no arguments"));
            }
            "program" if arguments.len() != 1 => {
                let text =
                    format!("(program/{member} {{…}}) takes one map of arguments, got {}", arguments.len());
                return Err(CompileError::arity(span, text));
            }
            "budget" if member == "remaining" && !arguments.is_empty() => {
                return Err(CompileError::arity(span, "(budget/remaining) takes no arguments"));
            }
            _ if self.is_meant_as_tool(namespace, name, arguments) => {
                let arguments = match self.forms[arguments] {
                    [] => "{…}".to_owned(),
                    [map, ..] => self.excerpt(map),
                };
                let hint = tool_hint(prefix, member, &arguments);
                return Err(CompileError::form(span, namespaces::unknown(prefix, &hint)));
            }
            _ => {}
        }
        self.qualified_value(namespace, name, span)
    }

    /// Whether a call of a name in a namespace that does not exist looks like the call of a tool: `(server/tool {…})`.
    fn is_meant_as_tool(&self, namespace: Name, name: Name, arguments: Items) -> bool {
        let (prefix, member) = (self.prefix(namespace), self.text(name));
        let is_shaped_so = matches!(self.forms[arguments], [] | [Form { kind: FormKind::Map(_), .. }]);
        is_shaped_so
            && !matches!(prefix, "tool" | "budget" | "program")
            && may_be_server(prefix)
            && namespaces::member(prefix, member, self.library).is_none()
            && !namespaces::exists(prefix, self.library)
    }

    /// `(. x method argument …)` and `(. x (method argument …))`: the call `(.method x argument …)`. Where x is a class, the
    /// call `(Class/method argument …)`.
    pub(super) fn dot(&mut self, items: Items, span: Span) -> Result<NodeId> {
        let shape = || CompileError::form(span, "expected (. obj method argument ...)");
        let (method, arguments) = match self.forms[items] {
            [_, Form { kind: FormKind::List(parts), .. }] if !parts.is_empty() => {
                (self.forms.at(parts, 0), parts.skip(1))
            }
            [_, method, ..] => (method, items.skip(2)),
            _ => return Err(shape()),
        };
        let FormKind::Symbol(name) = method.kind else { return Err(shape()) };
        let (name, receiver) = (self.text(name), self.forms.at(items, 0));
        let mut nodes = Nodes::new();
        let id = match self.class_name(receiver) {
            Some(class) => namespaces::member(self.prefix(class), name, self.library),
            None => {
                nodes.push(self.expr(receiver, false)?);
                self.library.id(&format!(".{name}"))
            }
        };
        let Some(id) = id else {
            let text =
                format!("Unsupported method '{name}' in {}", crate::source::excerpt(self.source, span));
            return Err(CompileError::form(method.span, text));
        };
        let callee = self.ast.add(Node::Builtin(id), method.span);
        for i in 0..arguments.len() {
            nodes.push(self.expr(self.forms.at(arguments, i), false)?);
        }
        let arguments = self.list(&nodes);
        Ok(self.ast.add(Node::Call { callee, arguments }, span))
    }

    /// The name of a class, if the form is one and stands for nothing else.
    fn class_name(&mut self, form: Form) -> Option<Name> {
        let FormKind::Symbol(name) = form.kind else { return None };
        let is_free = self.names[name.index()].binding == 0 && !self.is_bound_globally(name);
        (is_free && namespaces::exists(self.prefix(name), self.library)).then_some(name)
    }

    /// `(with-out-str body …)`: the call of a builtin with the body as a function.
    pub(super) fn with_out_str(&mut self, items: Items, span: Span) -> Result<NodeId> {
        let body = self.thunk(items, span)?;
        let callee = self.builtin("with-out-str", span)?;
        let arguments = self.list(&[body]);
        Ok(self.ast.add(Node::Call { callee, arguments }, span))
    }

    /// A call of a builtin that no definition can replace.
    pub(super) fn builtin_call(
        &mut self,
        name: &str,
        arguments: Items,
        head: Span,
        span: Span,
    ) -> Result<NodeId> {
        let callee = self.builtin(name, head)?;
        let arguments = self.values(arguments)?;
        Ok(self.ast.add(Node::Call { callee, arguments }, span))
    }

    /// A builtin as a value that no definition can replace.
    pub(super) fn builtin(&mut self, name: &str, span: Span) -> Result<NodeId> {
        match self.library.id(name) {
            Some(id) => Ok(self.ast.add(Node::Builtin(id), span)),
            None => Err(CompileError::form(span, format!("{name} is not available"))),
        }
    }
}

/// Whether a prefix may be the name of an upstream server: classes and libraries of other languages have capitals or dots in
/// their names.
fn may_be_server(prefix: &str) -> bool {
    !matches!(prefix, "data" | "mcp" | "user")
        && !prefix.contains(|c: char| c == '.' || c.is_ascii_uppercase())
}

/// The hint how to call a tool.
fn tool_hint(server: &str, tool: &str, arguments: &str) -> String {
    format!(
        " A tool of an upstream server is called by (tool/call {{:server \"{server}\" :tool \"{tool}\" :args {arguments}}})."
    )
}

fn is_constant(node: Node, library: &Library) -> bool {
    match node {
        Node::Budget => true,
        Node::Builtin(id) => matches!(library.get(id).native, Native::Constant(_)),
        _ => false,
    }
}
