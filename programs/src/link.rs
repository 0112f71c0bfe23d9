//! The texts that run: a program, with those that it calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use ptc_compiler::datum::mentioned_programs;
use ptc_compiler::parts::{self, MAX_CALLED};
use ptc_host::engine::kept::ProgramFault;

use crate::name::ProgramName;
use crate::program::KeptProgram;

/// Gives the program of a name that another one calls, or a sentence why there is none.
type Find<'f, 'p> = dyn Fn(&KeptProgram, &ProgramName) -> Result<&'p Arc<KeptProgram>, String> + 'f;

/// The programs that `program` calls, directly or by another one. `find` gives the program of a name, called by another one.
///
/// # Errors
/// Those of `find`, or they call each other in a circle: a sentence.
pub(crate) fn called<'p>(
    program: &KeptProgram,
    find: &Find<'_, 'p>,
) -> Result<BTreeMap<ProgramName, &'p Arc<KeptProgram>>, String> {
    let mut found = BTreeMap::new();
    follow(program, find, &mut vec![program.name.clone()], &mut found)?;
    Ok(found)
}

fn follow<'p>(
    program: &KeptProgram,
    find: &Find<'_, 'p>,
    way: &mut Vec<ProgramName>,
    found: &mut BTreeMap<ProgramName, &'p Arc<KeptProgram>>,
) -> Result<(), String> {
    for name in &program.calls {
        if way.contains(name) {
            let way: Vec<&str> = way.iter().chain([name]).map(ProgramName::as_str).collect();
            return Err(format!("programs call each other in a circle: {}", way.join(" → ")));
        }
        let called = find(program, name)?;
        if found.insert(name.clone(), called).is_none() {
            way.push(name.clone());
            follow(called, find, way, found)?;
            way.pop();
        }
    }
    Ok(())
}

/// The text of a program as it runs, with those that it calls.
pub(crate) fn linked(program: &KeptProgram, called: &BTreeMap<ProgramName, &Arc<KeptProgram>>) -> Arc<str> {
    parts::link(&program.text, true, texts(called)).into()
}

/// The text of its own file in the text of a program as it runs; `None` if that is no kept program.
#[must_use]
pub fn own_text(linked: &str) -> Option<&str> {
    let own = parts::parts(linked).into_iter().next().filter(|part| part.has_head)?;
    linked.get(own.span.start as usize..own.span.end as usize)
}

fn texts<'a>(
    called: &'a BTreeMap<ProgramName, &Arc<KeptProgram>>,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    called.iter().map(|(name, program)| (name.as_str(), &*program.text))
}

/// Most bytes of programs that are linked to a text: a run that waits carries them, and is compiled with them where it goes on.
const MAX_LINKED_BYTES: usize = 2 << 20;
/// Most names that a message lists.
const MOST_NAMES: usize = 20;

/// A text that is no kept program, with those that it calls. `served` are those that it may call: by their names, the texts that
/// [run](linked), which bring along what they call themselves. A text without the word `program/` is given back as it is, and so is
/// one that cannot be read, since compiling it says why, and one that brings programs along itself. What is added is the
/// operator's: the limit of a program's bytes is that of `text`.
///
/// # Errors
/// It calls one that is not among them: a sentence with those there are. They are too many or too long together.
pub fn link<'s>(text: &Arc<str>, served: &dyn ServedTexts<'s>) -> Result<Arc<str>, ProgramFault> {
    let Ok(mentioned) = mentioned_programs(text) else { return Ok(text.clone()) };
    let Some((_, first)) = mentioned.first() else { return Ok(text.clone()) };
    if !parts::parts(text).is_empty() {
        return Ok(text.clone());
    }
    let whole = |why: String| ProgramFault::at(first.position(text), why);
    let mut all: BTreeMap<&str, &str> = BTreeMap::new();
    let mut bytes = 0;
    for (name, span) in &mentioned {
        let Some((name, linked)) = served.text(name) else {
            return Err(ProgramFault::at(span.position(text), unknown(name, served)));
        };
        for part in parts::parts(linked) {
            let called = if part.name.is_empty() { name } else { part.name };
            let file = part.span.text(linked);
            match all.insert(called, file) {
                None => bytes += file.len(),
                Some(other) if other == file => {}
                Some(_) => {
                    return Err(whole(format!("it calls programs that call different ones named {called}")));
                }
            }
        }
        if all.len() > MAX_CALLED || bytes > MAX_LINKED_BYTES {
            let (programs, bytes) = (all.len(), bytes);
            return Err(whole(format!(
                "it calls {programs} programs of {bytes} bytes, directly or by others: {MAX_CALLED} of {MAX_LINKED_BYTES} bytes \
                 may be called in one text"
            )));
        }
    }
    Ok(parts::link(text, false, all).into())
}

