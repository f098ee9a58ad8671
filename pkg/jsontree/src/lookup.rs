//! Fast lookup of many possible names in an object with few members.

use crate::{Object, Value};

/// View of an object for lookups of many names, most of which are absent. A name is only searched if some
/// member has a name of its length. Creating the view reads the lengths of all names.
pub struct Lookup<'a> {
    object: &'a Object,
    /// Bit set of the name lengths, modulo 64.
    lengths: u64,
}

impl<'a> Lookup<'a> {
    /// Reads the lengths of all names.
    #[inline]
    pub fn new(object: &'a Object) -> Self {
        let lengths = object.iter().fold(0, |lengths, (name, _)| lengths | bit(name));
        Lookup { object, lengths }
    }

    /// Returns the value of a member, like [`Object::get`].
    #[inline]
    pub fn get(&self, name: &str) -> Option<&'a Value> {
        if self.lengths & bit(name) == 0 {
            return None;
        }
        self.object.get(name)
    }
}

#[inline]
fn bit(name: &str) -> u64 {
    1 << (name.len() % 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookup_finds_present_members_only() {
        let long = "n".repeat(64 + 4);
        for few in [0, 1, 5, 70] {
            let mut object: Object = (0..few).map(|at| (format!("m{at}"), Value::from(at))).collect();
            object.insert(long.as_str(), Value::Null);
            let lookup = Lookup::new(&object);
            for name in ["m0", "m4", "m69", "kind", "", long.as_str()] {
                assert_eq!(lookup.get(name), object.get(name), "{name:?} of {few}");
            }
        }
    }
}
