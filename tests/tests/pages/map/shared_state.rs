//! What lasts from one program, call or connection to the next and can grow: collections behind a lock, a cell or a thread-local, and
//! channels. Sources are read as they are written, and types are told apart by their names alone, so a type that shares its name with
//! a growing one counts as growing.

use super::modules::is_of_tests;
use std::collections::{BTreeMap, BTreeSet};
use syn::parse::{Parse, ParseStream};
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Fields, GenericArgument, Ident, Item, PathArguments, Token, Type};

/// Types that grow with what they are given.
const GROWING: [&str; 18] = [
    "Vec",
    "VecDeque",
    "HashMap",
    "HashSet",
    "AHashMap",
    "AHashSet",
    "BTreeMap",
    "BTreeSet",
    "BinaryHeap",
    "IndexMap",
    "IndexSet",
    "SmallVec",
    "BytesMut",
    "FuturesUnordered",
    "JoinSet",
    "LruCache",
    "Slab",
    "DashMap",
];

/// What makes a value changeable by many, or later than when it is made.
const SHARING: [&str; 7] = ["Mutex", "RwLock", "RefCell", "Cell", "OnceCell", "OnceLock", "UnsafeCell"];

/// A place that can grow, by its file and its name there.
pub(crate) type Places = BTreeSet<(String, String)>;

/// The fields of every type of some sources, by the name of the type.
#[derive(Default)]
pub(crate) struct Types<'a>(BTreeMap<String, Vec<&'a Type>>);

impl<'a> Types<'a> {
    /// Adds the types of a file.
    pub(crate) fn read(&mut self, file: &'a syn::File) {
        self.visit_file(file);
    }

    /// Whether a value of the type can grow.
    fn grows(&self, ty: &Type, seen: &mut BTreeSet<String>) -> bool {
        any_name(ty, &mut |name, _| {
            GROWING.contains(&name)
                || (!SHARING.contains(&name)
                    && seen.insert(name.to_owned())
                    && self
                        .0
                        .get(name)
                        .is_some_and(|fields| fields.iter().any(|field| self.grows(field, seen))))
        })
    }

    /// Whether the type shares something that can grow.
    fn shares_growth(&self, ty: &Type) -> bool {
        any_name(ty, &mut |name, inner| {
            SHARING.contains(&name) && inner.iter().any(|inner| self.grows(inner, &mut BTreeSet::new()))
        })
    }
}

impl<'ast> Visit<'ast> for Types<'ast> {
    fn visit_item(&mut self, item: &'ast Item) {
        let (name, attributes, fields): (&Ident, &[Attribute], Vec<&Fields>) = match item {
            Item::Struct(item) => (&item.ident, &item.attrs, vec![&item.fields]),
            Item::Enum(item) => (&item.ident, &item.attrs, item.variants.iter().map(|v| &v.fields).collect()),
            Item::Type(item) => {
                self.0.entry(item.ident.to_string()).or_default().push(&item.ty);
                return;
            }
            Item::Mod(item) if is_of_tests(&item.attrs) => return,
            _ => return visit::visit_item(self, item),
        };
        if !is_of_tests(attributes) {
            let types = fields.into_iter().flatten().map(|field| &field.ty);
            self.0.entry(name.to_string()).or_default().extend(types);
        }
    }
}

/// Whether `test` says so of any name in the type, with the types between its angle brackets.
fn any_name(ty: &Type, test: &mut impl FnMut(&str, &[&Type]) -> bool) -> bool {
    match ty {
        Type::Path(path) => path.path.segments.iter().any(|segment| {
            let inner: Vec<&Type> = match &segment.arguments {
                PathArguments::AngleBracketed(list) => list
                    .args
                    .iter()
                    .filter_map(|argument| match argument {
                        GenericArgument::Type(ty) => Some(ty),
                        _ => None,
                    })
                    .collect(),
                _ => Vec::new(),
            };
            test(&segment.ident.to_string(), &inner) || inner.into_iter().any(|ty| any_name(ty, test))
        }),
        Type::Reference(reference) => any_name(&reference.elem, test),
        Type::Array(array) => any_name(&array.elem, test),
        Type::Slice(slice) => any_name(&slice.elem, test),
        Type::Paren(paren) => any_name(&paren.elem, test),
        Type::Tuple(tuple) => tuple.elems.iter().any(|ty| any_name(ty, test)),
        _ => false,
    }
}

/// All places of a file that share something that can grow.
pub(crate) fn places(path: &str, file: &syn::File, types: &Types<'_>) -> Places {
    let mut finder = Finder { path, types, function: String::new(), found: Places::new() };
    finder.visit_file(file);
    finder.found
}

/// The names of all thread-locals of a file.
pub(crate) fn thread_locals(file: &syn::File) -> Vec<String> {
    struct Locals(Vec<String>);
    impl<'ast> Visit<'ast> for Locals {
        fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
            if !is_of_tests(&item.attrs) {
                visit::visit_item_mod(self, item);
            }
        }
        fn visit_macro(&mut self, call: &'ast syn::Macro) {
            self.0.extend(statics(call).into_iter().map(|(name, _)| name));
        }
    }
    let mut locals = Locals(Vec::new());
    locals.visit_file(file);
    locals.0
}

