//! Programs of the core language: what the evaluator of this crate knows, too.

use super::Choices;
use super::data;

/// Writes one form.
pub fn core(choices: &mut Choices<'_>) -> String {
    Writer { choices, names: 0 }.expr(&Place { names: vec![], depth: 0, counter: None })
}

#[derive(Clone)]
struct Place {
    names: Vec<String>,
    depth: u32,
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

const ONE: [&str; 34] = [
    "inc",
    "dec",
    "abs",
    "not",
    "nil?",
    "some?",
    "vector?",
    "map?",
    "set?",
    "string?",
    "keyword?",
    "number?",
    "zero?",
    "pos?",
    "neg?",
    "odd?",
    "even?",
    "empty?",
    "keys",
    "vals",
    "frequencies",
    "set",
    "vec",
    "identity",
    "count",
    "first",
    "second",
    "last",
    "rest",
    "next",
    "reverse",
    "distinct",
    "sort",
    "str",
];
const TWO: [&str; 22] = [
    "+",
    "-",
    "*",
    "quot",
    "rem",
    "mod",
    "=",
    "not=",
    "<",
    ">",
    "<=",
    ">=",
    "get",
    "contains?",
    "zipmap",
    "concat",
    "interleave",
    "conj",
    "into",
    "vector",
    "hash-set",
    "str",
];
const CALLING: [&str; 7] = ["map", "mapv", "filter", "remove", "every?", "some", "map"];

struct Writer<'c, 'b> {
    choices: &'c mut Choices<'b>,
    names: usize,
}

impl Writer<'_, '_> {
    fn name(&mut self) -> String {
        self.names += 1;
        format!("v{}", self.names)
    }

    fn leaf(&mut self, place: &Place) -> String {
        match self.choices.below(10) {
            0 => "nil".to_owned(),
            1 => data::integer(self.choices).to_string(),
            2 => (*self.choices.one(&[":a", ":b", "\"s\"", "\"\"", "true", "false"])).to_owned(),
            3 => (*self.choices.one(&[
                "[3 1 2]",
                "[]",
                "{:a 1 :b [2]}",
                "{}",
                "[[1 2] [3]]",
                "[{:a 1} {:b 2}]",
            ]))
            .to_owned(),
            4 => self.choices.below(9).to_string(),
            _ if place.names.is_empty() => "7".to_owned(),
            _ => self.choices.one(&place.names).clone(),
        }
    }

    fn expr(&mut self, place: &Place) -> String {
        if self.choices.is_spent() || place.depth > 7 {
            return self.leaf(place);
        }
        let inner = place.inner();
        match self.choices.below(28) {
            0..=3 => self.leaf(place),
            4..=6 => format!("({} {})", self.choices.one(&ONE), self.expr(&inner)),
            7..=9 => format!("({} {} {})", self.choices.one(&TWO), self.expr(&inner), self.expr(&inner)),
            10 | 11 => {
                let function = self.function(place, 1);
                format!("({} {function} {})", self.choices.one(&CALLING), self.expr(&inner))
            }
            12 => format!("(reduce {} {} {})", self.function(place, 2), self.expr(&inner), self.expr(&inner)),
            13 => format!("[{} {}]", self.expr(&inner), self.expr(&inner)),
            14 => format!("{{:a {} :b {}}}", self.expr(&inner), self.expr(&inner)),
            15 => format!("(assoc {} {} {})", self.expr(&inner), self.leaf(&inner), self.expr(&inner)),
            16 => self.conditional(place),
            17 | 18 => self.let_form(place),
            19 | 20 => self.loop_form(place),
            21 => format!("({} {})", self.function(place, 1), self.expr(&inner)),
            22 => self.threaded(place),
            23 => format!(
                "({} {} {})",
                self.choices.one(&["take", "drop"]),
                self.choices.below(5),
                self.expr(&inner)
            ),
            24 => format!("(do {} {})", self.expr(&inner), self.expr(&place.tail())),
            25 => format!("(:a {} {})", self.expr(&inner), self.leaf(&inner)),
            26 => format!("(apply {} {})", self.function(place, 2), self.expr(&inner)),
            _ => match &place.counter {
                Some(counter) => {
                    format!("(recur (inc {counter}) {} {})", self.expr(&inner), self.expr(&inner))
                }
                None => self.leaf(place),
            },
        }
    }

