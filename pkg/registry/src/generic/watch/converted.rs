//! Watches in versions that need a conversion webhook.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll};

use apimachinery::gvk::GroupResource;
use cacher::{Element, Event, EventType, Predicate, Progress, Watch};
use futures::Stream;
use futures::stream::{self, BoxStream, StreamExt};

use super::super::convert::Conversion;
use super::{WatchEvent, failed};

/// Maximum number of events that are converted together.
const EVENTS_AT_ONCE: usize = 500;

/// Events of a watch, converted to a version.
pub(super) struct ConvertedEvents {
    events: BoxStream<'static, WatchEvent>,
    stage: Arc<ConversionProgress>,
    current: bool,
    progress: Option<Progress>,
}

/// Progress of a converted watch.
#[derive(Default)]
struct ConversionProgress {
    /// The cache has delivered the initial state.
    initial_state_read: AtomicBool,
    /// Events are being converted.
    converting: AtomicBool,
}

impl ConvertedEvents {
    /// Converts the events of a watch that match `selected`. Selectors apply to converted objects.
    pub(super) fn new(
        events: Watch,
        conversion: Conversion,
        selected: Predicate,
        resource: GroupResource,
    ) -> Self {
        let how = Arc::new((conversion, selected, resource));
        let stage = Arc::<ConversionProgress>::default();
        let taking = Arc::clone(&stage);
        let request_stage = Arc::clone(&stage);
        let mut events = events;
        let progress = events.progress();
        let source_events = stream::poll_fn(move |cx| {
            let next = events.poll_next_unpin(cx);
            taking.initial_state_read.store(events.is_current(), Relaxed);
            next
        });
        let converted = source_events.ready_chunks(EVENTS_AT_ONCE).then(move |events| {
            let how = Arc::clone(&how);
            let stage = Arc::clone(&request_stage);
            async move {
                stage.converting.store(true, Relaxed);
                let converted = convert(events, how).await;
                stage.converting.store(false, Relaxed);
                converted
            }
        });
        ConvertedEvents { events: converted.flatten().boxed(), stage, current: false, progress }
    }

    /// Returns the progress of the watch in the cache.
    pub(super) fn progress(&self) -> Option<Progress> {
        self.progress.clone()
    }

    /// True if the initial state was delivered.
    pub(super) fn is_current(&self) -> bool {
        self.current
    }
}

impl Stream for ConvertedEvents {
    type Item = WatchEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<WatchEvent>> {
        let next = self.events.poll_next_unpin(cx);
        let ConversionProgress { initial_state_read, converting } = &*self.stage;
        // If no event is ready and no conversion is pending, all received events were delivered.
        let all_said = next.is_pending() && !converting.load(Relaxed);
        self.current |= all_said && initial_state_read.load(Relaxed);
        next
    }
}

/// Converts events. One that cannot be converted ends the watch, and its batch is not sent. The client
/// resumes from its last event.
///
/// Events of objects that are nested too deeply to be converted are left out, as in lists.
async fn convert(
    mut events: Vec<Result<Event, cacher::Error>>,
    how: Arc<(Conversion, Predicate, GroupResource)>,
) -> stream::Iter<std::vec::IntoIter<WatchEvent>> {
    let (conversion, selected, resource) = &*how;
    let selects = !selected.is_everything();
    let is_possible = |element: &Arc<Element>| !conversion.is_impossible(element);
    events
        .retain(|event| event.as_ref().map_or(true, |event| event.element.as_ref().is_none_or(is_possible)));
    let mut elements = Vec::new();
    for event in events.iter().flatten() {
        elements.extend(event.element.clone());
        elements.extend(previous_object(event, selects).cloned());
    }
    let converted = match conversion.watched(elements, selects).await {
        Ok(converted) => converted,
        Err(status) => return stream::iter(vec![WatchEvent::Error(status)]),
    };
    let mut converted = converted.into_iter();
    let mut out = Vec::with_capacity(events.len());
    for event in events {
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                out.push(WatchEvent::Error(failed(resource, error)));
                break;
            }
        };
        let was_there = previous_object(&event, selects).is_some();
        let now = event.element.as_ref().and_then(|_| converted.next());
        let was = if was_there { converted.next() } else { None };
        out.extend(client_event(event, now, was, selected).map(WatchEvent::Event));
    }
    stream::iter(out)
}

/// Returns the previous object of an event, if selectors need it.
fn previous_object(event: &Event, selects: bool) -> Option<&Arc<Element>> {
    event.before().filter(|before| !before.header().is_deep() && selects && event.kind == EventType::Modified)
}

/// Returns the event for the client, with the converted object `now` and its previous state `was`.
fn client_event(
    event: Event,
    now: Option<Arc<Element>>,
    was: Option<Arc<Element>>,
    selected: &Predicate,
) -> Option<Event> {
    let (Some(now), Some(unconverted)) = (now, &event.element) else { return Some(event) };
    let matched = was.filter(|was| selected.matches(was));
    match (event.kind, selected.matches(&now), matched) {
        (EventType::Modified, true, None) if event.before().is_some() && !selected.is_everything() => {
            Some(Event::object(EventType::Added, now, event.revision))
        }
        (EventType::Modified, false, Some(was)) => {
            Some(Event::object(EventType::Deleted, was, event.revision))
        }
        (_, false, _) => None,
        // The event and its bytes are shared with other watches.
        _ if Arc::ptr_eq(&now, unconverted) => Some(event),
        (kind, true, _) => Some(Event::object(kind, now, event.revision)),
    }
}
