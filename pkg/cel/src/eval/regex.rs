//! Regular expression functions.

use super::Context;
use crate::arena::{Abort, Outcome};
use crate::ext::regex::Regex;
use crate::value::Value;

impl<'a> Context<'a, '_> {
    fn search_work(self, text: &str) -> Result<(), Abort> {
        self.work.spend(text.len() as u64 / 16)
    }

    pub(super) fn matches(self, text: Value<'a>, pattern: Value<'a>, regex: Option<&Regex>) -> Outcome<'a> {
        let (Value::String(text), Value::String(pattern)) = (text, pattern) else {
            return Ok(pattern.or_no_such_overload());
        };
        self.search_work(text)?;
        match regex {
            Some(regex) => Ok(Value::Bool(regex.is_match_within(text, self.work)?)),
            None => match Regex::compile_once(pattern, self.work)? {
                Ok(regex) => Ok(Value::Bool(regex.is_match_within(text, self.work)?)),
                Err(problem) => self.arena.error(problem),
            },
        }
    }

    pub(super) fn find(self, text: &'a str, pattern: &str, regex: Option<&Regex>) -> Outcome<'a> {
        self.search_work(text)?;
        let find = |regex: &Regex| Ok(Value::String(regex.find(text, self.work)?));
        match regex {
            Some(regex) => find(regex),
            None => match Regex::compile_once(pattern, self.work)? {
                Ok(regex) => find(&regex),
                Err(problem) => self.arena.error(format_args!("Illegal regex: {problem}")),
            },
        }
    }

    pub(super) fn find_all(
        self,
        text: &'a str,
        pattern: &str,
        max: i64,
        regex: Option<&Regex>,
    ) -> Outcome<'a> {
        self.search_work(text)?;
        let all = |regex: &Regex| {
            let matches = regex.find_all(text, max, self.work)?;
            self.new_list(matches.into_iter().map(|part| Ok(Value::String(part))))
        };
        match regex {
            Some(regex) => all(regex),
            None => match Regex::compile_once(pattern, self.work)? {
                Ok(regex) => all(&regex),
                Err(problem) => self.arena.error(format_args!("Illegal regex: {problem}")),
            },
        }
    }
}
