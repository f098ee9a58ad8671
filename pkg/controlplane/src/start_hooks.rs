//! Start hooks that wait for other components, under upstream's names in the health endpoints.

use futures::FutureExt;
use futures::future::{BoxFuture, join_all};

use controllers::hook::{PostStartHook, StartEvent, hook};

/// Events that a server waits for before it is ready.
#[derive(Clone)]
pub(crate) struct StartEvents {
    /// The watch cache is filled.
    pub(crate) cache: StartEvent,
    /// Authorizer data (roles, bindings, nodes) is loaded, unless decisions wait for it.
    pub(crate) authorizers: StartEvent,
    /// Webhooks and admission policies are loaded.
    pub(crate) admission: StartEvent,
    /// CRDs are loaded, unless requests wait for them.
    pub(crate) definitions: StartEvent,
    /// All CRDs that existed at start are served, unless requests wait for them.
    pub(crate) defined: StartEvent,
    /// The APIServices of built-in versions exist.
    pub(crate) registered: StartEvent,
    /// These APIServices are available.
    pub(crate) available: StartEvent,
    /// Flow schemas and priority levels are loaded; `None` with plain in-flight limits.
    pub(crate) flow: Option<StartEvent>,
}

impl StartEvents {
    /// Completes when the cache and everything compiled from it is loaded.
    fn filled(&self) -> BoxFuture<'static, ()> {
        let all = [&self.cache, &self.authorizers, &self.admission, &self.defined];
        join_all(all.into_iter().chain(&self.flow).cloned()).map(drop).boxed()
    }

    /// Adds the hooks. The result completes when the cache and everything compiled from it is loaded.
    pub(crate) fn add_to(self, hooks: &mut Vec<PostStartHook>) -> BoxFuture<'static, ()> {
        let filled = self.filled();
        hooks.extend(self.hooks());
        filled
    }

    /// Returns the hooks. Upstream's hooks complete when their work has started. These complete later: for
    /// informers after the initial list, and for reconcilers after the first round over existing objects.
    /// Hooks for data that requests load on demand complete immediately
    /// ([`Config::compiles_lazily`](crate::config::Config)).
    fn hooks(self) -> impl Iterator<Item = PostStartHook> {
        let of_flow = ["priority-and-fairness-config-consumer", "priority-and-fairness-filter"];
        let of_flow = self.flow.into_iter().flat_map(move |flow| of_flow.map(|name| (name, flow.clone())));
        let always = [
            ("start-apiserver-admission-initializer", self.admission),
            ("generic-apiserver-start-informers", self.authorizers),
            ("start-apiextensions-informers", self.definitions.clone()),
            ("start-apiextensions-controllers", self.defined),
            ("crd-informer-synced", self.definitions),
            ("kube-apiserver-autoregistration", self.registered),
            ("autoregister-completion", self.available),
        ];
        always.into_iter().chain(of_flow).map(|(name, done)| hook(name, done))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::future::{pending, ready};

    use super::*;
    use controllers::hook::start_event;

    /// Returns the hooks that complete if everything has happened except for `change`.
    fn undone(change: fn(&mut StartEvents)) -> BTreeSet<&'static str> {
        let done = || start_event(ready(()));
        let mut awaits = StartEvents {
            cache: done(),
            authorizers: done(),
            admission: done(),
            definitions: done(),
            defined: done(),
            registered: done(),
            available: done(),
            flow: Some(done()),
        };
        change(&mut awaits);
        let hooks = awaits.hooks().filter_map(|hook| hook.work.now_or_never().is_none().then_some(hook.name));
        hooks.collect()
    }

    #[test]
    fn each_hook_waits_for_its_component() {
        let check = |change: fn(&mut StartEvents), expected: &[&str]| {
            assert_eq!(undone(change), expected.iter().copied().collect(), "{expected:?}");
        };
        check(|_| (), &[]);
        check(|a| a.admission = start_event(pending()), &["start-apiserver-admission-initializer"]);
        check(|a| a.authorizers = start_event(pending()), &["generic-apiserver-start-informers"]);
        check(
            |a| a.definitions = start_event(pending()),
            &["crd-informer-synced", "start-apiextensions-informers"],
        );
        check(|a| a.defined = start_event(pending()), &["start-apiextensions-controllers"]);
        check(|a| a.registered = start_event(pending()), &["kube-apiserver-autoregistration"]);
        check(|a| a.available = start_event(pending()), &["autoregister-completion"]);
        check(
            |a| a.flow = Some(start_event(pending())),
            &["priority-and-fairness-config-consumer", "priority-and-fairness-filter"],
        );
    }
}
