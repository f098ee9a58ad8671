//! CBOR without a schema: custom resources, apply configurations, and fields of any type.

use apimachinery::time::{UnixTime, parse_time};
use jsontree::{Number, Value};

use super::decoder::Decoder;
use super::errors::Error;
use super::scalar::{below_int64, type_error, unrecognized, valid};
use super::scan::{Major, Scanner, float};
use crate::memory::{DecodeBudget, complete};
use crate::object::Object;
use crate::text::go_text;

/// Decodes an object without a schema, within the memory budget of its length. Integers are `i64`, other
/// numbers `f64`.
///
/// # Errors
/// As for [`decode_within`](super::decode_within); also an error if the value is not a map. Null is `None`.
pub fn decode_untyped(bytes: &[u8]) -> Result<Option<Object>, Error> {
    let budget = DecodeBudget::of_body(bytes.len());
    Decoder::new(Scanner::checked(bytes)?, true, 0).with_budget(budget).any_object()
}

impl Decoder<'_> {
    /// Decodes like Go into a `map[string]any`.
    pub(super) fn any_object(&mut self) -> Result<Option<Object>, Error> {
        if self.scan.at_nil() {
            self.scan.skip()?;
            return Ok(None);
        }
        self.untagged(|decoder, major| match major {
            Major::Map => decoder.entries(None, |decoder| decoder.any().map(Some)).map(Some),
            _ => decoder.skip_mismatch("map[string]interface {}".into()).map(|()| None),
        })
    }

    /// Decodes the next value like Go into an empty interface.
    pub(super) fn any(&mut self) -> Result<Value, Error> {
        if let Err(error) = self.scan.check_tags() {
            self.scan.skip()?;
            return Err(error);
        }
        let outer_encodings = self.expected_encodings.len();
        let value = self.any_tagged();
        self.expected_encodings.truncate(outer_encodings);
        value
    }

    fn any_tagged(&mut self) -> Result<Value, Error> {
        loop {
            let major = self.scan.major()?;
            return match major {
                // Tagged times become text. In typed fields these tags have no meaning.
                Major::Tag => match self.tag()? {
                    0 => self.time_text(),
                    1 => self.epoch(),
                    _ => continue,
                },
                Major::Unsigned | Major::Negative => self.any_integer(major),
                Major::Bytes | Major::Text => {
                    self.text("string".into()).map(|text| text.map_or(Value::Null, Value::from))
                }
                Major::Array => self.any_list(),
                Major::Map => {
                    let object = self.entries(None, |decoder| decoder.any().map(Some))?;
                    if object.is_empty() {
                        self.budget.structure()?;
                    }
                    Ok(Value::Object(object))
                }
                Major::Primitive => self.any_primitive(),
            };
        }
    }

    fn any_primitive(&mut self) -> Result<Value, Error> {
        let head = self.scan.head()?;
        match head.info {
            20 | 21 => Ok(Value::Bool(head.info == 21)),
            22 => Ok(Value::Null),
            25..28 => Ok(Number::from_f64(float(head)?).map_or(Value::Null, Value::Number)),
            _ => Err(unrecognized(head.value)),
        }
    }

    fn any_integer(&mut self, major: Major) -> Result<Value, Error> {
        let value = self.scan.head()?.value;
        match (i64::try_from(value), major) {
            (Ok(number), Major::Unsigned) => Ok(Value::from(number)),
            (Ok(number), _) => Ok(Value::from(!number)),
            (Err(_), Major::Unsigned) => {
                Err(type_error(major, "int64".into(), format!("{value} overflows Go's int64")))
            }
            (Err(_), _) => Err(type_error(major, "int64".into(), below_int64(value))),
        }
    }

    fn any_list(&mut self) -> Result<Value, Error> {
        self.deeper(|decoder| {
            let mut items = Vec::new();
            let mut first = None;
            let mut remaining = decoder.scan.open()?;
            while decoder.scan.has_more(&mut remaining)? {
                match decoder.item(|decoder| decoder.any()) {
                    Ok(item) => items.push(item),
                    Err(error) => {
                        first.get_or_insert(error);
                    }
                }
            }
            first.map_or(Ok(complete(items)), Err)
        })
    }

    /// The content of tag 0. Go formats the parsed time in its shortest form.
    fn time_text(&mut self) -> Result<Value, Error> {
        let bytes = valid(self.scan.string()?)?;
        let text = go_text(&bytes);
        parse_time(&text)
            .map_err(|error| Error::Invalid(format!("cannot set {text} for time.Time: {error}")))?;
        let (seconds, rest) = text.split_at_checked(19).unwrap_or((&text, ""));
        let zone_at = rest.find(['Z', '+', '-']).unwrap_or(rest.len());
        let (fraction, zone) = rest.split_at_checked(zone_at).unwrap_or_default();
        let digits: String = fraction.chars().skip(1).take(9).collect();
        let digits = digits.trim_end_matches('0');
        let point = if digits.is_empty() { "" } else { "." };
        let zone = if matches!(zone, "+00:00" | "-00:00") { "Z" } else { zone };
        Ok(Value::from([seconds, point, digits, zone].concat()))
    }

    /// The content of tag 1: seconds since 1970.
    fn epoch(&mut self) -> Result<Value, Error> {
        let time = match self.scan.major()? {
            Major::Primitive => {
                let seconds = float(self.scan.head()?)?;
                let nanos = (seconds.fract() * 1e9) as i64;
                UnixTime {
                    seconds: (seconds.trunc() as i64).saturating_add(nanos.div_euclid(1_000_000_000)),
                    nanos: nanos.rem_euclid(1_000_000_000) as u32,
                }
            }
            major => {
                let value = self.scan.head()?.value;
                let overflows = |detail| type_error(major, "time.Time".into(), detail);
                let number = i64::try_from(value);
                UnixTime::from_seconds(match major {
                    Major::Unsigned => {
                        number.map_err(|_| overflows(format!("{value} overflows Go's int64")))?
                    }
                    _ => !number.map_err(|_| overflows(below_int64(value)))?,
                })
            }
        };
        if !crate::scalar::is_parseable(time) {
            let text = "decoded time cannot be represented in RFC3339 format with sub-second precision: \
                        Time.MarshalText: year outside of range [0,9999]";
            return Err(Error::Invalid(text.to_owned()));
        }
        let whole = time.rfc3339().to_string();
        let digits = format!("{:09}", time.nanos);
        Ok(Value::String(match digits.trim_end_matches('0') {
            "" => whole.into(),
            digits => format!("{}.{digits}Z", whole.trim_end_matches('Z')).into(),
        }))
    }
}
