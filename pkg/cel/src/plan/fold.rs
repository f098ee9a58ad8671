//! Constant folding: conversions of constants, and sets of constants.

use super::Op;
use super::builder::PlanError;
use crate::arena::Arena;
use crate::eval::constant_call;
use crate::value::{Constant, ConstantMap, Value};

/// Evaluates a conversion of a constant. Returns `None` if the result is not a constant; fails if the
/// conversion fails.
pub(super) fn conversion(op: Op, constant: &Constant) -> Result<Option<Constant>, PlanError> {
    let arena = Arena::new();
    let value = constant_call(op, constant.value(), &arena);
    match value {
        Ok(Value::Error(text)) => Err(PlanError::Conversion(text.to_owned())),
        Ok(value) => Ok(Constant::of(value)),
        Err(abort) => Err(PlanError::Aborted(abort)),
    }
}

/// Builds the set of a list of booleans, numbers and strings; `None` for other elements. A number is
/// contained under every type that can represent it.
pub(super) fn set(items: &[Constant]) -> Option<ConstantMap> {
    let mut keys = Vec::with_capacity(items.len());
    for item in items {
        match *item {
            Constant::Bool(_) | Constant::String(_) => {}
            Constant::Int(int) => {
                keys.push(Constant::Double(int as f64));
                keys.extend(u64::try_from(int).ok().map(Constant::Uint));
            }
            Constant::Uint(uint) => {
                keys.push(Constant::Double(uint as f64));
                keys.extend(i64::try_from(uint).ok().map(Constant::Int));
            }
            Constant::Double(double) => {
                keys.extend(crate::value::lossless_int(double).map(Constant::Int));
                keys.extend(crate::value::lossless_uint(double).map(Constant::Uint));
            }
            _ => return None,
        }
        keys.push(item.clone());
    }
    Some(ConstantMap::new(keys.into_iter().map(|key| (key, Constant::Null)).collect()))
}
