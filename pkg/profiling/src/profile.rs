//! Weighted stacks and their encoding as a profile (pprof's `proto/profile.proto`).

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;

use crate::symbols::{self, Region};
use crate::{Error, failed, flame};

/// The sample type.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// Samples of CPU time.
    Processor { frequency_hz: i32 },
    /// Live bytes, one sample per period.
    Heap { period_bytes: i64 },
}

impl Kind {
    /// Removes the allocator's frames from a heap stack, so that the innermost frame is the caller that
    /// allocated. The allocator is written in C, so its names have no paths, and it has a Rust wrapper.
    fn relevant<'a>(self, stack: &'a [u64], names: &BTreeMap<u64, String>) -> &'a [u64] {
        let is_allocator = |address: &u64| {
            names.get(address).is_some_and(|name| !name.contains("::") || name.contains("tikv_jemallocator"))
        };
        let inner = match self {
            Kind::Processor { .. } => 0,
            Kind::Heap { .. } => stack.iter().take_while(|address| is_allocator(address)).count(),
        };
        stack.get(inner..).unwrap_or_default()
    }
}

/// Sample counts by stack, innermost address first.
pub(crate) struct Samples {
    kind: Kind,
    stacks: HashMap<Vec<u64>, i64>,
}

impl Samples {
    pub(crate) fn of(kind: Kind) -> Self {
        Samples { kind, stacks: HashMap::new() }
    }

    pub(crate) fn add(&mut self, stack: impl Iterator<Item = u64>, count: i64) {
        let sum = self.stacks.entry(stack.collect()).or_default();
        *sum = sum.saturating_add(count);
    }

    /// Stacks by descending count, then by address, so that the output is deterministic.
    fn sorted(&self) -> Vec<(&Vec<u64>, i64)> {
        let mut all: Vec<_> = self.stacks.iter().map(|(stack, count)| (stack, *count)).collect();
        all.sort_by(|(left, light), (right, heavy)| heavy.cmp(light).then_with(|| left.cmp(right)));
        all
    }

    fn names(&self, regions: &[Region]) -> Result<BTreeMap<u64, String>, Error> {
        let mut addresses: Vec<u64> = self.stacks.keys().flatten().copied().collect();
        addresses.sort_unstable();
        addresses.dedup();
        symbols::names(regions, addresses)
    }

    /// The profile as gzip-compressed protobuf.
    pub(crate) fn encoded(&self, duration: Duration) -> Result<Vec<u8>, Error> {
        let regions = symbols::regions();
        let names = self.names(&regions)?;
        let message = Builder::new(&regions, &names).build(self, duration);
        let mut compressed = GzEncoder::new(Vec::new(), Compression::default());
        compressed.write_all(&message.encode_to_vec()).map_err(failed)?;
        compressed.finish().map_err(failed)
    }

    /// The samples as a flame graph.
    pub(crate) fn flame_graph(&self) -> Result<String, Error> {
        let names = self.names(&symbols::regions())?;
        flame::render(self.sorted().into_iter(), &names)
    }

    /// A line with the count of each stack, then a line per function in it.
    pub(crate) fn text(&self) -> Result<String, Error> {
        let names = self.names(&symbols::regions())?;
        let total: i64 = self.stacks.values().sum();
        let mut text = format!(
            "heap profile: {} stacks keep {total} bytes, estimated from samples\n",
            self.stacks.len()
        );
        for (stack, count) in self.sorted() {
            let _ = writeln!(text, "\n{count} bytes");
            for address in self.kind.relevant(stack, &names) {
                let _ = writeln!(text, "#\t{address:#x}\t{}", names.get(address).map_or("", String::as_str));
            }
        }
        Ok(text)
    }
}

/// Builds a profile and assigns its string, function and location ids.
struct Builder<'a> {
    regions: &'a [Region],
    names: &'a BTreeMap<u64, String>,
    message: Profile,
    texts: HashMap<String, i64>,
    functions: HashMap<&'a str, u64>,
    locations: HashMap<u64, u64>,
}

impl<'a> Builder<'a> {
    fn new(regions: &'a [Region], names: &'a BTreeMap<u64, String>) -> Self {
        let texts = HashMap::new();
        let functions = HashMap::new();
        let locations = HashMap::new();
        let mut builder =
            Builder { regions, names, message: Profile::default(), texts, functions, locations };
        // The format requires the empty string at index 0.
        builder.text("");
        builder
    }

