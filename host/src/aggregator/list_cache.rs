//! The upstreams' lists of tools from the last start of the same configuration, for descriptions that are wanted before they
//! have started (ruling 59). Calls and discovery never use it: they wait for the upstreams.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, process};

use tokio::task::JoinHandle;

use ptc_mcp::json::{Value, json};

use crate::catalog::ServerEntry;
use ptc_base::ordinary_file;
use ptc_base::time;
use ptc_base::visible::visible_line;
use ptc_secret::credentials::Redactor;
use ptc_upstreams::config::{PinPolicy, Routing, Transport, UpstreamConfig, named_variables};
use ptc_upstreams::upstream::{Introduction, Offers, ToolInfo};

/// Longest file that is read or written, in bytes.
const MAX_BYTES: usize = 8 << 20;
/// Files that a folder keeps: lists, and shapes of answers.
const MAX_FILES: usize = 32;
/// The form of the files.
const FORM: u64 = 1;

/// A folder with the lists of each configuration. It holds no secrets that the redactor knows, and is read by its owner
/// alone.
#[derive(Debug, Clone)]
pub struct ListCache {
    folder: PathBuf,
}

impl ListCache {
    /// The cache in this folder, which is made when it is needed.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The file of this configuration. Any change to it, including the variables that it names and the version of this program,
    /// leads to another one. The terminal or the client that starts the process does not: `ptc check` keeps the lists for both.
    pub(super) fn of(&self, upstreams: &[UpstreamConfig]) -> CachedLists {
        let mut name = String::new();
        for half in 0..2 {
            let mut hasher = DefaultHasher::new();
            (half, FORM, env!("CARGO_PKG_VERSION")).hash(&mut hasher);
            // Secrets do not show in it.
            upstreams.iter().for_each(|upstream| format!("{:?}", configured(upstream)).hash(&mut hasher));
            name.push_str(&format!("{:016x}", hasher.finish()));
        }
        CachedLists { path: self.folder.join(name + ".json") }
    }
}

/// An upstream as its entry defines it, without values from the process that starts it.
fn configured(upstream: &UpstreamConfig) -> UpstreamConfig {
    // Lists are held to the pins of the moment when they are read.
    let mut configured = UpstreamConfig { pin: PinPolicy::default(), pins: None, ..upstream.clone() };
    match &mut configured.transport {
        Transport::Stdio(entry) => entry.env = named_variables(&entry.env),
        Transport::Http(entry) => entry.routing = Routing::Direct,
        Transport::OpenApi(_) => {}
    }
    configured
}

/// The tools of one upstream, and its description of itself.
pub(super) struct UpstreamListing {
    pub(super) tools: Arc<[ToolInfo]>,
    pub(super) introduction: Introduction,
    pub(super) roots: Vec<String>,
}

/// The lists of one configuration.
#[derive(Debug)]
pub(super) struct CachedLists {
    path: PathBuf,
}

impl CachedLists {
    /// Where the shapes of answers are kept, beside the lists.
    pub(super) fn shapes(&self) -> PathBuf {
        self.path.with_extension("shapes.json")
    }

