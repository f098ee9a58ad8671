//! Model test: compares the graph with a full scan of all objects after every random change.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

/// Deterministic pseudo-random numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

type Name = (&'static str, &'static str);
type Pod = (&'static str, BTreeSet<(Kind, &'static str)>);
type Volume = (Name, BTreeSet<Name>);

/// The reference model: all objects.
#[derive(Default)]
struct Plain {
    pods: BTreeMap<Name, Pod>,
    volumes: BTreeMap<&'static str, Volume>,
    owned: BTreeMap<(&'static str, Name), (NodeOwnedKind, &'static str)>,
}

const NAMES: [&str; 4] = ["a", "b", "c", "n1"];
const NAMESPACES: [&str; 2] = ["a", "ns"];
const NODES: [&str; 3] = ["n1", "n2", "a"];
const KINDS: [Kind; 5] =
    [Kind::ConfigMap, Kind::Secret, Kind::Claim, Kind::ResourceClaim, Kind::ServiceAccount];
const OWNED: [NodeOwnedKind; 2] = [NodeOwnedKind::VolumeAttachment, NodeOwnedKind::PodCertificateRequest];

impl Plain {
    fn reaches(&self, node: &str, vertex: Vertex, key: (&str, &str)) -> bool {
        match vertex {
            Vertex::Pod => self.pods.iter().any(|(name, (on, _))| *name == key && *on == node),
            Vertex::Volume => {
                let volume = self.volumes.get(key.1);
                volume.is_some_and(|(claim, _)| self.reaches(node, Vertex::Referred(Kind::Claim), *claim))
            }
            Vertex::Referred(kind) => {
                let direct = self.pods.iter().any(|((namespace, _), (on, references))| {
                    *on == node && *namespace == key.0 && references.iter().any(|r| *r == (kind, key.1))
                });
                direct
                    || kind == Kind::Secret
                        && self.volumes.iter().any(|(volume, (_, secrets))| {
                            secrets.iter().any(|secret| *secret == key)
                                && self.reaches(node, Vertex::Volume, ("", volume))
                        })
            }
            Vertex::Owned(owned) => {
                self.owned.iter().any(|((_, name), (of, on))| *name == key && *of == owned && *on == node)
            }
        }
    }
}

fn change(numbers: &mut Numbers, plain: &mut Plain, graph: &mut Graph) {
    let namespace = numbers.pick(&NAMESPACES);
    let name = numbers.pick(&NAMES);
    let node = numbers.pick(&NODES);
    let deleted = numbers.below(3) == 0;
    match numbers.below(3) {
        0 => {
            let references: BTreeSet<_> =
                (0..numbers.below(6)).map(|_| (numbers.pick(&KINDS), numbers.pick(&NAMES))).collect();
            let listed: Vec<_> = references.iter().copied().collect();
            graph.set_pod(namespace, name, (!deleted).then_some(PodUse { node, references: &listed }));
            plain.pods.remove(&(namespace, name));
            if !deleted {
                plain.pods.insert((namespace, name), (node, references));
            }
        }
        1 => {
            let mut any = || (numbers.pick(&NAMESPACES), numbers.pick(&NAMES));
            let claim = any();
            let secrets = BTreeSet::from([any(), any()]);
            let listed: Vec<_> = secrets.iter().copied().collect();
            graph.set_volume(name, (!deleted).then_some(VolumeUse { claim, secrets: &listed }));
            plain.volumes.remove(name);
            if !deleted {
                plain.volumes.insert(name, (claim, secrets));
            }
        }
        _ => {
            let owned = numbers.pick(&OWNED);
            graph.set_owned(owned, namespace, name, (!deleted).then_some(node));
            let key = (if owned == OWNED[0] { "attachment" } else { "request" }, (namespace, name));
            plain.owned.remove(&key);
            if !deleted {
                plain.owned.insert(key, (owned, node));
            }
        }
    }
}

#[test]
fn graph_matches_full_scan_after_every_change() {
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    let mut plain = Plain::default();
    let mut graph = Graph::default();
    let vertices: Vec<Vertex> = [Vertex::Pod, Vertex::Volume]
        .into_iter()
        .chain(KINDS.map(Vertex::Referred))
        .chain(OWNED.map(Vertex::Owned))
        .collect();
    for step in 0..3_000 {
        change(&mut numbers, &mut plain, &mut graph);
        for &vertex in &vertices {
            for (node, namespace, name) in NODES.iter().flat_map(|node| {
                NAMESPACES
                    .iter()
                    .flat_map(move |namespace| NAMES.iter().map(move |name| (node, namespace, name)))
            }) {
                let expected = plain.reaches(node, vertex, (*namespace, *name));
                let actual = graph.reaches(node, vertex, namespace, name);
                assert_eq!(actual, expected, "step {step}: {node} {vertex:?} {namespace}/{name}");
            }
        }
    }
    for (namespace, name) in NAMESPACES.iter().flat_map(|ns| NAMES.iter().map(move |name| (ns, name))) {
        graph.set_pod(namespace, name, None);
        graph.set_volume(name, None);
        OWNED.iter().for_each(|&owned| graph.set_owned(owned, namespace, name, None));
    }
    assert_eq!(graph.entry_count(), 0, "what is gone is forgotten");
}
