//! Finds the few members that an object has by the many names that its type has.

use crate::{Object, Value};

/// An object that is asked for many names, most of which it lacks. A name of a length that none of its members has is
/// not looked for. Making one reads the lengths of all names.
pub struct Lookup<'a> {
    object: &'a Object,
    /// A bit for each length, modulo 64, that a member's name has.
    lengths: u64,
}

impl<'a> Lookup<'a> {
    /// Looks at the names that there are.
    #[inline]
    pub fn new(object: &'a Object) -> Self {
        let lengths = object.iter().fold(0, |lengths, (name, _)| lengths | bit(name));
        Lookup { object, lengths }
    }

    /// The value of a member, as [`Object::get`] has it.
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
    fn a_lookup_finds_what_the_object_has_and_nothing_else() {
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
