//! The keys `proxy`, `proxy_auth` and `unix_socket`: how an upstream's requests reach it.

use super::home::refuse_home;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use url::{Host, Url};

use super::fields::Fields;
use ptc_base::config_error::ConfigError;
use ptc_base::environment::ProcessEnv;
use ptc_http::{Proxy, Route};
use ptc_secret::credentials::{CredentialStore, Secret, basic_authorization, proxy_authorization};

/// How requests to an upstream's URLs travel.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Routing {
    /// To wherever their host is.
    #[default]
    Direct,
    /// All alike.
    Fixed(Route),
    /// As `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` say.
    Environment(Arc<EnvironmentProxies>),
}

/// The settings of the variables for proxies.
#[derive(Debug, Default, PartialEq)]
pub struct EnvironmentProxies {
    http: Option<Proxy>,
    https: Option<Proxy>,
    exceptions: Vec<String>,
}

impl Routing {
    /// The way to this URL.
    pub fn route(&self, url: &Url) -> Route {
        match self {
            Self::Direct => Route::Direct,
            Self::Fixed(route) => route.clone(),
            Self::Environment(proxies) => proxies.route(url),
        }
    }

    pub(super) fn parse(
        fields: &Fields<'_>,
        env: &ProcessEnv,
        store: &CredentialStore,
        resolved: &mut Vec<Secret>,
    ) -> Result<Self, ConfigError> {
        let proxy = fields.string("proxy")?.filter(|text| !text.is_empty());
        let binding = fields.string("proxy_auth")?;
        let socket = fields.string("unix_socket")?.filter(|text| !text.is_empty());
        if binding.is_some() && proxy.is_none_or(|proxy| proxy == "environment") {
            return Err(fields.error("sets proxy_auth without the URL of a proxy"));
        }
        match (proxy, socket) {
            (None, None) => Ok(Self::Direct),
            (Some(_), Some(_)) => Err(fields.error("sets both proxy and unix_socket; keep one")),
            (None, Some(path)) if Path::new(path).is_absolute() && !path.contains('\0') => {
                Ok(Self::Fixed(Route::UnixSocket(Path::new(path).into())))
            }
            (None, Some(path)) => {
                refuse_home(fields.upstream, "unix_socket", path, env)?;
                Err(fields.error(format_args!("unix_socket must be an absolute path, got {path:?}")))
            }
            (Some("environment"), None) => {
                let proxies =
                    EnvironmentProxies::read(env, resolved).map_err(|detail| fields.error(detail))?;
                Ok(Self::Environment(Arc::new(proxies)))
            }
            (Some(text), None) => {
                let wrong = |detail: &str| {
                    fields.error(format_args!(
                        "proxy must be \"environment\" or a URL like http://proxy.example:3128: {detail}"
                    ))
                };
                let url = Url::parse(text).map_err(|_| wrong("it is no URL"))?;
                if !url.username().is_empty() || url.password().is_some() {
                    return Err(wrong(
                        "it carries a user or a password; name a credential binding in proxy_auth",
                    ));
                }
                let unset = binding.and_then(|binding| store.unset(binding));
                if let Some(why) = unset {
                    fields.lacks(why.to_owned())?;
                }
                let authorization = match binding.filter(|_| unset.is_none()) {
                    None => None,
                    Some(binding) => Some(proxy_authorization(fields.upstream, binding, store, resolved)?),
                };
                let proxy = Proxy::new(&url, authorization).map_err(wrong)?;
                Ok(Self::Fixed(Route::Proxy(proxy)))
            }
        }
    }
}

impl EnvironmentProxies {
    /// Reads the variables, in lower case first, as other programs do. `HTTP_PROXY` is not read where a web server may have
    /// set it from a request (`REQUEST_METHOD`).
    fn read(env: &ProcessEnv, resolved: &mut Vec<Secret>) -> Result<Self, String> {
        let first = |names: &[&'static str]| {
            names
                .iter()
                .find_map(|name| env.text(name).filter(|text| !text.is_empty()).map(|text| (*name, text)))
        };
        let all = first(&["all_proxy", "ALL_PROXY"]);
        let http = match env.get("REQUEST_METHOD") {
            None => first(&["http_proxy", "HTTP_PROXY"]),
            Some(_) => first(&["http_proxy"]),
        };
        let https = first(&["https_proxy", "HTTPS_PROXY"]);
        let mut proxy = |named: Option<(&'static str, &str)>| {
            let Some((name, text)) = named.or(all) else { return Ok(None) };
            of_variable(text, resolved)
                .map(Some)
                .map_err(|detail| format!("uses the variable {name}: {detail}"))
        };
        let exceptions = first(&["no_proxy", "NO_PROXY"]).map_or("", |(_, text)| text);
        let exceptions = exceptions.split(',').map(|entry| entry.trim().to_ascii_lowercase());
        Ok(Self {
            http: proxy(http)?,
            https: proxy(https)?,
            exceptions: exceptions.filter(|entry| !entry.is_empty()).collect(),
        })
    }

