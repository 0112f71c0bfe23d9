//! The paths that a piece of source writes: in `use` trees, in code and types, and in the arguments of macros.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::UseTree;

/// A path where it is written.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    /// Its segments. A leading `::` is left out, because what follows it is a crate either way.
    pub(crate) path: Vec<String>,
    /// The line.
    pub(crate) line: usize,
    /// What it is part of.
    pub(crate) place: Place,
}

/// What a path is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A `use` that only its module sees.
    Use,
    /// A `use` that others may see: `pub`, `pub(crate)` and so on.
    Reexport,
    /// A `use` that ends with `*`.
    Glob,
    /// Code, a type, or the arguments of a macro.
    Code,
}

/// The paths of a `use` tree, each with the name that it gets.
pub(crate) fn of_use(tree: &UseTree, public: bool) -> Vec<(Written, Option<String>)> {
    let mut found = Vec::new();
    branches(tree, &mut Vec::new(), if public { Place::Reexport } else { Place::Use }, &mut found);
    found
}

fn branches(
    tree: &UseTree,
    path: &mut Vec<String>,
    place: Place,
    found: &mut Vec<(Written, Option<String>)>,
) {
    let mut leaf = |path: &[String], last: Option<(String, Span)>, name: Option<String>, place, line| {
        let mut path = path.to_vec();
        let line = last.as_ref().map_or(line, |(_, span)| span.start().line);
        path.extend(last.map(|(segment, _)| segment).filter(|segment| segment != "self"));
        let name = name.or_else(|| path.last().cloned());
        found.push((Written { path, line, place }, name.filter(|name| name != "_" && place != Place::Glob)));
    };
    match tree {
        UseTree::Path(step) => {
            path.push(step.ident.to_string());
            branches(&step.tree, path, place, found);
            path.pop();
        }
        UseTree::Group(group) => {
            for tree in &group.items {
                branches(tree, path, place, found);
            }
        }
        UseTree::Name(name) => leaf(path, Some((name.ident.to_string(), name.ident.span())), None, place, 0),
        UseTree::Rename(rename) => {
            leaf(
                path,
                Some((rename.ident.to_string(), rename.ident.span())),
                Some(rename.rename.to_string()),
                place,
                0,
            );
        }
        UseTree::Glob(glob) => leaf(path, None, None, Place::Glob, glob.star_token.spans[0].start().line),
    }
}

/// A path of code or of a type.
pub(crate) fn of_path(path: &syn::Path) -> Written {
    let line = path.segments.first().map_or(0, |segment| segment.ident.span().start().line);
    let path = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    Written { path, line, place: Place::Code }
}

/// The paths of two segments or more among the tokens of a macro, which have no syntax of their own.
pub(crate) fn of_tokens(tokens: TokenStream) -> Vec<Written> {
    let mut found = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Group(group) => found.extend(of_tokens(group.stream())),
            TokenTree::Ident(first) => {
                let line = first.span().start().line;
                let mut path = vec![first.to_string()];
                while is_colon(tokens.peek()) {
                    tokens.next();
                    if !is_colon(tokens.peek()) {
                        break;
                    }
                    tokens.next();
                    let Some(TokenTree::Ident(segment)) = tokens.peek() else { break };
                    path.push(segment.to_string());
                    tokens.next();
                }
                if path.len() > 1 {
                    found.push(Written { path, line, place: Place::Code });
                }
            }
            _ => {}
        }
    }
    found
}

fn is_colon(token: Option<&TokenTree>) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == ':')
}