    /// The servers as they were listed; none where there is no file, or one that is damaged.
    pub(super) fn read(
        &self,
        upstreams: &[UpstreamConfig],
        redactor: &Redactor,
    ) -> BTreeMap<String, ServerEntry> {
        let mut servers = BTreeMap::new();
        let Some(saved) = read_json(&self.path) else { return servers };
        for upstream in upstreams {
            let server = &saved[upstream.name.as_str()];
            let Some(tools) = server["tools"].as_array() else { continue };
            let text = |key: &str| server[key].as_str().unwrap_or_default().into();
            let introduction = Introduction {
                title: text("title"),
                instructions: text("instructions"),
                offers: Offers::default(),
            };
            let entry = ServerEntry::loaded(upstream, tools.clone(), redactor);
            let roots = server["roots"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let roots = roots.map(|root| visible_line(root).into_owned()).collect();
            servers.insert(upstream.name.clone(), entry.introduced(&introduction, redactor).serving(roots));
        }
        servers
    }

    /// Writes the upstreams' lists to the cache, beside the known lists of the others. If the folder cannot be used, only the
    /// cache is lost.
    #[expect(clippy::disallowed_methods, reason = "entry point: CachedLists.write")]
    pub(super) fn write<'a>(
        &self,
        listed: impl Iterator<Item = (&'a str, UpstreamListing)>,
        redactor: &Redactor,
    ) -> Option<JoinHandle<()>> {
        let mut listed = listed.peekable();
        listed.peek()?;
        let known = read_json(&self.path).filter(Value::is_object);
        let mut servers = known.unwrap_or_else(|| Value::from(ptc_mcp::json::Map::new()));
        for (name, UpstreamListing { tools, introduction, roots }) in listed {
            let tools: Vec<Value> =
                tools.iter().filter_map(|tool| serde_json::from_str(tool.json.get()).ok()).collect();
            let mut server = json!({
                "title": &*introduction.title, "instructions": &*introduction.instructions, "tools": tools,
                "roots": roots
            });
            redactor.scrub_json(&mut server);
            servers[name] = server;
        }
        let text = servers.to_string();
        let path = self.path.clone();
        let written = move || {
            if let Err(error) = write_text(&path, &text) {
                tracing::debug!(path = %path.display(), %error, "list_cache_not_written");
            }
        };
        Some(time::spawn_blocking(written))
    }
}

#[expect(clippy::disallowed_methods, reason = "entry point: read_json()")]
pub(super) fn read_json(path: &Path) -> Option<Value> {
    let text = ordinary_file::read(path, MAX_BYTES as u64).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Writes a file of the owner's atomically; does nothing if the content is the same.
#[expect(clippy::disallowed_methods, reason = "entry point: write_text()")]
pub(super) fn write_text(path: &Path, text: &str) -> io::Result<()> {
    if text.len() > MAX_BYTES {
        return Err(io::Error::other(format!("it has {} bytes, {MAX_BYTES} are kept", text.len())));
    }
    if ordinary_file::read(path, MAX_BYTES as u64).is_ok_and(|known| *known == text.as_bytes()) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let draft = path.with_extension(format!("{}.tmp", process::id()));
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    forget_the_oldest(folder);
    written
}

fn forget_the_oldest(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let json = |path: &Path| path.extension().is_some_and(|extension| extension == "json");
    let mut files: Vec<_> = entries
        .flatten()
        .filter(|entry| json(&entry.path()))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    files.sort_unstable();
    for (_, path) in files.iter().rev().skip(MAX_FILES) {
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use ptc_secret::credentials::Secret;
    use ptc_upstreams::config::StdioConfig;

    fn upstream(command: &str) -> UpstreamConfig {
        UpstreamConfig::new("s", Transport::Stdio(StdioConfig::for_command(command)))
    }

    fn tools(description: &str) -> Arc<[ToolInfo]> {
        let json = json!({"name": "t", "description": description, "inputSchema": {"type": "object"}});
        let json = serde_json::value::RawValue::from_string(json.to_string()).unwrap();
        [ToolInfo { name: "t".into(), json }].into()
    }

    async fn save(lists: CachedLists, redactor: &Redactor) {
        let told = Introduction { title: "The Title".into(), ..Introduction::default() };
        let (tools, roots) = (tools("opens with s3cret-s3cret"), vec!["/srv/files".to_owned()]);
        lists.write([("s", UpstreamListing { tools, introduction: told, roots })].into_iter(), redactor);
        for _ in 0..1000 {
            if lists.path.exists() {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        panic!("nothing is written");
    }

    #[tokio::test]
    async fn lists_come_back_for_the_same_configuration_only() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ListCache::new(folder.path().join("deep/lists"));
        let redactor = Redactor::new();
        redactor.register([&Secret::new("s3cret-s3cret")]).unwrap();
        let upstreams = [upstream("c")];
        assert!(cache.of(&upstreams).read(&upstreams, &redactor).is_empty());
        save(cache.of(&upstreams), &redactor).await;
        let read = cache.of(&upstreams).read(&upstreams, &redactor);
        assert_eq!((read["s"].tools().len(), read["s"].loaded), (1, true));
        // Another terminal, or a client's window.
        let mut elsewhere = upstreams.clone();
        let Transport::Stdio(entry) = &mut elsewhere[0].transport else { unreachable!("as made above") };
        entry.env = [("HOME", "/h"), ("LC_ALL", "C"), ("TERM", "dumb")]
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        assert_eq!(cache.of(&elsewhere).path, cache.of(&upstreams).path);
        let Transport::Stdio(entry) = &mut elsewhere[0].transport else { unreachable!("as made above") };
        entry.env = std::iter::once(("DESK".into(), "7".into())).collect();
        assert_ne!(cache.of(&elsewhere).path, cache.of(&upstreams).path);
        let other = [upstream("d")];
        assert!(cache.of(&other).read(&other, &redactor).is_empty());
        let path = cache.of(&upstreams).path;
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("The Title") && !text.contains("s3cret"), "{text}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        // A list that was kept while it was short does not stand.
        let second = json!({"name": "u", "inputSchema": {"type": "object"}}).to_string();
        let second = serde_json::value::RawValue::from_string(second).unwrap();
        let whole = [tools("first")[0].clone(), ToolInfo { name: "u".into(), json: second }].into();
        let (introduction, roots) = (Introduction::default(), vec!["/srv/files".to_owned()]);
        let listed = [("s", UpstreamListing { tools: whole, introduction, roots })];
        let written = cache.of(&upstreams).write(listed.into_iter(), &redactor);
        written.unwrap().await.unwrap();
        let read = cache.of(&upstreams).read(&upstreams, &redactor);
        assert_eq!((read["s"].tools().len(), &read["s"].roots[..]), (2, &["/srv/files".to_owned()][..]));
        for damaged in ["", "[]", "{\"s\":7}", "{\"s\":{\"tools\":[7,{}]}}", &text[..text.len() / 2]] {
            fs::write(&path, damaged).unwrap();
            let read = cache.of(&upstreams).read(&upstreams, &redactor);
            assert!(read.get("s").is_none_or(|server| server.tools().is_empty()), "{damaged}");
        }
    }

    #[test]
    fn a_folder_keeps_the_latest() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..MAX_FILES + 5 {
            write_text(&folder.path().join(format!("{number}.json")), "{}").unwrap();
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), MAX_FILES);
    }
}