    fn route(&self, url: &Url) -> Route {
        let proxy = if url.scheme() == "https" { &self.https } else { &self.http };
        match proxy {
            Some(proxy) if !self.excepts(url) => Route::Proxy(proxy.clone()),
            _ => Route::Direct,
        }
    }

    /// Whether the URL's host is this machine or one that `NO_PROXY` names: by its name or the end of it, its address or its
    /// network, each with or without a port.
    fn excepts(&self, url: &Url) -> bool {
        let (name, address) = match url.host() {
            Some(Host::Domain(name)) => (name.trim_end_matches('.').to_ascii_lowercase(), None),
            Some(Host::Ipv4(address)) => (address.to_string(), Some(IpAddr::from(address))),
            Some(Host::Ipv6(address)) => (address.to_string(), Some(IpAddr::from(address))),
            None => return false,
        };
        if name == "localhost" || address.is_some_and(|address| address.is_loopback()) {
            return true;
        }
        self.exceptions.iter().any(|entry| {
            if entry == "*" {
                return true;
            }
            if let (Some(address), Some((network, bits))) = (address, entry.split_once('/')) {
                return is_in(address, network, bits);
            }
            let entry = match entry.rsplit_once(':') {
                // An IPv6 address without brackets has colons of its own.
                Some((rest, port)) if !rest.contains(':') || rest.ends_with(']') => {
                    if port.parse() != Ok(url.port_or_known_default().unwrap_or(0)) {
                        return false;
                    }
                    rest
                }
                _ => entry.as_str(),
            };
            let entry = entry.trim_start_matches('[').trim_end_matches(']');
            match (address, entry.parse::<IpAddr>()) {
                (Some(address), Ok(excepted)) => address == excepted,
                (Some(_), Err(_)) | (None, Ok(_)) => false,
                (None, Err(_)) => {
                    let suffix = entry.trim_start_matches('*').trim_start_matches('.');
                    name == suffix || name.strip_suffix(suffix).is_some_and(|rest| rest.ends_with('.'))
                }
            }
        })
    }
}

/// Whether an address lies in a network.
fn is_in(address: IpAddr, network: &str, bits: &str) -> bool {
    let (Ok(network), Ok(bits)) = (network.parse::<IpAddr>(), bits.parse::<u32>()) else { return false };
    let same = |address: u128, network: u128, width: u32| {
        bits <= width && (bits == 0 || (address ^ network) >> (width - bits) == 0)
    };
    match (address, network) {
        (IpAddr::V4(address), IpAddr::V4(network)) => {
            same(address.to_bits().into(), network.to_bits().into(), 32)
        }
        (IpAddr::V6(address), IpAddr::V6(network)) => same(address.to_bits(), network.to_bits(), 128),
        _ => false,
    }
}

