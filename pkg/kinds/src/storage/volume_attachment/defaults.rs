//! Defaults of volume attachments.

use crate::defaults::fill::if_present;
use crate::defaults::object::Object;
use crate::defaults::volumes;

pub(super) fn volume_attachment(attachment: &mut Object) {
    if_present(attachment, "spec", |spec| {
        if_present(spec, "source", |source| {
            if_present(source, "inlineVolumeSpec", volumes::persistent_source)
        });
    });
}
