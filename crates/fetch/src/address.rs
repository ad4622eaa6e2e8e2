//! Which addresses a stranger's link may lead to: those of the open internet, and no others.
//!
//! A page can link to `http://169.254.169.254/` or name a host whose address is `127.0.0.1`. So every address is judged
//! here right before it is dialled, whatever name or redirect led to it. An IPv6 address that carries an IPv4 one is
//! judged by that. Sources: the IANA special-purpose registries (RFC 6890 and its updates).

use ipnet::IpNet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why an address is not of the open internet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotGlobal {
    Private,
    Loopback,
    LinkLocal,
    SharedCarrier,
    ThisNetwork,
    Multicast,
    Broadcast,
    Documentation,
    Benchmarking,
    Reserved,
}

impl fmt::Display for NotGlobal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Private => "a private network",
            Self::Loopback => "this machine",
            Self::LinkLocal => "the local link",
            Self::SharedCarrier => "a carrier's shared network",
            Self::ThisNetwork => "no address of a host",
            Self::Multicast => "a multicast group",
            Self::Broadcast => "a broadcast",
            Self::Documentation => "reserved for documentation",
            Self::Benchmarking => "reserved for benchmarks",
            Self::Reserved => "reserved",
        })
    }
}

/// `Ok` if the address may be dialled: it is global, or inside one of the allowed networks.
pub(crate) fn check(ip: IpAddr, allowed: &[IpNet]) -> Result<(), NotGlobal> {
    match not_global(ip) {
        None => Ok(()),
        Some(_) if allowed.iter().any(|net| net.contains(&ip) || net.contains(&ip.to_canonical())) => Ok(()),
        Some(why) => Err(why),
    }
}

/// `None` for an address of the open internet.
pub fn not_global(ip: IpAddr) -> Option<NotGlobal> {
    match ip {
        IpAddr::V4(ip) => not_global_v4(ip),
        IpAddr::V6(ip) => not_global_v6(ip),
    }
}

fn not_global_v4(ip: Ipv4Addr) -> Option<NotGlobal> {
    Some(match ip.octets() {
        [0, ..] => NotGlobal::ThisNetwork,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => NotGlobal::Private,
        [100, 64..=127, ..] => NotGlobal::SharedCarrier,
        [127, ..] => NotGlobal::Loopback,
        [169, 254, ..] => NotGlobal::LinkLocal,
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => NotGlobal::Documentation,
        // Protocol assignments, and the relays of 6to4 that were withdrawn.
        [192, 0, 0, _] | [192, 88, 99, _] => NotGlobal::Reserved,
        [198, 18..=19, ..] => NotGlobal::Benchmarking,
        [224..=239, ..] => NotGlobal::Multicast,
        [255, 255, 255, 255] => NotGlobal::Broadcast,
        [240..=255, ..] => NotGlobal::Reserved,
        _ => return None,
    })
}

fn not_global_v6(ip: Ipv6Addr) -> Option<NotGlobal> {
    let inner = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    Some(match ip.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => NotGlobal::ThisNetwork,
        [0, 0, 0, 0, 0, 0, 0, 1] => NotGlobal::Loopback,
        // Compatible and mapped, translated (SIIT), NAT64, 6to4: the way leads to the IPv4 address inside.
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => return not_global_v4(inner(high, low)),
        // Teredo names a server and, inverted, a client behind it.
        [0x2001, 0, server_high, server_low, _, _, high, low] => {
            return not_global_v4(inner(server_high, server_low)).or_else(|| not_global_v4(inner(!high, !low)));
        }
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => NotGlobal::Documentation,
        [0x2001, 2, 0, ..] => NotGlobal::Benchmarking,
        [0x2001, 0..=0x1ff, ..] => NotGlobal::Reserved,
        [0x2000..=0x3fff, ..] => return None,
        // Unique local, and the site-local ones before them.
        [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => NotGlobal::Private,
        [0xfe80..=0xfebf, ..] => NotGlobal::LinkLocal,
        [0xff00..=0xffff, ..] => NotGlobal::Multicast,
        // Only 2000::/3 is given out so far.
        _ => NotGlobal::Reserved,
    })
}

