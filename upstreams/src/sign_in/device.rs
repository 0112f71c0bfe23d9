//! Signing in with a browser on another machine (RFC 8628, auth.md 8).

use std::time::Duration;

use ptc_oauth::client::{Client, Signing};
use ptc_oauth::failure::Failure;
use ptc_oauth::grants::{DeviceAuthorization, GrantContext, Poll, Polling};
use ptc_oauth::secret::Secret;
use ring::rand::SystemRandom;

use super::begin::{SignInPlan, SignedIn};
use super::fault::SignInError;
use super::site::{Site, random};
use ptc_base::time;

/// A code that a person enters elsewhere, and the polling for its result.
pub struct DeviceSignIn {
    /// The code and address to show.
    pub shown: DeviceAuthorization,
    polling: Polling,
    prepared: SignInPlan,
    principal: String,
}

impl std::fmt::Debug for DeviceSignIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("DeviceSignIn").field(&self.principal).finish()
    }
}

impl Site {
    /// Begins a sign-in of `principal` on another machine.
    ///
    /// # Errors
    /// Why it cannot be begun.
    pub async fn begin_device(
        &self,
        principal: &str,
        redirect_uri: &str,
    ) -> Result<DeviceSignIn, SignInError> {
        let principal = self.account(principal).to_owned();
        // Dynamic registration wants a redirect URI, even where no browser comes back.
        let prepared = self.prepare(&principal, &[redirect_uri.to_owned()]).await?;
        let server = &prepared.discovered.server;
        let what = "device authorization";
        let endpoint = server.device_authorization_endpoint.as_ref().ok_or(Failure::Unsupported { what })?;
        let random_source = SystemRandom::new();
        let asking = self.asking(&prepared, &prepared.client, &random_source)?;
        let answer = self.fetcher.send(asking.device(endpoint, &prepared.scopes)).await;
        let shown = match DeviceAuthorization::read(&answer) {
            Err(failure) if failure.is_about_client() && !prepared.is_new => {
                self.forget_client(&prepared.binding).await?;
                return Err(self.of_device(failure, &prepared, None).into());
            }
            read => read.map_err(|failure| self.of_device(failure, &prepared, None))?,
        };
        let polling = shown.poll(self.now());
        Ok(DeviceSignIn { shown, polling, prepared, principal })
    }

    /// Waits until the person has entered the code, or it has ended.
    ///
    /// # Errors
    /// Why the sign-in failed.
    pub async fn finish_device(&self, device: &mut DeviceSignIn) -> Result<SignedIn, SignInError> {
        let random_source = SystemRandom::new();
        let mut poll = device.polling.due();
        let tokens = loop {
            match poll {
                Poll::Done(tokens) => {
                    break tokens.map_err(|failure| {
                        self.of_device(failure, &device.prepared, Some(device.shown.device_code()))
                    })?;
                }
                Poll::At(time) => {
                    time::sleep(time.since(self.now()).max(Duration::from_millis(1))).await;
                    let asking = self.asking(&device.prepared, &device.prepared.client, &random_source)?;
                    let answer = self.fetcher.send(device.polling.request(&asking)).await;
                    poll = device.polling.receive(&answer);
                }
            }
        };
        let SignInPlan { binding, scopes, .. } = &device.prepared;
        self.keep(binding, &device.principal, tokens, scopes.clone(), false).await
    }

    /// A failure without the secrets that the server was sent.
    fn of_device(&self, failure: Failure, prepared: &SignInPlan, code: Option<&Secret>) -> Failure {
        let sent: Vec<&Secret> = code.into_iter().chain(prepared.client.credential.secret()).collect();
        self.clean(failure, &sent)
    }

    fn asking<'a>(
        &self,
        prepared: &'a SignInPlan,
        client: &'a Client,
        random_source: &'a SystemRandom,
    ) -> Result<GrantContext<'a>, Failure> {
        let server = &prepared.discovered.server;
        let signing =
            Signing { issuer: &server.issuer, now: self.now(), jti: random()?, random: random_source };
        let resource = prepared.binding.resource.as_deref();
        Ok(GrantContext { endpoint: &server.token_endpoint, client, signing, resource })
    }
}
