//! Whole programs: control flow and names around calls of the library, closures, and calls of tools.
//!
//! Every list of decisions gives a program. Loops count, so that most programs end by themselves; what does not is
//! ended by its steps.

use super::Choices;
use super::data;
use super::greedy::greedy;
use super::library::{self, Kind};

/// What the program may do besides computing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Powers {
    /// Calls of tools and upstreams, and parallel branches around them.
    pub tools: bool,
}

/// Writes a program.
pub fn program(choices: &mut Choices<'_>, powers: Powers) -> String {
    let mut writer = Writer { choices, names: 0, powers };
    let place = Place { names: Vec::new(), depth: 0, counter: None };
    let mut out = String::new();
    let mut globals = place.clone();
    for global in ["g0", "g1"] {
        if writer.choices.below(2) == 1 {
            out += &format!("(def {global} {})\n", writer.expr(&globals));
            globals.names.push(global.to_owned());
        }
    }
    if writer.choices.below(3) == 1 {
        let mut inside = globals.clone();
        inside.names.push("x".to_owned());
        out += &format!("(defn h0 [x] {})\n", writer.expr(&inside));
        globals.names.push("h0".to_owned());
    }
    for _ in 0..writer.choices.below(3) {
        out += &writer.expr(&globals);
        out.push('\n');
    }
    out += &format!("[{} {}]", writer.expr(&globals), writer.expr(&globals));
    // Some are kept programs, or called as such.
    match writer.choices.below(12) {
        1 => format!("\u{c}{{}} {out}"),
        2 => format!("(program/p {{\"x\" 1}})\n\u{c};program/p\n{{}}\n{out}"),
        _ => out,
    }
}

struct Writer<'c, 'b> {
    choices: &'c mut Choices<'b>,
    names: usize,
    powers: Powers,
}

/// What may stand at a place.
#[derive(Clone)]
struct Place {
    /// Names in scope that hold some value.
    names: Vec<String>,
    depth: u32,
    /// In the tail of a loop of three variables: its counter.
    counter: Option<String>,
}

impl Place {
    fn inner(&self) -> Place {
        Place { names: self.names.clone(), depth: self.depth + 1, counter: None }
    }

    fn tail(&self) -> Place {
        Place { counter: self.counter.clone(), ..self.inner() }
    }

    fn with(mut self, names: &[&str]) -> Place {
        self.names.extend(names.iter().map(|name| (*name).to_owned()));
        self
    }
}

impl Writer<'_, '_> {
    fn name(&mut self, place: &Place) -> String {
        if !place.names.is_empty() && self.choices.once_in(5) {
            let name = self.choices.one(&place.names).clone();
            // Hiding the counter of a loop could make it endless.
            if place.counter.as_ref() != Some(&name) {
                return name;
            }
        }
        self.names += 1;
        format!("v{}", self.names)
    }

    fn leaf(&mut self, place: &Place) -> String {
        match self.choices.below(6) {
            0 => "nil".to_owned(),
            1 => library::argument(Kind::Any, self.choices),
            2 => data::integer(self.choices).to_string(),
            3 => library::argument(Kind::Collection, self.choices),
            _ if place.names.is_empty() => "[0]".to_owned(),
            _ => self.choices.one(&place.names).clone(),
        }
    }

    fn expr(&mut self, place: &Place) -> String {
        if self.choices.is_spent() || place.depth > 7 {
            return self.leaf(place);
        }
        if self.powers.tools && self.choices.once_in(6) {
            return self.tool(place);
        }
        // A machine that is made to wait after each step would do nothing else.
        if !self.powers.tools && self.choices.once_in(16) {
            return greedy(self.choices);
        }
        let inner = place.inner();
        match self.choices.below(24) {
            0..=4 => self.leaf(place),
            5..=9 => self.call(&inner),
            10 => format!("[{} {}]", self.expr(&inner), self.expr(&inner)),
            11 => format!("{{:a {} \"b\" {}}}", self.expr(&inner), self.expr(&inner)),
            12 => format!("(hash-set {} {})", self.expr(&inner), self.expr(&inner)),
            13 => self.conditional(place),
            14 | 15 => self.let_form(place),
            16 => self.closure(place),
            17 | 18 => self.loop_form(place),
            19 => self.comprehension(place),
            20 => self.threaded(place),
            21 => {
                format!("(do {} {})", self.expr(&inner), self.expr(&place.tail()))
            }
            22 => self.effect(place),
            _ => self.recur(place),
        }
    }

