//! The environment of a child.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// The complete environment of a child: it is started with these variables and no others. `Debug` shows names only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ChildEnv(BTreeMap<OsString, OsString>);

impl std::fmt::Debug for ChildEnv {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl ChildEnv {
    /// Names and values, sorted by name. Only for spawning the child: values may be secrets.
    pub(crate) fn vars(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// The child's search path for programs.
    pub fn path(&self) -> Option<&OsStr> {
        self.0.get(OsStr::new("PATH")).map(OsString::as_os_str)
    }
}

impl FromIterator<(OsString, OsString)> for ChildEnv {
    fn from_iter<I: IntoIterator<Item = (OsString, OsString)>>(vars: I) -> Self {
        Self(vars.into_iter().collect())
    }
}
