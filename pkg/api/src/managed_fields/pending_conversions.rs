//! Conversions between versions that only somebody outside can make. The field manager is pure: it notes what it has to
//! know and gives up; who called it finds out, and calls it again.

use std::sync::{Mutex, MutexGuard, PoisonError};

use schema::object::Object;
use schema::structured_merge::updater::ConvertError;

/// An object that is wanted in another version.
#[derive(Debug, Clone, PartialEq)]
pub struct ConversionRequest {
    /// The object, in a version of its own.
    pub object: Object,
    /// `apiVersion` of the version that is wanted.
    pub to: String,
}

/// Questions and answers of one write.
#[derive(Debug, Default)]
pub struct PendingConversions(Mutex<ConversionState>);

#[derive(Debug, Default)]
struct ConversionState {
    open: Vec<ConversionRequest>,
    answered: Vec<(ConversionRequest, Result<Object, String>)>,
}

impl PendingConversions {
    fn known(&self) -> MutexGuard<'_, ConversionState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the last call of the field manager has to be made again when [`open`](Self::open) questions are
    /// answered. What it gave is worth nothing then.
    pub fn is_open(&self) -> bool {
        !self.known().open.is_empty()
    }

    /// Takes the questions that wait for answers.
    pub fn open(&self) -> Vec<ConversionRequest> {
        std::mem::take(&mut self.known().open)
    }

    /// Notes an answer, or why there is none.
    pub fn answer(&self, question: ConversionRequest, answer: Result<Object, String>) {
        self.known().answered.push((question, answer));
    }

    /// An object in another version, if it is known.
    pub(super) fn convert(&self, object: Object, to: &str) -> Result<Object, ConvertError> {
        let question = ConversionRequest { object, to: to.to_owned() };
        let mut known = self.known();
        match known.answered.iter().find(|(asked, _)| *asked == question) {
            Some((_, Ok(converted))) => Ok(converted.clone()),
            Some((_, Err(why))) => Err(ConvertError::Failed(why.clone())),
            None => {
                known.open.push(question);
                Err(ConvertError::Failed("not converted yet".to_owned()))
            }
        }
    }
}
