//! The plugins of a server, asked in order.

use schema::object::Object;

use crate::{Attributes, Notes, Plugin, Verdict};

/// Plugins in order: all of them edit, and after the object is complete all of them judge. The first refusal
/// counts.
#[derive(Default)]
pub struct Chain {
    plugins: Vec<Box<dyn Plugin>>,
}

impl Chain {
    /// Asks `plugins` in this order.
    pub fn new(plugins: Vec<Box<dyn Plugin>>) -> Self {
        Chain { plugins }
    }

    fn asked<'c>(&'c self, attributes: &'c Attributes<'_>) -> impl Iterator<Item = &'c dyn Plugin> {
        self.plugins.iter().filter(move |plugin| plugin.handles(attributes)).map(|plugin| &**plugin)
    }

    /// Lets every plugin edit the object, of which a deletion has none. They are asked a second time if a webhook or
    /// policy has changed it.
    ///
    /// # Errors
    /// The first refusal.
    pub async fn mutate(
        &self,
        attributes: &Attributes<'_>,
        mut object: Option<&mut Object>,
        notes: &mut Notes,
    ) -> Verdict {
        loop {
            for plugin in self.asked(attributes) {
                plugin.mutate(attributes, object.as_deref_mut(), notes).await?;
            }
            if !notes.begin_again() {
                break;
            }
        }
        if let Some(object) = object {
            notes.mend_managed_fields(object);
        }
        Ok(())
    }

    /// Asks every plugin whether this may be done.
    ///
    /// # Errors
    /// The first refusal.
    pub async fn validate(
        &self,
        attributes: &Attributes<'_>,
        object: Option<&Object>,
        notes: &mut Notes,
    ) -> Verdict {
        for plugin in self.asked(attributes) {
            plugin.validate(attributes, object, notes).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::{Arc, Mutex};

    use apimachinery::user_info::UserInfo;
    use async_trait::async_trait;
    use futures::FutureExt;

    use super::*;
    use crate::{Operation, Options};

    /// Notes when it is asked; refuses in the phase that it is told.
    struct Witness {
        name: &'static str,
        refuses: &'static str,
        seen: Arc<Mutex<Vec<String>>>,
    }

    impl Witness {
        fn ask(&self, a: &Attributes<'_>, phase: &str, has_object: bool) -> Verdict {
            let object = if has_object { " an object" } else { "" };
            self.seen.lock().unwrap().push(format!("{} {phase}s{object}", self.name));
            if self.refuses == phase { Err(a.forbidden("no")) } else { Ok(()) }
        }
    }

    #[async_trait]
    impl Plugin for Witness {
        fn name(&self) -> &'static str {
            self.name
        }

        fn handles(&self, a: &Attributes<'_>) -> bool {
            a.operation != Operation::Update
        }

        async fn mutate(&self, a: &Attributes<'_>, object: Option<&mut Object>, _: &mut Notes) -> Verdict {
            self.ask(a, "edit", object.is_some())
        }

        async fn validate(&self, a: &Attributes<'_>, object: Option<&Object>, _: &mut Notes) -> Verdict {
            self.ask(a, "judge", object.is_some())
        }
    }

    fn check(operation: Operation, refuses: &'static str, expected: &[&str]) {
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let witness = |name, refuses| -> Box<dyn Plugin> {
            Box::new(Witness { name, refuses, seen: Arc::clone(&seen) })
        };
        let chain = Chain::new(vec![witness("a", refuses), witness("b", "")]);
        let pods = api::resources::find("", "v1", "pods", "").unwrap();
        let attributes = Attributes {
            operation,
            user: &UserInfo::default(),
            resource: pods,
            endpoint: pods,
            namespace: "ns",
            name: "p",
            generate_name: "",
            old: None,
            options: Options::None,
            request: &crate::testing::REQUEST,
        };
        let mut object = (operation != Operation::Delete).then(Object::new);
        let notes = &mut Notes::default();
        let done = chain.mutate(&attributes, object.as_mut(), notes).now_or_never().unwrap();
        let done =
            done.and_then(|()| chain.validate(&attributes, object.as_ref(), notes).now_or_never().unwrap());
        assert_eq!(done.is_err(), !refuses.is_empty());
        assert_eq!(*seen.lock().unwrap(), expected);
    }

    #[test]
    fn all_plugins_edit_before_any_judges() {
        let expected = ["a edits an object", "b edits an object", "a judges an object", "b judges an object"];
        check(Operation::Create, "", &expected);
        check(Operation::Connect, "", &expected);
    }

    #[test]
    fn a_deletion_passes_both_phases_without_an_object() {
        check(Operation::Delete, "", &["a edits", "b edits", "a judges", "b judges"]);
    }

    #[test]
    fn the_first_refusal_ends_it() {
        check(Operation::Create, "edit", &["a edits an object"]);
        check(Operation::Delete, "judge", &["a edits", "b edits", "a judges"]);
    }

    #[test]
    fn a_plugin_that_has_no_say_is_not_asked() {
        check(Operation::Update, "", &[]);
    }
}
