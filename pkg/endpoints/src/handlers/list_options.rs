//! Options of a request on a collection.

use api::fields::FieldLabelError;
use api::options::ListOptions;
use apimachinery::fields;
use apimachinery::gvk::GroupKind;
use apimachinery::status::Status;
use component_base::features::Gate;

use crate::scope::RequestScope;

/// Returns the options of a collection request: decoded, defaulted, validated, with converted field labels.
///
/// # Errors
/// 400 and 422.
pub(crate) fn list_options(call: &RequestScope<'_>) -> Result<ListOptions, Box<Status>> {
    let mut options = ListOptions::from_query(call.query).map_err(|e| Status::bad_request(e.to_string()))?;
    let watch_lists = call.api.registry.gates().enabled(Gate::WatchList);
    if watch_lists {
        options.set_watch_list_defaults();
    }
    let errors = kinds::validation::validate_list_options(&options, watch_lists);
    if !errors.is_empty() {
        return Err(Status::invalid(&GroupKind::new("meta.k8s.io", "ListOptions"), "", &errors).into());
    }
    let row = call.resource();
    options.field_selector = options
        .field_selector
        .transform(|label, value| {
            api::fields::convert_label(row, label).map(|label| (label.to_owned(), value.to_owned()))
        })
        .map_err(|error: FieldLabelError| Status::bad_request(error.to_string()))?;
    let name = call.name();
    if !name.is_empty() {
        if options.field_selector.is_empty() {
            options.field_selector = fields::Selector::equals("metadata.name", name);
        } else if options.field_selector.requires_exact_match("metadata.name") != Some(name) {
            return Err(
                Status::bad_request("fieldSelector metadata.name doesn't match requested name").into()
            );
        }
    }
    Ok(options)
}
