//! Conversion of a kind between its versions and upstream's internal types.

use apimachinery::strconv::NumError;
use schema::object::Object;
use thiserror::Error;

/// Annotation that requests the rollback of a Deployment to a revision.
pub(super) const ROLLBACK_TO: &str = "deprecated.deployment.rollback.to";

/// Conversion of a kind.
pub(super) struct Conversion {
    /// The versions that differ from the hub's form.
    pub(super) spokes: &'static [Spoke],
    /// Normalizes an object in the shape of the storage version.
    pub(super) normalise: fn(&mut Object) -> Result<(), NormaliseError>,
    /// Annotation that represents a field of upstream's internal type.
    pub(super) internal_annotation: Option<&'static str>,
}

/// The conversion of a kind whose versions have one shape, which the internal type shares.
pub(super) const NONE: Conversion =
    Conversion { spokes: &[], normalise: |_| Ok(()), internal_annotation: None };

/// Version of a kind, with its conversions to and from the hub version.
pub(super) struct Spoke {
    pub(super) version: &'static str,
    pub(super) to_hub: fn(&mut Object),
    pub(super) from_hub: fn(&mut Object),
}

impl Spoke {
    pub(super) const fn of(
        version: &'static str,
        to_hub: fn(&mut Object),
        from_hub: fn(&mut Object),
    ) -> Self {
        Spoke { version, to_hub, from_hub }
    }
}

/// Decoding error: an annotation that represents a number does not parse.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NormaliseError {
    /// Rollback revision of a Deployment.
    #[error("failed to parse annotation[{ROLLBACK_TO}]={revision} as int64: {source}")]
    RollbackTo {
        /// Value of the annotation.
        revision: String,
        /// Reason why it is not a number.
        source: NumError,
    },
    /// Template generation of a DaemonSet.
    #[error(transparent)]
    TemplateGeneration(NumError),
}
