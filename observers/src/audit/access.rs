//! Lines about who comes in, what is denied, what operators do, and what a reload changes.

use std::net::IpAddr;
use std::time::Duration;

use ptc_mcp::json::{Object, object_text};
use ptc_protocol::operator::OperatorUse;

use super::AuditLog;
use super::line::line;

/// How long an accepted caller is not recorded again.
const SIGNED_IN_PAUSE: Duration = Duration::from_secs(60 * 60);
/// How long what an operator's page repeats is not recorded again.
const OPERATOR_PAUSE: Duration = Duration::from_secs(10 * 60);
/// Addresses share this many budgets of lines about refused credentials, so that many addresses have no more lines.
const REFUSED_BUDGETS: u8 = 16;

/// By what a caller is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignInWay {
    /// A static token.
    Token,
    /// An access token of an issuer.
    AccessToken,
    /// The sign-in of a person on the console or the sign-in page.
    Page,
}

impl SignInWay {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::AccessToken => "access_token",
            Self::Page => "page",
        }
    }
}

/// What of another caller's an operator sees or changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperatorSubject<'a> {
    /// A run.
    Run {
        /// Whose it is.
        owner: &'a str,
        /// Its id.
        run_id: &'a str,
    },
    /// A draft of a program.
    Draft {
        /// Whose it is.
        owner: &'a str,
        /// The name of its program.
        program: &'a str,
    },
}

/// What a reload has done, or why it has not.
#[derive(Debug, Clone, Copy)]
pub struct ReloadRecord<'a> {
    /// What asked for it: `SIGHUP`, or the command's channel.
    pub by: &'a str,
    /// Why it was refused, in which case nothing has changed.
    pub refused: Option<&'a str>,
    /// What has changed: the name of a part (`policy`, `tokens`) and what is new of it, without secrets.
    pub changes: &'a [(&'a str, String)],
}

impl AuditLog {
    /// Records that a caller was admitted: one with a token once an hour for each address.
    pub fn signed_in(&self, principal: &str, way: SignInWay, from: IpAddr) {
        let key = format!("{}\n{from}\n{principal}", way.as_str());
        if way != SignInWay::Page && self.callers.is_due(&key, SIGNED_IN_PAUSE).is_none() {
            return;
        }
        self.write(line("sign_in", |line| {
            line.string("principal", principal);
            came(line, way, from);
            line.string("outcome", "ok");
        }));
    }

    /// Records that credentials were refused, never those themselves. Of many within a short time some are only counted, in the next
    /// line.
    pub fn sign_in_refused(&self, reason: &str, way: Option<SignInWay>, from: IpAddr) {
        let bytes = match from {
            IpAddr::V4(from) => from.octets().to_vec(),
            // One subscriber has a whole network.
            IpAddr::V6(from) => from.octets()[..8].to_vec(),
        };
        let budget = bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(*byte));
        let Some(left_out) = self.refusals.line(&(budget % REFUSED_BUDGETS).to_string()) else { return };
        self.write(line("sign_in", |line| {
            match way {
                Some(way) => came(line, way, from),
                None => line.string("from", &from.to_string()),
            }
            line.string("outcome", reason);
            if left_out > 0 {
                line.integer("left_out", left_out);
            }
        }));
    }

    /// Records that a person has signed out of a page.
    pub fn signed_out(&self, principal: &str, from: IpAddr) {
        self.write(line("sign_out", |line| {
            line.string("principal", principal);
            came(line, SignInWay::Page, from);
        }));
    }

    /// Records that a caller was denied something that no program asked for.
    pub fn denied(&self, principal: &str, what: &str, reason: &str) {
        self.write(line("denied", |line| {
            line.string("principal", principal);
            line.string("what", what);
            line.string("reason", reason);
        }));
    }

    /// Records that a caller named a tool that there is not. Of many within a short time some are only counted, in the next line.
    pub(crate) fn named_no_tool(&self, principal: &str, is_http: bool, tool: &str) {
        let Some(left_out) = self.unknown_tools.line(principal) else { return };
        self.write(line("tool_call", |line| {
            line.string("principal", principal);
            line.string("channel", if is_http { "http" } else { "stdio" });
            line.string("tool", tool);
            line.string("outcome", "unknown_tool");
            line.integer("duration_ms", 0);
            if left_out > 0 {
                line.integer("left_out", left_out);
            }
        }));
    }

    /// Records what an operator sees or does beyond what is its own. `of`: whose it is, and what. One line
    /// stands for what pages repeat within ten minutes.
    pub fn operator(&self, principal: &str, use_: OperatorUse, of: Option<OperatorSubject<'_>>) {
        let repeats = match use_.is_repeated() {
            true => {
                let key = format!("{}\n{principal}", use_.as_str());
                let Some(repeats) = self.operators.is_due(&key, OPERATOR_PAUSE) else { return };
                repeats
            }
            false => 0,
        };
        self.write(line("operator", |line| {
            line.string("principal", principal);
            line.string("use", use_.as_str());
            match of {
                None => {}
                Some(OperatorSubject::Run { owner, run_id }) => {
                    line.string("owner", owner);
                    line.string("run_id", run_id);
                }
                Some(OperatorSubject::Draft { owner, program }) => {
                    line.string("owner", owner);
                    line.string("program", program);
                }
            }
            if repeats > 0 {
                line.integer("repeats", repeats);
            }
        }));
    }

    /// Records a reload, whether it was applied or refused.
    pub fn reloaded(&self, reload: &ReloadRecord<'_>) {
        self.write(line("reload", |line| {
            line.string("by", reload.by);
            line.string("outcome", if reload.refused.is_some() { "refused" } else { "applied" });
            if let Some(reason) = reload.refused {
                line.string("reason", reason);
            }
            if !reload.changes.is_empty() {
                let changes = object_text(|changes| {
                    reload.changes.iter().for_each(|(part, change)| changes.string(part, change));
                });
                line.raw("changes", &changes);
            }
        }));
    }
}

fn came(line: &mut Object<'_>, way: SignInWay, from: IpAddr) {
    line.string("by", way.as_str());
    line.string("from", &from.to_string());
}