    fn text(&mut self, text: &str) -> i64 {
        if let Some(index) = self.texts.get(text) {
            return *index;
        }
        let index = self.message.string_table.len() as i64;
        self.message.string_table.push(text.to_owned());
        self.texts.insert(text.to_owned(), index);
        index
    }

    fn value_type(&mut self, name: &str, unit: &str) -> ValueType {
        ValueType { name: self.text(name), unit: self.text(unit) }
    }

    fn build(mut self, samples: &Samples, duration: Duration) -> Profile {
        for (id, region) in (1..).zip(self.regions) {
            let mapping = Mapping {
                id,
                start: region.start,
                limit: region.end,
                file_offset: region.file_offset,
                file: self.text(&region.file),
                build_id: self.text(&region.build_id),
                has_functions: !self.names.is_empty(),
            };
            self.message.mapping.push(mapping);
        }
        let (period, weights) = self.units(samples.kind);
        for (stack, count) in samples.sorted() {
            let stack = samples.kind.relevant(stack, self.names);
            let location = stack.iter().map(|address| self.location(*address)).collect();
            let value = weights.iter().map(|weight| count.saturating_mul(*weight)).collect();
            self.message.sample.push(Sample { location, value });
        }
        self.message.period = period;
        self.message.duration_nanos = i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX);
        self.message
    }

    /// Writes the sample types like Go's profiles. Returns the period and the factor for each value of a
    /// sample.
    fn units(&mut self, kind: Kind) -> (i64, Vec<i64>) {
        match kind {
            Kind::Processor { frequency_hz } => {
                let period = 1_000_000_000 / i64::from(frequency_hz.max(1));
                let count = self.value_type("samples", "count");
                let time = self.value_type("cpu", "nanoseconds");
                self.message.period_type = Some(time);
                self.message.sample_type = vec![count, time];
                (period, vec![1, period])
            }
            Kind::Heap { period_bytes } => {
                self.message.period_type = Some(self.value_type("space", "bytes"));
                self.message.sample_type = vec![self.value_type("inuse_space", "bytes")];
                (period_bytes, vec![1])
            }
        }
    }

    fn location(&mut self, address: u64) -> u64 {
        if let Some(id) = self.locations.get(&address) {
            return *id;
        }
        let id = self.message.location.len() as u64 + 1;
        let region = self.regions.iter().position(|region| region.contains(address));
        let line = self.names.get(&address).map(|name| Line { function: self.function(name) });
        let mapping = region.map_or(0, |index| index as u64 + 1);
        self.message.location.push(Location { id, mapping, address, line: line.into_iter().collect() });
        self.locations.insert(address, id);
        id
    }

    fn function(&mut self, name: &'a str) -> u64 {
        if let Some(id) = self.functions.get(name) {
            return *id;
        }
        let id = self.message.function.len() as u64 + 1;
        let text = self.text(name);
        self.message.function.push(Function { id, name: text, system_name: text });
        self.functions.insert(name, id);
        id
    }
}

#[derive(Clone, PartialEq, Message)]
struct Profile {
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<Sample>,
    #[prost(message, repeated, tag = "3")]
    mapping: Vec<Mapping>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    string_table: Vec<String>,
    #[prost(int64, tag = "10")]
    duration_nanos: i64,
    #[prost(message, optional, tag = "11")]
    period_type: Option<ValueType>,
    #[prost(int64, tag = "12")]
    period: i64,
}

/// Strings are indexes into the string table.
#[derive(Clone, Copy, PartialEq, Message)]
struct ValueType {
    #[prost(int64, tag = "1")]
    name: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(uint64, repeated, tag = "1")]
    location: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Mapping {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(uint64, tag = "2")]
    start: u64,
    #[prost(uint64, tag = "3")]
    limit: u64,
    #[prost(uint64, tag = "4")]
    file_offset: u64,
    #[prost(int64, tag = "5")]
    file: i64,
    #[prost(int64, tag = "6")]
    build_id: i64,
    #[prost(bool, tag = "7")]
    has_functions: bool,
}

#[derive(Clone, PartialEq, Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(uint64, tag = "2")]
    mapping: u64,
    #[prost(uint64, tag = "3")]
    address: u64,
    #[prost(message, repeated, tag = "4")]
    line: Vec<Line>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Line {
    #[prost(uint64, tag = "1")]
    function: u64,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Function {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
    #[prost(int64, tag = "3")]
    system_name: i64,
}

#[cfg(test)]
mod tests;
