//! The files of a server, read and checked before anything is served: at a reload, and by `ptc config show`.

use ptc_host::config::UpstreamsConfig;

use super::policy::{ReadPolicy, read_policy};
use super::upstreams::load_upstreams;
use crate::options::SettingsSource;
use ptc_observers::audit::AuditLog;
use ptc_protocol::settings::{BootError, Settings};
use ptc_transport::http::Certificate;

/// What the files say that settings name.
pub(super) struct ServerFiles {
    /// The upstreams file, if there is one.
    pub(super) upstreams: Option<UpstreamsConfig>,
    /// The policy, or profiles alone, if there are any.
    pub(super) policy: Option<ReadPolicy>,
    /// The certificate of the listener, with its key, if it serves TLS.
    pub(super) certificate: Option<Certificate>,
}

impl ServerFiles {
    /// Reads and checks the files.
    ///
    /// # Errors
    /// The first that cannot be read or is wrong.
    pub(super) fn read(settings: &Settings) -> Result<ServerFiles, BootError> {
        let upstreams = load_upstreams(settings)?;
        let policy = read_policy(settings, upstreams.as_ref())?;
        let tls = settings.http.as_ref().and_then(|http| http.tls.as_ref());
        let certificate = tls.map(|(cert, key)| Certificate::read(cert, key)).transpose()?;
        Ok(ServerFiles { upstreams, policy, certificate })
    }
}

/// The settings of a server that would start, as far as that can be known without starting it: nothing is begun, connected to or
/// written.
///
/// # Errors
/// Why it would not.
pub fn check(source: &SettingsSource) -> Result<Settings, BootError> {
    let settings = source.read()?;
    let log = settings.diagnostics.audit_log.as_deref();
    let checked = ServerFiles::read(&settings).and_then(|_| log.map_or(Ok(()), AuditLog::check));
    checked.map_err(|fault| source.placed(fault)).map(|()| settings)
}
