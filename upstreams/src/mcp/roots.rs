//! Roots: the folders that a server gets when it asks for them.

use super::inbound_reply::InboundReply;
use std::sync::Arc;
use std::time::Duration;

use ptc_mcp::encode;
use tokio::sync::watch;

use crate::config::RootsConfig;
use ptc_base::time;

/// How long a server that asks is kept waiting for the roots of the client.
const PATIENCE: Duration = Duration::from_secs(5);

/// The roots of the client of this process, for upstreams that may ask for them.
#[derive(Debug, Clone)]
pub struct ClientRoots(Arc<watch::Sender<RootsState>>);

/// The known roots of the client: the text of a JSON array, and whether it is still awaited.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RootsState {
    roots: Arc<str>,
    awaited: bool,
}

impl Default for ClientRoots {
    /// No client that could have roots.
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(RootsState { roots: "[]".into(), awaited: false })))
    }
}

impl ClientRoots {
    /// Announces that a client may yet name its roots: requests for them wait.
    pub fn expect(&self) {
        self.0.send_if_modified(|known| !std::mem::replace(&mut known.awaited, true));
    }

    /// The client's roots: the text of a JSON array.
    pub fn set(&self, roots: &str) {
        let new = RootsState { roots: roots.into(), awaited: false };
        self.0.send_if_modified(|known| {
            *known != new && {
                *known = new;
                true
            }
        });
    }
}

/// Where the roots of one upstream come from.
#[derive(Debug)]
pub(super) enum Roots {
    /// Roots are not offered as a capability.
    NotOffered,
    /// The text of a JSON array.
    Listed(Arc<str>),
    /// From the client.
    Client(ClientRoots),
}

impl Roots {
    pub(super) fn of(config: &RootsConfig, client: &ClientRoots) -> Self {
        match config {
            RootsConfig::NotOffered => Self::NotOffered,
            RootsConfig::Listed(roots) => Self::Listed(roots.clone()),
            RootsConfig::Client => Self::Client(client.clone()),
        }
    }

    pub(super) fn are_offered(&self) -> bool {
        !matches!(self, Self::NotOffered)
    }

    /// The member of the capabilities of `initialize`, if there is one.
    pub(super) fn capability(&self) -> Option<&'static str> {
        match self {
            Self::NotOffered => None,
            Self::Listed(_) => Some(r#""roots":{}"#),
            Self::Client(_) => Some(r#""roots":{"listChanged":true}"#),
        }
    }

    /// The answer to `roots/list`.
    pub(super) fn answer(&self, id: &str) -> InboundReply {
        match self {
            Self::NotOffered => InboundReply::Ready(encode::method_not_found(id)),
            Self::Listed(roots) => InboundReply::Ready(answer(id, roots)),
            Self::Client(ClientRoots(client)) => {
                let known = client.borrow().clone();
                if !known.awaited {
                    return InboundReply::Ready(answer(id, &known.roots));
                }
                let (mut known, id) = (client.subscribe(), id.to_owned());
                InboundReply::Waiting(Box::pin(async move {
                    let told = time::timeout(PATIENCE, known.wait_for(|known| !known.awaited)).await;
                    let roots = match told {
                        Ok(Ok(known)) => known.roots.clone(),
                        Ok(Err(_)) | Err(_) => "[]".into(),
                    };
                    Some(answer(&id, &roots))
                }))
            }
        }
    }

    /// Whether other ones may take their place.
    pub(super) fn may_change(&self) -> bool {
        matches!(self, Self::Client(_))
    }

    /// Resolves when they have changed since the call; never where they cannot.
    pub(super) fn changed(&self) -> impl Future<Output = ()> + Send + use<> {
        let client = match self {
            Self::Client(ClientRoots(client)) => Some(client.subscribe()),
            Self::NotOffered | Self::Listed(_) => None,
        };
        async move {
            let Some(mut client) = client else { return std::future::pending().await };
            // The first answer of a client is no change: whoever has asked waits for it.
            while client.borrow_and_update().awaited {
                if client.changed().await.is_err() {
                    return std::future::pending().await;
                }
            }
            if client.changed().await.is_err() {
                std::future::pending().await
            }
        }
    }
}

fn answer(id: &str, roots: &str) -> Vec<u8> {
    encode::result(id, format!("{{\"roots\":{roots}}}").as_bytes())
}
