//! A CDX query, understood: the parameters of pywb's server, and those of OpenWayback's that it lacks.

use super::collapse::Rule;
use super::field::Field;
use super::filter::Filter;
use super::output::Output;
use crate::limits::{CDX_PAGE_BLOCKS, CDX_RULES_MAX};
use crate::tools::parameters;
use crate::wayback::moment;
use data_encoding::BASE64URL_NOPAD;
use herodotus_base::Timestamp;
use herodotus_page::{domain_range, host_range, prefix_range};
use herodotus_store::{EntryKey, key_of};
use std::collections::HashMap;

#[derive(Debug)]
pub(crate) struct Query {
    /// Ranges of index keys, in order.
    pub(crate) ranges: Vec<(String, String)>,
    /// The one key that is meant, if it is one.
    pub(crate) exact: Option<String>,
    /// First and last time, as fourteen digits.
    pub(crate) from: Option<String>,
    pub(crate) to: Option<String>,
    pub(crate) filters: Vec<Filter>,
    pub(crate) collapse: Vec<Rule>,
    pub(crate) order: Order,
    pub(crate) limit: Option<u64>,
    /// Lines to be left out before the first.
    pub(crate) offset: u64,
    pub(crate) output: Output,
    pub(crate) fields: Option<Vec<(String, Field)>>,
    pub(crate) resolve_revisits: bool,
    pub(crate) paging: Paging,
    pub(crate) resume_after: Option<EntryKey>,
    pub(crate) show_resume_key: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Forward,
    Reverse,
    /// By distance to a moment.
    Closest(Timestamp),
    /// Forward, but only the last lines (`limit` below zero).
    Last,
}

/// Which part of the index is meant, before any filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paging {
    None,
    Page(Page),
    /// How many pages there are.
    Count(Page),
    /// Where the blocks of a page begin.
    Blocks(Page),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) number: u64,
    pub(crate) blocks: u64,
}

/// Why there is no answer, in pywb's words where it has some.
type Refusal = String;

impl Query {
    pub(crate) fn parse(query: &str) -> Result<Self, Refusal> {
        let mut named: HashMap<String, String> = HashMap::new();
        let (mut filters, mut collapse) = (Vec::new(), Vec::new());
        for (name, value) in parameters(query) {
            match name.as_str() {
                "filter" => filters.push(value),
                "collapse" => collapse.push(value),
                _ => _ = named.insert(name, value),
            }
        }
        if filters.len().max(collapse.len()) > CDX_RULES_MAX {
            return Err(format!("at most {CDX_RULES_MAX} filters and as many collapse rules can be given"));
        }
        let get = |name: &str| named.get(name).map(String::as_str);
        let is_on = |name: &str| get(name).is_some_and(is_true);
        let url = get("url").ok_or("The \"url\" param is required")?;
        let (ranges, exact) = ranges(url, get("matchType"))?;
        let mut rules = collapse.iter().map(|text| Rule::parse(text)).collect::<Result<Vec<_>, _>>()?;
        if let Some(length) = get("collapseTime") {
            rules.push(Rule::of_time(number(length, "collapseTime")?));
        }
        let (order, limit) = order(&get, is_on("reverse"))?;
        let resume_after = get("resumeKey").map(resume_key).transpose()?;
        Ok(Self {
            ranges,
            exact,
            from: get("from").or(get("from_ts")).map(|digits| padded(digits, "10000101000000", "from")).transpose()?,
            to: get("to").map(|digits| padded(digits, "29991231235959", "to")).transpose()?,
            filters: filters.iter().map(|text| Filter::parse(text)).collect::<Result<_, _>>()?,
            collapse: rules,
            order,
            limit,
            offset: get("offset").map_or(Ok(0), |text| number(text, "offset"))?,
            output: match get("output") {
                None => Output::default(),
                Some(name) => Output::of(name).ok_or_else(|| format!("output={} not supported", short(name)))?,
            },
            fields: get("fields").or(get("fl")).map(fields).transpose()?,
            resolve_revisits: is_on("resolveRevisits"),
            paging: paging(&get, &is_on)?,
            resume_after,
            show_resume_key: is_on("showResumeKey"),
        })
    }

    /// All versions of one URL, oldest first.
    pub(crate) fn of_versions(url: &str, output: Output) -> Self {
        let key = key_of(url);
        Self {
            ranges: vec![versions_of(&key)],
            exact: Some(key),
            from: None,
            to: None,
            filters: Vec::new(),
            collapse: Vec::new(),
            order: Order::Forward,
            limit: None,
            offset: 0,
            output,
            fields: None,
            resolve_revisits: false,
            paging: Paging::None,
            resume_after: None,
            show_resume_key: false,
        }
    }
}

