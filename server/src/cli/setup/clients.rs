//! The known MCP clients: the places of their files, and the form of an entry in them.

use std::path::{Path, PathBuf};

use ptc_host::config::ProcessEnv;

/// The form in which a client configures a server that it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConfigFormat {
    /// `{"command", "args"}`, and further keys that the client needs.
    Plain,
    /// The same with `"type": "stdio"`.
    Typed,
    /// Copilot's `"type": "local"` and `"tools": ["*"]`.
    Copilot,
    /// Cline's limit in seconds: its default of 60 s is less than a program may take with its questions.
    Cline,
    /// opencode's one list, `"type": "local"`.
    OpenCode,
    /// Zed's `"source": "custom"`.
    Zed,
    /// Codex's TOML table.
    Codex,
}

/// An MCP client.
#[derive(Debug)]
pub(super) struct McpClient {
    /// Its name on the command line.
    pub(super) name: &'static str,
    /// Its name for people.
    pub(super) label: &'static str,
    /// The key of its servers.
    pub(super) key: &'static str,
    /// The form of its entries.
    pub(super) form: ConfigFormat,
    /// Its files: that of the person first, then those of the project in the current folder.
    files: &'static [ConfigPath],
}

/// A client's file.
#[derive(Debug)]
pub(super) struct ClientFile {
    pub(super) path: PathBuf,
    /// The folder of the project that it belongs to; `None` for a file of the person's.
    pub(super) project: Option<PathBuf>,
}

