//! Collects the kinds that the groups declare (`kinds!` in `src/resources/<group>.rs`) into the enumeration
//! `Builtin`, into a macro that passes them to other crates, and into the dispatch of conversions.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

/// Declaration of a kind.
struct Declaration {
    group: String,
    /// `folder::file` below `pkg/kinds/src`.
    file: String,
    /// Path below `conversion`.
    conversion: String,
}

/// Writes `kinds.rs` and `conversions.rs` into `out`.
pub(crate) fn write(out: &Path) -> io::Result<()> {
    println!("cargo::rerun-if-changed=src/resources");
    let mut kinds = BTreeMap::new();
    for entry in fs::read_dir("src/resources")? {
        collect(&fs::read_to_string(entry?.path())?, &mut kinds);
    }
    fs::write(out.join("kinds.rs"), enumeration(&kinds))?;
    fs::write(out.join("conversions.rs"), conversions(&kinds))
}

/// Adds the declarations of a file. The macro `kinds!` checks their form when the crate is compiled.
fn collect(text: &str, kinds: &mut BTreeMap<String, Declaration>) {
    let Some((_, rest)) = text.split_once("\nkinds! { in \"") else { return };
    let (group, rest) = rest.split_once("\":\n").expect("a group");
    let (lines, _) = rest.split_once("\n}").expect("an end");
    for line in lines.lines() {
        let (name, rest) = line.trim().split_once(": ").expect("a name");
        let (file, conversion) = rest.trim_end_matches(';').split_once(", ").expect("a file");
        let [group, file, conversion] = [group, file, conversion].map(str::to_owned);
        kinds.insert(name.to_owned(), Declaration { group, file, conversion });
    }
}

fn enumeration(kinds: &BTreeMap<String, Declaration>) -> String {
    let mut names = String::new();
    let mut groups = String::new();
    let mut entries = String::new();
    for (name, kind) in kinds {
        writeln!(names, "{name},").expect("a string takes all");
        writeln!(groups, "Self::{name} => {:?},", kind.group).expect("a string takes all");
        writeln!(entries, "{name} => {};", kind.file).expect("a string takes all");
    }
    let all: String = kinds.keys().map(|name| format!("Self::{name},")).collect();
    let texts: String = kinds.keys().map(|name| format!("Self::{name} => {name:?},")).collect();
    format!(
        "/// Built-in kind. Special treatment of a kind depends on this value, which custom resources never have.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = \"they are called what the kinds are called\")]
        pub enum Builtin {{ {names} }}

        impl Builtin {{
            /// Every kind, sorted by name.
            pub const ALL: &[Self] = &[{all}];

            /// Returns the name of the kind.
            pub const fn name(self) -> &'static str {{ match self {{ {texts} }} }}

            /// Returns the API group in which the kind is stored; Events are also in the core group.
            pub const fn group(self) -> &'static str {{ match self {{ {groups} }} }}
        }}

        /// Calls a macro with every built-in kind and the module of its descriptor: `Pod => core::pod;`.
        #[macro_export]
        macro_rules! for_each_builtin {{
            ($callback:ident) => {{ $callback! {{ {entries} }} }};
        }}
        "
    )
}

fn conversions(kinds: &BTreeMap<String, Declaration>) -> String {
    let arms: String =
        kinds.iter().map(|(name, kind)| format!("Builtin::{name} => &{},\n", kind.conversion)).collect();
    format!("pub(super) fn conversion(kind: Builtin) -> &'static Conversion {{ match kind {{ {arms} }} }}")
}