/// The range of one key's versions: in the index a key ends in a zero byte.
fn versions_of(key: &str) -> (String, String) {
    (format!("{key}\0"), format!("{key}\u{1}"))
}

type Ranges = (Vec<(String, String)>, Option<String>);

fn ranges(url: &str, match_type: Option<&str>) -> Result<Ranges, Refusal> {
    let (url, match_type) = match match_type {
        Some(match_type) => (url, match_type),
        None => match (url.strip_prefix("*."), url.strip_suffix('*')) {
            (Some(domain), _) => (domain, "domain"),
            (None, Some(prefix)) => (prefix, "prefix"),
            (None, None) => (url, "exact"),
        },
    };
    Ok(match match_type {
        "exact" => {
            let key = key_of(url);
            (vec![versions_of(&key)], Some(key))
        }
        "prefix" => (vec![prefix_range(url)], None),
        "host" => (vec![host_range(url)], None),
        "domain" => (domain_range(url), None),
        other => return Err(format!("Invalid match_type: {}", short(other))),
    })
}

/// Digits filled up to fourteen. Compared as text, as pywb does: the 31st of February ends February.
fn padded(digits: &str, pad: &str, name: &str) -> Result<String, Refusal> {
    if digits.len() > 17 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("Invalid value for {name}= param: {}", short(digits)));
    }
    let digits = digits.get(..14).unwrap_or(digits);
    Ok(format!("{digits}{}", pad.get(digits.len()..).unwrap_or_default()))
}

fn order<'a>(get: &impl Fn(&str) -> Option<&'a str>, is_reverse: bool) -> Result<(Order, Option<u64>), Refusal> {
    let limit = match get("limit") {
        None => 0,
        Some(text) => text.parse::<i64>().map_err(|_| format!("Invalid value for limit= param: {}", short(text)))?,
    };
    let order = match get("closest") {
        Some("now") => Order::Closest(Timestamp::now()),
        // Of digits that are left out, the last: as pywb reads them here.
        Some(digits) => {
            let moment = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| moment(digits)).flatten();
            Order::Closest(moment.ok_or_else(|| format!("Invalid value for closest= param: {}", short(digits)))?)
        }
        None if is_reverse || get("sort") == Some("reverse") => Order::Reverse,
        None if limit < 0 => Order::Last,
        None => Order::Forward,
    };
    Ok((order, (limit != 0).then_some(limit.unsigned_abs())))
}

fn fields(names: &str) -> Result<Vec<(String, Field)>, Refusal> {
    let fields: Vec<_> =
        names.split(',').map(|name| (name.to_owned(), Field::of(name))).take(CDX_RULES_MAX + 1).collect();
    if fields.len() > CDX_RULES_MAX {
        return Err(format!("at most {CDX_RULES_MAX} fields can be asked for"));
    }
    Ok(fields)
}

fn paging<'a>(get: &impl Fn(&str) -> Option<&'a str>, is_on: &impl Fn(&str) -> bool) -> Result<Paging, Refusal> {
    let page = Page {
        number: get("page").map_or(Ok(0), |text| number(text, "page"))?,
        blocks: get("pageSize")
            .map_or(Ok(CDX_PAGE_BLOCKS), |text| number(text, "pageSize"))?
            .clamp(1, u64::from(u32::MAX)),
    };
    Ok(if is_on("showNumPages") {
        Paging::Count(page)
    } else if is_on("showPagedIndex") {
        Paging::Blocks(page)
    } else if get("page").is_some() || get("pageSize").is_some() {
        Paging::Page(page)
    } else {
        Paging::None
    })
}

fn number(text: &str, name: &str) -> Result<u64, Refusal> {
    text.parse().map_err(|_| format!("Invalid value for {name}= param: {}", short(text)))
}

/// The place of a line in the index, for whoever goes on after it.
pub(crate) fn resume_key_of(id: &EntryKey) -> String {
    BASE64URL_NOPAD.encode(&id.encode())
}

fn resume_key(text: &str) -> Result<EntryKey, Refusal> {
    let bytes = BASE64URL_NOPAD.decode(text.trim().as_bytes()).ok();
    bytes.and_then(|bytes| EntryKey::decode(&bytes)).ok_or_else(|| "Invalid value for resumeKey= param".to_owned())
}