/// The proxy of a variable, which may carry a user and a password, and no scheme.
fn of_variable(text: &str, resolved: &mut Vec<Secret>) -> Result<Proxy, String> {
    let with_scheme = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let url = Url::parse(&with_scheme).map_err(|_| "it is no URL".to_owned())?;
    let decoded = |part: &str| percent_encoding::percent_decode_str(part).decode_utf8_lossy().into_owned();
    let mut authorization = None;
    if !url.username().is_empty() || url.password().is_some() {
        let (user, password) = (decoded(url.username()), decoded(url.password().unwrap_or_default()));
        let basic = basic_authorization(&user, &password, resolved);
        authorization = Some(basic.ok_or("its user or password cannot be sent")?);
    }
    Proxy::new(&url, authorization).map_err(str::to_owned)
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::{Value, json};

    use super::*;

    fn env(vars: &[(&str, &str)]) -> ProcessEnv {
        vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn parse(entry: Value, vars: &[(&str, &str)]) -> Result<Routing, String> {
        let Value::Object(map) = &entry else { unreachable!("an object") };
        let fields = Fields::new("x", map);
        Routing::parse(&fields, &env(vars), &CredentialStore::default(), &mut Vec::new())
            .map_err(|error| error.to_string())
    }

    fn way(routing: &Routing, url: &str) -> String {
        match routing.route(&Url::parse(url).unwrap()) {
            Route::Direct | Route::Addresses(_) => "direct".to_owned(),
            Route::Proxy(proxy) => proxy.to_string(),
            Route::UnixSocket(path) => path.display().to_string(),
        }
    }

    #[test]
    fn an_entry_names_one_way() {
        assert_eq!(way(&parse(json!({}), &[("https_proxy", "http://p:1")]).unwrap(), "https://h/"), "direct");
        let fixed = parse(json!({"proxy": "http://p.example:3128"}), &[]).unwrap();
        assert_eq!(way(&fixed, "http://localhost/"), "p.example:3128", "as it says");
        let socket = parse(json!({"unix_socket": "/run/x.sock"}), &[]).unwrap();
        assert_eq!(way(&socket, "http://localhost/mcp"), "/run/x.sock");
        for (entry, said) in [
            (json!({"proxy": "http://p", "unix_socket": "/x"}), "sets both proxy and unix_socket"),
            (json!({"proxy": "http://u:sekrit@p"}), "name a credential binding in proxy_auth"),
            (json!({"proxy": "socks5://p:1"}), "only HTTP proxies are supported"),
            (json!({"proxy": "p:3128"}), "only HTTP proxies are supported"),
            (json!({"proxy": "nonsense"}), "it is no URL"),
            (json!({"proxy": 7}), "proxy must be a string"),
            (json!({"proxy_auth": "a"}), "without the URL of a proxy"),
            (json!({"proxy_auth": "a", "proxy": "environment"}), "without the URL of a proxy"),
            (json!({"proxy": "http://p", "proxy_auth": "a"}), "unknown credential binding a"),
            (json!({"unix_socket": "x.sock"}), "must be an absolute path"),
            (json!({"unix_socket": "~/x.sock"}), "begins with ~, which only a shell replaces"),
        ] {
            let error = parse(entry.clone(), &[]).unwrap_err();
            assert!(error.contains(said) && !error.contains("sekrit"), "{entry}: {error}");
        }
    }

    #[test]
    fn the_environment_is_read_as_other_programs_do() {
        let read = |vars: &[(&str, &str)]| parse(json!({"proxy": "environment"}), vars);
        let vars = [
            ("HTTPS_PROXY", "upper:1"),
            ("https_proxy", "http://lower:2/"),
            ("HTTP_PROXY", "http://plain:3"),
            ("NO_PROXY", "internal.example, .corp ,10.0.0.0/8,[::5]:443,odd.example:8443,*.star"),
        ];
        let routing = read(&vars).unwrap();
        for (url, wanted) in [
            ("https://h.example/", "lower:2"),
            ("http://h.example/", "plain:3"),
            ("https://internal.example/", "direct"),
            ("https://a.internal.example/", "direct"),
            ("https://notinternal.example/", "lower:2"),
            ("https://a.b.corp./", "direct"),
            ("https://corp/", "direct"),
            ("https://x.star/", "direct"),
            ("https://10.200.3.4/", "direct"),
            ("https://11.0.0.1/", "lower:2"),
            ("https://[::5]/", "direct"),
            ("https://[::5]:8443/", "lower:2"),
            ("https://odd.example:8443/", "direct"),
            ("https://odd.example/", "lower:2"),
            ("http://localhost:9/", "direct"),
            ("http://127.0.0.2/", "direct"),
            ("http://[::1]/", "direct"),
        ] {
            assert_eq!(way(&routing, url), wanted, "{url}");
        }
        assert_eq!(way(&read(&[("ALL_PROXY", "p")]).unwrap(), "https://h/"), "p:80");
        assert_eq!(way(&read(&[("ALL_PROXY", "p"), ("no_proxy", "*")]).unwrap(), "https://h/"), "direct");
        assert_eq!(way(&read(&[]).unwrap(), "https://h/"), "direct");
        let in_a_request = [("HTTP_PROXY", "http://evil:1"), ("REQUEST_METHOD", "GET")];
        assert_eq!(way(&read(&in_a_request).unwrap(), "http://h/"), "direct");
        let error = read(&[("https_proxy", "socks5://u:sekrit@p:1")]).unwrap_err();
        assert!(error.contains("https_proxy") && !error.contains("sekrit"), "{error}");
    }

    #[test]
    fn a_password_of_the_environment_is_a_secret() {
        let mut resolved = Vec::new();
        let proxies =
            EnvironmentProxies::read(&env(&[("https_proxy", "http://me:s%2Fkrit@p:1")]), &mut resolved)
                .unwrap();
        assert_eq!(resolved.iter().map(Secret::open).collect::<Vec<_>>(), ["bWU6cy9rcml0", "me", "s/krit"]);
        assert!(!format!("{proxies:?}").contains("krit"));
    }
}
