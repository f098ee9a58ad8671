//! Mutation tests of the parsers: random changes of typical texts must not cause panics, and accepted texts
//! must round-trip. `make fuzz` checks the same invariants with coverage guidance.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "mutations/claims.rs"]
mod claims;

/// Number of mutations per seed.
const ROUNDS: usize = 2000;

const TARGETS: &[&str] = &[
    "/api/v1/namespaces/a/pods/b/log?follow=true&tailLines=10&limitBytes=9223372036854775807",
    "/apis/apps/v1/watch/namespaces/a/deployments?watch=1&resourceVersion=12&timeoutSeconds=9223372036854775807",
    "/api/v1/namespaces/..%2f%2e%2e/services/https:x:443/proxy//a/../b%20c?x=%zz&y=%e9",
    "/api/v1/pods?labelSelector=a%20in%20(b,c)&fieldSelector=metadata.name%3Dx&limit=-1&continue=eyJ2IjoiIn0",
    "/api/v1/namespaces/a/status",
    "/version/?timeout=2562047h47m16.854775807s",
];

const SELECTORS: &[&str] = &[
    "a in (b, c),d notin (e),!f,g,h=i,j==k,l!=m,n>5,o<-9223372036854775808",
    "example.com/a-b_c.d in (),x=",
    "metadata.name=x\\,y,spec.nodeName!=a\\=b,status.phase==\\\\",
    ",,a=,=b,(,)",
];

const NUMBERS: &[&str] = &[
    "9223372036854775807Ei",
    "-0.000000001",
    "1e-2147483648",
    "12345678901234567890123456789.123456789n",
    "+5E9",
    "2562047h47m16.854775807s",
    "-1.5h0.000001us",
    "9999-12-31T23:59:59.999999999Z",
    "0001-01-01T00:00:00.000000-23:59",
    "18446744073709551615",
    "a-b.c.example.com",
];

/// Small pseudo-random generator, for reproducible failures.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ z >> 31) % u64::try_from(end.max(1)).unwrap()).unwrap()
    }
}

/// Mutates a text: drops, doubles or moves a part of it, or inserts characters that are special for parsers.
fn mutate(text: &str, other: &str, random: &mut Random) -> String {
    const SPICES: &[&str] = &[
        "%", "%2", "%00", "%ff", "\u{0}", "\u{e9}", "/", "..", ",", "=", "!", "(", "\\", "9", "-", ".", "e",
        "0", " ",
    ];
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..=random.below(4) {
        let a = random.below(chars.len() + 1);
        let b = random.below(chars.len() + 1);
        let from = a.min(b);
        let to = a.max(b);
        match random.below(5) {
            0 => drop(chars.drain(from..to)),
            1 => {
                let piece = chars[from..to].to_vec();
                chars.splice(from..from, piece);
            }
            2 => chars.rotate_left(from),
            3 => {
                let spice = SPICES[random.below(SPICES.len())];
                chars.splice(from..from, spice.repeat(1 + random.below(3)).chars());
            }
            _ => {
                let other: Vec<char> = other.chars().collect();
                chars.splice(from.., other[random.below(other.len())..].iter().copied());
            }
        }
        chars.truncate(4096);
    }
    chars.into_iter().collect()
}

fn check(seeds: &[&str], claim: fn(&str)) {
    let mut random = Random(1);
    for seed in seeds {
        claim(seed);
        for _ in 0..ROUNDS {
            let other = seeds[random.below(seeds.len())];
            claim(&mutate(seed, other, &mut random));
        }
    }
}

#[test]
fn mutated_targets_parse_consistently() {
    check(TARGETS, claims::target);
}

#[test]
fn mutated_selectors_round_trip() {
    check(SELECTORS, claims::selectors);
}

#[test]
fn mutated_numbers_and_times_round_trip() {
    check(NUMBERS, claims::numbers);
}
