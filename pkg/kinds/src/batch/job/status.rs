//! The status of a job. It is validated because other controllers than upstream's may manage a job
//! (KEP-4368). Only changes are validated, so that a job with an invalid status can progress.

use super::indexes::{count_indexes, overlap};
use crate::validation::go_value::go_value;
use crate::validation::kinds::workload::none_negative;
use api::semantic::equal_members;
use api::tree::{child, children, flag, integer, is_set, list, maybe_integer, maybe_text, text, texts};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use schema::builtin::{
    IO_K8S_API_BATCH_V1_JOBSTATUS as JOB_STATUS,
    IO_K8S_API_BATCH_V1_UNCOUNTEDTERMINATEDPODS as UNCOUNTED_TERMINATED_PODS,
};
use schema::object::Object;
use std::collections::BTreeSet;

/// True if a status has a condition of this type with the status `True`.
pub(super) fn is_true(status: &Object, kind: &str) -> bool {
    has_condition(status, kind, "True")
}

fn has_condition(status: &Object, kind: &str, value: &str) -> bool {
    children(status, "conditions").any(|c| text(c, "type") == kind && text(c, "status") == value)
}

/// Final conditions of a job.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FinalConditions {
    complete: bool,
    failed: bool,
    failing: bool,
    succeeded: bool,
}

impl FinalConditions {
    fn of(status: &Object) -> Self {
        let is = |kind| is_true(status, kind);
        Self {
            complete: is("Complete"),
            failed: is("Failed"),
            failing: is("FailureTarget"),
            succeeded: is("SuccessCriteriaMet"),
        }
    }

    fn finished(self) -> bool {
        self.complete || self.failed
    }
}

/// Status update with the spec of the job.
struct Update<'o> {
    spec: &'o Object,
    new: &'o Object,
    old: &'o Object,
    now: FinalConditions,
    before: FinalConditions,
}

/// Validates a change of the status. Without other controllers (`managed_by`, gate `JobManagedBy`), only the counters
/// and the conditions about success are checked.
pub(super) fn validate_status_update(new: &Object, old: &Object, managed_by: bool, errors: &mut ErrorList) {
    let empty = Object::new();
    let spec = child(new, "spec").unwrap_or(&empty);
    let [new, old] = [new, old].map(|job| child(job, "status").unwrap_or(&empty));
    let update = Update { spec, new, old, now: FinalConditions::of(new), before: FinalConditions::of(old) };
    let path = Path::root("status");
    none_negative(&path, new, &["active", "succeeded", "failed", "ready", "terminating"], errors);
    uncounted_pods(&path.child("uncountedTerminatedPods"), new, errors);
    if managed_by {
        update.contradictions(&path, errors);
        update.completion_time(&path, errors);
        update.missing_interim_conditions(&path, errors);
        update.finished_job_fields(&path, errors);
        update.indexes(&path, errors);
        update.running_pods(&path, errors);
    }
    update.success_criteria(&path, errors);
    if managed_by {
        update.transitions(&path, errors);
    }
    update.success_transitions(&path, errors);
}

fn uncounted_pods(path: &Path<'_>, status: &Object, errors: &mut ErrorList) {
    let Some(pods) = child(status, "uncountedTerminatedPods") else { return };
    let mut seen = BTreeSet::new();
    for member in ["succeeded", "failed"] {
        let path = path.child(member);
        for (index, uid) in texts(pods, member).enumerate() {
            let path = path.index(index);
            if uid.is_empty() {
                errors.push(Error::invalid(&path, uid, "must not be empty"));
            } else if !seen.insert(uid) {
                errors.push(Error::duplicate(&path, BadValue::json_text(uid)));
            }
        }
    }
}

