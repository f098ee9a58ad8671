//! Gregorian calendar for all years: converts days since 1970 to dates and back. The year starts in March, so
//! that the leap day comes last.
#![allow(clippy::arithmetic_side_effects)]

/// Days in 400 years.
const ERA_DAYS: i64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_DAYS: i64 = 719_468;

/// A date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Civil {
    pub(super) year: i64,
    /// 1 to 12.
    pub(super) month: i64,
    /// 1 to 31.
    pub(super) day: i64,
}

impl Civil {
    /// The date that many days after 1970-01-01.
    pub(super) fn from_days(days: i64) -> Self {
        let days = days.saturating_add(EPOCH_DAYS);
        let era = days.div_euclid(ERA_DAYS);
        let day_of_era = days.rem_euclid(ERA_DAYS);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        Self { year: year_of_era + era * 400 + i64::from(month <= 2), month, day }
    }

    /// Days since 1970-01-01.
    pub(super) fn to_days(self) -> i64 {
        let year = self.year - i64::from(self.month <= 2);
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let month_from_march = (self.month + 9) % 12;
        let day_of_year = (153 * month_from_march + 2) / 5 + self.day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        era * ERA_DAYS + day_of_era - EPOCH_DAYS
    }
}

/// The number of days in a month, 1 to 12.
pub(super) fn days_in(month: i64, year: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_days_convert_both_ways() {
        let check = |days: i64, year: i64, month: i64, day: i64| {
            let civil = Civil { year, month, day };
            assert_eq!(Civil::from_days(days), civil);
            assert_eq!(civil.to_days(), days);
        };
        check(0, 1970, 1, 1);
        check(-1, 1969, 12, 31);
        check(11_016, 2000, 2, 29);
        check(19_782, 2024, 2, 29);
        check(-719_162, 1, 1, 1);
        check(2_932_896, 9999, 12, 31);
        check(-719_529, -1, 12, 31);
    }

    #[test]
    fn days_of_four_centuries_are_consecutive() {
        let mut previous = Civil::from_days(-1);
        for days in 0..ERA_DAYS {
            let date = Civil::from_days(days);
            let next_in_month = date.day == previous.day + 1 && date.month == previous.month;
            let first_of_next = date.day == 1 && previous.day == days_in(previous.month, previous.year);
            assert!(next_in_month || first_of_next, "{previous:?} {date:?}");
            assert_eq!(date.to_days(), days);
            previous = date;
        }
    }
}