/// Ports on which something other than a web server listens that a request could be taken for a command by, as
/// browsers refuse them (WHATWG Fetch, "bad port").
pub(crate) fn is_bad_port(port: u16) -> bool {
    const BAD: &[u16] = &[
        0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
        109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526,
        530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045,
        4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
    ];
    BAD.binary_search(&port).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use NotGlobal::*;
    use herodotus_page::WebUrl;

    #[test]
    fn only_addresses_of_the_open_internet_pass() {
        for (text, want) in [
            ("8.8.8.8", None),
            ("1.0.0.0", None),
            ("9.255.255.255", None),
            ("11.0.0.0", None),
            ("100.63.255.255", None),
            ("100.128.0.0", None),
            ("126.255.255.255", None),
            ("128.0.0.0", None),
            ("169.253.255.255", None),
            ("172.15.255.255", None),
            ("172.32.0.0", None),
            ("192.0.1.0", None),
            ("192.167.255.255", None),
            ("192.169.0.0", None),
            ("198.17.255.255", None),
            ("198.20.0.0", None),
            ("223.255.255.255", None),
            ("0.0.0.0", Some(ThisNetwork)),
            ("0.1.2.3", Some(ThisNetwork)),
            ("10.0.0.1", Some(Private)),
            ("172.16.0.0", Some(Private)),
            ("172.31.255.255", Some(Private)),
            ("192.168.1.1", Some(Private)),
            ("100.64.0.0", Some(SharedCarrier)),
            ("100.127.255.255", Some(SharedCarrier)),
            ("127.0.0.1", Some(Loopback)),
            ("127.255.255.255", Some(Loopback)),
            ("169.254.169.254", Some(LinkLocal)),
            ("192.0.0.8", Some(Reserved)),
            ("192.0.2.1", Some(Documentation)),
            ("198.51.100.1", Some(Documentation)),
            ("203.0.113.1", Some(Documentation)),
            ("192.88.99.1", Some(Reserved)),
            ("198.18.0.1", Some(Benchmarking)),
            ("198.19.255.255", Some(Benchmarking)),
            ("224.0.0.1", Some(Multicast)),
            ("239.255.255.255", Some(Multicast)),
            ("240.0.0.1", Some(Reserved)),
            ("255.255.255.254", Some(Reserved)),
            ("255.255.255.255", Some(Broadcast)),
            ("2606:4700::1111", None),
            ("2a00::1", None),
            ("2001:200::1", None),
            ("::", Some(ThisNetwork)),
            ("::1", Some(Loopback)),
            ("::127.0.0.1", Some(Loopback)),
            ("::8.8.8.8", None),
            ("::ffff:127.0.0.1", Some(Loopback)),
            ("::ffff:10.1.2.3", Some(Private)),
            ("::ffff:8.8.8.8", None),
            ("::ffff:0:192.168.0.1", Some(Private)),
            ("64:ff9b::10.0.0.1", Some(Private)),
            ("64:ff9b::8.8.8.8", None),
            ("64:ff9b:1::8.8.8.8", Some(Reserved)),
            ("2002:7f00:1::", Some(Loopback)),
            ("2002:808:808::1", None),
            ("2001:0:808:808:0:0:f7f7:f7f7", None),
            ("2001:0:808:808:0:0:80ff:fffe", Some(Loopback)),
            ("2001:0:a00:1:0:0:f7f7:f7f7", Some(Private)),
            ("2001:db8::1", Some(Documentation)),
            ("3fff::1", Some(Documentation)),
            ("3fff:1000::1", None),
            ("2001:2::1", Some(Benchmarking)),
            ("2001:20::1", Some(Reserved)),
            ("100::1", Some(Reserved)),
            ("5f00::1", Some(Reserved)),
            ("fc00::1", Some(Private)),
            ("fdff::1", Some(Private)),
            ("fe80::1", Some(LinkLocal)),
            ("febf::1", Some(LinkLocal)),
            ("fec0::1", Some(Private)),
            ("ff02::1", Some(Multicast)),
            ("4000::1", Some(Reserved)),
        ] {
            assert_eq!(not_global(text.parse().unwrap()), want, "{text}");
        }
    }

    #[test]
    fn an_allowed_network_passes_and_its_neighbours_do_not() {
        let allowed = ["10.1.0.0/16".parse().unwrap(), "fd00:1::/32".parse().unwrap()];
        for (text, passes) in [
            ("10.1.255.1", true),
            ("::ffff:10.1.0.1", true),
            ("10.2.0.1", false),
            ("fd00:1::5", true),
            ("fd00:2::5", false),
            ("127.0.0.1", false),
            ("9.9.9.9", true),
        ] {
            assert_eq!(check(text.parse().unwrap(), &allowed).is_ok(), passes, "{text}");
        }
    }

    #[test]
    fn an_address_is_known_in_any_spelling_that_a_link_can_have() {
        for link in ["127.1", "0x7f.1", "2130706433", "0177.0.0.1", "127.0.0.1.", "[::ffff:7f00:1]", "１２７.0.0.1"]
        {
            let url = WebUrl::parse(&format!("http://{link}/")).unwrap();
            let host = url.host().trim_start_matches('[').trim_end_matches(']');
            assert_eq!(not_global(host.parse().unwrap()), Some(Loopback), "{link}");
        }
    }

    #[test]
    fn bad_ports_are_in_order_and_web_ports_not_among_them() {
        assert!([25, 22, 6667, 10080, 0].into_iter().all(is_bad_port));
        assert!(![80, 443, 8080, 8443, 3000, 32768].into_iter().any(is_bad_port));
    }
}
