//! The addresses from which metadata and tokens may be fetched (`auth.md` 2.7): a server must not make us talk to hosts that
//! only we can reach.
//!
//! The driver asks [`FetchRules::url`] before it resolves a name, and [`FetchRules::address`] for the address that it connects
//! to, for each hop.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// The class of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressClass {
    /// Reached over the Internet.
    Public,
    /// This machine itself.
    Loopback,
    /// A network that only we may reach, or no address of a host at all.
    Internal,
    /// Where clouds hand out credentials. Never exempt.
    CloudMetadata,
}

/// Names of the metadata services of clouds.
const METADATA_NAMES: &[&str] = &[
    "instance-data",
    "instance-data.ec2.internal",
    "metadata",
    "metadata.azure.internal",
    "metadata.goog",
    "metadata.google.internal",
    "metadata.tencentyun.com",
];

/// Addresses of the metadata services of clouds: EC2 and compatible ones, ECS, EKS, Oracle, Alibaba, Azure.
const METADATA_V4: &[[u8; 4]] = &[
    [169, 254, 169, 254],
    [169, 254, 170, 2],
    [169, 254, 170, 23],
    [169, 254, 0, 23],
    [192, 0, 0, 192],
    [100, 100, 100, 200],
    [168, 63, 129, 16],
];

/// The same of EC2, EKS and Google over IPv6.
const METADATA_V6: &[[u16; 8]] = &[
    [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254],
    [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23],
    [0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254],
];

/// Networks of IPv4 that are not public: RFC 6890 and its registry, multicast and reserved ones.
const INTERNAL_V4: &[([u8; 4], u32)] = &[
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10),
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 88, 99, 0], 24),
    ([192, 168, 0, 0], 16),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    ([224, 0, 0, 0], 4),
    ([240, 0, 0, 0], 4),
];

/// Networks of IPv6 that are not public: discard-only, Teredo, benchmarking, ORCHID, documentation, local NAT64, segment
/// routing, unique-local, link-local, site-local, multicast.
const INTERNAL_V6: &[([u16; 2], u32)] = &[
    ([0x0100, 0], 8),
    ([0x2001, 0], 23),
    ([0x2001, 0x0db8], 32),
    ([0x3fff, 0], 20),
    ([0x5f00, 0], 16),
    ([0xfc00, 0], 7),
    ([0xfe80, 0], 10),
    ([0xfec0, 0], 10),
    ([0xff00, 0], 8),
];

/// The class of an address. An IPv6 address that stands for one of IPv4 (mapped, compatible, NAT64, 6to4) has the class of that
/// one.
#[must_use]
pub fn classify(address: IpAddr) -> AddressClass {
    match address {
        IpAddr::V4(address) => classify_v4(address),
        IpAddr::V6(address) => classify_v6(address),
    }
}

fn classify_v4(address: Ipv4Addr) -> AddressClass {
    let within = |(network, bits): &([u8; 4], u32)| {
        (u32::from(address) ^ u32::from_be_bytes(*network)).leading_zeros() >= *bits
    };
    if METADATA_V4.contains(&address.octets()) {
        AddressClass::CloudMetadata
    } else if address.is_loopback() {
        AddressClass::Loopback
    } else if INTERNAL_V4.iter().any(within) {
        AddressClass::Internal
    } else {
        AddressClass::Public
    }
}

fn classify_v6(address: Ipv6Addr) -> AddressClass {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let v4 = |high: u16, low: u16| classify_v4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
    match [a, b, c, d, e, f] {
        _ if METADATA_V6.contains(&address.segments()) => return AddressClass::CloudMetadata,
        _ if address == Ipv6Addr::LOCALHOST => return AddressClass::Loopback,
        [0, 0, 0, 0, 0, 0 | 0xffff] | [0x64, 0xff9b, 0, 0, 0, 0] => return v4(g, h),
        // SIIT (RFC 2765), and NAT64 with a prefix of one's own (RFC 8215), which may lie anywhere in the local network.
        [0, 0, 0, 0, 0xffff, 0] => return v4(g, h),
        [0x64, 0xff9b, 1, ..] => return AddressClass::Internal,
        [0x2002, high, low, ..] => return v4(high, low),
        _ => {}
    }
    let first = (u32::from(a) << 16) | u32::from(b);
    let within = |([high, low], bits): &([u16; 2], u32)| {
        (first ^ ((u32::from(*high) << 16) | u32::from(*low))).leading_zeros() >= *bits
    };
    // Global unicast is 2000::/3; nothing else has been given out.
    if a >> 13 != 1 || INTERNAL_V6.iter().any(within) { AddressClass::Internal } else { AddressClass::Public }
}