/// The path of a configuration file.
#[derive(Clone, Copy, Debug)]
enum ConfigPath {
    /// Below the home folder.
    Home(&'static str),
    /// Below the folder of applications' data: `~/.config`, `~/Library/Application Support`, `%APPDATA%`.
    Data(&'static str),
    /// Below the folder that this variable names, else below this one in the home folder.
    Named(&'static str, &'static str, &'static str),
    /// Below the current folder.
    Project(&'static str),
}

use ConfigPath::{Data, Home, Named, Project};

/// Every client, in the order of the search: the first of two equal servers is used.
pub(super) const CLIENTS: [McpClient; 12] = [
    McpClient {
        name: "claude-desktop",
        label: "Claude Desktop",
        key: "mcpServers",
        form: ConfigFormat::Plain,
        files: &[Data("Claude/claude_desktop_config.json")],
    },
    McpClient {
        name: "claude-code",
        label: "Claude Code",
        key: "mcpServers",
        form: ConfigFormat::Typed,
        files: &[Home(".claude.json"), Project(".mcp.json")],
    },
    McpClient {
        name: "cursor",
        label: "Cursor",
        key: "mcpServers",
        form: ConfigFormat::Plain,
        files: &[Home(".cursor/mcp.json"), Project(".cursor/mcp.json")],
    },
    McpClient {
        name: "vscode",
        label: "VS Code",
        key: "servers",
        form: ConfigFormat::Typed,
        files: &[Data("Code/User/mcp.json"), Project(".vscode/mcp.json")],
    },
    McpClient {
        name: "codex",
        label: "Codex",
        key: "mcp_servers",
        form: ConfigFormat::Codex,
        files: &[Named("CODEX_HOME", ".codex", "config.toml"), Project(".codex/config.toml")],
    },
    McpClient {
        name: "gemini",
        label: "Gemini CLI",
        key: "mcpServers",
        form: ConfigFormat::Plain,
        files: &[Home(".gemini/settings.json"), Project(".gemini/settings.json")],
    },
    McpClient {
        name: "qwen",
        label: "Qwen Code",
        key: "mcpServers",
        form: ConfigFormat::Plain,
        files: &[Home(".qwen/settings.json"), Project(".qwen/settings.json")],
    },
    McpClient {
        name: "opencode",
        label: "opencode",
        key: "mcp",
        form: ConfigFormat::OpenCode,
        files: &[
            Named("XDG_CONFIG_HOME", ".config", "opencode/opencode.json"),
            Named("XDG_CONFIG_HOME", ".config", "opencode/opencode.jsonc"),
            Project("opencode.json"),
        ],
    },
    McpClient {
        name: "cline",
        label: "Cline",
        key: "mcpServers",
        form: ConfigFormat::Cline,
        files: &[
            Home(".cline/data/settings/cline_mcp_settings.json"),
            Data("Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"),
        ],
    },
    McpClient {
        name: "copilot",
        label: "Copilot CLI",
        key: "mcpServers",
        form: ConfigFormat::Copilot,
        files: &[Named("COPILOT_HOME", ".copilot", "mcp-config.json")],
    },
    McpClient {
        name: "windsurf",
        label: "Windsurf",
        key: "mcpServers",
        form: ConfigFormat::Plain,
        files: &[Home(".codeium/windsurf/mcp_config.json")],
    },
    McpClient {
        name: "zed",
        label: "Zed",
        key: "context_servers",
        form: ConfigFormat::Zed,
        files: &[Named("XDG_CONFIG_HOME", ".config", "zed/settings.json"), Project(".zed/settings.json")],
    },
];

impl McpClient {
    /// The client of this name.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        CLIENTS.iter().find(|client| client.name == name)
    }

    /// The paths of its files, whether they exist or not, each with the project that it belongs to. The first is the
    /// person's own.
    pub(super) fn files(&self, env: &ProcessEnv, folder: &Path) -> Vec<ClientFile> {
        let mut files: Vec<ClientFile> = Vec::new();
        for place in self.files {
            let Some(path) = place.resolve(env, folder) else { continue };
            // In the home folder the person's file is also the project's.
            if files.iter().all(|file| file.path != path) {
                let project = matches!(place, Project(_)).then(|| folder.to_owned());
                files.push(ClientFile { path, project });
            }
        }
        files
    }

    /// The client that has a file at `path`, and the file, in whatever project.
    pub(super) fn of_file(path: &Path, env: &ProcessEnv) -> Option<(&'static Self, ClientFile)> {
        let whole = std::path::absolute(path).ok()?;
        let personal =
            |client: &&Self| client.files(env, Path::new("")).iter().any(|file| file.path == whole);
        if let Some(client) = CLIENTS.iter().find(personal) {
            return Some((client, ClientFile { path: path.to_owned(), project: None }));
        }
        CLIENTS.iter().find_map(|client| {
            let project = client.files.iter().find_map(|place| match place {
                Project(file) if whole.ends_with(file) => {
                    whole.ancestors().nth(Path::new(file).components().count())
                }
                _ => None,
            })?;
            Some((client, ClientFile { path: path.to_owned(), project: Some(project.to_owned()) }))
        })
    }

    /// True if it is a graphical application, and so has neither the variables nor the search path of a shell.
    pub(super) fn has_windows(&self) -> bool {
        ["claude-desktop", "cursor", "vscode", "cline", "windsurf", "zed"].contains(&self.name)
    }

    /// Further keys that a person may want in the entry: who approves calls is the person's choice.
    pub(super) fn advice(&self) -> Option<&'static str> {
        match self.name {
            "codex" => Some(
                "codex exec refuses calls that nobody can be asked about; default_tools_approval_mode = \"approve\" lets all through",
            ),
            "gemini" | "qwen" => Some("it asks about each call; \"trust\": true lets all through"),
            "copilot" => {
                Some("without a person it refuses calls; copilot --allow-tool ptc lets them through")
            }
            _ => None,
        }
    }

    /// True if `$NAME` is a variable in its files.
    pub(super) fn has_bare_names(&self) -> bool {
        ["gemini", "qwen"].contains(&self.name)
    }

    /// The file for our entry: the person's own file that exists, else the first.
    pub(super) fn own_file(&self, env: &ProcessEnv, folder: &Path) -> Option<PathBuf> {
        let personal = self.files.iter().filter(|place| !matches!(place, Project(_)));
        let paths: Vec<PathBuf> = personal.filter_map(|place| place.resolve(env, folder)).collect();
        paths.iter().find(|path| path.exists()).or(paths.first()).cloned()
    }
}

impl ConfigPath {
    fn resolve(&self, env: &ProcessEnv, folder: &Path) -> Option<PathBuf> {
        let variable = |name: &str| env.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = || variable("HOME").or_else(|| variable("USERPROFILE"));
        match *self {
            Home(file) => Some(home()?.join(file)),
            Data(file) if cfg!(target_os = "macos") => {
                Some(home()?.join("Library/Application Support").join(file))
            }
            Data(file) if cfg!(windows) => Some(variable("APPDATA")?.join(file)),
            Data(file) => {
                Some(variable("XDG_CONFIG_HOME").or_else(|| Some(home()?.join(".config")))?.join(file))
            }
            Named(name, below, file) => {
                Some(variable(name).or_else(|| Some(home()?.join(below)))?.join(file))
            }
            Project(file) => Some(folder.join(file)),
        }
    }
}