    fn function(&mut self, place: &Place, parameters: usize) -> String {
        match self.choices.below(5) {
            0 if parameters == 1 => (*self.choices.one(&ONE)).to_owned(),
            0 => (*self.choices.one(&TWO)).to_owned(),
            1 if parameters == 1 => ":a".to_owned(),
            2 => {
                let (x, rest) = (self.name(), self.name());
                let body = self.expr(&place.inner().with(&[&x, &rest]));
                format!("(fn [{x} & {rest}] {body})")
            }
            _ => {
                let names: Vec<String> = (0..parameters).map(|_| self.name()).collect();
                let inside = place.inner().with(&names.iter().map(String::as_str).collect::<Vec<_>>());
                format!("(fn [{}] {})", names.join(" "), self.expr(&inside))
            }
        }
    }

    fn conditional(&mut self, place: &Place) -> String {
        let (inner, tail) = (place.inner(), place.tail());
        match self.choices.below(6) {
            0 => format!("(when {} {})", self.expr(&inner), self.expr(&tail)),
            1 => format!("(cond {} {} :else {})", self.expr(&inner), self.expr(&tail), self.expr(&tail)),
            2 => format!("(and {} {})", self.expr(&inner), self.expr(&tail)),
            3 => format!("(or {} {})", self.expr(&inner), self.expr(&tail)),
            4 => {
                let name = self.name();
                let value = self.expr(&inner);
                let then = self.expr(&tail.clone().with(&[&name]));
                format!("(if-let [{name} {value}] {then} {})", self.expr(&tail))
            }
            _ => format!("(if {} {} {})", self.expr(&inner), self.expr(&tail), self.expr(&tail)),
        }
    }

    fn let_form(&mut self, place: &Place) -> String {
        let mut inside = place.tail();
        let mut text = String::from("(let [");
        for _ in 0..=self.choices.below(3) {
            let name = self.name();
            let value = self.expr(&Place { counter: None, ..inside.clone() });
            match self.choices.below(5) {
                0 => {
                    let (first, rest) = (self.name(), self.name());
                    text += &format!("[{first} & {rest} :as {name}] {value} ");
                    inside = inside.with(&[&first, &rest]);
                }
                1 => {
                    text += &format!("{{:keys [a b]}} {value} {name} a ");
                    inside = inside.with(&["a", "b"]);
                }
                _ => text += &format!("{name} {value} "),
            }
            inside = inside.with(&[&name]);
        }
        let body = self.expr(&inside);
        format!("{text}] {body})")
    }

    fn loop_form(&mut self, place: &Place) -> String {
        let (counter, a, b) = (self.name(), self.name(), self.name());
        let inner = place.inner();
        let (first, second) = (self.expr(&inner), self.expr(&inner));
        let inside = inner.with(&[&counter, &a, &b]);
        let again = self.expr(&Place { counter: Some(counter.clone()), ..inside.clone() });
        let done = self.expr(&inside);
        format!("(loop [{counter} 0 {a} {first} {b} {second}] (if (< {counter} 4) {again} {done}))")
    }

    fn threaded(&mut self, place: &Place) -> String {
        let inner = place.inner();
        let arrow = *self.choices.one(&["->", "->>"]);
        let mut text = format!("({arrow} {}", self.expr(&inner));
        for _ in 0..=self.choices.below(3) {
            match self.choices.below(2) {
                0 => text += &format!(" ({})", self.choices.one(&ONE)),
                _ => text += &format!(" ({} {})", self.choices.one(&TWO), self.expr(&inner)),
            }
        }
        text + ")"
    }
}
