//! Command line parsing with the rules and error texts of upstream's flag library (spf13/pflag):
//! `--name=value`, `--name value`, `--switch`, `-v2`, `-v=2`, `-v 2`. In names `_` is equivalent to `-`.

#[cfg(test)]
mod document;
mod table;
mod value;

use std::collections::BTreeMap;

use apimachinery::go_quote::{Quoted, quote};
use apimachinery::time::format_duration;
use controlplane::config::IgnoredSetting;

pub(crate) use table::FLAGS;
pub(crate) use value::{CertKey, Kind, ValueError, ports};

/// Definition of a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flag {
    /// Section heading in `--help`.
    pub(crate) section: &'static str,
    /// Name without dashes.
    pub(crate) name: &'static str,
    pub(crate) shorthand: Option<char>,
    /// Value type.
    pub(crate) kind: Kind,
    /// Upstream's name of the type.
    pub(crate) type_name: &'static str,
    /// Default value as upstream prints it.
    pub(crate) default: &'static str,
    /// True if `--help` omits it, because upstream keeps it only for old command lines.
    pub(crate) hidden: bool,
    /// Support by this server.
    pub(crate) support: FlagSupport,
}

/// Support of a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlagSupport {
    /// Supported; the text describes the effect.
    Honoured(&'static str),
    /// Ignored without harm, for this reason. Reported at start.
    Ignored(&'static str),
    /// Ignoring it would weaken security, for this reason, so the server refuses to start.
    Rejected(&'static str),
}

/// Parse error of a command line, in upstream's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FlagError {
    #[error("unknown flag: --{0}{suggestion}", suggestion = suggestion(.0))]
    Unknown(String),
    #[error("unknown shorthand flag: '{0}' in -{1}")]
    UnknownShorthand(char, String),
    #[error("flag needs an argument: --{0}")]
    NeedsArgument(String),
    #[error("flag needs an argument: '{0}' in -{1}")]
    ShorthandNeedsArgument(char, String),
    #[error("bad flag syntax: {0}")]
    BadSyntax(String),
    #[error("invalid argument {} for {} flag: {reason}", Quoted(value), quote(&flag.display_name()))]
    Invalid {
        value: String,
        flag: &'static Flag,
        #[source]
        reason: ValueError,
    },
    #[error("\"kube-apiserver\" does not take any arguments, got [{}]", quoted(.0))]
    Arguments(Vec<String>),
}

impl Flag {
    /// Name in errors, with the shorthand.
    fn display_name(&self) -> String {
        match self.shorthand {
            Some(short) => format!("-{short}, --{}", self.name),
            None => format!("--{}", self.name),
        }
    }
}

/// Maximum number of edits between a misspelt flag and the flag that is suggested.
const EDITS_MAX: usize = 3;

/// Returns the suggestion for a misspelt flag; empty if no flag is similar.
fn suggestion(name: &str) -> String {
    let name = name.replace('_', "-").to_lowercase();
    let distance = |flag: &&Flag| strsim::damerau_levenshtein(&name, flag.name);
    let visible =
        FLAGS.iter().filter(|flag| !flag.hidden && flag.name.len().abs_diff(name.len()) <= EDITS_MAX);
    let nearest = visible.min_by_key(distance);
    // A third of a short name is already another name.
    let is_similar = |flag: &&Flag| distance(flag) <= EDITS_MAX.min(name.len() / 3);
    nearest.filter(is_similar).map_or_else(String::new, |flag| format!("; did you mean --{}?", flag.name))
}

fn quoted(words: &[String]) -> String {
    words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
}

/// The given flags. Each has its values in order, all of the flag's type.
#[derive(Debug, Default)]
pub(crate) struct Flags {
    values: BTreeMap<&'static str, Vec<String>>,
}

impl Flags {
    /// Parses a command line, without the program name.
    ///
    /// # Errors
    /// The first error.
    pub(crate) fn parse(words: impl IntoIterator<Item = String>) -> Result<Self, FlagError> {
        let mut flags = Flags::default();
        let mut arguments = Vec::new();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            if word == "--" {
                arguments.extend(words.by_ref());
            } else if let Some(long) = word.strip_prefix("--") {
                flags.parse_long(&word, long, &mut words)?;
            } else if let Some(short) = word.strip_prefix('-').filter(|short| !short.is_empty()) {
                flags.parse_shorthand(short, &mut words)?;
            } else {
                arguments.push(word);
            }
        }
        if arguments.iter().all(String::is_empty) { Ok(flags) } else { Err(FlagError::Arguments(arguments)) }
    }

    fn parse_long(
        &mut self,
        word: &str,
        long: &str,
        rest: &mut impl Iterator<Item = String>,
    ) -> Result<(), FlagError> {
        if long.starts_with(['-', '=']) {
            return Err(FlagError::BadSyntax(word.to_owned()));
        }
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (long, None),
        };
        let flag = find(&name.replace('_', "-")).ok_or_else(|| FlagError::Unknown(name.to_owned()))?;
        let value = value
            .or_else(|| flag.kind.no_opt_default().map(str::to_owned))
            .or_else(|| rest.next())
            .ok_or_else(|| FlagError::NeedsArgument(name.to_owned()))?;
        self.set(flag, value)
    }

    /// Parses the letters after one dash: switches, up to the first flag with a value. The value is the rest
    /// of the word, or the next word.
    fn parse_shorthand(
        &mut self,
        word: &str,
        rest: &mut impl Iterator<Item = String>,
    ) -> Result<(), FlagError> {
        let mut letters = word.chars();
        while let Some(letter) = letters.next() {
            let flag = FLAGS.iter().find(|flag| flag.shorthand == Some(letter)).ok_or_else(|| {
                FlagError::UnknownShorthand(letter, format!("{letter}{}", letters.as_str()))
            })?;
            let tail = letters.as_str();
            if let Some(value) = tail.strip_prefix('=').filter(|value| !value.is_empty()) {
                return self.set(flag, value.to_owned());
            }
            if let Some(bare) = flag.kind.no_opt_default() {
                self.set(flag, bare.to_owned())?;
                continue;
            }
            let value = match tail {
                "" => rest
                    .next()
                    .ok_or_else(|| FlagError::ShorthandNeedsArgument(letter, letter.to_string()))?,
                tail => tail.to_owned(),
            };
            return self.set(flag, value);
        }
        Ok(())
    }

    fn set(&mut self, flag: &'static Flag, value: String) -> Result<(), FlagError> {
        if let Err(reason) = flag.kind.check(&value) {
            return Err(FlagError::Invalid { value, flag, reason });
        }
        self.values.entry(flag.name).or_default().push(value);
        Ok(())
    }

    /// Returns true if a flag was given.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// The flags with a non-default value.
    pub(crate) fn changed(&self) -> impl Iterator<Item = &'static Flag> {
        FLAGS.iter().filter(|flag| {
            let is_default = |value: &String| value == flag.default || format!("[{value}]") == flag.default;
            self.values.get(flag.name).is_some_and(|values| !values.iter().all(is_default))
        })
    }

    /// Returns the given flags without effect.
    pub(crate) fn ignored(&self) -> impl Iterator<Item = IgnoredSetting> {
        self.changed().filter_map(|flag| match flag.support {
            FlagSupport::Ignored(reason) => {
                Some(IgnoredSetting { name: format!("--{}", flag.name), reason: reason.to_owned() })
            }
            _ => None,
        })
    }

    /// Returns the last value of a flag, or its default.
    pub(crate) fn text(&self, name: &str) -> &str {
        let default = || find(name).map_or("", |flag| flag.default);
        self.values.get(name).and_then(|values| values.last()).map_or_else(default, String::as_str)
    }

    /// Returns the text of a flag; `None` if it is empty.
    pub(crate) fn optional(&self, name: &str) -> Option<&str> {
        Some(self.text(name)).filter(|text| !text.is_empty() && *text != "<nil>")
    }

    /// Returns the value of a boolean flag.
    pub(crate) fn bool(&self, name: &str) -> bool {
        switch(self.text(name)).unwrap_or(false)
    }

    /// Returns the value of an integer flag.
    pub(crate) fn int(&self, name: &str) -> i64 {
        value::int(self.text(name), 64).unwrap_or(0)
    }

    /// Returns the value of a floating-point flag.
    pub(crate) fn float(&self, name: &str) -> f64 {
        value::float(self.text(name)).unwrap_or(0.0)
    }

    /// Returns the value of a duration flag in nanoseconds.
    pub(crate) fn nanos(&self, name: &str) -> i64 {
        apimachinery::time::parse_duration(self.text(name)).unwrap_or(0)
    }

    /// Returns the given flags with each of their values.
    pub(crate) fn given(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.values.iter().flat_map(|(name, values)| values.iter().map(|value| (*name, value.as_str())))
    }

    /// Returns every flag with its value, as upstream prints it.
    pub(crate) fn all(&self) -> Vec<(String, String)> {
        FLAGS.iter().map(|flag| (flag.name.to_owned(), self.printed(flag))).collect()
    }

    fn printed(&self, flag: &Flag) -> String {
        let Some(values) = self.values.get(flag.name) else { return flag.default.to_owned() };
        match flag.kind {
            Kind::Bool => self.bool(flag.name).to_string(),
            Kind::Int | Kind::Level => self.int(flag.name).to_string(),
            Kind::Float => self.float(flag.name).to_string(),
            Kind::Duration => format_duration(self.nanos(flag.name)),
            Kind::List | Kind::Array | Kind::Ints => format!("[{}]", self.list(flag.name).join(",")),
            Kind::Pair | Kind::Pairs | Kind::Map | Kind::Gates => values.join(","),
            _ => values.last().cloned().unwrap_or_default(),
        }
    }

    /// Returns all values of a multi-valued flag: the given ones in order, or the defaults.
    pub(crate) fn list(&self, name: &str) -> Vec<String> {
        let Some(flag) = find(name) else { return Vec::new() };
        match (self.values.get(flag.name), flag.kind) {
            (Some(values), Kind::Array | Kind::Pair | Kind::CertKey | Kind::Gates) => values.clone(),
            (Some(values), _) => {
                values.iter().flat_map(|value| value::list(value).unwrap_or_default()).collect()
            }
            (None, _) => {
                let inner = flag.default.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
                value::list(inner.unwrap_or_default()).unwrap_or_default()
            }
        }
    }
}

/// Parses the value of a boolean flag.
///
/// # Errors
/// Go's text for an invalid value.
pub(crate) fn switch(text: &str) -> Result<bool, ValueError> {
    value::bool(text)
}

fn find(name: &str) -> Option<&'static Flag> {
    FLAGS.iter().find(|flag| flag.name == name)
}

#[cfg(test)]
mod tests;
