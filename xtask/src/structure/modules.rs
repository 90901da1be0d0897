//! Finds cycles of references between the modules of a crate.
//!
//! A module here is a file. A module refers to another one by a path that begins with `crate`,
//! `self`, `super` or, in a `use`, the name of one of its children. This check follows the path
//! through children and through `use` and `pub use`, also with `*`, to the module that defines the
//! item. It ignores modules and items that only tests use, and macros that are called without a
//! path.
//!
//! The modules of a crate form a tree, and the check looks at the children of each module
//! separately. An edge leads from one child to another if a module in the subtree of the first
//! refers to a module in the subtree of the second. A cycle is a path along edges that returns to
//! its start. References between a module and its ancestors or descendants make no edge: a parent
//! may re-export items of its children, and a child may use items of its parent.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, Ident, Item, UseTree};

use crate::{Error, IoContext, Result, workspace};

/// The names on the path from the root of a crate to a module.
type Name = Vec<String>;

/// A path in the text. `base` is the module that the keywords at its beginning stand for, and
/// `names` are the names after them.
#[derive(Clone, Debug)]
struct Reference {
    base: Name,
    names: Vec<String>,
}

#[derive(Debug, Default)]
struct Module {
    file: PathBuf,
    references: Vec<Reference>,
    /// The items that `use` imports, by their new names.
    imports: BTreeMap<String, Reference>,
    /// The modules whose items `use ...::*` imports.
    globs: Vec<Reference>,
    /// The names of the items that the module defines.
    items: BTreeSet<String>,
}

/// The modules of a crate.
#[derive(Debug, Default)]
pub(super) struct Tree {
    modules: BTreeMap<Name, Module>,
}

/// An edge between two children of a module: a file of the first child, and the path in this file
/// that refers to the second child.
#[derive(Clone, Debug)]
struct Edge {
    file: PathBuf,
    path: String,
}

impl Tree {
    /// Reads all modules of the crate whose root file is `root`.
    ///
    /// # Errors
    /// If a file cannot be read, or is not Rust.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let mut tree = Self::default();
        let mut work = vec![(Name::new(), root.to_owned())];
        while let Some((name, file)) = work.pop() {
            let text = fs::read_to_string(&file).at("read", &file)?;
            let is_folder = ["mod.rs", "lib.rs", "main.rs"].iter().any(|end| file.ends_with(end));
            let folder = file.with_file_name("");
            let stem = file.file_stem().unwrap_or_default();
            let below =
                if is_folder || name.is_empty() { folder.clone() } else { folder.join(stem) };
            let module = Module { file: file.clone(), ..Module::default() };
            let mut reader =
                Reader { name: &name, module, inline: Vec::new(), children: Vec::new() };
            let parsed = syn::parse_file(&text).map_err(|error| Error::Unusable {
                path: file.clone(),
                reason: error.to_string(),
            })?;
            reader.items(parsed.items);
            let Reader { module, children, .. } = reader;
            for Child { names, path } in children {
                let found = match path {
                    Some(path) => Some(folder.join(path)),
                    None => {
                        let place =
                            names.iter().fold(below.clone(), |place, name| place.join(name));
                        [place.with_extension("rs"), place.join("mod.rs")]
                            .into_iter()
                            .find(|file| file.is_file())
                    }
                };
                if let Some(file) = found {
                    let last = names.last().cloned();
                    work.push((name.iter().cloned().chain(last).collect(), file));
                }
            }
            tree.modules.insert(name, module);
        }
        Ok(tree)
    }

    /// Returns the number of modules.
    pub(super) fn len(&self) -> usize {
        self.modules.len()
    }

    /// Returns a message for each cycle, with the paths in the text that form it.
    pub(super) fn cycles(&self) -> Vec<String> {
        let mut levels: BTreeMap<Name, BTreeMap<(String, String), Edge>> = BTreeMap::new();
        for (name, module) in &self.modules {
            for reference in &module.references {
                let to = self.resolve(reference, 0);
                let common = name.iter().zip(&to).take_while(|(a, b)| a == b).count();
                // Otherwise, the modules are the same, or one is an ancestor of the other.
                let (Some(from), Some(into)) = (name.get(common), to.get(common)) else { continue };
                let path = [&reference.base[..], &reference.names].concat().join("::");
                let edges = levels.entry(name[..common].to_vec()).or_default();
                edges
                    .entry((from.clone(), into.clone()))
                    .or_insert(Edge { file: module.file.clone(), path });
            }
        }
        levels.iter().flat_map(|(parent, edges)| cycles(parent, edges)).collect()
    }

    /// Returns the module that defines the item at the end of a path. `depth` is the number of
    /// imports that were followed. A limit on it ends the search if imports refer to each other.
    fn resolve(&self, reference: &Reference, depth: usize) -> Name {
        let mut at = reference.base.clone();
        for (index, name) in reference.names.iter().enumerate() {
            let Some(module) = self.modules.get(&at) else { return at };
            let child: Name = at.iter().chain([name]).cloned().collect();
            if self.modules.contains_key(&child) {
                at = child;
                continue;
            }
            if module.items.contains(name) || depth > 20 {
                return at;
            }
            let through = |import: &Reference| {
                let names = [&import.names, &reference.names[index + 1..]].concat();
                self.resolve(&Reference { base: import.base.clone(), names }, depth + 1)
            };
            if let Some(import) = module.imports.get(name) {
                return through(import);
            }
            let has = |glob: &&Reference| {
                let module = self.modules.get(&self.resolve(glob, depth + 1));
                module.is_some_and(|module| {
                    module.items.contains(name) || module.imports.contains_key(name)
                })
            };
            return match module.globs.iter().find(has) {
                Some(glob) => {
                    let names = [&glob.names, &reference.names[index..]].concat();
                    self.resolve(&Reference { base: glob.base.clone(), names }, depth + 1)
                }
                None => at,
            };
        }
        at
    }
}

