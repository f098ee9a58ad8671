//! `ImagePolicyWebhook` sends the images of a pod to a webhook for approval (upstream's
//! `plugin/pkg/admission/imagepolicy`). Responses are cached for a limited time.
//!
//! If the webhook fails and images are allowed by default, upstream also annotates the pod in its validating
//! phase. Here only the audit event gets the annotation.

mod configuration;
mod review;
#[cfg(test)]
mod tests;

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use apimachinery::foreign_text::ForeignText;
use apimachinery::time::UnixTime;
use async_trait::async_trait;
use component_base::clock::Clock;
use component_base::weakened::{WeakenedDecisions, WeakenedKind};
use lru::LruCache;
use schema::object::Object;

use crate::notes::Level;
use crate::{AdmissionNotes, Attributes, Plugin, Verdict};
pub use configuration::ImagePolicyConfiguration;
use review::ReviewStatus;

/// Maximum number of cached responses.
const CACHE_ENTRIES_MAX: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1023);
/// Maximum size in bytes of a review or response in the cache.
const CACHE_ENTRY_BYTES_MAX: usize = 10_000;
/// Prefix of audit annotation keys.
const AUDIT_PREFIX: &str = "imagepolicywebhook.image-policy.k8s.io/";

/// Failed review of a pod's images. The texts are upstream's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImageReviewError {
    /// The webhook cannot be called.
    #[error("{0}")]
    Call(String),
    /// The response cannot be decoded.
    #[error("{}", ForeignText::displayed(.0))]
    Decode(#[from] schema::json::Error),
    /// The response is of another kind.
    #[error("{0}")]
    Kind(String),
}

/// Client of the image policy webhook.
#[async_trait]
pub trait ImageReviewer: Send + Sync + 'static {
    /// Posts an `ImageReview` and returns the response. Retries retryable failures by itself, within a
    /// limited time.
    ///
    /// # Errors
    /// The error of the last attempt.
    async fn post_review(&self, review: Vec<u8>) -> Result<Vec<u8>, ImageReviewError>;
}

/// Cached responses with the time of their arrival.
type ResponseCache = LruCache<Arc<str>, (ReviewStatus, UnixTime)>;

pub struct ImagePolicyWebhook {
    reviewer: Arc<dyn ImageReviewer>,
    clock: Arc<dyn Clock>,
    configuration: ImagePolicyConfiguration,
    weakened: WeakenedDecisions,
    cache: Mutex<ResponseCache>,
}

impl ImagePolicyWebhook {
    /// Sends reviews to `reviewer`; `clock` expires cached responses, and `weakened` records images that are
    /// allowed because a review failed.
    pub fn new(
        reviewer: Arc<dyn ImageReviewer>,
        clock: Arc<dyn Clock>,
        configuration: ImagePolicyConfiguration,
        weakened: WeakenedDecisions,
    ) -> Self {
        let cache = Mutex::new(LruCache::new(CACHE_ENTRIES_MAX));
        ImagePolicyWebhook { reviewer, clock, configuration, weakened, cache }
    }

    fn cache(&self) -> MutexGuard<'_, ResponseCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the webhook's response, from the cache if possible.
    async fn review_cached(&self, spec: Object) -> Result<ReviewStatus, ImageReviewError> {
        let review = review::build_review(spec);
        let key: Arc<str> = review.as_str().into();
        let now = self.clock.now();
        if let Some((status, received)) = self.cache().get(&key)
            && now.nanos_since(*received) <= self.ttl_nanos(status)
        {
            return Ok(status.clone());
        }
        let response = self.reviewer.post_review(review.into_bytes()).await?;
        let status = review::parse_review(&response)?;
        let is_small = key.len().max(response.len()) <= CACHE_ENTRY_BYTES_MAX;
        if is_small && self.ttl_nanos(&status) > 0 {
            self.cache().put(key, (status.clone(), self.clock.now()));
        }
        Ok(status)
    }

    /// Returns the lifetime of a cached response in nanoseconds.
    fn ttl_nanos(&self, judgement: &ReviewStatus) -> i64 {
        let ImagePolicyConfiguration { allow_ttl, deny_ttl, .. } = self.configuration;
        let ttl = if judgement.allowed { allow_ttl } else { deny_ttl };
        ttl.as_nanos().try_into().unwrap_or(i64::MAX)
    }
}

#[async_trait]
impl Plugin for ImagePolicyWebhook {
    fn name(&self) -> &'static str {
        "ImagePolicyWebhook"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        a.writes() && (a.is_pod() || a.is("", "pods", "ephemeralcontainers"))
    }

    async fn validate(
        &self,
        a: &Attributes<'_>,
        object: Option<&Object>,
        notes: &mut AdmissionNotes,
    ) -> Verdict {
        let Some(pod) = object else { return Ok(()) };
        let judgement = match self.review_cached(review::spec(a, pod)).await {
            Ok(judgement) => judgement,
            Err(error) if self.configuration.default_allow => {
                self.weakened.record(WeakenedKind::WebhookFailOpen, self.name(), &error);
                notes.annotate(format!("{AUDIT_PREFIX}failed-open"), "true", Level::Metadata);
                return Ok(());
            }
            Err(error) => return Err(a.forbidden(error)),
        };
        for (key, value) in &judgement.annotations {
            notes.annotate(format!("{AUDIT_PREFIX}{key}"), value.clone(), Level::Metadata);
        }
        match (judgement.allowed, judgement.reason.as_str()) {
            (true, _) => Ok(()),
            (false, "") => Err(a.forbidden("one or more images rejected by webhook backend")),
            (false, reason) => {
                let cause = format!("image policy webhook backend denied one or more images: {reason}");
                Err(a.forbidden(&cause))
            }
        }
    }
}
