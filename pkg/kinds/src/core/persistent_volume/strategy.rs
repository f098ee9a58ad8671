//! Persistent volumes: their first phase is pending, and the server records the time of phase changes
//! (KEP-3762; upstream's `registry/core/persistentvolume/strategy.go`).

use crate::strategy::hooks::{Context, Strategy};
use jsontree::Value;
use schema::object::{self, Object};

const PHASE: [&str; 2] = ["status", "phase"];

const CHANGED: [&str; 2] = ["status", "lastPhaseTransitionTime"];

pub(crate) struct PersistentVolumes;

impl Strategy for PersistentVolumes {
    fn prepare_for_create(&self, volume: &mut Object, context: &Context<'_>) {
        object::set(volume, &PHASE, "Pending");
        object::set(volume, &CHANGED, context.timestamp());
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Object, old: &Object, context: &Context<'_>) {
        if subresource != "status" {
            return;
        }
        let same_phase = object::get_str(new, &PHASE) == object::get_str(old, &PHASE);
        let sent = object::get(new, &CHANGED);
        let before = object::get(old, &CHANGED);
        let time = match (sent, before) {
            (None | Some(Value::Null), Some(before)) if same_phase => before.clone(),
            (sent, before) if !same_phase && (sent.is_none_or(Value::is_null) || sent == before) => {
                context.timestamp()
            }
            _ => return,
        };
        object::set(new, &CHANGED, time);
    }
}
