//! The definitions of the tools that programs may call: as they are pinned, and as their upstreams list them now.

use std::path::{Path, PathBuf};

use clap::Args;
use ptc_host::aggregator::{AggregatorOptions, SnapshotMode};
use ptc_host::catalog::Catalog;
use ptc_host::config::{
    ConfigLocation, OAuthIdentity, PinLock, PinnedTool, ProcessEnv, SERVER_VARIABLE, UpstreamConfig,
    UpstreamsConfig, locate,
};
use ptc_programs::definition::{Definition, DefinitionChanges, Definitions};
use ptc_programs::lock::Approval;
use ptc_programs::program::KeptProgram;
use ptc_programs::staleness::{PresentTool, StaleTool, check_named_tools, stale_tools};
use ptc_tools::kept::present_tool;

use crate::cli::pin::load;
use crate::cli::upstreams::{self, Warnings};

/// Where the upstreams of programs are named.
#[derive(Args, Debug)]
pub(super) struct UpstreamsArgs {
    /// Upstreams file [default: as `ptc start` finds it]; the lock of tools is beside it
    #[arg(long, value_name = "FILE")]
    upstreams_config: Option<PathBuf>,

    #[arg(long, help = crate::options::flags::find("ca-file").described(), value_name = "FILE")]
    ca_file: Option<PathBuf>,
}

impl UpstreamsArgs {
    /// The upstreams file, if there is one.
    fn location(&self) -> Option<ConfigLocation> {
        locate(self.upstreams_config.as_deref(), Some(SERVER_VARIABLE), &ProcessEnv::current())
    }

    /// The definitions that are pinned. Where nothing is, nothing is known.
    pub(super) fn pinned(&self) -> Result<ToolDefinitions, String> {
        let lock = match self.location() {
            Some(location) => pins(&location.path)?,
            None => PinLock::default(),
        };
        Ok(ToolDefinitions { lock, ..ToolDefinitions::default() })
    }

    /// Those that these programs may be approved with: pinned ones, and the present ones of upstreams that are not pinned.
    pub(super) async fn for_approval(&self, programs: &[&KeptProgram]) -> Result<ToolDefinitions, String> {
        let definitions = self.pinned()?;
        let lock = &definitions.lock;
        let lacks = |name: &str| {
            !lock.upstreams.contains_key(name)
                && programs.iter().any(|program| program.head.tools.names_upstream(name))
        };
        let listed = self.listed(lacks).await?;
        Ok(ToolDefinitions { lock: definitions.lock, ..listed })
    }

    /// Those that the upstreams of these approvals list now.
    pub(super) async fn present(&self, approvals: &[&Approval]) -> Result<ToolDefinitions, String> {
        let names = |name: &str| {
            let of = |reference: &String| reference.split_once('/').is_some_and(|(of, _)| of == name);
            approvals.iter().any(|approval| approval.tools.keys().any(of))
        };
        self.listed(names).await
    }

    /// The tools that these upstreams list now, but for those at which each person signs in (decision 252), without pins.
    async fn listed(&self, is_wanted: impl Fn(&str) -> bool) -> Result<ToolDefinitions, String> {
        let env = ProcessEnv::current();
        let mut definitions = ToolDefinitions::default();
        let Some(location) = self.location() else { return Ok(definitions) };
        let config = upstreams::read(&location, &env).map_err(|error| error.to_string())?;
        let Some(mut config) = config else { return Ok(definitions) };
        definitions.all = config.upstreams.iter().map(|upstream| upstream.name.clone()).collect();
        let is_own = |upstream: &UpstreamConfig| {
            upstream.transport.oauth().is_some_and(|oauth| oauth.identity == OAuthIdentity::PerPrincipal)
        };
        let (own, mut shared): (Vec<_>, Vec<_>) = config.upstreams.into_iter().partition(is_own);
        definitions.own = own.into_iter().map(|upstream| upstream.name).collect();
        shared.retain(|upstream| is_wanted(&upstream.name));
        config.upstreams = shared;
        if !config.upstreams.is_empty() {
            definitions.catalog = self.list(config, &env).await?;
        }
        Ok(definitions)
    }