/// Searches for cycles among the children of `parent`. Returns a message for each child on a cycle,
/// with the shortest cycle through it, but none for a child that is on the cycle of an earlier
/// message.
fn cycles(parent: &Name, edges: &BTreeMap<(String, String), Edge>) -> Vec<String> {
    let mut told: BTreeSet<&String> = BTreeSet::new();
    let mut cycles = Vec::new();
    for start in edges.keys().map(|(from, _)| from) {
        if told.contains(start) {
            continue;
        }
        let Some(way) = way_back(start, edges) else { continue };
        let place = |name: &String| parent.iter().chain([name]).cloned().collect::<Name>();
        let mut text = format!("cycle of modules: {}", place(start).join("::"));
        for pair in way.windows(2) {
            let Edge { file, path } = &edges[&(pair[0].clone(), pair[1].clone())];
            let to = place(pair[1]).join("::");
            let file = file.strip_prefix(workspace::root()).unwrap_or(file).display();
            text += &format!("\n      -> {to} ({file} has crate::{path})");
        }
        told.extend(way);
        cycles.push(text);
    }
    cycles
}

/// Returns the shortest path along edges from `start` back to itself.
fn way_back<'a>(
    start: &'a String,
    edges: &'a BTreeMap<(String, String), Edge>,
) -> Option<Vec<&'a String>> {
    let mut work = VecDeque::from([vec![start]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = work.pop_front() {
        let last = way[way.len() - 1];
        for (_, next) in edges.keys().filter(|(from, _)| from == last) {
            let longer = [&way[..], &[next]].concat();
            if next == start {
                return Some(longer);
            }
            if seen.insert(next) {
                work.push_back(longer);
            }
        }
    }
    None
}

/// A module that a file declares and whose text is in another file.
struct Child {
    /// The names of the inline modules around the declaration, and its own name.
    names: Vec<String>,
    /// The value of the attribute `path`.
    path: Option<String>,
}

/// Reads one file.
struct Reader<'a> {
    name: &'a Name,
    module: Module,
    /// The names of the inline modules around the present item.
    inline: Vec<String>,
    children: Vec<Child>,
}

fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

/// Returns the attributes of an item, and its name if a path can lead to it.
fn parts(item: &Item) -> (&[Attribute], Option<&Ident>) {
    match item {
        Item::Const(item) => (&item.attrs, Some(&item.ident)),
        Item::Enum(item) => (&item.attrs, Some(&item.ident)),
        Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
        Item::Impl(item) => (&item.attrs, None),
        Item::Macro(item) => (&item.attrs, item.ident.as_ref()),
        Item::Mod(item) => (&item.attrs, None),
        Item::Static(item) => (&item.attrs, Some(&item.ident)),
        Item::Struct(item) => (&item.attrs, Some(&item.ident)),
        Item::Trait(item) => (&item.attrs, Some(&item.ident)),
        Item::Type(item) => (&item.attrs, Some(&item.ident)),
        Item::Union(item) => (&item.attrs, Some(&item.ident)),
        Item::Use(item) => (&item.attrs, None),
        _ => (&[], None),
    }
}

