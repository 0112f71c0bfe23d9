//! Programs made at random: the code holds together on every path, and moving values out of their slots changes nothing.

use crate::support::run_program;
use proptest::prelude::*;
use ptc_compiler::verify::verify;
use ptc_compiler::{CompileOptions, compile};
use ptc_vm::builtins::library;
use ptc_vm::code::Op;
use std::rc::Rc;

/// Writes a program from a list of decisions. Every list gives a program that ends.
struct Writer<'a> {
    decisions: &'a [u8],
    at: usize,
    names: usize,
}

/// What may stand at a place.
#[derive(Clone)]
struct Place {
    /// Names in scope that hold some value.
    names: Vec<String>,
    depth: u32,
    /// The innermost loop: its counter, and how many variables besides.
    tail: Option<(String, usize)>,
}

impl Place {
    fn inner(&self) -> Place {
        Place { names: self.names.clone(), depth: self.depth + 1, tail: None }
    }

    fn same_tail(&self) -> Place {
        Place { tail: self.tail.clone(), ..self.inner() }
    }

    fn with(mut self, names: &[&String]) -> Place {
        self.names.extend(names.iter().map(|name| (*name).clone()));
        self
    }
}

impl Writer<'_> {
    fn choose(&mut self, below: usize) -> usize {
        let decision = self.decisions.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        usize::from(decision) % below
    }

    /// A name, now and then one that hides another.
    fn name(&mut self, place: &Place) -> String {
        if !place.names.is_empty() && self.choose(4) == 0 {
            return place.names[self.choose(place.names.len())].clone();
        }
        self.names += 1;
        format!("v{}", self.names)
    }

    fn leaf(&mut self, place: &Place) -> String {
        match self.choose(8) {
            0 => "nil".into(),
            1 => "1".into(),
            2 => "[]".into(),
            3 => ":k".into(),
            _ if place.names.is_empty() => "[0]".into(),
            _ => place.names[self.choose(place.names.len())].clone(),
        }
    }

    fn expr(&mut self, place: &Place) -> String {
        if self.at >= self.decisions.len() || place.depth > 6 {
            return self.leaf(place);
        }
        if place.tail.is_some() && self.choose(3) == 0 {
            return self.recur(place);
        }
        let inner = place.inner();
        match self.choose(30) {
            0..4 => self.leaf(place),
            4 => format!("(conj {} {})", self.vector(&inner), self.expr(&inner)),
            5 => format!("[{} {}]", self.expr(&inner), self.expr(&inner)),
            6 => format!("(vector {} {} {})", self.expr(&inner), self.leaf(&inner), self.expr(&inner)),
            7 => format!("{{:a {} :b {}}}", self.expr(&inner), self.expr(&inner)),
            8 => format!("(count {})", self.vector(&inner)),
            9 => format!("(:a {} {})", self.expr(&inner), self.leaf(&inner)),
            10 => self.conditional(place),
            11 => self.conditional(place),
            12 => self.let_form(place),
            13 => self.let_form(place),
            14 => self.closure(place),
            15 => self.loop_form(place),
            16 => self.loop_form(place),
            17 => self.comprehension(place),
            18 => format!("(do {} {})", self.expr(&inner), self.expr(&place.same_tail())),
            19 => format!(
                "(-> {} (vector {}) (conj {}))",
                self.expr(&inner),
                self.expr(&inner),
                self.expr(&inner)
            ),
            20 => format!(
                "(->> {} (conj {}) (vector {}))",
                self.expr(&inner),
                self.vector(&inner),
                self.expr(&inner)
            ),
            21 => format!("(-> {} (if {} {}))", self.expr(&inner), self.expr(&inner), self.expr(&inner)),
            22 => {
                let name = self.name(place);
                let inside = inner.clone().with(&[&name]);
                format!(
                    "(as-> {} {name} {} {})",
                    self.expr(&inner),
                    self.expr(&inside),
                    self.expr(&Place { tail: place.tail.clone(), ..inside.clone() })
                )
            }
            23 => format!(
                "(cond-> {} {} (vector {}) {} (conj {}))",
                self.vector(&inner),
                self.expr(&inner),
                self.expr(&inner),
                self.expr(&inner),
                self.expr(&inner)
            ),
            24 => format!(
                "(some-> {} (vector {}) (conj {}))",
                self.expr(&inner),
                self.expr(&inner),
                self.expr(&inner)
            ),
            25 => format!(
                "(case {} 1 {} :k {} {})",
                self.expr(&inner),
                self.expr(&place.same_tail()),
                self.expr(&place.same_tail()),
                self.expr(&place.same_tail())
            ),
            26 => format!(
                "(condp = {} {} {} {})",
                self.expr(&inner),
                self.expr(&inner),
                self.expr(&place.same_tail()),
                self.expr(&place.same_tail())
            ),
            27 => {
                format!("(and {} {} {})", self.expr(&inner), self.expr(&inner), self.expr(&place.same_tail()))
            }
            28 => format!("(or {} {})", self.expr(&inner), self.expr(&place.same_tail())),
            _ => self.recur(place),
        }
    }

    /// Mostly something that `conj` takes.
    fn vector(&mut self, place: &Place) -> String {
        match self.choose(3) {
            0 => self.expr(place),
            1 => format!("[{}]", self.leaf(place)),
            _ => format!("(vec {})", self.expr(place)),
        }
    }

    fn conditional(&mut self, place: &Place) -> String {
        let (inner, tail) = (place.inner(), place.same_tail());
        match self.choose(5) {
            0 => format!("(if {} {} {})", self.expr(&inner), self.expr(&tail), self.expr(&tail)),
            1 => format!("(when {} {} {})", self.expr(&inner), self.expr(&inner), self.expr(&tail)),
            2 => format!(
                "(cond {} {} {} {} :else {})",
                self.expr(&inner),
                self.expr(&tail),
                self.expr(&inner),
                self.expr(&tail),
                self.expr(&tail)
            ),
            3 => {
                let name = self.name(place);
                let inside = tail.clone().with(&[&name]);
                format!("(if-let [{name} {}] {} {})", self.expr(&inner), self.expr(&inside), self.expr(&tail))
            }
            _ => {
                let (a, b) = (self.name(place), self.name(place));
                let inside = tail.with(&[&a, &b]);
                format!("(when-let [[{a} & {b}] (vec {})] {})", self.expr(&inner), self.expr(&inside))
            }
        }
    }

    fn let_form(&mut self, place: &Place) -> String {
        let (a, b, c) = (self.name(place), self.name(place), self.name(place));
        let mut inside = place.same_tail();
        let mut text = String::from("(let [");
        for name in [&a, &b, &c] {
            let value = self.expr(&Place { tail: None, ..inside.clone() });
            match self.choose(5) {
                0 => {
                    let (first, rest) = (self.name(place), self.name(place));
                    text += &format!("[{first} & {rest} :as {name}] (vec {value}) ");
                    inside = inside.with(&[&first, &rest]);
                }
                1 => {
                    let default = self.expr(&Place { tail: None, ..inside.clone() });
                    text += &format!("{{{name} :a :or {{{name} {default}}}}} {{:b {value}}} ");
                }
                _ => text += &format!("{name} {value} "),
            }
            inside = inside.with(&[name]);
        }
        format!("{text}] {})", self.expr(&inside))
    }

    fn closure(&mut self, place: &Place) -> String {
        let (f, x) = (self.name(place), self.name(place));
        let inside = Place { tail: None, ..place.inner() }.with(&[&x]);
        let body = self.expr(&inside);
        let inner = place.inner();
        match self.choose(4) {
            0 => format!("((fn [{x}] {body}) {})", self.expr(&inner)),
            1 => format!("(let [{f} (fn [{x}] {body})] [({f} {}) ({f} 1)])", self.expr(&inner)),
            2 => format!("(mapv (fn [{x}] {body}) (vec {}))", self.expr(&inner)),
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
        let inside = Place { tail: Some((counter.clone(), 2)), ..inner.clone() }.with(&[&a, &b]);
        let (first, second) = (self.expr(&inner), self.expr(&inner));
        let (again, done) = (self.expr(&inside), self.expr(&Place { tail: None, ..inside.clone() }));
        match self.choose(3) {
            0 => format!(
                "(loop [{counter} 0 [{a}] (vec {first}) {b} {second}] (if (< {counter} 3) {again} {done}))"
            ),
            _ => format!("(loop [{counter} 0 {a} {first} {b} {second}] (if (< {counter} 3) {again} {done}))"),
        }
    }

    fn recur(&mut self, place: &Place) -> String {
        let inner = place.inner();
        match &place.tail {
            Some((counter, _)) => {
                format!("(recur (inc {counter}) {} {})", self.vector(&inner), self.expr(&inner))
            }
            None => self.leaf(place),
        }
    }

    fn comprehension(&mut self, place: &Place) -> String {
        let (a, b, c) = (self.name(place), self.name(place), self.name(place));
        let inner = place.inner();
        let first = self.expr(&inner);
        let inside = inner.clone().with(&[&a]);
        let (test, value) = (self.expr(&inside), self.expr(&inside));
        let inside = inside.with(&[&b]);
        let second = self.expr(&inside);
        let inside = inside.with(&[&c]);
        let body = self.expr(&inside);
        let modifier = [":when", ":while"][self.choose(2)];
        format!(
            "(for [{a} (take 3 (vec {first})) {modifier} {test} :let [{b} {value}] {c} (take 2 (vec {second}))] {body})"
        )
    }
}

