//! `ca_file`: whose certificates it adds, and what of a listed certificate still has to be right.

use std::path::Path;
use std::sync::Arc;

use libtest_mimic::Trial;
use ptc_host::aggregator::{Aggregator, AggregatorOptions, SnapshotMode};
use ptc_host::config::{LoadOptions, ProcessEnv, UpstreamsConfig};
use ptc_mcp::json::{Value, json};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;
use url::Url;

use crate::support::{json, trial};
use crate::tls::serve;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("certificates::an_authority_counts_for_its_own_entry", an_authority),
        trial("certificates::a_listed_certificate_is_recognised_by_itself", a_listed_certificate),
        trial("certificates::a_look_alike_is_refused", a_look_alike),
        trial("certificates::a_listed_certificate_of_another_name_is_refused", another_name),
        trial("certificates::a_listed_certificate_that_has_run_out_is_refused", run_out),
        trial("certificates::whoever_lacks_the_key_is_refused", without_the_key),
    ]
}

/// A certificate and its key.
struct Shown {
    der: CertificateDer<'static>,
    pem: String,
    key: KeyPair,
}

/// What is wrong with a certificate, or not.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    /// Self-signed as that of an authority, as many tools make them; else signed by an authority that nobody knows.
    authority: bool,
    expired: bool,
}

const GOOD: Kind = Kind { name: "localhost", authority: true, expired: false };
const SIGNED: Kind = Kind { authority: false, ..GOOD };

impl Shown {
    fn new(kind: Kind) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![kind.name.to_owned()]).unwrap();
        if kind.expired {
            params.not_after = rcgen::date_time_ymd(2020, 1, 1);
        }
        let made = if kind.authority {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.self_signed(&key).unwrap()
        } else {
            params.signed_by(&key, &authority()).unwrap()
        };
        Self { der: CertificateDer::from(made.der().to_vec()), pem: made.pem(), key }
    }

    /// A server that shows it, and signs with `key`.
    async fn served_with(
        &self,
        key: &KeyPair,
        versions: &[&'static rustls::SupportedProtocolVersion],
    ) -> Url {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let key = provider.key_provider.load_private_key(key).unwrap();
        let shown = Arc::new(CertifiedKey::new(vec![self.der.clone()], key));
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .unwrap()
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(Always(shown)));
        serve(TlsAcceptor::from(Arc::new(config))).await.url
    }

    async fn served(&self) -> Url {
        self.served_with(&self.key, rustls::ALL_VERSIONS).await
    }
}

/// Shows one certificate, whether or not the key is its own.
#[derive(Debug)]
struct Always(Arc<CertifiedKey>);

impl ResolvesServerCert for Always {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }
}

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(rcgen::DnType::CommonName, "an authority");
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// The aggregator of one upstream at `url`, whose `ca_file` has these certificates, or why it does not start.
async fn start(url: &Url, listed: &[&str]) -> Result<Arc<Aggregator>, String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("ca.pem"), listed.concat()).unwrap();
    start_all(
        json!({"u": {"transport": "mcp_http", "url": url.as_str(), "ca_file": "ca.pem"}}),
        folder.path(),
    )
    .await
}

async fn start_all(upstreams: Value, folder: &Path) -> Result<Arc<Aggregator>, String> {
    let env = ProcessEnv::default();
    let options = LoadOptions { env: &env, base_dir: Some(folder), own_exe: None };
    let config = UpstreamsConfig::from_value(&json!({"upstreams": upstreams}), &options).unwrap();
    let options = AggregatorOptions::new(SnapshotMode::Frozen);
    Aggregator::start(config, options).await.map_err(|error| error.to_string())
}

async fn answers(aggregator: &Aggregator, name: &str) {
    let (_, upstream) = aggregator.unfiltered().upstreams().find(|(config, _)| config.name == name).unwrap();
    assert_eq!(json(&**upstream, "t", r#"{"a":1}"#).await, r#"{"a":1}"#);
}

async fn an_authority() {
    let (one, two) = (authority(), authority());
    let key = KeyPair::generate().unwrap();
    let made = CertificateParams::new(vec!["localhost".to_owned()]).unwrap().signed_by(&key, &two).unwrap();
    let shown = Shown { der: CertificateDer::from(made.der().to_vec()), pem: made.pem(), key };
    let url = shown.served().await;
    let folder = tempfile::tempdir().unwrap();
    // Keys and other text between certificates are passed over.
    let file =
        format!("# ours\n{}{}\n{}", one.pem(), KeyPair::generate().unwrap().serialize_pem(), two.pem());
    std::fs::write(folder.path().join("ca.pem"), file).unwrap();
    let entry = json!({"transport": "mcp_http", "url": url.as_str(), "ca_file": "ca.pem"});
    let mut without = entry.clone();
    without.as_object_mut().unwrap().remove("ca_file");
    let aggregator = start_all(json!({"with": entry}), folder.path()).await.unwrap();
    answers(&aggregator, "with").await;
    aggregator.shutdown().await;
    let refused =
        start_all(json!({"with": entry, "without": without}), folder.path()).await.err().expect("no trust");
    assert!(
        refused.contains("upstream without cannot be started") && refused.contains("UnknownIssuer"),
        "{refused}"
    );
    assert!(refused.contains("ca_file in the entry"), "{refused}");
}

async fn a_listed_certificate() {
    for kind in [GOOD, SIGNED] {
        for version in rustls::ALL_VERSIONS {
            let shown = Shown::new(kind);
            let url = shown.served_with(&shown.key, &[version]).await;
            // Alone, and beside an authority that has the name of the one that signed it, and is another.
            for listed in [&[shown.pem.as_str()][..], &[&authority().pem(), &shown.pem]] {
                let aggregator = start(&url, listed).await.unwrap();
                answers(&aggregator, "u").await;
                aggregator.shutdown().await;
            }
        }
    }
}

async fn a_look_alike() {
    // Name, issuer and everything else but the key are the same.
    for (kind, told) in [(GOOD, "this very certificate"), (SIGNED, "ca_file in the entry")] {
        let refused =
            start(&Shown::new(kind).served().await, &[&Shown::new(kind).pem]).await.err().expect("no trust");
        assert!(refused.contains("invalid peer certificate") && refused.contains(told), "{refused}");
    }
}

async fn another_name() {
    for kind in [GOOD, SIGNED] {
        let shown = Shown::new(Kind { name: "other.example", ..kind });
        let refused = start(&shown.served().await, &[&shown.pem]).await.err().expect("no trust");
        assert!(refused.contains("The certificate is for another host"), "{refused}");
    }
}

async fn run_out() {
    for kind in [GOOD, SIGNED] {
        let shown = Shown::new(Kind { expired: true, ..kind });
        let refused = start(&shown.served().await, &[&shown.pem]).await.err().expect("no trust");
        assert!(refused.contains("The server's certificate has run out"), "{refused}");
    }
}

async fn without_the_key() {
    for kind in [GOOD, SIGNED] {
        for version in rustls::ALL_VERSIONS {
            let shown = Shown::new(kind);
            let url = shown.served_with(&KeyPair::generate().unwrap(), &[version]).await;
            let refused = start(&url, &[&shown.pem]).await.err().expect("no trust");
            assert!(refused.contains("invalid peer certificate: BadSignature"), "{refused}");
        }
    }
}
