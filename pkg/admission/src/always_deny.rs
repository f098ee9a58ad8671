//! `AlwaysDeny` rejects every write. It is deprecated and meant for test clusters.

use async_trait::async_trait;
use schema::object::Object;

use crate::{AdmissionNotes, Attributes, Plugin, Verdict};

const CAUSE: &str = "admission control is denying all modifications";

pub struct AlwaysDeny;

#[async_trait]
impl Plugin for AlwaysDeny {
    fn name(&self) -> &'static str {
        "AlwaysDeny"
    }

    fn handles(&self, _: &Attributes<'_>) -> bool {
        true
    }

    async fn mutate(&self, a: &Attributes<'_>, _: Option<&mut Object>, _: &mut AdmissionNotes) -> Verdict {
        Err(a.forbidden(CAUSE))
    }

    async fn validate(&self, a: &Attributes<'_>, _: Option<&Object>, _: &mut AdmissionNotes) -> Verdict {
        Err(a.forbidden(CAUSE))
    }
}

#[cfg(test)]
mod tests {
    use jsontree::json;

    use super::*;
    use crate::testing::Write;

    #[test]
    fn everything_is_refused() {
        let refusal = format!("pods \"p\" is forbidden: {CAUSE}");
        let pod = json!({"metadata": {"name": "p"}});
        assert_eq!(Write::default().mutated(&AlwaysDeny, pod.clone()), Err(refusal.clone()));
        assert_eq!(Write::default().validated(&AlwaysDeny, pod), Err(refusal));
    }
}