struct Finder<'a> {
    path: &'a str,
    types: &'a Types<'a>,
    function: String,
    found: Places,
}

impl Finder<'_> {
    fn check(&mut self, name: String, ty: &Type) {
        if self.types.shares_growth(ty) {
            self.found.insert((self.path.to_owned(), name));
        }
    }

    fn fields(&mut self, owner: &str, fields: &Fields) {
        for (at, field) in fields.iter().enumerate() {
            let name = field.ident.as_ref().map_or_else(|| at.to_string(), ToString::to_string);
            self.check(format!("{owner}.{name}"), &field.ty);
        }
    }

    fn inside(&mut self, name: &Ident, work: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.function, name.to_string());
        work(self);
        self.function = outer;
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Struct(item) if !is_of_tests(&item.attrs) => {
                self.fields(&item.ident.to_string(), &item.fields)
            }
            Item::Enum(item) if !is_of_tests(&item.attrs) => {
                for variant in &item.variants {
                    self.fields(&format!("{}.{}", item.ident, variant.ident), &variant.fields);
                }
            }
            Item::Static(item) => self.check(item.ident.to_string(), &item.ty),
            Item::Mod(item) if is_of_tests(&item.attrs) => {}
            Item::Fn(item) if is_of_tests(&item.attrs) => {}
            Item::Fn(item) => self.inside(&item.sig.ident, |this| visit::visit_block(this, &item.block)),
            _ => visit::visit_item(self, item),
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_of_tests(&item.attrs) {
            self.inside(&item.sig.ident, |this| visit::visit_block(this, &item.block));
        }
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        for (name, ty) in statics(call) {
            // Whatever a thread-local holds lasts as long as its thread.
            if self.types.grows(&ty, &mut BTreeSet::new()) || self.types.shares_growth(&ty) {
                self.found.insert((self.path.to_owned(), name));
            }
        }
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if let Expr::Path(function) = &*call.func {
            let names: Vec<String> =
                function.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            let is_queue = match names.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                [.., "unbounded_channel" | "sync_channel"] => true,
                // One value at most.
                [.., "oneshot" | "watch", "channel"] => false,
                [.., "channel"] => true,
                _ => false,
            };
            if is_queue {
                self.found.insert((self.path.to_owned(), format!("{}()", self.function)));
            }
        }
        visit::visit_expr_call(self, call);
    }
}

/// The statics of a `thread_local!`, with their types; none of another macro.
fn statics(call: &syn::Macro) -> Vec<(String, Type)> {
    struct Statics(Vec<(String, Type)>);
    impl Parse for Statics {
        fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
            let mut found = Vec::new();
            while !input.is_empty() {
                input.call(Attribute::parse_outer)?;
                input.parse::<syn::Visibility>()?;
                input.parse::<Token![static]>()?;
                let name: Ident = input.parse()?;
                input.parse::<Token![:]>()?;
                found.push((name.to_string(), input.parse()?));
                input.parse::<Token![=]>()?;
                if input.peek(Token![const]) {
                    input.parse::<Token![const]>()?;
                }
                input.parse::<Expr>()?;
                if input.peek(Token![;]) {
                    input.parse::<Token![;]>()?;
                }
            }
            Ok(Statics(found))
        }
    }
    let is_thread_local = call.path.segments.last().is_some_and(|last| last.ident == "thread_local");
    if !is_thread_local {
        return Vec::new();
    }
    call.parse_body::<Statics>().expect("statics of a thread_local! are read").0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let file = syn::parse_file(text).expect("source that parses");
        let mut types = Types::default();
        types.read(&file);
        places("a.rs", &file, &types).into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn what_is_shared_and_grows_is_found_through_types_of_ours() {
        let text = "struct Cache { all: Arc<Mutex<Inner>>, count: Mutex<u64>, plain: Vec<u8> } struct Inner { deep: Deep }
                    enum Deep { One(HashMap<u8, u8>), Two } type Line = VecDeque<u8>; struct Pair(RefCell<Line>, RwLock<bool>);
                    static ALL: Mutex<Vec<u8>> = Mutex::new(Vec::new()); static NAME: &str = \"\";";
        assert_eq!(found(text), ["ALL", "Cache.all", "Pair.0"]);
    }

    #[test]
    fn thread_locals_and_channels_are_found_and_single_values_are_not() {
        let text = "thread_local! { static A: Cell<u8> = const { Cell::new(0) }; pub(crate) static B: Vec<u8> = Vec::new(); }
                    impl S { fn start() { let (a, b) = mpsc::unbounded_channel(); } fn one() { oneshot::channel(); watch::channel(0); } }
                    fn bounded() { if true { broadcast::channel(3); } }";
        assert_eq!(found(text), ["B", "bounded()", "start()"]);
        assert_eq!(thread_locals(&syn::parse_file(text).unwrap()), ["A", "B"]);
    }

    #[test]
    fn what_only_tests_have_is_left_out() {
        let text = "#[cfg(test)] mod tests { static A: Mutex<Vec<u8>> = M; thread_local! { static B: Vec<u8> = V; } }
                    #[test] fn f() { mpsc::channel(); } #[cfg(test)] struct S { a: Mutex<Vec<u8>> }";
        assert!(found(text).is_empty());
        assert!(thread_locals(&syn::parse_file(text).unwrap()).is_empty());
    }
}