/// Returns whether an attribute is a `cfg(...)` that holds only in tests.
fn is_for_tests(attribute: &Attribute) -> bool {
    let condition = attribute.meta.require_list().map(|list| list.tokens.to_string());
    let condition = condition.unwrap_or_default();
    let words: Vec<&str> = condition.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    attribute.path().is_ident("cfg")
        && words.contains(&"test")
        && !words.contains(&"not")
        && !words.contains(&"any")
}

/// Returns the value of an attribute `path`.
fn path_of(attribute: &Attribute) -> Option<String> {
    let path =
        attribute.meta.require_name_value().ok().filter(|meta| meta.path.is_ident("path"))?;
    Some(path.value.to_token_stream().to_string().trim_matches('"').to_owned())
}

impl Reader<'_> {
    /// Reads the items of a module.
    fn items(&mut self, items: Vec<Item>) {
        for item in items {
            let (attributes, name) = parts(&item);
            if attributes.iter().any(is_for_tests) {
                continue;
            }
            if let Some(name) = name.filter(|_| self.inline.is_empty()) {
                self.module.items.insert(name.to_string());
            }
            match item {
                Item::Use(item) => self.import(&item.tree, Vec::new()),
                Item::Mod(item) => match item.content {
                    Some((_, items)) => {
                        self.inline.push(item.ident.to_string());
                        self.items(items);
                        self.inline.pop();
                    }
                    None => {
                        let name = item.ident.to_string();
                        let names = self.inline.iter().cloned().chain([name]).collect();
                        let path = item.attrs.iter().find_map(path_of);
                        self.children.push(Child { names, path });
                    }
                },
                item => self.paths(item.to_token_stream()),
            }
        }
    }

    /// Returns the reference of the path `names`, or `None` if the path does not lead into this
    /// crate. A path that begins with the name of a child counts only in a `use`.
    fn reference(&self, names: &[String], in_use: bool) -> Option<Reference> {
        let mut rest = names;
        let mut up = 0;
        let mut base = self.name.clone();
        match names.first()?.as_str() {
            "crate" => {
                base = Name::new();
                rest = &names[1..];
            }
            "self" => rest = &names[1..],
            "super" => {}
            first => {
                let is_child = self.children.iter().any(|child| child.names == [first.to_owned()]);
                if !in_use || !is_child || !self.inline.is_empty() {
                    return None;
                }
            }
        }
        while rest.first().is_some_and(|name| name == "super") {
            up += 1;
            rest = &rest[1..];
        }
        // Inline modules belong to the module of their file, so leaving them stays in that module.
        for _ in self.inline.len()..up {
            base.pop();
        }
        Some(Reference { base, names: rest.to_vec() })
    }

    /// Reads the tree of a `use` whose path begins with the names in `before`.
    fn import(&mut self, tree: &UseTree, mut before: Vec<String>) {
        let (name, new) = match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                return self.import(&path.tree, before);
            }
            UseTree::Group(group) => {
                return group.items.iter().for_each(|item| self.import(item, before.clone()));
            }
            UseTree::Glob(_) => {
                let reference = self.reference(&before, true);
                self.module.globs.extend(reference.clone());
                return self.module.references.extend(reference);
            }
            UseTree::Name(name) => (&name.ident, &name.ident),
            UseTree::Rename(renamed) => (&renamed.ident, &renamed.rename),
        };
        // `use a::{self}` means `use a`.
        if before.is_empty() || name != "self" {
            before.push(name.to_string());
        }
        let Some(reference) = self.reference(&before, true) else { return };
        if self.inline.is_empty() && !reference.names.is_empty() {
            let new =
                if new == "self" { before.pop().unwrap_or_default() } else { new.to_string() };
            self.module.imports.insert(new, reference.clone());
        }
        self.module.references.push(reference);
    }

    /// Finds the paths in any tokens, and each `use` inside a function.
    fn paths(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let name = |at: usize| match tokens.get(at) {
            Some(TokenTree::Ident(ident)) => Some(ident.to_string()),
            _ => None,
        };
        let is_separator =
            |at: usize| is_punct(tokens.get(at), ':') && is_punct(tokens.get(at + 1), ':');
        let mut at = 0;
        while at < tokens.len() {
            if let TokenTree::Group(group) = &tokens[at] {
                self.paths(group.stream());
            }
            match name(at).as_deref() {
                Some("use") => {
                    // A macro may write `$crate`.
                    let tree =
                        tokens[at + 1..].iter().take_while(|token| !is_punct(Some(token), ';'));
                    let tree = tree.filter(|token| !is_punct(Some(token), '$')).cloned().collect();
                    if let Ok(tree) = syn::parse2::<UseTree>(tree) {
                        // An import inside a function is not visible in the module.
                        let (imports, globs) =
                            (self.module.imports.clone(), self.module.globs.len());
                        self.import(&tree, Vec::new());
                        self.module.imports = imports;
                        self.module.globs.truncate(globs);
                        // The last one of a macro may have no semicolon.
                        while at < tokens.len() && !is_punct(tokens.get(at), ';') {
                            at += 1;
                        }
                    }
                }
                // A name after `::` does not begin a path.
                Some(first @ ("crate" | "self" | "super")) if at < 2 || !is_separator(at - 2) => {
                    let mut names = vec![first.to_owned()];
                    while is_separator(at + 1)
                        && let Some(next) = name(at + 3)
                    {
                        names.push(next);
                        at += 3;
                    }
                    if names.len() > 1 {
                        let reference = self.reference(&names, false);
                        self.module.references.extend(reference);
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the cycles of a crate with these files.
    fn cycles(files: &[(&str, &str)]) -> Vec<String> {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let tree = Tree::read(&root.path().join("lib.rs")).unwrap();
        assert_eq!(tree.len(), files.len());
        tree.cycles()
    }

    #[test]
    fn finds_cycles_of_two_and_three() {
        let two = cycles(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::B; pub struct A(B);"),
            ("b.rs", "pub struct B; fn f() -> Option<super::a::A> { None }"),
        ]);
        assert_eq!(two.len(), 1);
        assert!(two[0].contains("cycle of modules: a") && two[0].contains("a.rs has crate::b::B"));
        let three = [
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::b::{X, Y as Z};"),
            ("b.rs", "macro_rules! m { () => { $crate::c::f() }; (1) => { use $crate::c::f } }"),
            ("c.rs", "#[derive(Debug)] pub(crate) const X: u8 = { crate::a::f() };"),
        ];
        assert_eq!(cycles(&three).len(), 1);
        let mut broken = three;
        broken[3].1 = "pub(crate) const X: u8 = { 0 };";
        assert_eq!(cycles(&broken), [""; 0]);
    }

    #[test]
    fn looks_at_every_level() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a/mod.rs", "pub mod x; pub mod y; use crate::b;"),
            ("a/x.rs", "use super::y::Y;"),
            ("a/y.rs", "pub struct Y; impl Y { fn f(self) -> crate::a::x::X { todo!() } }"),
            ("b.rs", ""),
        ];
        assert!(cycles(&files)[0].contains("cycle of modules: a::x"));
        // The cycle leads from a folder, through a module in it, to another folder and back.
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "mod x;"),
            ("a/x.rs", "use crate::b::f;"),
            ("b.rs", "mod y; pub fn f() {}"),
            ("b/y.rs", "mod inner { use super::super::super::a::g; }"),
        ];
        assert!(cycles(&files)[0].contains("cycle of modules: a"));
    }

    #[test]
    fn follows_names_that_are_exported_again() {
        let files = |root: &'static str| {
            [
                ("lib.rs", root),
                ("a.rs", "pub struct A; use crate::B;"),
                ("b.rs", "pub struct B; use super::a::A;"),
            ]
        };
        for root in [
            "mod a; mod b; pub use b::B;",
            "mod a; mod b; pub use b::*;",
            "mod a; mod b; pub use self::b::{B};",
            "mod a; mod b; pub use self::{b::B as C, b::B};",
        ] {
            assert_eq!(cycles(&files(root)).len(), 1, "{root}");
        }
        assert_eq!(cycles(&files("mod a; mod b; pub struct B;")), [""; 0]);
    }

    #[test]
    fn parents_and_tests_are_no_cycle() {
        let files = [
            ("lib.rs", "mod a; pub use a::A; pub struct Error; fn f() { a::g(); }"),
            ("a.rs", "pub mod x; pub use x::X; pub struct A(crate::Error);"),
            ("a/x.rs", "use super::A; use crate::Error; pub struct X(A, Error);"),
        ];
        assert_eq!(cycles(&files), [""; 0]);
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::B; pub fn f(self_: B) {}"),
            (
                "b.rs",
                "pub struct B; #[cfg(test)] mod tests { use crate::a; }\n\
                #[cfg(test)] use crate::a::f;",
            ),
        ];
        assert_eq!(cycles(&files), [""; 0]);
    }
}
