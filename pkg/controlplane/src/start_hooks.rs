//! What a server that starts waits for, under the names by which upstream's health pages list it.

use futures::FutureExt;
use futures::future::{BoxFuture, join_all};

use controllers::hook::{Awaited, PostStartHook, hook};

/// What a server gets to know and makes before it is ready.
#[derive(Clone)]
pub(crate) struct Awaits {
    /// The watch cache is filled.
    pub(crate) cache: Awaited,
    /// What decides about users is known, unless decisions wait for it: roles, bindings, nodes.
    pub(crate) authorizers: Awaited,
    /// Webhooks and admission policies are known.
    pub(crate) admission: Awaited,
    /// Definitions of custom resources are known, unless requests wait for them.
    pub(crate) definitions: Awaited,
    /// All that was defined at start is served, unless requests wait for it.
    pub(crate) defined: Awaited,
    /// The APIServices of what is built in are made.
    pub(crate) registered: Awaited,
    /// They are seen to be available.
    pub(crate) available: Awaited,
    /// Flow schemas and priority levels are known; `None` where requests are merely counted.
    pub(crate) flow: Option<Awaited>,
}

impl Awaits {
    /// Done when the cache is filled, and known what is compiled from it.
    fn filled(&self) -> BoxFuture<'static, ()> {
        let all = [&self.cache, &self.authorizers, &self.admission, &self.defined];
        join_all(all.into_iter().chain(&self.flow).cloned()).map(drop).boxed()
    }

    /// Adds the hooks. Done when the cache is filled, and known what is compiled from it.
    pub(crate) fn added_to(self, hooks: &mut Vec<PostStartHook>) -> BoxFuture<'static, ()> {
        let filled = self.filled();
        hooks.extend(self.hooks());
        filled
    }

    /// The hooks. Upstream's begin something, and are done when it has begun; these are done when it is there: a view
    /// when it is complete, what looks after objects when it has looked after those that there were. What requests wait for
    /// that depend on it, is done at once ([`Config::compiles_when_asked`](crate::config::Config)).
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
    use controllers::hook::awaited;

    /// The hooks that are done when everything has come true but what `change` makes of it.
    fn undone(change: fn(&mut Awaits)) -> BTreeSet<&'static str> {
        let done = || awaited(ready(()));
        let mut awaits = Awaits {
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
    fn each_hook_waits_for_what_it_is_named_after() {
        let check = |change: fn(&mut Awaits), expected: &[&str]| {
            assert_eq!(undone(change), expected.iter().copied().collect(), "{expected:?}");
        };
        check(|_| (), &[]);
        check(|a| a.admission = awaited(pending()), &["start-apiserver-admission-initializer"]);
        check(|a| a.authorizers = awaited(pending()), &["generic-apiserver-start-informers"]);
        check(
            |a| a.definitions = awaited(pending()),
            &["crd-informer-synced", "start-apiextensions-informers"],
        );
        check(|a| a.defined = awaited(pending()), &["start-apiextensions-controllers"]);
        check(|a| a.registered = awaited(pending()), &["kube-apiserver-autoregistration"]);
        check(|a| a.available = awaited(pending()), &["autoregister-completion"]);
        check(
            |a| a.flow = Some(awaited(pending())),
            &["priority-and-fairness-config-consumer", "priority-and-fairness-filter"],
        );
    }
}
