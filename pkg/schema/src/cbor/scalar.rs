//! Scalars: text, numbers, and errors for values of the wrong type.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use jsontree::{Number, Value};

use super::decoder::Decoder;
use super::errors::{Error, TypeError};
use super::scan::{Major, Run, float};
use crate::text::{go_string, go_text};

impl Decoder<'_> {
    /// Decodes text; `None` for null.
    pub(super) fn text(&mut self, go_type: Cow<'static, str>) -> Result<Option<String>, Error> {
        self.untagged(|decoder, major| match major {
            Major::Bytes => {
                let bytes = decoder.scan.string()?.bytes;
                Ok(Some(
                    decoder
                        .expected_encodings
                        .last()
                        .map_or_else(|| go_string(&bytes), |later| later.text(&bytes)),
                ))
            }
            Major::Text => valid(decoder.scan.string()?).map(|bytes| Some(go_text(&bytes).into_owned())),
            _ => decoder.skip_mismatch(go_type).map(|()| None),
        })
    }

    /// Decodes an integer within a range; `None` for null.
    pub(super) fn integer(
        &mut self,
        range: RangeInclusive<i64>,
        go_type: Cow<'static, str>,
    ) -> Result<Option<Value>, Error> {
        self.untagged(|decoder, major| {
            if !matches!(major, Major::Unsigned | Major::Negative) {
                return decoder.skip_mismatch(go_type).map(|()| None);
            }
            let value = decoder.scan.head()?.value;
            let number = match (i64::try_from(value), major) {
                (Ok(number), Major::Unsigned) => number,
                (Ok(number), _) => !number,
                (Err(_), Major::Unsigned) => {
                    let detail = format!("{value} overflows {go_type}");
                    return Err(type_error(major, go_type, detail));
                }
                (Err(_), _) => return Err(type_error(major, go_type, below_int64(value))),
            };
            if range.contains(&number) {
                return Ok(Some(Value::from(number)));
            }
            let detail = format!("{number} overflows {go_type}");
            Err(type_error(major, go_type, detail))
        })
    }

    /// Decodes a number; `None` for null.
    pub(super) fn double(
        &mut self,
        major: Major,
        go_type: Cow<'static, str>,
    ) -> Result<Option<Value>, Error> {
        let number = match (major, self.scan.peek()?) {
            (Major::Unsigned, _) => self.scan.head()?.value as f64,
            (Major::Negative, _) => {
                let value = self.scan.head()?.value;
                let number = i64::try_from(value);
                let number = number.map_err(|_| type_error(major, go_type, below_int64(value)))?;
                !number as f64
            }
            (Major::Primitive, 0xf9..=0xfb) => float(self.scan.head()?)?,
            _ => return self.skip_mismatch(go_type).map(|()| None),
        };
        Ok(Number::from_f64(number).map(Value::Number))
    }

    /// Skips a value of the wrong type; an error unless it is null.
    pub(super) fn skip_mismatch(&mut self, go_type: Cow<'static, str>) -> Result<(), Error> {
        let major = self.scan.major()?;
        let mut detail = String::new();
        match major {
            Major::Text => drop(valid(self.scan.string()?)?),
            Major::Negative => {
                let value = self.scan.head()?.value;
                if i64::try_from(value).is_err() {
                    detail = below_int64(value);
                }
            }
            Major::Primitive => {
                let head = self.scan.head()?;
                match head.info {
                    22 => return Ok(()),
                    20 | 21 | 25..28 => {}
                    _ => return Err(unrecognized(head.value)),
                }
            }
            _ => drop(self.scan.skip()?),
        }
        Err(type_error(major, go_type, detail))
    }
}

/// The bytes of text.
///
/// # Errors
/// The bytes are not valid UTF-8.
pub(super) fn valid(run: Run<'_>) -> Result<Cow<'_, [u8]>, Error> {
    if run.utf8 { Ok(run.bytes) } else { Err(Error::Invalid("invalid UTF-8 string".to_owned())) }
}

/// The error for a value of the wrong type.
pub(super) fn type_error(item: Major, go_type: Cow<'static, str>, detail: String) -> Error {
    Error::Type(Box::new(TypeError { item: item.name(), go_type, field: None, detail }))
}

/// The error detail for a negative integer below 64 bits.
pub(super) fn below_int64(value: u64) -> String {
    format!("-{} overflows Go's int64", u128::from(value) + 1)
}

/// The error for a simple value other than true, false and null.
pub(super) fn unrecognized(value: u64) -> Error {
    Error::unacceptable("primitives", &format!("simple value {value} is not recognized"))
}