/// As Python's pywb reads a switch.
fn is_true(value: &str) -> bool {
    !matches!(value.to_ascii_lowercase().as_str(), "0" | "false" | "f" | "off")
}

/// What is said back of a bad value: its beginning.
fn short(text: &str) -> String {
    text.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> Query {
        Query::parse(text).unwrap()
    }

    #[test]
    fn urls_say_what_they_mean_with_stars() {
        let range = |text: &str| query(text).ranges;
        assert_eq!(range("url=example.org/a"), [("org,example)/a\0".into(), "org,example)/a\u{1}".into())]);
        assert_eq!(range("url=example.org/a*"), [("org,example)/a".into(), "org,example)/b".into())]);
        assert_eq!(range("url=example.org/a&matchType=prefix"), range("url=example.org/a*"));
        assert_eq!(range("url=*.example.org"), range("url=example.org&matchType=domain"));
        assert_eq!(
            range("url=http://example.org/a/b&matchType=host"),
            [("org,example)/".into(), "org,example)0".into())]
        );
        // A star means nothing where the kind of match is said.
        assert_eq!(query("url=example.org/a*&matchType=exact").exact.as_deref(), Some("org,example)/a*"));
    }

    #[test]
    fn times_are_filled_up_as_pywb_does() {
        let q = query("url=a.test&from=2014&to=201402");
        assert_eq!((q.from.as_deref(), q.to.as_deref()), (Some("20140101000000"), Some("20140231235959")));
        let q = query("url=a.test&from_ts=20140102030405678&to=20140102030405");
        assert_eq!((q.from.as_deref(), q.to.as_deref()), (Some("20140102030405"), Some("20140102030405")));
    }

    #[test]
    fn what_cannot_be_understood_is_said() {
        for (text, says) in [
            ("", "The \"url\" param is required"),
            ("url=", "The \"url\" param is required"),
            ("url=a.test&matchType=sideways", "Invalid match_type: sideways"),
            ("url=a.test&output=xml", "output=xml not supported"),
            ("url=a.test&page=x", "Invalid value for page= param: x"),
            ("url=a.test&page=-1", "Invalid value for page= param: -1"),
            ("url=a.test&pageSize=9e9", "Invalid value for pageSize= param: 9e9"),
            ("url=a.test&limit=ten", "Invalid value for limit= param: ten"),
            ("url=a.test&from=yesterday", "Invalid value for from= param: yesterday"),
            ("url=a.test&closest=soon", "Invalid value for closest= param: soon"),
            ("url=a.test&collapse=digest:x", "Invalid value for collapse= param: x"),
            ("url=a.test&resumeKey=%00", "Invalid value for resumeKey= param"),
            ("url=a.test&resumeKey=AAAA", "Invalid value for resumeKey= param"),
        ] {
            assert_eq!(Query::parse(text).unwrap_err(), says, "{text}");
        }
        let error = Query::parse("url=a.test&filter=~mime:(").unwrap_err();
        assert!(error.starts_with("Invalid regular expression in filter=~mime:("), "{error}");
        assert!(Query::parse(&format!("url=a.test&filter=~url:{}", "(a{9}){9}".repeat(90))).is_err());
        assert!(Query::parse(&format!("url=a.test{}", "&filter=mime:x".repeat(17))).is_err());
        assert!(Query::parse(&format!("url=a.test&fl={}", "url,".repeat(17))).is_err());
    }

    #[test]
    fn the_last_of_a_parameter_counts_and_the_order_is_pywbs() {
        let q = query("url=a.test&limit=5&limit=7&sort=reverse&filter=mime:a&filter=!status:2");
        assert_eq!((q.limit, q.order, q.filters.len()), (Some(7), Order::Reverse, 2));
        assert!(matches!(query("url=a.test&sort=reverse&closest=2014").order, Order::Closest(_)));
        assert_eq!(query("url=a.test&limit=-3").order, Order::Last);
        assert_eq!(query("url=a.test&limit=0").limit, None);
        assert_eq!(query("url=a.test&reverse=false").order, Order::Forward);
        assert_eq!(query("url=a.test&sort=closest").order, Order::Forward);
        let id = EntryKey { key: "test,a)/".into(), time: Timestamp::parse("2026").unwrap(), tag: [255; 8] };
        assert_eq!(query(&format!("url=a.test&resumeKey={}", resume_key_of(&id))).resume_after, Some(id));
    }
}
