//! Where metadata and tokens may be fetched from.

use crate::generate::Choices;
use ptc_oauth::fetch_address::{AddressClass, FetchRules, classify};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use url::{Host, Url};

/// Networks that are not on the Internet, as the registries of IANA write them, and the services of clouds that hand out credentials.
const NOT_PUBLIC_V4: &str = "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 \
    192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3";
/// The same, within 2000::/3. Outside it, nothing is public but what stands for an address of IPv4.
const NOT_PUBLIC_V6: &str = "2001::/23 2001:db8::/32 3fff::/20";
/// Prefixes in front of an address of IPv4, and at which bit it begins.
const STANDS_FOR_V4: &[(&str, u32)] =
    &[("::ffff:0:0/96", 96), ("::/96", 96), ("64:ff9b::/96", 96), ("::ffff:0:0:0/96", 96), ("2002::/16", 16)];

/// Addresses are classified as a second classifier does, and a URL that may be fetched without exemption leads nowhere else.
pub fn fetch_address(data: &[u8]) {
    let mut choices = Choices::new(data);
    let rules = FetchRules::new(&Url::parse("https://h.example/mcp").expect("a URL"), [""; 0]);
    let address = match choices.below(4) {
        0 => IpAddr::V4(Ipv4Addr::from(choices.word() as u32)),
        1 => IpAddr::V6(Ipv6Addr::from(u128::from(choices.word()) << 64 | u128::from(choices.word()))),
        2 => {
            let (prefix, at) = *choices.one(STANDS_FOR_V4);
            let v4 = u128::from(choices.word() as u32) << (128 - at - 32);
            IpAddr::V6(Ipv6Addr::from(network(prefix).0 | v4))
        }
        _ => return url(&rules, &String::from_utf8_lossy(choices.all())),
    };
    assert_eq!(classify(address) == AddressClass::Public, is_public(address), "{address}");
    let shown =
        if address.is_ipv6() { format!("https://[{address}]/") } else { format!("https://{address}/") };
    url(&rules, &shown);
}

fn url(rules: &FetchRules, text: &str) {
    let Ok(url) = Url::parse(text) else { return };
    let allowed = rules.url(&url).is_ok();
    let address = match url.host() {
        Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
        Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
        _ => None,
    };
    if let Some(address) = address.filter(|_| url.scheme() == "https") {
        assert_eq!(allowed, is_public(address), "{url}");
    }
    assert!(!allowed || url.scheme() == "https" && url.has_host(), "{url}");
    // However the name is written, none of these is reached.
    let host = url.host_str().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase();
    assert!(!allowed || host != "metadata.google.internal", "{url}");
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => {
            let bits = u128::from(address);
            let stands_for = STANDS_FOR_V4.iter().find(|(prefix, _)| lies_in(bits, prefix));
            match stands_for {
                _ if bits == 1 => false,
                Some((_, at)) => is_public_v4(Ipv4Addr::from((bits >> (128 - at - 32)) as u32)),
                None => {
                    lies_in(bits, "2000::/3")
                        && !NOT_PUBLIC_V6.split_whitespace().any(|prefix| lies_in(bits, prefix))
                }
            }
        }
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    !NOT_PUBLIC_V4.split_whitespace().any(|prefix| {
        let (network, length) = prefix.split_once('/').expect("a prefix");
        let network: Ipv4Addr = network.parse().expect("an address");
        let length: u32 = length.parse().expect("a length");
        u32::from(address) >> (32 - length) == u32::from(network) >> (32 - length)
    })
}

fn lies_in(bits: u128, prefix: &str) -> bool {
    let (network, length) = network(prefix);
    bits >> (128 - length) == network >> (128 - length)
}

fn network(prefix: &str) -> (u128, u32) {
    let (network, length) = prefix.split_once('/').expect("a prefix");
    (network.parse::<Ipv6Addr>().expect("an address").into(), length.parse().expect("a length"))
}
