//! Symbolization: function names from the executable's symbol table. A stripped executable has none; then the
//! build id in the profile identifies the matching debug information.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;

use mappings::MAPPINGS;
use object::read::{ReadCache, elf::ElfFile64};
use object::{Endianness, Object, ObjectSymbol, SymbolKind};

use crate::{Error, failed};

/// A file mapping in the process' address space.
pub(crate) struct Region {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// `start` in the address space of the file's symbols.
    symbol_start: u64,
    pub(crate) file_offset: u64,
    pub(crate) file: String,
    /// Hexadecimal; empty if the file has no build id.
    pub(crate) build_id: String,
}

impl Region {
    pub(crate) fn contains(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }
}

/// The file mappings of this process.
pub(crate) fn regions() -> Vec<Region> {
    let all = MAPPINGS.as_deref().unwrap_or_default().iter();
    all.map(|mapping| Region {
        start: mapping.memory_start as u64,
        end: mapping.memory_end as u64,
        symbol_start: mapping.memory_offset as u64,
        file_offset: mapping.file_offset,
        file: mapping.pathname.to_string_lossy().into_owned(),
        build_id: mapping.build_id.as_ref().map(ToString::to_string).unwrap_or_default(),
    })
    .collect()
}

/// Returns the functions of the executable that contain the given addresses, by address. Other symbols are
/// not kept because an executable has about a hundred thousand.
pub(crate) fn names(regions: &[Region], mut addresses: Vec<u64>) -> Result<BTreeMap<u64, String>, Error> {
    let file = File::open("/proc/self/exe").map_err(failed)?;
    let cache = ReadCache::new(BufReader::new(file));
    let program = ElfFile64::<Endianness, _>::parse(&cache).map_err(failed)?;
    let executable = regions.first().map(|region| region.file.as_str()).unwrap_or_default();
    addresses.sort_unstable();
    let mut names = BTreeMap::new();
    let functions = program.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0);
    for function in functions {
        let first = function.address();
        let mapped = regions.iter().filter(|region| region.file == executable);
        for region in mapped {
            let Some(offset) = first.checked_sub(region.symbol_start) else { continue };
            let start = region.start.saturating_add(offset);
            if !region.contains(start) {
                continue;
            }
            let end = start.saturating_add(function.size());
            let from = addresses.partition_point(|address| *address < start);
            for address in addresses.iter().skip(from).take_while(|address| **address < end) {
                let name = function.name().unwrap_or_default();
                names.entry(*address).or_insert_with(|| format!("{:#}", rustc_demangle::demangle(name)));
            }
        }
    }
    Ok(names)
}
