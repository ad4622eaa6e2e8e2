//! Time drawn: the years of a URL in a row, each with its twelve months, and one year day by day.
//!
//! Days are links in tables, so that they can be read aloud and walked with the keyboard; how many versions a day has is a
//! class, since the policy allows no inline style, and is said in words as well.

use super::{parts, words};
use crate::views::{DayCount, Versions, YearCount};
use maud::{Markup, html};
use std::collections::HashMap;

/// Years without a version are drawn between others, but not a thousand of them: an archive may claim any year.
const YEARS_DRAWN_MAX: i32 = 60;

pub(crate) fn timeline(versions: &Versions) -> Markup {
    let most = versions.years.iter().flat_map(|year| year.months).max().unwrap_or(0);
    let years = with_gaps(&versions.years);
    html! {
        nav.timeline aria-label="Years" {
            ol {
                @for year in &years { li { (year_column(year, u64::from(most), versions)) } }
            }
        }
    }
}

fn with_gaps(years: &[YearCount]) -> Vec<YearCount> {
    let (Some(first), Some(last)) = (years.first(), years.last()) else { return Vec::new() };
    if last.year.saturating_sub(first.year) >= YEARS_DRAWN_MAX || last.year < first.year {
        return years.to_vec();
    }
    let known: HashMap<i32, &YearCount> = years.iter().map(|year| (year.year, year)).collect();
    let empty = |year| YearCount { year, months: [0; 12], versions: 0 };
    (first.year..=last.year)
        .map(|year| known.get(&year).map_or_else(|| empty(year), |known| (*known).clone()))
        .collect()
}

fn year_column(year: &YearCount, most: u64, versions: &Versions) -> Markup {
    let label = format!("{}: {}", year.year, words::counted(year.versions, "version", "versions"));
    let is_here = year.year == versions.year;
    let drawing = html! {
        svg viewBox="0 0 60 40" width="60" height="40" aria-hidden="true" focusable="false" {
            @for (month, number) in year.months.iter().enumerate() {
                @let height = parts::column_height(u64::from(*number), most, 38.0);
                rect x=(month * 5) y=(format!("{:.1}", 40.0 - height)) width="4" height=(format!("{height:.1}")) rx="1" {}
            }
        }
        span { (year.year) }
    };
    html! {
        @if year.versions == 0 {
            span.year.year-empty { (drawing) }
        } @else {
            a.year href={ (address_of_year(versions, year.year)) } aria-current=[is_here.then_some("true")] aria-label=(label) title=(label) {
                (drawing)
            }
        }
    }
}

/// The year goes before the URL (`/web/2024*/…`, as the field writes it): after it, it would be part of the URL's own query.
fn address_of_year(versions: &Versions, year: i32) -> String {
    format!("/web/{year:04}*/{}", words::web_url(&versions.url))
}

pub(crate) fn year(versions: &Versions) -> Markup {
    let days: HashMap<&str, &DayCount> = versions.days.iter().map(|day| (day.day.as_str(), day)).collect();
    html! {
        div.calendar data-calendar {
            @for month in 1..=12 { (month_table(versions, &days, month)) }
        }
        (legend())
    }
}

fn month_table(versions: &Versions, days: &HashMap<&str, &DayCount>, month: usize) -> Markup {
    let year = versions.year;
    let Some((before, length)) = words::month_shape(year, month) else { return html! {} };
    let weeks = (before + length).div_ceil(7);
    html! {
        table.month {
            caption { (words::month_name(month)) }
            thead.unseen {
                tr { @for name in ["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"] { th scope="col" { (name) } } }
            }
            tbody {
                @for week in 0..weeks {
                    tr {
                        @for weekday in 0..7 {
                            @let cell = week * 7 + weekday;
                            td {
                                @if cell >= before && cell - before < length {
                                    @let day = cell - before + 1;
                                    (day_cell(versions, days.get(format!("{year:04}-{month:02}-{day:02}").as_str()).copied(), day, month))
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn day_cell(versions: &Versions, count: Option<&DayCount>, day: usize, month: usize) -> Markup {
    let Some(count) = count.filter(|count| count.versions > 0) else { return html! { span { (day) } } };
    let words = day_words(count);
    let label = format!("{day} {} {}: {words}", words::month_name(month), versions.year);
    let class = if count.only_other { "other" } else { density(count.versions) };
    html! {
        a.(class) href=(words::viewer(&count.stamp, &versions.url)) aria-label=(label) data-tip=(words) data-day=(count.day) { (day) }
    }
}

fn day_words(count: &DayCount) -> String {
    let many = words::counted(u64::from(count.versions), "version", "versions");
    match (count.only_other, count.changed) {
        (true, _) => format!("{many}, only errors or redirects"),
        (_, 0) => format!("{many}, no change"),
        (_, changed) => format!("{many}, {changed} changed"),
    }
}

fn density(versions: u32) -> &'static str {
    match versions {
        0 => "d0",
        1 => "d1",
        2..=3 => "d2",
        4..=9 => "d3",
        _ => "d4",
    }
}

fn legend() -> Markup {
    html! {
        p.legend {
            span { "1" } i.d1 {} i.d2 {} i.d3 {} i.d4 {} span { "10 and more versions a day" }
            i.other {} span { "only errors or redirects" }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn year_of(year: i32) -> YearCount {
        YearCount { year, months: [1; 12], versions: 12 }
    }

    #[test]
    fn quiet_years_are_drawn_but_not_a_thousand() {
        assert_eq!(with_gaps(&[year_of(2001), year_of(2005)]).len(), 5);
        assert_eq!(with_gaps(&[year_of(1), year_of(9999)]).len(), 2);
        assert_eq!(with_gaps(&[]).len(), 0);
    }

    #[test]
    fn a_day_is_said_in_words() {
        let mut day = DayCount {
            day: "2026-01-02".into(),
            versions: 3,
            changed: 2,
            stamp: "20260102030405".into(),
            only_other: false,
        };
        assert_eq!(day_words(&day), "3 versions, 2 changed");
        day.changed = 0;
        assert_eq!(day_words(&day), "3 versions, no change");
        day.only_other = true;
        assert_eq!(day_words(&day), "3 versions, only errors or redirects");
    }
}
