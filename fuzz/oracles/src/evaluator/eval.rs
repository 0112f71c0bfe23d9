//! Forms to values.

use super::builtins;
use super::form::Form;
use super::value::{Closure, Result, Scope, Stop, Value};
use std::rc::Rc;

/// Evaluates, within a number of calls and forms.
#[derive(Debug, Default)]
pub(super) struct Evaluator {
    work: u32,
}

/// Beyond this the program is left open: it would take the machine's steps, too.
const MAX_WORK: u32 = 20_000;

impl Evaluator {
    /// The value of a form.
    pub(super) fn eval(&mut self, form: &Form, scope: &Scope) -> Result {
        self.work += 1;
        if self.work > MAX_WORK {
            return Err(Stop::Open);
        }
        match form {
            Form::Int(n) => Ok(Value::Int(n.clone())),
            Form::Str(text) => Ok(Value::Str(text.clone())),
            Form::Keyword(name) => Ok(Value::Keyword(name.clone())),
            Form::Symbol(name) => self.symbol(name, scope),
            Form::Vector(items) => Ok(Value::Vector(self.all(items, scope)?)),
            Form::Map(items) => {
                let mut map = Vec::new();
                for pair in items.chunks(2) {
                    let (key, value) = (self.eval(&pair[0], scope)?, self.eval(&pair[1], scope)?);
                    Value::put(&mut map, key, value)?;
                }
                Ok(Value::Map(map))
            }
            Form::List(items) => self.list(items, scope),
        }
    }

    fn all(&mut self, forms: &[Form], scope: &Scope) -> Result<Vec<Value>> {
        forms.iter().map(|form| self.eval(form, scope)).collect()
    }

    fn body(&mut self, forms: &[Form], scope: &Scope) -> Result {
        let mut last = Value::Nil;
        for form in forms {
            last = self.eval(form, scope)?;
        }
        Ok(last)
    }

    fn symbol(&mut self, name: &str, scope: &Scope) -> Result {
        if let Some((_, value)) = scope.0.iter().rev().find(|(known, _)| known == name) {
            return Ok(value.clone());
        }
        match name {
            "nil" => Ok(Value::Nil),
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            _ => Ok(Value::Builtin(name.to_owned())),
        }
    }

    fn list(&mut self, items: &[Form], scope: &Scope) -> Result {
        let Some((head, rest)) = items.split_first() else { return Err(Stop::Open) };
        let name = if let Form::Symbol(name) = head { name.as_str() } else { "" };
        match (name, rest) {
            ("do", body) => self.body(body, scope),
            ("if", [test, then, other]) => {
                let chosen = if self.eval(test, scope)?.truthy() { then } else { other };
                self.eval(chosen, scope)
            }
            ("when", [test, body @ ..]) => {
                if self.eval(test, scope)?.truthy() {
                    self.body(body, scope)
                } else {
                    Ok(Value::Nil)
                }
            }
            ("cond", clauses) => {
                for clause in clauses.chunks(2) {
                    if self.eval(&clause[0], scope)?.truthy() {
                        return self.eval(&clause[1], scope);
                    }
                }
                Ok(Value::Nil)
            }
            ("and", forms) => self.until(forms, scope, Value::Bool(true), |value| !value.truthy()),
            ("or", forms) => self.until(forms, scope, Value::Nil, Value::truthy),
            ("if-let", [Form::Vector(binding), then, other]) => {
                let value = self.eval(&binding[1], scope)?;
                if !value.truthy() {
                    return self.eval(other, scope);
                }
                let mut inside = scope.clone();
                self.bind(&binding[0], value, &mut inside)?;
                self.eval(then, &inside)
            }
            ("let", [Form::Vector(bindings), body @ ..]) => {
                let mut inside = scope.clone();
                for binding in bindings.chunks(2) {
                    let value = self.eval(&binding[1], &inside)?;
                    self.bind(&binding[0], value, &mut inside)?;
                }
                self.body(body, &inside)
            }
            ("fn", [Form::Vector(parameters), body @ ..]) => Ok(Value::Closure(Rc::new(Closure {
                parameters: parameters.clone(),
                body: body.to_vec(),
                scope: scope.clone(),
            }))),
            ("loop", [Form::Vector(bindings), body @ ..]) => self.repeat(bindings, body, scope),
            ("recur", arguments) => Err(Stop::Recur(self.all(arguments, scope)?)),
            ("->" | "->>", [first, steps @ ..]) => {
                let threaded = steps.iter().try_fold(first.clone(), |value, step| {
                    let Form::List(step) = step else { return Err(Stop::Open) };
                    let mut step = step.clone();
                    step.insert(if name == "->" { 1 } else { step.len() }, value);
                    Ok(Form::List(step))
                })?;
                self.eval(&threaded, scope)
            }
            _ => {
                let function = self.eval(head, scope)?;
                let arguments = self.all(rest, scope)?;
                self.call(&function, arguments)
            }
        }
    }

    fn until(&mut self, forms: &[Form], scope: &Scope, none: Value, ends: fn(&Value) -> bool) -> Result {
        let mut last = none;
        for form in forms {
            last = self.eval(form, scope)?;
            if ends(&last) {
                break;
            }
        }
        Ok(last)
    }

    fn repeat(&mut self, bindings: &[Form], body: &[Form], scope: &Scope) -> Result {
        let mut inside = scope.clone();
        for binding in bindings.chunks(2) {
            let value = self.eval(&binding[1], &inside)?;
            self.bind(&binding[0], value, &mut inside)?;
        }
        loop {
            match self.body(body, &inside) {
                Err(Stop::Recur(values)) => {
                    inside = scope.clone();
                    for (binding, value) in bindings.chunks(2).zip(values) {
                        self.bind(&binding[0], value, &mut inside)?;
                    }
                }
                ended => return ended,
            }
        }
    }

