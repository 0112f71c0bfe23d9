//! Whatever takes a whole input in one go has a row: `docs/reliability.md` says under "Entry points" whose bytes each function reads, its
//! limit, its account and where it gives way. `clippy.toml` finds the functions, which say in an attribute that they have a row; this
//! holds the attributes and the rows together.

use super::accounts::{compare, rows};
use super::modules::is_of_tests;
use super::product_sources;
use super::shared_state::Places;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ImplItemFn, Item, ItemFn, ItemImpl, Lit, Meta, Token, TraitItemFn, Type};

/// How the reason of an attribute begins; the name of the function follows.
const REASON: &str = "entry point: ";

#[test]
fn whatever_reads_a_whole_input_has_a_row() {
    let mut found = Places::new();
    let mut wrong = Vec::new();
    for source in product_sources(&[]) {
        for (file, text) in &source.files {
            let path = format!("{}/src/{file}", source.house.folder);
            let mut finder = Finder::default();
            finder.visit_file(&syn::parse_file(text).expect("source that compiles"));
            for (name, reason) in finder.found {
                if reason != name {
                    wrong.push(format!("\n  {path}: {name} names itself {reason}"));
                }
                found.insert((path.clone(), name));
            }
        }
    }
    assert!(wrong.is_empty(), "the reason of an entry point is \"{REASON}\" and its name:{}", wrong.concat());
    let what =
        "function that reads a whole input, with whose bytes these are, their limit, account and pauses";
    compare(&found, &rows("### Whole inputs", 5), "Entry points", what);
}

/// Functions that say that they have a row, by their names and the names that they say.
#[derive(Default)]
struct Finder {
    /// The type whose methods are being read.
    within: Option<String>,
    found: Vec<(String, String)>,
}

impl Finder {
    fn note(&mut self, name: &str, attributes: &[Attribute]) {
        let name = match &self.within {
            Some(within) => format!("{within}.{name}"),
            None => format!("{name}()"),
        };
        self.found.extend(attributes.iter().filter_map(named).map(|said| (name.clone(), said)));
    }

    fn inside(&mut self, within: Option<String>, visit: impl FnOnce(&mut Self)) {
        let outside = std::mem::replace(&mut self.within, within);
        visit(self);
        self.within = outside;
    }
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Mod(item) if is_of_tests(&item.attrs) => {}
            item => visit::visit_item(self, item),
        }
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.inside(None, |finder| {
            finder.note(&item.sig.ident.to_string(), &item.attrs);
            visit::visit_item_fn(finder, item);
        });
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        let within = match &*item.self_ty {
            Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
            _ => None,
        };
        self.inside(within, |finder| visit::visit_item_impl(finder, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.note(&item.sig.ident.to_string(), &item.attrs);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        self.note(&item.sig.ident.to_string(), &item.attrs);
        visit::visit_trait_item_fn(self, item);
    }
}

/// What an attribute names, if it is one of entry points.
fn named(attribute: &Attribute) -> Option<String> {
    if !attribute.path().is_ident("expect") {
        return None;
    }
    let parts = attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).ok()?;
    let reason = parts.iter().find_map(|part| match part {
        Meta::NameValue(pair) if pair.path.is_ident("reason") => Some(&pair.value),
        _ => None,
    })?;
    let Expr::Lit(literal) = reason else { return None };
    let Lit::Str(text) = &literal.lit else { return None };
    text.value().strip_prefix(REASON).map(str::to_owned)
}
