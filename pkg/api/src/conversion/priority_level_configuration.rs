//! PriorityLevelConfigurations. `flowcontrol.apiserver.k8s.io/v1` distinguishes 0 shares from absent ones.
//! `v1beta3` does not, and stores the difference in an annotation. `v1beta1` and `v1beta2` have another name
//! for the shares.

use super::kind::{Conversion, NONE, Spoke};
use crate::tree::{child_mut, integer, rename};
use schema::object::{self, Object};

pub(super) static CONVERSION: Conversion = Conversion {
    spokes: &[
        Spoke::of("flowcontrol.apiserver.k8s.io/v1beta1", v1beta2_to_hub, v1beta2_from_hub),
        Spoke::of("flowcontrol.apiserver.k8s.io/v1beta2", v1beta2_to_hub, v1beta2_from_hub),
        Spoke::of("flowcontrol.apiserver.k8s.io/v1beta3", v1beta3_to_hub, v1beta3_from_hub),
    ],
    ..NONE
};

const SHARES: &str = "nominalConcurrencyShares";
const SHARES_BEFORE: &str = "assuredConcurrencyShares";
/// Annotation that distinguishes 0 shares from the default.
const PRESERVE_ZERO: &str = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";

fn v1beta2_to_hub(level: &mut Object) {
    let Some(limited) = limited_mut(level) else { return };
    rename(limited, SHARES_BEFORE, SHARES);
    super::fill(limited, &[SHARES], 0);
}

fn v1beta2_from_hub(level: &mut Object) {
    if let Some(limited) = limited_mut(level) {
        rename(limited, SHARES, SHARES_BEFORE);
    }
}

fn v1beta3_to_hub(level: &mut Object) {
    object::remove(level, &["metadata", "annotations", PRESERVE_ZERO]);
    if let Some(limited) = limited_mut(level) {
        super::fill(limited, &[SHARES], 0);
    }
}

fn v1beta3_from_hub(level: &mut Object) {
    if limited_mut(level).is_some_and(|limited| integer(limited, SHARES) == 0) {
        super::fill(level, &["metadata", "annotations", PRESERVE_ZERO], "");
    }
}

fn limited_mut(level: &mut Object) -> Option<&mut Object> {
    child_mut(level, "spec").and_then(|spec| child_mut(spec, "limited"))
}
