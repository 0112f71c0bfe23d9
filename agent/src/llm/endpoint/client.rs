//! The methods that every endpoint client has, independent of its protocol.

/// Gives a client with the fields `endpoint` and `model` and the methods `ask` and `takes_images` its settings, its debug
/// output, which shows no key, and the contract of a model.
macro_rules! endpoint_client {
    ($client:ident) => {
        impl std::fmt::Debug for $client {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($client)).field("model", &self.model).finish_non_exhaustive()
            }
        }

        impl $client {
            /// Sets the time limits and the size of the largest answer.
            #[must_use]
            pub fn limits(mut self, limits: $crate::llm::TimeLimits) -> $client {
                self.endpoint.set_limits(limits);
                self
            }

            /// Sends requests over the connections of this HTTP client, which also defines the trusted certificates.
            #[must_use]
            pub fn http(mut self, http: ptc_http::Client) -> $client {
                self.endpoint.set_http(http);
                self
            }
        }

        impl $crate::llm::Llm for $client {
            fn complete(
                &self,
                request: $crate::llm::LlmRequest,
            ) -> futures_util::future::BoxFuture<'_, Result<$crate::llm::LlmResponse, $crate::llm::LlmError>>
            {
                Box::pin(self.ask(request, None))
            }

            fn stream(
                &self,
                request: $crate::llm::LlmRequest,
                sink: $crate::llm::EventSink,
            ) -> futures_util::future::BoxFuture<'_, Result<$crate::llm::LlmResponse, $crate::llm::LlmError>>
            {
                Box::pin(self.ask(request, Some(sink)))
            }

            fn model(&self) -> Option<&str> {
                Some(&self.model)
            }

            fn sees_images(&self) -> bool {
                self.takes_images()
            }
        }
    };
}

pub(in crate::llm) use endpoint_client;