/// Whether a host, as a URL has it, is `localhost`, of 127.0.0.0/8, or `::1`.
#[must_use]
pub fn is_loopback_host(host: &str) -> bool {
    let host = plain(host);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// A host without the brackets of IPv6 and the dot at the end, in lower case.
fn plain(host: &str) -> String {
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

/// An address that is not to be talked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressRefused {
    /// Neither https, nor http between loopback hosts.
    #[error("only https is fetched, and http on loopback hosts")]
    Scheme,
    /// Not public, and its host is not exempted.
    #[error("the address is not public")]
    NotPublic,
    /// A metadata service of a cloud.
    #[error("the address hands out credentials of a cloud")]
    CloudMetadata,
}

/// The addresses that may be fetched on behalf of one upstream.
#[derive(Clone, Debug)]
pub struct FetchRules {
    upstream_is_loopback: bool,
    exempt: BTreeSet<String>,
}

impl FetchRules {
    /// The rules of the upstream at `url`. Exempt are its own host and `hosts`: those of `base_url`, of `issuer`, and
    /// `auth.allow_hosts`.
    #[must_use]
    pub fn new<H: AsRef<str>>(url: &Url, hosts: impl IntoIterator<Item = H>) -> Self {
        let own = url.host_str().unwrap_or_default();
        let mut exempt: BTreeSet<String> = hosts.into_iter().map(|host| plain(host.as_ref())).collect();
        exempt.insert(plain(own));
        Self { upstream_is_loopback: is_loopback_host(own), exempt }
    }

    /// Whether a URL may be fetched, as far as it says by itself: its scheme, its name, and its address if it has one in place
    /// of a name.
    ///
    /// # Errors
    /// Why not.
    pub fn url(&self, url: &Url) -> Result<(), AddressRefused> {
        let host = url.host_str().unwrap_or_default();
        let plain_text = url.scheme() == "http" && self.upstream_is_loopback && is_loopback_host(host);
        if url.scheme() != "https" && !plain_text {
            return Err(AddressRefused::Scheme);
        }
        if METADATA_NAMES.contains(&plain(host).as_str()) {
            return Err(AddressRefused::CloudMetadata);
        }
        match url.host() {
            Some(Host::Ipv4(address)) => self.address(url, address.into()),
            Some(Host::Ipv6(address)) => self.address(url, address.into()),
            Some(Host::Domain(_)) => Ok(()),
            None => Err(AddressRefused::Scheme),
        }
    }

    /// Whether the host of a URL may be reached at `address`, to which its name was resolved.
    ///
    /// # Errors
    /// Why not.
    pub fn address(&self, url: &Url, address: IpAddr) -> Result<(), AddressRefused> {
        let host = url.host_str().unwrap_or_default();
        match classify(address) {
            AddressClass::Public => Ok(()),
            AddressClass::CloudMetadata => Err(AddressRefused::CloudMetadata),
            _ if self.exempt.contains(&plain(host)) => Ok(()),
            // An upstream on this machine may name another of its ports by another of its names.
            AddressClass::Loopback if self.upstream_is_loopback && is_loopback_host(host) => Ok(()),
            AddressClass::Loopback | AddressClass::Internal => Err(AddressRefused::NotPublic),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(address: &str) -> AddressClass {
        classify(address.parse().unwrap())
    }

    #[test]
    fn what_only_we_can_reach_is_not_public() {
        use AddressClass::{CloudMetadata, Internal, Loopback, Public};
        let rows = [
            ("8.8.8.8", Public),
            ("1.1.1.1", Public),
            ("100.63.255.255", Public),
            ("100.64.0.0", Internal),
            ("100.127.255.255", Internal),
            ("100.128.0.0", Public),
            ("9.255.255.255", Public),
            ("10.0.0.0", Internal),
            ("10.255.255.255", Internal),
            ("11.0.0.0", Public),
            ("172.15.255.255", Public),
            ("172.16.0.0", Internal),
            ("172.31.255.255", Internal),
            ("172.32.0.0", Public),
            ("192.168.0.1", Internal),
            ("192.169.0.0", Public),
            ("198.17.255.255", Public),
            ("198.18.0.0", Internal),
            ("198.19.255.255", Internal),
            ("198.20.0.0", Public),
            ("169.254.1.1", Internal),
            ("0.0.0.0", Internal),
            ("0.1.2.3", Internal),
            ("127.0.0.1", Loopback),
            ("127.255.255.255", Loopback),
            ("224.0.0.1", Internal),
            ("239.255.255.255", Internal),
            ("240.0.0.1", Internal),
            ("255.255.255.255", Internal),
            ("169.254.169.254", CloudMetadata),
            ("100.100.100.200", CloudMetadata),
            ("168.63.129.16", CloudMetadata),
            ("2606:4700::1111", Public),
            ("::", Internal),
            ("::1", Loopback),
            ("::2", Internal),
            ("::ffff:10.0.0.1", Internal),
            ("::ffff:127.0.0.1", Loopback),
            ("::ffff:169.254.169.254", CloudMetadata),
            ("::ffff:8.8.8.8", Public),
            ("::10.0.0.1", Internal),
            ("64:ff9b::a00:1", Internal),
            ("64:ff9b::808:808", Public),
            ("64:ff9b:1::1", Internal),
            ("2002:a00:1::1", Internal),
            ("2002:808:808::1", Public),
            ("2001::1", Internal),
            ("2001:db8::1", Internal),
            ("fc00::1", Internal),
            ("fdff::1", Internal),
            ("fe80::1", Internal),
            ("fec0::1", Internal),
            ("ff02::1", Internal),
            ("4000::1", Internal),
            ("fd00:ec2::254", CloudMetadata),
        ];
        for (address, expected) in rows {
            assert_eq!(class(address), expected, "{address}");
        }
    }

    fn fetched(upstream: &str, hosts: &[&str], url: &str) -> Result<(), AddressRefused> {
        FetchRules::new(&Url::parse(upstream).unwrap(), hosts).url(&Url::parse(url).unwrap())
    }

    #[test]
    fn plain_http_is_for_loopback_hosts_on_both_sides() {
        let refused = Err(AddressRefused::Scheme);
        assert_eq!(fetched("http://localhost:1/mcp", &[], "http://localhost:2/x"), Ok(()));
        assert_eq!(fetched("http://127.0.0.1:1/mcp", &[], "http://localhost:2/x"), Ok(()));
        assert_eq!(fetched("https://h.example/mcp", &[], "http://localhost:2/x"), refused);
        assert_eq!(fetched("http://localhost:1/mcp", &["h.example"], "http://h.example/x"), refused);
        for url in ["ftp://h.example/", "file:///etc/passwd", "data:,x", "javascript:1"] {
            assert_eq!(fetched("https://h.example/mcp", &[], url), refused, "{url}");
        }
    }

    #[test]
    fn addresses_in_urls_are_classified_however_they_are_written() {
        let refused = Err(AddressRefused::NotPublic);
        for url in [
            "https://10.0.0.1/",
            "https://0x0a000001/",
            "https://167772161/",
            "https://012.0.0.1/",
            "https://[::ffff:10.0.0.1]/",
            "https://127.1/",
        ] {
            assert_eq!(fetched("https://h.example/mcp", &[], url), refused, "{url}");
        }
        assert_eq!(fetched("https://h.example/mcp", &["10.0.0.1"], "https://0x0a000001/"), Ok(()));
        assert_eq!(fetched("https://10.0.0.1/mcp", &[], "https://10.0.0.1:8443/"), Ok(()));
        assert_eq!(fetched("https://h.example/mcp", &["[FC00::1]"], "https://[fc00::1]/"), Ok(()));
    }

    #[test]
    fn metadata_of_clouds_is_never_exempt() {
        let refused = Err(AddressRefused::CloudMetadata);
        let urls = [
            "https://169.254.169.254/latest",
            "https://[::ffff:a9fe:a9fe]/",
            "https://metadata.google.internal/",
            "https://METADATA.google.internal./",
        ];
        for url in urls {
            let host = Url::parse(url).unwrap().host_str().unwrap().to_owned();
            assert_eq!(fetched("https://h.example/mcp", &[&host], url), refused, "{url}");
        }
    }

    #[test]
    fn a_name_is_judged_by_the_address_that_it_leads_to() {
        let rules = FetchRules::new(&Url::parse("https://h.example/mcp").unwrap(), ["internal.example"]);
        let address =
            |url: &str, address: &str| rules.address(&Url::parse(url).unwrap(), address.parse().unwrap());
        assert_eq!(address("https://a.example/", "8.8.8.8"), Ok(()));
        assert_eq!(address("https://a.example/", "10.0.0.1"), Err(AddressRefused::NotPublic));
        assert_eq!(address("https://localhost/", "127.0.0.1"), Err(AddressRefused::NotPublic));
        assert_eq!(address("https://INTERNAL.example./", "10.0.0.1"), Ok(()));
        assert_eq!(address("https://h.example/", "192.168.1.1"), Ok(()));
        assert_eq!(address("https://h.example/", "169.254.169.254"), Err(AddressRefused::CloudMetadata));
        let local = FetchRules::new(&Url::parse("http://localhost:1/mcp").unwrap(), [""; 0]);
        let url = Url::parse("http://127.0.0.1:2/").unwrap();
        assert_eq!(local.address(&url, "127.0.0.1".parse().unwrap()), Ok(()));
        // A name of this machine that leads elsewhere is not this machine.
        assert_eq!(local.address(&url, "10.0.0.1".parse().unwrap()), Err(AddressRefused::NotPublic));
    }
}
