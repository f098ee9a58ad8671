//! Resources of `batch`.

use schema::builtin::{
    IO_K8S_API_BATCH_V1_CRONJOB, IO_K8S_API_BATCH_V1_CRONJOBLIST, IO_K8S_API_BATCH_V1_JOB,
    IO_K8S_API_BATCH_V1_JOBLIST,
};

use super::{
    Builtin, DefaultGc, RESOURCE, Resource, SPEC, STATUS, UnknownLabel, label_equal_to_path, protobuf, since,
    subresource_of,
};

kinds! { in "batch":
    CronJob: batch::cron_job, pod::CRON_JOB;
    Job: batch::job, pod::WORKLOAD;
}

/// Properties that all `batch/v1` resources share.
const V1: Resource = Resource {
    group: "batch",
    version: "v1",
    group_version: "batch/v1",
    kind_group_version: "batch/v1",
    lifecycle: since(21),
    ..RESOURCE
};

const V1_SUB: Resource = subresource_of(V1);

/// Sorted by version, plural and subresource.
pub(super) static ROWS: &[Resource] = &[
    Resource {
        plural: "cronjobs",
        builtin: Some(Builtin::CronJob),
        kind: "CronJob",
        singular: "cronjob",
        short_names: &["cj"],
        categories: &["all"],
        message: &IO_K8S_API_BATCH_V1_CRONJOB,
        list_message: Some(&IO_K8S_API_BATCH_V1_CRONJOBLIST),
        storage: protobuf("batch/v1", "CronJob", &IO_K8S_API_BATCH_V1_CRONJOB, "cronjobs"),
        storage_version_hash: "sd5LIXh4Fjs=",
        sets_generation: true,
        reset_fields: STATUS,
        ..V1
    },
    Resource {
        plural: "cronjobs",
        builtin: Some(Builtin::CronJob),
        subresource: "status",
        kind: "CronJob",
        message: &IO_K8S_API_BATCH_V1_CRONJOB,
        reset_fields: SPEC,
        ..V1_SUB
    },
    Resource {
        plural: "jobs",
        unknown_label: UnknownLabel::Job,
        builtin: Some(Builtin::Job),
        kind: "Job",
        singular: "job",
        categories: &["all"],
        message: &IO_K8S_API_BATCH_V1_JOB,
        list_message: Some(&IO_K8S_API_BATCH_V1_JOBLIST),
        storage: protobuf("batch/v1", "Job", &IO_K8S_API_BATCH_V1_JOB, "jobs"),
        storage_version_hash: "mudhfqk/qZY=",
        sets_generation: true,
        default_gc: DefaultGc::OrphanDependents,
        field_selectors: &[
            label_equal_to_path("metadata.name"),
            label_equal_to_path("metadata.namespace"),
            label_equal_to_path("status.successful"),
        ],
        reset_fields: STATUS,
        lifecycle: since(2),
        ..V1
    },
    Resource {
        plural: "jobs",
        unknown_label: UnknownLabel::Job,
        builtin: Some(Builtin::Job),
        subresource: "status",
        kind: "Job",
        message: &IO_K8S_API_BATCH_V1_JOB,
        reset_fields: SPEC,
        lifecycle: since(2),
        ..V1_SUB
    },
];
