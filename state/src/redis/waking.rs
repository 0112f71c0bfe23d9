//! The channel by which a holder hears of messages. It is a hint only: messages lie in the inbox.

use ptc_base::sync::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::sync::Notify;

use super::link::Link;
use ptc_base::time::{sleep, timeout};

/// A holder polls this often even without a wake-up, and a lost channel is reopened after as long.
const LOOK: Duration = Duration::from_secs(1);

/// Wake-ups for holders that wait for messages.
pub(super) struct Waking {
    prefix: String,
    /// By the name of the holder, which a process has one of.
    holders: Mutex<HashMap<String, Arc<Notify>>>,
}

impl Waking {
    pub(super) fn new(prefix: String) -> Self {
        Self { prefix, holders: Mutex::default() }
    }

    /// The prefix of the names of channels.
    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Completes when a message came for a run of `holder`, or after a second.
    pub(super) fn woken(&self, holder: &str, link: &Link) -> BoxFuture<'static, ()> {
        let notify = {
            let mut holders = self.holders.lock();
            match holders.get(holder) {
                Some(notify) => notify.clone(),
                None => {
                    let notify = Arc::new(Notify::new());
                    holders.insert(holder.to_owned(), notify.clone());
                    let heard = notify.clone();
                    link.spawn(listen(link.listener_again(), format!("{}{holder}", self.prefix), heard));
                    notify
                }
            }
        };
        async move {
            // Whoever was woken or not looks.
            let _ = timeout(LOOK, notify.notified()).await;
        }
        .boxed()
    }
}

/// Hears the messages of a channel, and opens it again when it is lost.
async fn listen<F>(connect: impl Fn() -> F, channel: String, heard: Arc<Notify>)
where
    F: Future<Output = Result<redis::aio::PubSub, redis::RedisError>>,
{
    loop {
        if let Ok(mut messages) = connect().await
            && messages.subscribe(&channel).await.is_ok()
        {
            // What came before the channel was open is in the inbox.
            heard.notify_one();
            let mut messages = messages.into_on_message();
            while messages.next().await.is_some() {
                heard.notify_one();
            }
        }
        sleep(LOOK).await;
    }
}
