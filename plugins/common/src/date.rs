//! HTTP dates. The component has no clock: what an upstream says about the
//! time to come is measured against the time it says it is.

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Seconds since 1970 of `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section
/// 5.6.7; the two obsolete forms are not read).
#[inline]
pub fn epoch_seconds(text: &str) -> Option<i64> {
    let (_, rest) = text.trim().split_once(", ")?;
    let mut parts = rest.split_ascii_whitespace();
    let day: i64 = parts.next()?.parse().ok()?;
    let month = parts.next()?;
    let month = MONTHS.iter().position(|name| *name == month)?;
    let year: i64 = parts.next()?.parse().ok().filter(|year| (1970..10_000).contains(year))?;
    let clock: Vec<i64> = parts.next()?.split(':').map(str::parse).collect::<Result<_, _>>().ok()?;
    let [hour, minute, second] = clock[..] else {
        return None;
    };
    let fits = parts.next() == Some("GMT")
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..=60).contains(&second);
    let month = i64::try_from(month).ok()?;
    fits.then(|| days(year, month + 1, day) * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Days since 1970 in the Gregorian calendar, counting years from March so
/// that the leap day is the last of them.
#[inline]
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read() {
        assert_eq!(epoch_seconds("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(epoch_seconds("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(epoch_seconds("Thu, 29 Feb 2024 12:00:00 GMT"), Some(1_709_208_000));
        for bad in [
            "",
            "120",
            "Sun, 06 Nov 1994",
            "Sun, 99 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 99999999999 08:49:37 GMT",
            "a, b c d e f",
        ] {
            assert_eq!(epoch_seconds(bad), None, "{bad}");
        }
    }
}
