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

use proc_macro2::{Delimiter, TokenStream, TokenTree};

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
pub struct Tree {
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
    pub fn read(root: &Path) -> Result<Self> {
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
            let tokens: TokenStream = text.parse().map_err(|error: proc_macro2::LexError| {
                let faults = vec![format!("{}: {error}", file.display())];
                Error::Structure { faults }
            })?;
            reader.items(tokens);
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
    #[must_use]
    pub fn len(&self) -> usize {
        self.modules.len()
    }

    /// Returns whether the tree has no module.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.modules.is_empty()
    }

    /// Returns a message for each cycle, with the paths in the text that form it.
    #[must_use]
    pub fn cycles(&self) -> Vec<String> {
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

fn ident(token: Option<&TokenTree>) -> Option<String> {
    match token {
        Some(TokenTree::Ident(ident)) => Some(ident.to_string()),
        _ => None,
    }
}

fn group(token: Option<&TokenTree>, delimiter: Delimiter) -> Option<TokenStream> {
    match token {
        Some(TokenTree::Group(group)) if group.delimiter() == delimiter => Some(group.stream()),
        _ => None,
    }
}

/// Returns whether an attribute is a `cfg(...)` that holds only in tests.
fn is_for_tests(attribute: &TokenStream) -> bool {
    let tokens: Vec<TokenTree> = attribute.clone().into_iter().collect();
    let condition = group(tokens.get(1), Delimiter::Parenthesis).unwrap_or_default().to_string();
    let words: Vec<&str> = condition.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    ident(tokens.first()).is_some_and(|name| name == "cfg")
        && words.contains(&"test")
        && !words.contains(&"not")
        && !words.contains(&"any")
}

impl Reader<'_> {
    /// Reads the items of a module.
    fn items(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let (mut at, mut for_tests, mut path) = (0, false, None);
        while at < tokens.len() {
            if is_punct(tokens.get(at), '#')
                && let Some(attribute) = group(tokens.get(at + 1), Delimiter::Bracket)
            {
                for_tests |= is_for_tests(&attribute);
                let parts: Vec<TokenTree> = attribute.clone().into_iter().collect();
                if ident(parts.first()).is_some_and(|name| name == "path") {
                    path = parts.get(2).map(|text| text.to_string().trim_matches('"').to_owned());
                }
                self.paths(attribute, true);
                at += 2;
                continue;
            }
            let end = end_of_item(&tokens, at);
            if !for_tests {
                self.item(&tokens[at..end], path.take());
            }
            (at, for_tests, path) = (end, false, None);
        }
    }

    /// Reads an item. `tokens` begin after its attributes.
    fn item(&mut self, tokens: &[TokenTree], path: Option<String>) {
        let keyword = |token: &TokenTree| match token {
            TokenTree::Ident(ident) => {
                let ident = ident.to_string();
                matches!(
                    &*ident,
                    "mod"
                        | "use"
                        | "fn"
                        | "struct"
                        | "enum"
                        | "trait"
                        | "type"
                        | "const"
                        | "static"
                        | "union"
                        | "macro_rules"
                        | "impl"
                        | "macro"
                )
                .then_some(ident)
            }
            _ => None,
        };
        let found = tokens.iter().enumerate().find_map(|(at, token)| Some((at, keyword(token)?)));
        let rest: TokenStream = tokens.iter().cloned().collect();
        let Some((at, keyword)) = found else { return self.paths(rest, true) };
        let name = tokens[at + 1..].iter().find_map(|token| match token {
            TokenTree::Ident(ident) => {
                let ident = ident.to_string();
                (!matches!(&*ident, "fn" | "unsafe" | "extern" | "mut" | "async")).then_some(ident)
            }
            _ => None,
        });
        match (&*keyword, name) {
            ("use", _) => {
                let tree: Vec<TokenTree> = tokens[at + 1..].to_vec();
                self.import(&tree, Vec::new());
            }
            ("mod", Some(name)) => match group(tokens.last(), Delimiter::Brace) {
                Some(body) => {
                    self.inline.push(name);
                    self.items(body);
                    self.inline.pop();
                }
                None => {
                    let names = self.inline.iter().cloned().chain([name]).collect();
                    self.children.push(Child { names, path });
                }
            },
            (keyword, name) => {
                if keyword != "impl"
                    && self.inline.is_empty()
                    && let Some(name) = name
                {
                    self.module.items.insert(name);
                }
                self.paths(rest, true);
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
    fn import(&mut self, tokens: &[TokenTree], mut before: Vec<String>) {
        let mut at = 0;
        let mut renamed = None;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Ident(ident) if *ident == "as" => {
                    renamed = ident_after(tokens, at);
                    at += 1;
                }
                TokenTree::Ident(ident) => before.push(ident.to_string()),
                TokenTree::Group(group) => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    for part in inner.split(|token| is_punct(Some(token), ',')) {
                        if !part.is_empty() {
                            self.import(part, before.clone());
                        }
                    }
                    return;
                }
                TokenTree::Punct(punct) if punct.as_char() == '*' => {
                    if let Some(reference) = self.reference(&before, true) {
                        self.module.globs.push(reference.clone());
                        self.module.references.push(reference);
                    }
                    return;
                }
                _ => {}
            }
            at += 1;
        }
        // `use a::{self}` means `use a`.
        if before.len() > 1 && before.last().is_some_and(|name| name == "self") {
            before.pop();
        }
        if let Some(reference) = self.reference(&before, true) {
            let new = renamed.or_else(|| before.last().cloned()).unwrap_or_default();
            if self.inline.is_empty() && reference.names.last().is_some() {
                self.module.imports.insert(new, reference.clone());
            }
            self.module.references.push(reference);
        }
    }

    /// Finds the paths in any tokens, and each `use` inside a function. `at_start` tells whether
    /// the first token can begin a path.
    fn paths(&mut self, tokens: TokenStream, at_start: bool) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        let mut is_start = at_start;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Group(group) => self.paths(group.stream(), true),
                TokenTree::Ident(ident) if *ident == "use" => {
                    let end = end_of_item(&tokens, at);
                    let open = std::mem::take(&mut self.module.imports);
                    self.import(&tokens[at + 1..end], Vec::new());
                    // An import inside a function is not visible in the module.
                    self.module.imports = open;
                    at = end;
                    continue;
                }
                TokenTree::Ident(ident)
                    if is_start && (*ident == "crate" || *ident == "self" || *ident == "super") =>
                {
                    let mut names = vec![ident.to_string()];
                    while is_punct(tokens.get(at + 1), ':')
                        && is_punct(tokens.get(at + 2), ':')
                        && let Some(next) = self::ident(tokens.get(at + 3))
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
            // A name after `::` does not begin a path.
            is_start =
                !(is_punct(tokens.get(at), ':') && at > 0 && is_punct(tokens.get(at - 1), ':'));
            at += 1;
        }
    }
}

fn ident_after(tokens: &[TokenTree], at: usize) -> Option<String> {
    ident(tokens.get(at + 1))
}

/// Returns the index after the item that begins at `at`. An item ends with a semicolon or a block
/// in braces.
fn end_of_item(tokens: &[TokenTree], at: usize) -> usize {
    // In a `use` or in a constant's value, braces do not end the item. A semicolon does.
    let goes_on =
        matches!(ident(tokens.get(at)).as_deref(), Some("use" | "const" | "static" | "type"))
            || tokens[at..]
                .iter()
                .take(4)
                .any(|token| matches!(ident(Some(token)).as_deref(), Some("use" | "static")));
    let is_function = tokens[at..]
        .iter()
        .take(8)
        .any(|token| matches!(ident(Some(token)).as_deref(), Some("fn")));
    for (index, token) in tokens.iter().enumerate().skip(at) {
        let is_body =
            matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
        if is_punct(Some(token), ';') || is_body && (!goes_on || is_function) {
            return index + 1;
        }
    }
    tokens.len()
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
            ("b.rs", "macro_rules! m { () => { $crate::c::f() } }"),
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
