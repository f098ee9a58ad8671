//! Pending conversions between versions by a webhook. The field manager is pure: it records the conversions
//! that it needs and stops. The caller makes the conversions and repeats the call.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::structured_merge::updater::ConvertError;
use schema::object::Object;

/// Request to convert an object.
#[derive(Debug, Clone, PartialEq)]
pub struct ConversionRequest {
    /// Object in its current version.
    pub object: Object,
    /// Target `apiVersion`.
    pub to: String,
}

/// Requested and finished conversions of one write.
#[derive(Debug, Default)]
pub struct PendingConversions(Mutex<ConversionState>);

#[derive(Debug, Default)]
struct ConversionState {
    open: Vec<ConversionRequest>,
    results: Vec<(ConversionRequest, Result<Object, ConvertError>)>,
}

impl PendingConversions {
    fn lock(&self) -> MutexGuard<'_, ConversionState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if conversions are pending. The caller must make the [`open`](Self::open) conversions and repeat
    /// the last call of the field manager, whose result is invalid.
    pub fn is_open(&self) -> bool {
        !self.lock().open.is_empty()
    }

    /// Takes the pending conversions.
    pub fn open(&self) -> Vec<ConversionRequest> {
        std::mem::take(&mut self.lock().open)
    }

    /// Records the result of a conversion, or its error.
    pub fn record_result(&self, question: ConversionRequest, result: Result<Object, ConvertError>) {
        self.lock().results.push((question, result));
    }

    /// Returns the converted object if the conversion is finished.
    pub(super) fn convert(&self, object: Object, to: &str) -> Result<Object, ConvertError> {
        let question = ConversionRequest { object, to: to.to_owned() };
        let mut inner = self.lock();
        match inner.results.iter().find(|(request, _)| *request == question) {
            Some((_, Ok(converted))) => Ok(converted.clone()),
            Some((_, Err(error))) => Err(error.clone()),
            None => {
                inner.open.push(question);
                Err(ConvertError::Failed("not converted yet".to_owned()))
            }
        }
    }
}
