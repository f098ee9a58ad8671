//! Configuration of egress proxies.

use std::path::Path;
use std::sync::Arc;

use ::egress::Egress;

/// Reads `--egress-selector-config-file` and the files that it refers to. Blocks.
///
/// # Errors
/// Upstream's message about an invalid file.
pub fn egress(path: &Path) -> Result<Egress, ::egress::Error> {
    Egress::read(path, &(Arc::new(|| rand::random_range(0..i64::MAX)) as _))
}
