//! Dispatch from overloads to their implementations.

use std::cmp::Ordering;

use super::Context;
use crate::arena::Outcome;
use crate::ext::regex::Regex;
use crate::ext::time::Part;
use crate::overloads::Overload;
use crate::value::{Value, convert};

impl<'a> Context<'a, '_> {
    /// Runs an overload. The arguments fit its signature, except where the overload checks them itself.
    pub(super) fn overload(
        self,
        overload: Overload,
        args: &[Value<'a>],
        regex: Option<&Regex>,
    ) -> Outcome<'a> {
        if let Some(target) = conversion(overload) {
            return convert(args[0], target, self.arena);
        }
        if let Some(part) = time_part(overload) {
            return self.part(part, args);
        }
        if overload == Overload::ListIncludesDynDyn {
            return self.includes(args);
        }
        if matches!(overload, Overload::ListFlatten | Overload::ListFlattenInt)
            && !matches!(args, [Value::List(_)] | [Value::List(_), Value::Int(_)])
        {
            return self.no_flatten(args);
        }
        match *args {
            [] => self.constant(overload),
            [Value::List(list)] => self.of_list(overload, list),
            [Value::List(a), Value::List(b)] if is_set(overload) => self.of_sets(overload, a, b),
            [Value::List(_), ..] => self.of_list_and_more(overload, args),
            [Value::Map(map), key, value] => self.insert(map, key, value),
            [Value::Map(map), Value::Map(entries)] => self.insert_all(map, entries),
            [Value::Opaque(opaque), ..] => self.of_opaque(overload, opaque, args),
            [value] => self.of_value(overload, value),
            [Value::String(text), ..] => self.of_text(overload, text, args, regex),
            _ => match overload {
                Overload::ContainsString | Overload::EndsWithString | Overload::StartsWithString => {
                    Ok(args[0].or_no_such_overload())
                }
                _ => Ok(Value::NO_SUCH_OVERLOAD),
            },
        }
    }

    fn of_list(self, overload: Overload, list: crate::value::List<'a>) -> Outcome<'a> {
        use Overload::*;
        match overload {
            ListBoolIsSortedBool
            | ListBytesIsSortedBool
            | ListDoubleIsSortedBool
            | ListDurationIsSortedBool
            | ListTimestampIsSortedBool
            | ListIntIsSortedBool
            | ListStringIsSortedBool
            | ListUintIsSortedBool => self.is_sorted(list),
            ListBoolMaxBool
            | ListBytesMaxBytes
            | ListDoubleMaxDouble
            | ListDurationMaxDuration
            | ListTimestampMaxTimestamp
            | ListIntMaxInt
            | ListStringMaxString
            | ListUintMaxUint => self.extreme(list, "max", Ordering::Less),
            ListBoolMinBool
            | ListBytesMinBytes
            | ListDoubleMinDouble
            | ListDurationMinDuration
            | ListTimestampMinTimestamp
            | ListIntMinInt
            | ListStringMinString
            | ListUintMinUint => self.extreme(list, "min", Ordering::Greater),
            ListIntSumInt => self.total(list, Value::Int(0)),
            ListUintSumUint => self.total(list, Value::Uint(0)),
            ListDoubleSumDouble => self.total(list, Value::Double(0.0)),
            ListDurationSumDuration => self.total(list, Value::Duration(0)),
            ListJoin => self.join(list, ""),
            ListFlatten => self.flatten(list, 1),
            ListReverse => self.reverse(list),
            ListDistinct => self.distinct(list),
            ListFirst => self.list_end(list.get(0)),
            ListLast => self.list_end(list.len().checked_sub(1).and_then(|last| list.get(last))),
            OptionalUnwrap | OptionalUnwrapOpt => self.unwrap_all(list),
            _ => self.of_value(overload, Value::List(list)),
        }
    }

    /// Returns the error of flattening a non-list.
    fn no_flatten(self, args: &[Value<'a>]) -> Outcome<'a> {
        let name = |value: &Value<'a>| match value {
            Value::List(_) => "list(dyn)",
            Value::Map(_) => "map(dyn, dyn)",
            value => value.type_name(),
        };
        let depth = args.get(1).map_or("", name);
        self.arena.error(format_args!("no such overload: {}.flatten({depth})", args.first().map_or("", name)))
    }

    fn list_end(self, element: Option<Value<'a>>) -> Outcome<'a> {
        element.map_or(Ok(Value::Optional(None)), |element| self.arena.optional(element))
    }

    fn of_sets(
        self,
        overload: Overload,
        a: crate::value::List<'a>,
        b: crate::value::List<'a>,
    ) -> Outcome<'a> {
        match overload {
            Overload::ListSetsContainsList => self.set_contains(a, b),
            Overload::ListSetsEquivalentList => self.set_equivalent(a, b),
            _ => self.set_intersects(a, b),
        }
    }

    fn of_list_and_more(self, overload: Overload, args: &[Value<'a>]) -> Outcome<'a> {
        match (overload, args) {
            (Overload::ListJoinString, &[Value::List(list), Value::String(separator)]) => {
                self.join(list, separator)
            }
            (Overload::ListSlice, &[Value::List(list), Value::Int(start), Value::Int(end)]) => {
                self.slice(list, start, end)
            }
            (Overload::ListFlattenInt, &[Value::List(list), Value::Int(depth)]) => self.flatten(list, depth),
            (Overload::ListAIndexOfInt, &[Value::List(list), item]) => self.index_of(list, item, false),
            (Overload::ListALastIndexOfInt, &[Value::List(list), item]) => self.index_of(list, item, true),
            _ => Ok(Value::NO_SUCH_OVERLOAD),
        }
    }

    /// Runs functions of one argument: of any type, or a string.
    fn of_value(self, overload: Overload, value: Value<'a>) -> Outcome<'a> {
        match (overload, value) {
            (Overload::OptionalOf, value) => self.arena.optional(value),
            (Overload::OptionalOfNonZeroValue, value) if value.is_zero() => Ok(Value::Optional(None)),
            (Overload::OptionalOfNonZeroValue, value) => self.arena.optional(value),
            (Overload::OptionalHasValue, Value::Optional(value)) => Ok(Value::Bool(value.is_some())),
            (Overload::OptionalValue, Value::Optional(value)) => {
                Ok(value.copied().unwrap_or(Value::Error("optional.none() dereference")))
            }
            (Overload::ListsRange, Value::Int(len)) => self.range(len),
            (overload, Value::String(text)) => match overload {
                Overload::StringLowerAscii
                | Overload::StringUpperAscii
                | Overload::StringTrim
                | Overload::StringsQuote
                | Overload::StringJsonpatchEscapeKeyString => self.of_one_text(overload, text),
                _ => self.parse(overload, text, false),
            },
            (overload, _) => self.arena.error(format_args!("no such overload: {}", overload.id())),
        }
    }
}

fn is_set(overload: Overload) -> bool {
    use Overload::*;
    matches!(overload, ListSetsContainsList | ListSetsEquivalentList | ListSetsIntersectsList)
}

/// Returns the target type of a conversion overload.
fn conversion(overload: Overload) -> Option<&'static str> {
    use Overload::*;
    Some(match overload {
        BoolToBool | StringToBool => "bool",
        BytesToBytes | StringToBytes => "bytes",
        DoubleToDouble | Int64ToDouble | StringToDouble | Uint64ToDouble => "double",
        DurationToDuration | StringToDuration => "google.protobuf.Duration",
        Int64ToInt64 | DoubleToInt64 | DurationToInt64 | StringToInt64 | TimestampToInt64 | Uint64ToInt64 => {
            "int"
        }
        StringToString | BoolToString | BytesToString | DoubleToString | DurationToString | Int64ToString
        | TimestampToString | Uint64ToString => "string",
        TimestampToTimestamp | Int64ToTimestamp | StringToTimestamp => "google.protobuf.Timestamp",
        Uint64ToUint64 | DoubleToUint64 | Int64ToUint64 | StringToUint64 => "uint",
        _ => return None,
    })
}

/// Returns the part of a timestamp that an overload reads.
fn time_part(overload: Overload) -> Option<Part> {
    use Overload::*;
    Some(match overload {
        TimestampToYear | TimestampToYearWithTz => Part::Year,
        TimestampToMonth | TimestampToMonthWithTz => Part::Month,
        TimestampToDayOfYear | TimestampToDayOfYearWithTz => Part::DayOfYear,
        TimestampToDayOfMonth | TimestampToDayOfMonthWithTz => Part::DayOfMonth,
        TimestampToDayOfMonth1Based | TimestampToDayOfMonth1BasedWithTz => Part::Date,
        TimestampToDayOfWeek | TimestampToDayOfWeekWithTz => Part::DayOfWeek,
        TimestampToHours | TimestampToHoursWithTz | DurationToHours => Part::Hours,
        TimestampToMinutes | TimestampToMinutesWithTz | DurationToMinutes => Part::Minutes,
        TimestampToSeconds | TimestampToSecondsTz | DurationToSeconds => Part::Seconds,
        TimestampToMilliseconds | TimestampToMillisecondsWithTz | DurationToMilliseconds => {
            Part::Milliseconds
        }
        _ => return None,
    })
}