    /// Calls a value.
    pub(super) fn call(&mut self, function: &Value, mut arguments: Vec<Value>) -> Result {
        self.work += 1;
        match function {
            Value::Closure(closure) => {
                let Closure { parameters, body, scope } = &**closure;
                let and = parameters.iter().position(|form| *form == Form::Symbol("&".to_owned()));
                let fixed = and.unwrap_or(parameters.len());
                if arguments.len() < fixed || (and.is_none() && arguments.len() > fixed) {
                    return Err(Stop::Fail("arity_mismatch"));
                }
                let rest = arguments.split_off(fixed);
                let mut inside = scope.clone();
                for (pattern, value) in parameters.iter().zip(arguments) {
                    self.bind(pattern, value, &mut inside)?;
                }
                if let Some(and) = and {
                    let rest = if rest.is_empty() { Value::Nil } else { Value::Vector(rest) };
                    self.bind(&parameters[and + 1], rest, &mut inside)?;
                }
                self.body(body, &inside)
            }
            Value::Builtin(name) => {
                builtins::call(&mut |function, arguments| self.call(function, arguments), name, arguments)
            }
            Value::Keyword(_) => match arguments.as_slice() {
                [Value::Map(map)] => Ok(Value::find(map, function)?.cloned().unwrap_or(Value::Nil)),
                [Value::Map(map), other] => Ok(Value::find(map, function)?.cloned().unwrap_or(other.clone())),
                [_] => Ok(Value::Nil),
                _ => Err(Stop::Open),
            },
            Value::Map(map) => match arguments.as_slice() {
                [key] => Ok(Value::find(map, key)?.cloned().unwrap_or(Value::Nil)),
                _ => Err(Stop::Open),
            },
            Value::Set(items) => match arguments.as_slice() {
                [item] => {
                    for known in items {
                        if known.compare(item)?.is_eq() {
                            return Ok(known.clone());
                        }
                    }
                    Ok(Value::Nil)
                }
                _ => Err(Stop::Open),
            },
            Value::Vector(_) => Err(Stop::Open),
            Value::Nil | Value::Bool(_) | Value::Int(_) | Value::Str(_) | Value::List(_) => {
                Err(Stop::Fail("not_callable"))
            }
        }
    }

    fn bind(&mut self, pattern: &Form, value: Value, scope: &mut Scope) -> Result<()> {
        match pattern {
            Form::Symbol(name) => scope.0.push((name.clone(), value)),
            Form::Vector(patterns) => {
                let items = match &value {
                    Value::Nil => Vec::new(),
                    Value::Vector(items) | Value::List(items) => items.clone(),
                    Value::Str(_) | Value::Map(_) | Value::Set(_) => return Err(Stop::Open),
                    _ => return Err(Stop::Fail("destructure_error")),
                };
                let mut at = 0;
                let mut patterns = patterns.iter();
                while let Some(pattern) = patterns.next() {
                    match pattern {
                        Form::Symbol(name) if name == "&" => {
                            let rest = items.get(at..).unwrap_or_default().to_vec();
                            let rest = if rest.is_empty() { Value::Nil } else { value.sequence_like(rest) };
                            self.bind(patterns.next().ok_or(Stop::Open)?, rest, scope)?;
                        }
                        Form::Keyword(_) => {
                            self.bind(patterns.next().ok_or(Stop::Open)?, value.clone(), scope)?;
                        }
                        pattern => {
                            self.bind(pattern, items.get(at).cloned().unwrap_or(Value::Nil), scope)?;
                            at += 1;
                        }
                    }
                }
            }
            Form::Map(parts) => {
                // The only item of a list stands for itself.
                let (taken, has_pairs) = match &value {
                    Value::List(items) if items.len() == 1 => (&items[0], false),
                    other => (other, true),
                };
                let map = match taken {
                    Value::Map(map) => map.clone(),
                    Value::Set(items) => items.iter().map(|item| (item.clone(), item.clone())).collect(),
                    Value::List(items) if has_pairs => pairs(items)?,
                    _ => Vec::new(),
                };
                let [Form::Keyword(keys), Form::Vector(names)] = parts.as_slice() else {
                    return Err(Stop::Open);
                };
                if keys != "keys" {
                    return Err(Stop::Open);
                }
                for name in names {
                    let Form::Symbol(name) = name else { return Err(Stop::Open) };
                    let found = Value::find(&map, &Value::Keyword(name.clone()))?;
                    scope.0.push((name.clone(), found.cloned().unwrap_or(Value::Nil)));
                }
            }
            _ => return Err(Stop::Open),
        }
        Ok(())
    }
}

/// The map of `k v k v …`, and of a map behind them.
fn pairs(items: &[Value]) -> Result<Vec<(Value, Value)>> {
    let (items, last) = match items {
        [items @ .., Value::Map(last)] if items.len() % 2 == 0 => (items, last.as_slice()),
        items if items.len() % 2 == 0 => (items, [].as_slice()),
        _ => return Err(Stop::Fail("destructure_error")),
    };
    let mut map = Vec::new();
    for pair in items.chunks_exact(2) {
        Value::put(&mut map, pair[0].clone(), pair[1].clone())?;
    }
    for (key, value) in last {
        Value::put(&mut map, key.clone(), value.clone())?;
    }
    Ok(map)
}
