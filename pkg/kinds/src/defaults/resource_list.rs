//! Resource lists (`cpu`, `memory` → quantity), rounded to thousandths.

use super::object::Object;
use apimachinery::quantity::Quantity;

/// Decimal exponent of a thousandth.
const MILLI: i32 = -3;

/// Rounds every quantity of a resource list up (away from zero) to whole thousandths. This is for
/// compatibility with early versions, which only stored thousandths: upstream's defaulting of `ResourceList`.
pub(crate) fn round(object: &mut Object, name: &str) {
    object.replace_texts(name, |text| {
        let mut quantity: Quantity = may_be_finer(text).then(|| text.parse().ok())??;
        (!quantity.round_up(MILLI)).then(|| quantity.to_string())
    });
}

/// Rounds `limits` and `requests` of a struct that has both.
pub(crate) fn round_requirements(requirements: &mut Object) {
    round(requirements, "limits");
    round(requirements, "requests");
}

/// Returns false for texts that are certainly whole numbers or thousandths, to avoid parsing nearly all
/// quantities. Finer ones have a point, the suffix `n` or `u`, or a negative exponent.
fn may_be_finer(text: &str) -> bool {
    text.bytes().any(|byte| matches!(byte, b'.' | b'n' | b'u' | b'-'))
}
