//! `cel.@mapInsert`, part of the expansion of comprehensions that build maps.

use super::Context;
use crate::arena::{Abort, Outcome};
use crate::value::{GrowingMap, Map, Value, text};

impl<'a> Context<'a, '_> {
    pub(super) fn insert(self, map: Map<'a>, key: Value<'a>, value: Value<'a>) -> Outcome<'a> {
        if map.find(key).is_some() {
            return self.arena.error(format_args!("insert failed: key {} already exists", text(key)));
        }
        if matches!(key, Value::Bytes(_)) {
            return Err(super::unhashable());
        }
        let target = match map {
            Map::Growing(growing) if !growing.is_frozen() => growing,
            map => {
                let copy = self.arena.alloc(GrowingMap::new(self.arena.bump()))?;
                for (key, value) in map.iter() {
                    self.work.spend(1)?;
                    if !copy.replace(key, value) {
                        return Err(Abort::CostLimit);
                    }
                }
                copy
            }
        };
        if !target.replace(key, value) {
            return Err(Abort::CostLimit);
        }
        Ok(Value::Map(Map::Growing(target)))
    }

    pub(super) fn insert_all(self, map: Map<'a>, entries: Map<'a>) -> Outcome<'a> {
        let mut result = Value::Map(map);
        for (key, value) in entries.iter() {
            self.work.spend(1)?;
            let Value::Map(map) = result else { break };
            result = self.insert(map, key, value)?;
        }
        Ok(result)
    }
}