    /// An argument of this kind.
    fn argument(&mut self, kind: Kind, place: &Place) -> String {
        match (kind, self.choices.below(4)) {
            (Kind::Function, 0) => {
                self.names += 1;
                let x = format!("x{}", self.names);
                let body = self.expr(&place.inner().with(&[&x]));
                format!("(fn [{x} & _] {body})")
            }
            (Kind::Function | Kind::Pattern | Kind::Transducer, _) => library::argument(kind, self.choices),
            (Kind::Any, 2..) | (_, 3) => self.expr(&place.inner()),
            _ => library::argument(kind, self.choices),
        }
    }

    fn call(&mut self, place: &Place) -> String {
        let call = self.choices.one(library::calls());
        let mut text = format!("({}", self.choices.one(&call.names));
        for n in 0..call.count(self.choices) {
            text.push(' ');
            text += &self.argument(call.kind(n), place);
        }
        text + ")"
    }

    fn tool(&mut self, place: &Place) -> String {
        let inner = place.inner();
        match self.choices.below(8) {
            0..=2 => format!("(get (tool/echo {{:x {}}}) \"x\")", self.expr(&inner)),
            3 => format!(
                "(:value (tool/call {{:server \"s\" :tool \"t\" :args {{:x {}}}}}))",
                self.expr(&inner)
            ),
            4 | 5 => {
                self.names += 1;
                let x = format!("x{}", self.names);
                let body = self.expr(&inner.clone().with(&[&x]));
                format!("(pmap (fn [{x}] {body}) (take 4 (vec {})))", self.expr(&inner))
            }
            6 => format!("(pcalls (fn [] {}) (fn [] {}))", self.expr(&inner), self.expr(&inner)),
            _ => format!("(map (fn [q] (get (tool/echo {{:x q}}) \"x\")) {})", self.expr(&inner)),
        }
    }

    fn conditional(&mut self, place: &Place) -> String {
        let (inner, tail) = (place.inner(), place.tail());
        match self.choices.below(8) {
            0 | 1 => format!("(if {} {} {})", self.expr(&inner), self.expr(&tail), self.expr(&tail)),
            2 => format!("(when {} {} {})", self.expr(&inner), self.expr(&inner), self.expr(&tail)),
            3 => format!(
                "(cond {} {} {} {} :else {})",
                self.expr(&inner),
                self.expr(&tail),
                self.expr(&inner),
                self.expr(&tail),
                self.expr(&tail)
            ),
            4 => {
                let name = self.name(place);
                let inside = tail.clone().with(&[&name]);
                format!("(if-let [{name} {}] {} {})", self.expr(&inner), self.expr(&inside), self.expr(&tail))
            }
            5 => format!(
                "(case {} 1 {} (:k nil) {} {})",
                self.expr(&inner),
                self.expr(&tail),
                self.expr(&tail),
                self.expr(&tail)
            ),
            6 => format!("(and {} {} {})", self.expr(&inner), self.expr(&inner), self.expr(&tail)),
            _ => format!("(or {} {})", self.expr(&inner), self.expr(&tail)),
        }
    }

    fn let_form(&mut self, place: &Place) -> String {
        let mut inside = place.tail();
        let mut text = String::from("(let [");
        for _ in 0..=self.choices.below(3) {
            let name = self.name(&inside);
            let value = self.expr(&Place { counter: None, ..inside.clone() });
            match self.choices.below(5) {
                0 => {
                    let (first, rest) = (self.name(&inside), self.name(&inside));
                    text += &format!("[{first} & {rest} :as {name}] (vec {value}) ");
                    inside = inside.with(&[&first, &rest]);
                }
                1 => {
                    let default = self.expr(&Place { counter: None, ..inside.clone() });
                    text += &format!("{{{name} :a :or {{{name} {default}}}}} {{:b {value}}} ");
                }
                2 => {
                    let key = self.name(&inside);
                    text += &format!("{{:keys [a b] :strs [c] {key} :k :as {name}}} {value} ");
                    inside = inside.with(&["a", "b", "c", &key]);
                }
                _ => text += &format!("{name} {value} "),
            }
            inside = inside.with(&[&name]);
        }
        let body = self.expr(&inside);
        format!("{text}] {body})")
    }