/// The programs that a text may call.
pub trait ServedTexts<'s> {
    /// The name of one and the text that runs, by that name.
    fn text(&self, name: &str) -> Option<(&'s str, &'s str)>;

    /// All names, in order.
    fn names(&self) -> Box<dyn Iterator<Item = &'s str> + '_>;
}

/// Why there is no program of a name.
fn unknown(name: &str, served: &dyn ServedTexts<'_>) -> String {
    let hint = match ptc_host::similar::most_similar(name, served.names()) {
        Some(near) => format!("did you mean program/{near}?"),
        None => {
            let known: Vec<&str> = served.names().take(MOST_NAMES).collect();
            match (known.len(), served.names().count()) {
                (0, _) => "there are none here".to_owned(),
                (shown, all) if shown < all => {
                    format!("there are {} and {} more: (dir 'program)", known.join(", "), all - shown)
                }
                _ => format!("there are {}", known.join(", ")),
            }
        }
    };
    format!("no program is named {name}; {hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Programs with the texts that run, by their names.
    struct Served(BTreeMap<String, String>);

    impl<'s> ServedTexts<'s> for &'s Served {
        fn text(&self, name: &str) -> Option<(&'s str, &'s str)> {
            self.0.get_key_value(name).map(|(name, text)| (name.as_str(), text.as_str()))
        }

        fn names(&self) -> Box<dyn Iterator<Item = &'s str> + '_> {
            Box::new(self.0.keys().map(String::as_str))
        }
    }

    fn served(files: &[(&str, &str)]) -> Served {
        let read = |(name, body): &(&str, &str)| {
            let name = ProgramName::new(name).unwrap();
            let program = KeptProgram::read(name.clone(), &format!("{{:description \"x\"}} {body}")).unwrap();
            (name, Arc::new(program))
        };
        let programs: BTreeMap<_, _> = files.iter().map(read).collect();
        let find = |_: &KeptProgram, name: &ProgramName| Ok(&programs[name]);
        let linked = |program: &KeptProgram| linked(program, &called(program, &find).unwrap());
        Served(
            programs
                .values()
                .map(|program| (program.name.to_string(), linked(program).to_string()))
                .collect(),
        )
    }

    #[test]
    fn a_text_gets_the_programs_that_it_calls_and_those_that_they_call() {
        let served = served(&[("a", "(program/c {})"), ("b", "1"), ("c", "(program/d {})"), ("d", "4")]);
        let text: Arc<str> = "[(program/a {}) (program/d {})]".into();
        let linked = link(&text, &&served).unwrap();
        let parts: Vec<&str> = parts::parts(&linked).iter().map(|part| part.name).collect();
        assert_eq!(parts, ["", "a", "c", "d"]);
        assert!(linked.starts_with(&*text), "the places of the text stay");
        for untouched in ["(+ 1 2)", "\"program/a\"", "(program/a", "(program/x {})\n\x0c;program/x\n{} 1"] {
            let text: Arc<str> = untouched.into();
            assert!(Arc::ptr_eq(&link(&text, &&served).unwrap(), &text), "{untouched}");
        }
        let told = |text: &str| link(&text.into(), &&served).unwrap_err().to_string();
        assert_eq!(told("(program/aa {})"), "1:2 no program is named aa; did you mean program/a?");
        assert_eq!(told("1\n (program/Other {})"), "2:3 no program is named Other; there are a, b, c, d");
        let none = Served(BTreeMap::new());
        let told = link(&"(program/a {})".into(), &&none).unwrap_err();
        assert_eq!(told.text, "no program is named a; there are none here");
    }

    #[test]
    fn what_cannot_be_linked_is_refused() {
        let other = served(&[("a", "(program/b {})"), ("b", "1")]);
        let mut both = served(&[("c", "(program/b {})"), ("b", "2")]);
        both.0.extend(other.0);
        let told = link(&"(program/a {}) (program/c {})".into(), &&both).unwrap_err();
        assert_eq!(told.to_string(), "1:2 it calls programs that call different ones named b");
        let long = "x".repeat(400 << 10);
        let files: Vec<_> = (0..6).map(|n| (format!("p{n}"), format!("\"{long}\""))).collect();
        let files: Vec<_> = files.iter().map(|(name, body)| (name.as_str(), body.as_str())).collect();
        let text: String = (0..6).map(|n| format!("(program/p{n} {{}})")).collect();
        let told = link(&text.as_str().into(), &&served(&files)).unwrap_err().text;
        assert!(told.starts_with("it calls 6 programs of 2457"), "{told}");
    }
}
