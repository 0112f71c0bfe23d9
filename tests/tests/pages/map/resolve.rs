//! From the paths that a module writes to the files that define what they name.

use super::modules::{Crate, Meaning};
use super::paths::{Place, Written};

/// One file's use of another file of its crate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Import {
    /// The file that writes the path.
    pub(crate) from: String,
    /// The line of the path.
    pub(crate) line: usize,
    /// The path as it is written.
    pub(crate) path: String,
    /// The file that defines what the path names.
    pub(crate) to: String,
}

/// What the source of a crate says about its own files.
#[derive(Debug, Default)]
pub(crate) struct Imports {
    /// Uses of other files, each path once a line.
    pub(crate) found: Vec<Import>,
    /// `use module::*` of the crate's own modules: it hides what is used.
    pub(crate) globs: Vec<Import>,
}

/// Every use that a file of the crate makes of another one.
///
/// A front page's re-exports of what stands below it are its table of contents, like its `mod` lines, so they are left out;
/// whoever uses such a name uses the file that defines it.
pub(crate) fn imports(krate: &Crate) -> Imports {
    let mut imports = Imports::default();
    for (module, page) in krate.modules.iter().enumerate() {
        for written in &page.written {
            for target in targets(krate, module, written) {
                if written.place == Place::Reexport && krate.is_inside(target.module(), module) {
                    continue;
                }
                let import = Import {
                    from: page.file.clone(),
                    to: krate.modules[target.module()].file.clone(),
                    line: written.line,
                    path: written.path.join("::"),
                };
                if written.place == Place::Glob && matches!(target, Target::Module(_)) {
                    imports.globs.push(import);
                } else if import.from != import.to {
                    imports.found.push(import);
                }
            }
        }
    }
    imports.found.sort();
    imports.found.dedup();
    imports
}

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Module(usize),
    /// Something that a module defines, or a part of it: a variant, an associated function.
    Item(usize),
}

impl Target {
    fn module(self) -> usize {
        match self {
            Target::Module(module) | Target::Item(module) => module,
        }
    }
}

fn targets(krate: &Crate, module: usize, written: &Written) -> Vec<Target> {
    // A single name in code is a local variable, something of the same module, or an import that counts where it stands. Only a
    // re-export does not count there, so that its front page uses it here.
    if written.place == Place::Code && written.path.len() == 1 {
        let meanings = krate.modules[module].names.get(&written.path[0]);
        if !meanings
            .is_some_and(|meanings| meanings.iter().any(|meaning| matches!(meaning, Meaning::Import(_))))
        {
            return Vec::new();
        }
    }
    let mut found = Vec::new();
    follow(krate, module, &written.path, 0, &mut found);
    found
}

/// Longer chains of re-exports than this are circles of names, which the compiler refuses elsewhere.
const LONGEST_CHAIN: usize = 32;

fn follow(krate: &Crate, module: usize, path: &[String], chain: usize, found: &mut Vec<Target>) {
    let Some((first, rest)) = path.split_first() else { return };
    if chain > LONGEST_CHAIN {
        return;
    }
    let own_name = *first == krate.name;
    match first.as_str() {
        "crate" => descend(krate, krate.root(module), rest, chain, found),
        "self" => descend(krate, module, rest, chain, found),
        "super" => {
            if let Some(parent) = krate.modules[module].parent {
                // `super::super` goes on from the parent.
                match rest.first().map(String::as_str) {
                    Some("super") => follow(krate, parent, rest, chain, found),
                    _ => descend(krate, parent, rest, chain, found),
                }
            }
        }
        // The binary speaks of its library by name.
        _ if own_name => descend(krate, 0, rest, chain, found),
        name if krate.modules[module].names.contains_key(name) => descend(krate, module, path, chain, found),
        // Another crate, the prelude, or a type parameter.
        _ => {}
    }
}

/// Goes down from a module along the rest of a path.
fn descend(krate: &Crate, module: usize, path: &[String], chain: usize, found: &mut Vec<Target>) {
    let mut add = |target| {
        if !found.contains(&target) {
            found.push(target);
        }
    };
    let Some((first, rest)) = path.split_first() else { return add(Target::Module(module)) };
    let Some(meanings) = krate.modules[module].names.get(first) else {
        // A macro made the name, or a glob brought it: either way its module answers for it.
        return add(Target::Item(module));
    };
    for meaning in meanings {
        match meaning {
            Meaning::Module(child) => descend(krate, *child, rest, chain, found),
            Meaning::Item if rest.is_empty() || meanings.len() == 1 => {
                if !found.contains(&Target::Item(module)) {
                    found.push(Target::Item(module));
                }
            }
            // A path goes on through the module of that name, not through the function.
            Meaning::Item => {}
            Meaning::Import(import) => {
                let mut onward = Vec::new();
                follow_import(krate, module, first, import, chain + 1, &mut onward);
                for target in onward {
                    match target {
                        Target::Module(child) => descend(krate, child, rest, chain + 1, found),
                        Target::Item(_) if found.contains(&target) => {}
                        Target::Item(_) => found.push(target),
                    }
                }
            }
        }
    }
}

/// Follows an import. `use text::text` starts from the module of that name, not from itself.
fn follow_import(
    krate: &Crate,
    module: usize,
    name: &str,
    import: &[String],
    chain: usize,
    found: &mut Vec<Target>,
) {
    if import.first().is_some_and(|first| first == name) {
        let children = krate.modules[module].names[name].iter();
        let child = children
            .filter_map(|meaning| if let Meaning::Module(child) = meaning { Some(*child) } else { None })
            .next();
        if let Some(child) = child {
            descend(krate, child, &import[1..], chain, found);
        }
        return;
    }
    follow(krate, module, import, chain, found);
}