    async fn list(&self, config: UpstreamsConfig, env: &ProcessEnv) -> Result<Catalog, String> {
        let http = upstreams::http(self.ca_file.as_deref(), env)?;
        let names: Vec<String> = config.upstreams.iter().map(|upstream| upstream.name.clone()).collect();
        let options = AggregatorOptions { http, ..AggregatorOptions::new(SnapshotMode::Live) };
        let aggregator = upstreams::start(config, options, env, Warnings::Counted).await?;
        let faults = load(&aggregator, &names).await;
        let catalog = aggregator.unfiltered().catalog();
        aggregator.shutdown().await;
        match names.iter().zip(faults).find_map(|(name, fault)| Some((name, fault?))) {
            Some((name, fault)) => Err(format!("the tools of {name} cannot be listed: {fault}")),
            None => Ok(catalog),
        }
    }
}

fn pins(upstreams_file: &Path) -> Result<PinLock, String> {
    let lock = PinLock::of(upstreams_file).map_err(|error| error.to_string())?;
    Ok(lock.unwrap_or_default())
}

/// The definitions of tools.
#[derive(Default)]
pub(super) struct ToolDefinitions {
    lock: PinLock,
    /// Upstreams that were listed.
    catalog: Catalog,
    /// The names of all upstreams, if some were listed.
    all: Vec<String>,
    /// Those at which each person signs in.
    own: Vec<String>,
}

impl ToolDefinitions {
    /// Those of the tools that a program may call.
    fn of(&self, program: &KeptProgram) -> Definitions {
        let tools = &program.head.tools;
        let mut definitions = Definitions::new();
        let mut add = |upstream: &str, tool: PinnedTool| {
            if tools.names(upstream, tool.name()) {
                definitions.insert(format!("{upstream}/{}", tool.name()), Definition::of(tool));
            }
        };
        for (upstream, pinned) in &self.lock.upstreams {
            pinned.values().for_each(|tool| add(upstream, tool.clone()));
        }
        for entry in self.catalog.servers() {
            entry.tools().iter().for_each(|tool| add(&entry.name, tool.pinned()));
        }
        definitions
    }

    /// The same for an approval.
    ///
    /// # Errors
    /// They lack a tool that the program names: a sentence.
    pub(super) fn approved(&self, program: &KeptProgram) -> Result<Definitions, String> {
        let definitions = self.of(program);
        let has_own_lists = |upstream: &str| self.own.iter().any(|own| own == upstream);
        let checked = check_named_tools(&program.head.tools, &definitions, has_own_lists);
        match checked {
            Ok(()) => Ok(definitions),
            Err(_) if self.all.is_empty() && self.lock.upstreams.is_empty() => Err(
                "no upstreams are known here, and an approval holds the definitions of the tools; name the upstreams file with --upstreams-config"
                    .to_owned(),
            ),
            Err(why) => Err(why),
        }
    }

    /// The tools of an approval that are not as they were then, as far as is known.
    pub(super) fn stale(&self, approval: &Approval, changes: &mut DefinitionChanges) -> Vec<StaleTool> {
        stale_tools(approval, changes, |upstream, tool| {
            if self.catalog.server(upstream).is_some() {
                return present_tool(&self.catalog, upstream, tool);
            }
            match self.lock.upstreams.get(upstream).map(|tools| tools.get(tool)) {
                Some(Some(pinned)) => PresentTool::Defined(Definition::of(pinned.clone())),
                Some(None) => PresentTool::Gone,
                // It is gone if there are others and not this one.
                None if self.all.is_empty() || self.all.iter().any(|name| name == upstream) => {
                    PresentTool::Unknown
                }
                None => PresentTool::Gone,
            }
        })
    }
}
