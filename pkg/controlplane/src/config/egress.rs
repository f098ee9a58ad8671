//! Proxies on the way to others.

use std::path::Path;
use std::sync::Arc;

use ::egress::Egress;

/// Reads `--egress-selector-config-file`, and the files that it names. Blocks on them.
///
/// # Errors
/// What upstream says of the files.
pub fn egress(path: &Path) -> Result<Egress, ::egress::Error> {
    Egress::read(path, &(Arc::new(|| rand::random_range(0..i64::MAX)) as _))
}
