//! Validation of policies with upstream's error texts (`apis/audit/validation`).

use apimachinery::field::{BadValue, Error, ErrorList, Path, aggregate};
use apimachinery::names::name_is_dns_subdomain;
use jsontree::Value;

use super::decode::{File, Rule as Written};
use super::{GroupResources, Policy, Rule};
use crate::{Level, Stage, Stages};

/// Validates and converts a policy.
///
/// # Errors
/// All validation errors.
pub(super) fn policy(file: File) -> Result<Policy, crate::Error> {
    let mut errors = ErrorList::new();
    let omit_stages = stages(&file.omit_stages, &Path::root("omitStages"), &mut errors);
    let at = Path::root("rules");
    let mut rules = Vec::with_capacity(file.rules.len());
    for (index, written) in file.rules.into_iter().enumerate() {
        rules.extend(rule(written, &at.index(index), &mut errors));
    }
    match aggregate(errors.iter()) {
        Some(text) => Err(crate::Error::Invalid(text)),
        None => Ok(Policy { rules, omit_stages, omit_managed_fields: file.omit_managed_fields }),
    }
}

/// Converts a rule; returns `None` and adds an error if its level is invalid.
fn rule(written: Written, at: &Path<'_>, errors: &mut ErrorList) -> Option<Rule> {
    let level = level(&written.level, &at.child("level"), errors);
    let urls = at.child("nonResourceURLs");
    for (index, url) in written.non_resource_urls.iter().enumerate().filter(|(_, url)| *url != "*") {
        let mut refuse = |detail| errors.push(Error::invalid(&urls.index(index), url, detail));
        if !url.starts_with('/') {
            refuse("non-resource URL rules must begin with a '/' character");
        }
        let mut rest = url.chars();
        rest.next_back();
        if rest.as_str().contains('*') {
            refuse("non-resource URL wildcards '*' must be the final character of the rule");
        }
    }
    resources(&written.resources, &at.child("resources"), errors);
    let omit_stages = stages(&written.omit_stages, &at.child("omitStages"), errors);
    let of_resources = !written.resources.is_empty() || !written.namespaces.is_empty();
    if !written.non_resource_urls.is_empty() && of_resources {
        let value = Value::from(written.non_resource_urls.clone());
        let detail = "rules cannot apply to both regular resources and non-resource URLs";
        errors.push(Error::invalid(&urls, &value, detail));
    }
    Some(Rule {
        level: level?,
        users: written.users,
        user_groups: written.user_groups,
        verbs: written.verbs,
        resources: written.resources,
        namespaces: written.namespaces,
        non_resource_urls: written.non_resource_urls,
        omit_stages,
        omit_managed_fields: written.omit_managed_fields,
    })
}

fn level(name: &str, at: &Path<'_>, errors: &mut ErrorList) -> Option<Level> {
    let level = Level::parse(name);
    match (level, name) {
        (Some(_), _) => {}
        (None, "") => errors.push(Error::required(at, "")),
        (None, name) => {
            errors.push(Error::not_supported(at, BadValue::json_text(name), &Level::ALL.map(Level::name)));
        }
    }
    level
}

fn resources(all: &[GroupResources], at: &Path<'_>, errors: &mut ErrorList) {
    for GroupResources { group, resources, resource_names } in all {
        if !group.is_empty() && group != "*" {
            let wrong = name_is_dns_subdomain(group, false);
            if !wrong.is_empty() {
                errors.push(Error::invalid(&at.child("group"), group, wrong.join(",")));
            }
        }
        if !resource_names.is_empty() && resources.is_empty() {
            let value = Value::from(resource_names.clone());
            let detail = "using resourceNames requires at least one resource";
            errors.push(Error::invalid(&at.child("resourceNames"), &value, detail));
        }
    }
}

fn stages(names: &[String], at: &Path<'_>, errors: &mut ErrorList) -> Stages {
    let stage = |(index, name): (usize, &String)| {
        let stage = Stage::parse(name);
        if stage.is_none() {
            let detail = format!("allowed stages are {}", Stage::ALL.map(Stage::name).join(","));
            errors.push(Error::invalid(&at.index(index), name, detail));
        }
        stage
    };
    names.iter().enumerate().filter_map(stage).collect()
}
