//! Profiles and their wire format.
#![allow(clippy::unwrap_used)]
use std::io::Read;

use flate2::read::GzDecoder;

use super::*;

/// An address in this executable, like in a stack.
#[inline(never)]
fn somewhere() -> u64 {
    somewhere as *const () as u64
}

fn decoded(bytes: &[u8]) -> Profile {
    let mut message = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut message).unwrap();
    Profile::decode(message.as_slice()).unwrap()
}

#[test]
fn equal_stacks_are_summed() {
    let mut samples = Samples::of(Kind::Processor { frequency_hz: 100 });
    for _ in 0..3 {
        samples.add([somewhere(), 1].into_iter(), 1);
    }
    samples.add([1].into_iter(), 1);
    let profile = decoded(&samples.encoded(Duration::from_secs(2)).unwrap());
    let values: Vec<_> = profile.sample.iter().map(|sample| sample.value.clone()).collect();
    assert_eq!(values, [vec![3, 30_000_000], vec![1, 10_000_000]]);
    assert_eq!(profile.location.len(), 2);
    assert_eq!(profile.duration_nanos, 2_000_000_000);
}

#[test]
fn functions_have_names_and_a_mapping() {
    let mut samples = Samples::of(Kind::Heap { period_bytes: 1 });
    samples.add([somewhere() + 1].into_iter(), 7);
    let profile = decoded(&samples.encoded(Duration::ZERO).unwrap());
    let location = profile.location.first().unwrap();
    let function = &profile.function[location.line[0].function as usize - 1];
    assert_eq!(profile.string_table[function.name as usize], "profiling::profile::tests::somewhere");
    let mapping = &profile.mapping[location.mapping as usize - 1];
    let program = std::env::current_exe().unwrap();
    assert_eq!(profile.string_table[mapping.file as usize], program.to_string_lossy());
    assert!((mapping.start..mapping.limit).contains(&location.address));
}

#[test]
fn unknown_addresses_have_no_name() {
    let mut samples = Samples::of(Kind::Heap { period_bytes: 1 });
    samples.add([1].into_iter(), 1);
    let profile = decoded(&samples.encoded(Duration::ZERO).unwrap());
    assert_eq!(profile.location, [Location { id: 1, mapping: 0, address: 1, line: Vec::new() }]);
}

#[test]
fn text_lists_largest_stack_first() {
    let mut samples = Samples::of(Kind::Heap { period_bytes: 1 });
    samples.add([1].into_iter(), 1);
    samples.add([2].into_iter(), 5);
    let text = samples.text().unwrap();
    assert_eq!(
        text,
        "heap profile: 2 stacks keep 6 bytes, estimated from samples\n\n5 bytes\n#\t0x2\t\n\n1 bytes\n#\t0x1\t\n"
    );
}

#[test]
fn allocator_frames_are_removed() {
    let names = BTreeMap::from([
        (1, "prof_backtrace_impl".to_owned()),
        (2, "<tikv_jemallocator::Jemalloc as core::alloc::global::GlobalAlloc>::alloc".to_owned()),
        (3, "registry::list".to_owned()),
        (4, "main".to_owned()),
    ]);
    let stack = [1, 2, 3, 4];
    assert_eq!(Kind::Heap { period_bytes: 1 }.relevant(&stack, &names), [3, 4]);
    assert_eq!(Kind::Processor { frequency_hz: 1 }.relevant(&stack, &names), stack);
}
