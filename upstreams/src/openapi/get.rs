//! The HTTP client as transport of OpenAPI upstreams.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::Method;
use url::Url;

use super::{GetFault, GetRequest, HttpAnswer, HttpGet};
use crate::config::Routing;
use crate::upstream::http_refusal::{moved_to, retry_after};
use crate::upstream::request_token::challenge_of;
use ptc_http::{Client, HttpError, Limits, Request, Target};

/// How much of the body of an answer other than 2xx is read.
const ERROR_BODY_BYTES: usize = 4096;

/// A client whose requests travel as an entry says.
#[derive(Clone)]
pub struct RoutedClient {
    /// The client.
    pub client: Client,
    /// The way to each address.
    pub routing: Routing,
}

impl RoutedClient {
    fn target(&self, url: &Url) -> Result<Target, HttpError> {
        Ok(Target::new(url)?.via(self.routing.route(url)))
    }
}

impl HttpGet for RoutedClient {
    #[expect(clippy::disallowed_methods, reason = "entry point: RoutedClient.get")]
    fn get<'a>(&'a self, request: GetRequest<'a>) -> BoxFuture<'a, Result<HttpAnswer, GetFault>> {
        async move {
            let limits = Limits {
                connect: request.connect_timeout,
                first_byte: request.first_byte_timeout,
                total: request.timeout,
                deadline: request.deadline,
                max_bytes: request.max_bytes,
                allowance: 0,
            };
            let message = Request {
                method: Method::GET,
                target: self.target(request.url).map_err(fault)?,
                headers: request.headers.into_iter().collect(),
                body: bytes::Bytes::new(),
            };
            let response = self.client.send(message, &limits).await.map_err(fault)?;
            let status = response.status.as_u16();
            let retry_after = retry_after(&response.headers);
            let moved_to = moved_to(response.status, &response.headers);
            let challenge = challenge_of(response.status, &response.headers);
            // Of an error body a message quotes the beginning; its length is no reason to lose the status.
            let body = match response.status.is_success() {
                true => response.body.collect_for(request.arrivals).await.map_err(fault)?,
                false => response.body.beginning(ERROR_BODY_BYTES.min(request.max_bytes)).await,
            };
            Ok(HttpAnswer { status, retry_after, moved_to, challenge, body })
        }
        .boxed()
    }

    fn make_room(&self, url: &Url, connections: usize) {
        if let Ok(target) = self.target(url) {
            self.client.make_room(&target, connections);
        }
    }

    fn close_idle(&self, url: &Url) {
        if let Ok(target) = self.target(url) {
            self.client.close_idle(&target);
        }
    }
}

fn fault(error: HttpError) -> GetFault {
    match error {
        HttpError::TooLarge { received, .. } => GetFault::TooLarge { received },
        other => GetFault::Failed(other.into()),
    }
}
