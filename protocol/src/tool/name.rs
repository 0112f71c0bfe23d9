//! Names of tools.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// The name of a tool. Cheap to clone.
#[derive(Debug, Clone)]
pub enum ToolName {
    /// That of a tool of the product.
    Fixed(&'static str),
    /// That of a tool of a [source](super::ToolSource).
    Shared(Arc<str>),
}

impl Deref for ToolName {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            ToolName::Fixed(name) => name,
            ToolName::Shared(name) => name,
        }
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl PartialEq for ToolName {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for ToolName {}

impl PartialOrd for ToolName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ToolName {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl PartialEq<str> for ToolName {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for ToolName {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl From<&'static str> for ToolName {
    fn from(name: &'static str) -> Self {
        ToolName::Fixed(name)
    }
}

impl From<Arc<str>> for ToolName {
    fn from(name: Arc<str>) -> Self {
        ToolName::Shared(name)
    }
}

impl From<&ToolName> for Cow<'static, str> {
    fn from(name: &ToolName) -> Self {
        match name {
            ToolName::Fixed(name) => Cow::Borrowed(name),
            ToolName::Shared(name) => Cow::Owned((**name).to_owned()),
        }
    }
}
