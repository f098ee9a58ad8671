//! Parts of times and durations.

use super::Context;
use crate::arena::Outcome;
use crate::ext::time::{self, Part, Zone};
use crate::value::Value;

impl<'a> Context<'a, '_> {
    pub(super) fn part(self, part: Part, args: &[Value<'a>]) -> Outcome<'a> {
        let (at, zone) = match *args {
            [Value::Timestamp(at)] => (at, Ok(Zone::UTC)),
            [Value::Timestamp(at), Value::String(zone)] => (at, Zone::parse(zone)),
            [Value::Duration(nanos)] => return Ok(Value::Int(duration_part(part, nanos))),
            _ => return Ok(Value::NO_SUCH_OVERLOAD),
        };
        match zone {
            Ok(zone) => Ok(Value::Int(time::part(at.unix(), &zone, part))),
            Err(problem) => self.arena.error(problem),
        }
    }
}

fn duration_part(part: Part, nanos: i64) -> i64 {
    match part {
        Part::Hours => time::duration_hours(nanos),
        Part::Minutes => time::duration_minutes(nanos),
        Part::Seconds => time::duration_seconds(nanos),
        _ => time::duration_milliseconds(nanos),
    }
}