impl Update<'_> {
    fn changed(&self, member: &str) -> bool {
        let field = JOB_STATUS.member(member);
        field.is_some_and(|field| !equal_members(field, self.new.get(member), self.old.get(member)))
    }

    fn finish_changed(&self) -> bool {
        self.now.finished() != self.before.finished()
    }

    fn complete_changed(&self) -> bool {
        self.now.complete != self.before.complete
    }

    fn is_indexed(&self) -> bool {
        text(self.spec, "completionMode") == "Indexed"
    }

    /// Reports mutually exclusive conditions.
    fn contradictions(&self, path: &Path<'_>, errors: &mut ErrorList) {
        let now = self.now;
        let failed_changed = now.failed != self.before.failed;
        if (self.complete_changed() || failed_changed) && now.complete && now.failed {
            bad_conditions(path, "cannot set Complete=True and Failed=true conditions", errors);
        }
        let failing_changed = now.failing != self.before.failing;
        if (self.complete_changed() || failing_changed) && now.complete && now.failing {
            bad_conditions(path, "cannot set Complete=True and FailureTarget=true conditions", errors);
        }
    }

    fn completion_time(&self, path: &Path<'_>, errors: &mut ErrorList) {
        let [start, completion] = ["startTime", "completionTime"].map(|member| maybe_text(self.new, member));
        let path = path.child("completionTime");
        if self.complete_changed() || self.changed("completionTime") {
            match completion {
                Some(time) if !self.now.complete => {
                    let detail = "cannot set completionTime when there is no Complete=True condition";
                    errors.push(Error::invalid(&path, time, detail));
                }
                None if self.now.complete => {
                    errors.push(Error::required(&path, "completionTime is required for Complete jobs"));
                }
                _ => {}
            }
        }
        let (Some(start), Some(completion)) = (start, completion) else { return };
        // Both are in UTC and have the same length.
        if (self.changed("startTime") || self.changed("completionTime")) && completion < start {
            errors.push(Error::invalid(&path, completion, "must be equal to or after `startTime`"));
        }
    }

    /// Reports a final condition without the earlier condition that must announce it.
    fn missing_interim_conditions(&self, path: &Path<'_>, errors: &mut ErrorList) {
        let now = self.now;
        let failed_changed = now.failed != self.before.failed || self.changed("failedIndexes");
        if failed_changed && now.failed && !now.failing {
            let detail = "cannot set Failed=True condition without the FailureTarget=true condition";
            bad_conditions(path, detail, errors);
        }
        let succeeded_changed = now.succeeded != self.before.succeeded;
        if (self.complete_changed() || succeeded_changed) && now.complete && !now.succeeded {
            let detail = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition";
            bad_conditions(path, detail, errors);
        }
    }

    /// Reports fields that a finished job must not have.
    fn finished_job_fields(&self, path: &Path<'_>, errors: &mut ErrorList) {
        if !self.now.finished() {
            return;
        }
        let active = integer(self.new, "active");
        if (self.finish_changed() || self.changed("active")) && active > 0 {
            errors.push(Error::invalid(
                &path.child("active"),
                active,
                "active>0 is invalid for finished job",
            ));
        }
        let never_started = flag(self.spec, "suspend") && maybe_integer(self.spec, "completions") == Some(0);
        let checked = (self.finish_changed() || self.changed("startTime")) && !never_started;
        if checked && !is_set(self.new, "startTime") {
            errors.push(Error::required(&path.child("startTime"), "startTime is required for finished job"));
        }
        let member = "uncountedTerminatedPods";
        let uncounted = child(self.new, member)
            .filter(|pods| ["succeeded", "failed"].iter().any(|member| !list(pods, member).is_empty()));
        if let Some(pods) = uncounted.filter(|_| self.finish_changed() || self.changed(member)) {
            let value = go_value(&UNCOUNTED_TERMINATED_PODS, pods);
            errors.push(Error::invalid(&path.child(member), value, "must be empty for finished job"));
        }
    }

    fn indexes(&self, path: &Path<'_>, errors: &mut ErrorList) {
        let completed = text(self.new, "completedIndexes");
        let failed = maybe_text(self.new, "failedIndexes");
        let completions = maybe_integer(self.spec, "completions");
        let per_index = is_set(self.spec, "backoffLimitPerIndex");
        let completed_changed = self.changed("completedIndexes");
        let failed_changed = self.changed("failedIndexes");
        let completed_path = path.child("completedIndexes");
        let failed_path = path.child("failedIndexes");
        if let Some(completions) = completions.filter(|_| completed_changed)
            && let Err(problem) = count_indexes(completed, completions)
        {
            let detail = format!("error parsing completedIndexes: {problem}");
            errors.push(Error::invalid(&completed_path, completed, detail));
        }
        if let (true, true, Some(completions), Some(failed)) =
            (failed_changed, per_index, completions, failed)
            && let Err(problem) = count_indexes(failed, completions)
        {
            let detail = format!("error parsing failedIndexes: {problem}");
            errors.push(Error::invalid(&failed_path, BadValue::json_text(failed), detail));
        }
        if completed_changed && !completed.is_empty() && !self.is_indexed() {
            let detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
            errors.push(Error::invalid(&completed_path, completed, detail));
        }
        let Some(failed) = failed else { return };
        if failed_changed && !per_index {
            let detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
            errors.push(Error::invalid(&failed_path, failed, detail));
        }
        if let Some(completions) = completions.filter(|_| failed_changed || completed_changed)
            && let Some(index) = overlap(completed, failed, completions)
        {
            let detail = format!("failedIndexes and completedIndexes overlap at index: {index}");
            errors.push(Error::invalid(&failed_path, failed, detail));
        }
    }

    fn running_pods(&self, path: &Path<'_>, errors: &mut ErrorList) {
        let terminating = integer(self.new, "terminating");
        let checked = self.finish_changed() || self.changed("terminating");
        if checked && terminating > 0 && self.now.finished() {
            let detail = "terminating>0 is invalid for finished job";
            errors.push(Error::invalid(&path.child("terminating"), terminating, detail));
        }
        let active = integer(self.new, "active");
        let ready = maybe_integer(self.new, "ready");
        let checked = self.changed("ready") || self.changed("active");
        if let Some(ready) = ready.filter(|ready| checked && *ready > active) {
            let detail = "cannot set more ready pods than active";
            errors.push(Error::invalid(&path.child("ready"), ready, detail));
        }
    }

    /// Reports violations that apply to all jobs, changed or not.
    fn success_criteria(&self, path: &Path<'_>, errors: &mut ErrorList) {
        let now = self.now;
        if now.succeeded && now.failed {
            bad_conditions(path, "cannot set SuccessCriteriaMet=True and Failed=true conditions", errors);
        }
        if now.succeeded && now.failing {
            let detail = "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions";
            bad_conditions(path, detail, errors);
        }
        if is_set(self.spec, "successPolicy") && !now.succeeded && now.complete {
            let detail = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True";
            bad_conditions(path, detail, errors);
        }
    }

    /// Reports changes that are not allowed.
    fn transitions(&self, path: &Path<'_>, errors: &mut ErrorList) {
        let now = self.now;
        let before = self.before;
        let terminal = [
            ("Failed", before.failed && !now.failed),
            ("Complete", before.complete && !now.complete),
            ("FailureTarget", before.failing && !now.failing),
        ];
        for (kind, _) in terminal.into_iter().filter(|(_, removed)| *removed) {
            bad_conditions(path, &format!("cannot disable the terminal {kind}=True condition"), errors);
        }
        let falls = |counter| integer(self.new, counter) < integer(self.old, counter);
        if falls("failed") {
            let detail = "cannot decrease the failed counter";
            errors.push(Error::invalid(&path.child("failed"), integer(self.new, "failed"), detail));
        }
        let [parallelism, completions] =
            ["parallelism", "completions"].map(|member| maybe_integer(self.spec, member));
        // Such jobs may have been scaled down.
        let elastic = self.is_indexed() && parallelism == completions;
        if falls("succeeded") && !elastic {
            let detail = "cannot decrease the succeeded counter";
            errors.push(Error::invalid(&path.child("succeeded"), integer(self.new, "succeeded"), detail));
        }
        self.times(path, errors);
    }

    /// Reports changes of the condition about success that are not allowed.
    fn success_transitions(&self, path: &Path<'_>, errors: &mut ErrorList) {
        let now = self.now;
        let before = self.before;
        if before.succeeded && !now.succeeded {
            bad_conditions(path, "cannot disable the SuccessCriteriaMet=True condition", errors);
        }
        if before.complete && !before.succeeded && now.succeeded {
            let detail = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions";
            bad_conditions(path, detail, errors);
        }
    }

    fn times(&self, path: &Path<'_>, errors: &mut ErrorList) {
        let [completion, old_completion] =
            [self.new, self.old].map(|status| maybe_text(status, "completionTime"));
        if let Some(time) = completion.filter(|time| old_completion.is_some_and(|old| old != *time)) {
            errors.push(Error::invalid(&path.child("completionTime"), time, "field is immutable"));
        }
        let resuming = is_true(self.old, "Suspended") && has_condition(self.new, "Suspended", "False");
        let started = is_set(self.old, "startTime");
        if started && self.changed("startTime") && !resuming && !flag(self.spec, "suspend") {
            let value =
                maybe_text(self.new, "startTime").map_or(BadValue::Plain("null".to_owned()), BadValue::from);
            let detail = "field is immutable for unsuspended job once set";
            errors.push(Error::invalid(&path.child("startTime"), value, detail));
        }
    }
}

fn bad_conditions(path: &Path<'_>, detail: &str, errors: &mut ErrorList) {
    errors.push(Error::invalid(&path.child("conditions"), BadValue::Omitted, detail));
}