fn write(decisions: &[u8]) -> String {
    let mut writer = Writer { decisions, at: 0, names: 0 };
    let place = Place { names: Vec::new(), depth: 0, tail: None };
    let first = writer.expr(&place);
    let second = writer.let_form(&place);
    format!("(def d {first}) [d {second}]")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn moving_values_changes_nothing(decisions in proptest::collection::vec(any::<u8>(), 1..400)) {
        let source = write(&decisions);
        let options = CompileOptions::default();
        let program = match compile(&source, library(), &options) {
            Ok(program) => program,
            Err(error) => {
                // A name may hide what a loop needs; nothing else is refused.
                prop_assert!(false, "{source}\n{error}");
                return Ok(());
            }
        };
        if let Err(why) = verify(&program) {
            prop_assert!(false, "{source}\n{why}");
        }
        let mut copying = compile(&source, library(), &options).expect("compiled before");
        for function in &mut copying.functions {
            for arity in &mut Rc::get_mut(function).expect("nothing runs yet").arities {
                for op in &mut Rc::get_mut(arity).expect("nothing runs yet").code {
                    if let Op::TakeLocal(slot) = *op {
                        *op = Op::Local(slot);
                    }
                }
            }
        }
        prop_assert_eq!(run_program(program), run_program(copying), "{}", source);
    }
}

#[test]
fn the_writer_uses_loops_and_moves() {
    let decisions: Vec<u8> = (0..4000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 23) as u8).collect();
    let sources: Vec<String> = decisions.chunks(200).map(write).collect();
    for needle in ["(loop", "(recur", "(for", "(fn", "(letfn", "(-> ", ":as", ":or"] {
        assert!(sources.iter().any(|source| source.contains(needle)), "{needle} is never written");
    }
    let moves = |source: &String| {
        let program = compile(source, library(), &CompileOptions::default()).expect("compiles");
        program
            .functions
            .iter()
            .flat_map(|f| &f.arities)
            .flat_map(|a| &a.code)
            .filter(|op| matches!(op, Op::TakeLocal(_)))
            .count()
    };
    assert!(sources.iter().map(moves).sum::<usize>() > 100);
}
