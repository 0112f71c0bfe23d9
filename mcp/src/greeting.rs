//! Client identification: sent once in the handshake era, with every request in the modern era.

use crate::Revision;
use crate::json::Object;
use crate::meta;

/// A client's identity.
#[derive(Debug, Clone, Copy)]
pub struct ClientInfo<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its version.
    pub version: &'a str,
}

impl ClientInfo<'_> {
    /// `params` of `initialize`. No capability is declared.
    #[must_use]
    pub fn initialize_params(self) -> Vec<u8> {
        self.initialize_params_with("{}")
    }

    /// `params` of `initialize` with these `capabilities`, the text of a JSON object.
    #[must_use]
    pub fn initialize_params_with(self, capabilities: &str) -> Vec<u8> {
        let mut out = Vec::with_capacity(128);
        let mut params = Object::new(&mut out);
        params.string("protocolVersion", Revision::LATEST_HANDSHAKE.name());
        params.raw("capabilities", capabilities);
        self.write(params.key("clientInfo"));
        params.end();
        out
    }

    /// `_meta` of every modern request. No capability is declared.
    #[must_use]
    pub fn modern_meta(self) -> Vec<u8> {
        self.modern_meta_with("{}")
    }

    /// `_meta` of a modern request that declares these `capabilities`, the text of a JSON object.
    #[must_use]
    pub fn modern_meta_with(self, capabilities: &str) -> Vec<u8> {
        let mut out = Vec::with_capacity(192);
        let mut members = Object::new(&mut out);
        members.string(meta::PROTOCOL_VERSION, Revision::LATEST.name());
        self.write(members.key(meta::CLIENT_INFO));
        members.raw(meta::CLIENT_CAPABILITIES, capabilities);
        members.end();
        out
    }

    fn write(self, out: &mut Vec<u8>) {
        let mut info = Object::new(out);
        info.string("name", self.name);
        info.string("version", self.version);
        info.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_says_who_it_is_in_both_eras() {
        let client = ClientInfo { name: "c", version: "1" };
        assert_eq!(
            String::from_utf8(client.initialize_params()).unwrap(),
            r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}"#
        );
        assert_eq!(
            String::from_utf8(client.modern_meta()).unwrap(),
            r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#
        );
    }
}
