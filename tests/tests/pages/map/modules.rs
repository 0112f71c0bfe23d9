//! The modules of one crate, and every path that each of them writes.

use super::paths::{self, Written};
use std::collections::BTreeMap;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ExprLit, Item, ItemMod, ItemUse, Lit, Meta, Visibility};

/// Source files by their path under `src`.
pub(crate) type Files = BTreeMap<String, String>;

/// A crate as its source says.
#[derive(Debug)]
pub(crate) struct Crate {
    /// The name that paths write, such as `ptc_vm`.
    pub(crate) name: String,
    /// Every module, the root of `lib.rs` first.
    pub(crate) modules: Vec<Module>,
}

/// A module: a file, or an inline part of one.
#[derive(Debug)]
pub(crate) struct Module {
    /// The file, under `src`.
    pub(crate) file: String,
    /// The module around it.
    pub(crate) parent: Option<usize>,
    /// What its names mean. One name may stand for a module and a function at once.
    pub(crate) names: BTreeMap<String, Vec<Meaning>>,
    /// The paths that its text writes.
    pub(crate) written: Vec<Written>,
}

/// What a name of a module stands for.
#[derive(Clone, Debug)]
pub(crate) enum Meaning {
    /// A module below it.
    Module(usize),
    /// Something that it defines.
    Item,
    /// A path that it imports.
    Import(Vec<String>),
}

impl Crate {
    /// Reads a crate from the root of its library, or of its binary, or of both.
    pub(crate) fn read(name: &str, files: &Files) -> Result<Self, String> {
        let mut reader =
            Reader { files, modules: Vec::new(), module: 0, folder: String::new(), blocks: 0, failure: None };
        for root in ["lib.rs", "main.rs"] {
            if files.contains_key(root) {
                reader.file(root.to_owned(), String::new(), None);
            }
        }
        match reader.failure {
            Some(failure) => Err(format!("{name}: {failure}")),
            None => Ok(Self { name: name.to_owned(), modules: reader.modules }),
        }
    }

    /// The root of the tree that a module belongs to.
    pub(crate) fn root(&self, mut module: usize) -> usize {
        while let Some(parent) = self.modules[module].parent {
            module = parent;
        }
        module
    }

    /// Whether a module stands inside another one, at any depth.
    pub(crate) fn is_inside(&self, mut module: usize, outer: usize) -> bool {
        while let Some(parent) = self.modules[module].parent {
            if parent == outer {
                return true;
            }
            module = parent;
        }
        false
    }
}

struct Reader<'a> {
    files: &'a Files,
    modules: Vec<Module>,
    /// The module whose text is being read.
    module: usize,
    /// Where the files of its child modules lie: empty, or with a slash at its end.
    folder: String,
    /// How many blocks of code are open.
    blocks: usize,
    failure: Option<String>,
}

impl Reader<'_> {
    fn file(&mut self, path: String, folder: String, parent: Option<usize>) -> Option<usize> {
        let text = self.files.get(&path)?;
        match syn::parse_file(text) {
            Ok(file) => Some(self.inside(path, folder, parent, &file.items)),
            Err(error) => {
                self.failure = Some(format!("{path}: {error}"));
                None
            }
        }
    }

    /// Reads the items of a new module.
    fn inside(&mut self, file: String, folder: String, parent: Option<usize>, items: &[Item]) -> usize {
        let id = self.modules.len();
        self.modules.push(Module { file, parent, names: BTreeMap::new(), written: Vec::new() });
        let outside = (self.module, std::mem::replace(&mut self.folder, folder), self.blocks);
        (self.module, self.blocks) = (id, 0);
        for item in items {
            self.visit_item(item);
        }
        (self.module, self.folder, self.blocks) = outside;
        id
    }

    fn name(&mut self, name: String, meaning: Meaning) {
        self.modules[self.module].names.entry(name).or_default().push(meaning);
    }

    fn written(&mut self, written: Written) {
        self.modules[self.module].written.push(written);
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if is_of_tests(attributes(item)) {
            return;
        }
        if self.blocks == 0
            && let Some(name) = defined(item)
        {
            self.name(name, Meaning::Item);
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        let name = item.ident.to_string();
        let stem = format!("{}{name}", self.folder);
        let folder = format!("{stem}/");
        let child = match &item.content {
            Some((_, items)) => {
                let file = self.modules[self.module].file.clone();
                Some(self.inside(file, folder, Some(self.module), items))
            }
            None => {
                let file = [format!("{stem}.rs"), format!("{stem}/mod.rs")]
                    .into_iter()
                    .find(|path| self.files.contains_key(path));
                file.and_then(|path| self.file(path, folder, Some(self.module)))
            }
        };
        match child {
            Some(child) => self.name(name, Meaning::Module(child)),
            None => {
                self.failure.get_or_insert(format!("module {stem} has no file"));
            }
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let public = !matches!(item.vis, Visibility::Inherited);
        for (written, name) in paths::of_use(&item.tree, public) {
            if let Some(name) = name {
                self.name(name, Meaning::Import(written.path.clone()));
            }
            self.written(written);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast syn::ImplItem) {
        if !matches!(item, syn::ImplItem::Fn(function) if is_of_tests(&function.attrs)) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_block(&mut self, block: &'ast syn::Block) {
        self.blocks += 1;
        visit::visit_block(self, block);
        self.blocks -= 1;
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.written(paths::of_path(path));
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.visit_path(&call.path);
        for written in paths::of_tokens(call.tokens.clone()) {
            self.written(written);
        }
    }

    fn visit_meta_list(&mut self, list: &'ast syn::MetaList) {
        for written in paths::of_tokens(list.tokens.clone()) {
            self.written(written);
        }
    }

    /// `pub(in some::place)` imports nothing.
    fn visit_visibility(&mut self, _visibility: &'ast Visibility) {}
}

/// Whether an item exists in test builds only.
pub(crate) fn is_of_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("cfg") => {
            list.parse_args::<Meta>().is_ok_and(|condition| needs_test(&condition))
        }
        _ => false,
    })
}

/// Features that no build of the product has: what tests of one crate use of another.
const FEATURES_OF_TESTS: [&str; 2] = ["testing", "work-counts"];

/// Whether a condition is false in every build of the product.
fn needs_test(condition: &Meta) -> bool {
    match condition {
        Meta::Path(path) => path.is_ident("test"),
        Meta::NameValue(pair) if pair.path.is_ident("feature") => {
            let Expr::Lit(ExprLit { lit: Lit::Str(name), .. }) = &pair.value else { return false };
            FEATURES_OF_TESTS.contains(&name.value().as_str())
        }
        Meta::List(list) if list.path.is_ident("all") || list.path.is_ident("any") => {
            let parts =
                list.parse_args_with(syn::punctuated::Punctuated::<Meta, syn::Token![,]>::parse_terminated);
            parts.is_ok_and(|parts| match list.path.is_ident("all") {
                true => parts.iter().any(needs_test),
                false => parts.iter().all(needs_test),
            })
        }
        _ => false,
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// The name that an item gives its module. Modules and imports are named where they are read.
fn defined(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::TraitAlias(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}