    fn closure(&mut self, place: &Place) -> String {
        let (f, x) = (self.name(place), self.name(place));
        let inner = place.inner();
        let body = self.expr(&inner.clone().with(&[&x]));
        match self.choices.below(5) {
            0 => format!("((fn [{x}] {body}) {})", self.expr(&inner)),
            1 => format!("(let [{f} (fn [{x}] {body})] [({f} {}) ({f} 1)])", self.expr(&inner)),
            2 => format!("(mapv (fn [{x}] {body}) (take 5 (vec {})))", self.expr(&inner)),
            3 => format!("(fn [{x}] {body})"),
            _ => format!(
                "(letfn [(f0 [{x}] {body}) (g0 [{x}] [{x} (f0 {x})])] [(g0 {}) (f0 2)])",
                self.expr(&inner)
            ),
        }
    }

    fn loop_form(&mut self, place: &Place) -> String {
        self.names += 1;
        let counter = format!("i{}", self.names);
        let (a, b) = (self.name(place), self.name(place));
        let inner = place.inner();
        let (first, second) = (self.expr(&inner), self.expr(&inner));
        let inside = inner.with(&[&a, &b]);
        let again = self.expr(&Place { counter: Some(counter.clone()), ..inside.clone() });
        let done = self.expr(&inside);
        format!("(loop [{counter} 0 {a} {first} {b} {second}] (if (< {counter} 3) {again} {done}))")
    }

    fn recur(&mut self, place: &Place) -> String {
        let inner = place.inner();
        match &place.counter {
            Some(counter) => {
                format!("(recur (inc {counter}) {} {})", self.expr(&inner), self.expr(&inner))
            }
            None => self.leaf(place),
        }
    }

    fn comprehension(&mut self, place: &Place) -> String {
        let (a, b, c) = (self.name(place), self.name(place), self.name(place));
        let inner = place.inner();
        let first = self.expr(&inner);
        let inside = inner.with(&[&a]);
        let (test, value) = (self.expr(&inside), self.expr(&inside));
        let inside = inside.with(&[&b]);
        let second = self.expr(&inside);
        let body = self.expr(&inside.with(&[&c]));
        let form = *self.choices.one(&["for", "for", "doseq"]);
        let modifier = *self.choices.one(&[":when", ":while"]);
        format!(
            "({form} [{a} (take 3 (vec {first})) {modifier} {test} :let [{b} {value}] {c} (take 2 (vec {second}))] {body})"
        )
    }

    fn threaded(&mut self, place: &Place) -> String {
        let inner = place.inner();
        let arrow = *self.choices.one(&["->", "->>", "some->", "some->>"]);
        let mut text = format!("({arrow} {}", self.expr(&inner));
        for _ in 0..=self.choices.below(3) {
            let call = self.choices.one(library::calls());
            let name = *self.choices.one(&call.names);
            text.push_str(" (");
            text.push_str(name);
            let count = call.count(self.choices).saturating_sub(1);
            for n in 0..count {
                let n = if arrow.ends_with(">>") { n } else { n + 1 };
                text.push(' ');
                text += &self.argument(call.kind(n), &inner);
            }
            text.push(')');
        }
        text + ")"
    }

    fn effect(&mut self, place: &Place) -> String {
        let inner = place.inner();
        match self.choices.below(8) {
            0..=3 => format!("(println {})", self.expr(&inner)),
            4 => format!("(def g1 {})", self.expr(&inner)),
            5 => format!("(when {} (return {}))", self.expr(&inner), self.expr(&inner)),
            6 => format!("(when {} (fail {}))", self.expr(&inner), self.expr(&inner)),
            _ => format!("(do (printf \"%s|\" {}) *1)", self.expr(&inner)),
        }
    }
}
