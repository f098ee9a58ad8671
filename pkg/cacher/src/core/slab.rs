//! A slab: values by small reusable numbers.

/// A slab. A number is free again after its value was removed.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Inserts a value and returns its number.
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        if let Some(number) = self.free.pop() {
            if let Some(place) = self.slots.get_mut(number as usize) {
                *place = Some(value);
            }
            return number;
        }
        self.slots.push(Some(value));
        (self.slots.len() - 1) as u32
    }

    pub(crate) fn remove(&mut self, number: u32) -> Option<T> {
        let value = self.slots.get_mut(number as usize)?.take()?;
        self.free.push(number);
        if self.len() == 0 {
            *self = Slab::default();
        }
        Some(value)
    }

    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        self.slots.get(number as usize)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.slots.get_mut(number as usize)?.as_mut()
    }

    pub(crate) fn iter_numbered_mut(&mut self) -> impl Iterator<Item = (u32, &mut T)> {
        (0..).zip(&mut self.slots).filter_map(|(number, place)| Some((number, place.as_mut()?)))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().flatten()
    }
}
