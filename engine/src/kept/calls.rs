//! What a program may call: the `:tools` of its head, and of those of the programs within which it calls.

use std::rc::Rc;
use std::sync::Arc;

use futures_util::future::LocalBoxFuture;
use ptc_policy::Grant;
use ptc_vm::machine::{CalledProgram, HostRequest, PendingCall, Reply, UpstreamCall};
use ptc_vm::{Error, Reason};

use super::scopes::{KeptScope, KeptScopes, scopes};
use super::served::ServedPrograms;
use crate::context::RunContext;

/// A call that the head of a program does not allow.
pub(crate) struct Refused(String);

impl Refused {
    /// The end of the program: it is written wrong, or its head is.
    pub(crate) fn reply(self) -> Reply {
        Reply::Raise(Error::verbatim(Reason::InvalidToolArgs, self.0))
    }
}

/// The context of a call: that of the run, as far as the programs within which it is made let it see the upstreams. `main`: what
/// the heads of the run's own text say. `is_new`: the call was not made before its program waited elsewhere.
///
/// # Errors
/// One of the programs may not make it.
pub(crate) fn scoped(
    run: &Rc<RunContext>,
    main: Option<&KeptScopes>,
    call: &PendingCall,
    is_new: bool,
) -> Result<Rc<RunContext>, Refused> {
    if main.is_none() && call.within.is_empty() {
        return Ok(run.clone());
    }
    let unreadable = || Refused("the head of a program that is called cannot be read".to_owned());
    let around = call.within.iter().rev().map(with_scopes).collect::<Option<Vec<_>>>();
    let around = around.ok_or_else(unreadable)?;
    let own = main.and_then(|main| main.parts.first()?.as_ref());
    let called =
        around.iter().map(|(scopes, part)| scopes.parts.get(*part as usize).and_then(Option::as_ref));
    let mut grants: Vec<Arc<Grant>> = Vec::new();
    for scope in own.map(Some).into_iter().chain(called) {
        let Some(scope) = scope else {
            return Err(unreadable());
        };
        scope.check(&call.request)?;
        grants.push(scope.tools.grant().clone());
    }
    if is_new && matches!(call.request, HostRequest::Upstream(_) | HostRequest::Feature(_)) {
        if let Some(own) = own {
            let made = run.kept_calls.get().saturating_add(1);
            own.check_calls(made)?;
            run.kept_calls.set(made);
        }
        for ((scopes, part), called) in around.iter().zip(call.within.iter().rev()) {
            if let Some(Some(scope)) = scopes.parts.get(*part as usize) {
                scope.check_calls(called.calls)?;
            }
        }
    }
    let Some((scopes, _)) = around.first() else { return Ok(run.clone()) };
    Ok(match scopes.within(grants) {
        Some(scope) => Rc::new(RunContext::within(run, scope)),
        None => run.clone(),
    })
}

/// A call of an upstream's tool within kept programs that are served.
pub(crate) struct KeptCall {
    served: Arc<dyn ServedPrograms>,
    /// What the heads of the run's own text say.
    main: Option<Rc<KeptScopes>>,
    within: Vec<CalledProgram>,
}

impl KeptCall {
    /// `None` if the call is no such call; otherwise it gets the programs within which the call is made.
    pub(crate) fn of(
        served: Option<&Arc<dyn ServedPrograms>>,
        main: Option<&Rc<KeptScopes>>,
        call: &mut PendingCall,
    ) -> Option<Rc<KeptCall>> {
        let served = served.filter(|_| main.is_some() || !call.within.is_empty())?;
        let HostRequest::Upstream(_) = &call.request else { return None };
        let (main, within) = (main.cloned(), std::mem::take(&mut call.within));
        Some(Rc::new(KeptCall { served: served.clone(), main, within }))
    }

    /// What is to be found out of it before it is made, or sent after all.
    pub(crate) fn looked_at(
        &self,
        run: &Rc<RunContext>,
        wanted: &UpstreamCall,
    ) -> Option<LocalBoxFuture<'static, Result<(), Refused>>> {
        let (Ok(upstream), Ok(tool)) = (&wanted.server, &wanted.tool) else { return None };
        let own = self.main.as_ref().and_then(|main| main.parts.first()?.as_ref()).map(|own| &*own.name);
        let within: Vec<&str> =
            own.into_iter().chain(self.within.iter().rev().map(CalledProgram::name)).collect();
        if within.is_empty() {
            return None;
        }
        let looked_at = self.served.look_at(run, &within, upstream, tool)?;
        Some(Box::pin(async move { looked_at.await.map_err(Refused) }))
    }
}

fn with_scopes(called: &CalledProgram) -> Option<(Rc<KeptScopes>, u32)> {
    Some((scopes(&called.program)?, called.part))
}

impl KeptScope {
    /// How messages name it.
    fn shown(&self) -> String {
        match &*self.name {
            "" => "this program".to_owned(),
            name => format!("program {name}"),
        }
    }

    /// Refuses a call that is this one of those that it makes, counted from 1, if its head allows fewer.
    fn check_calls(&self, number: u32) -> Result<(), Refused> {
        match self.calls {
            Some(most) if number > most => {
                let (program, plural) = (self.shown(), if most == 1 { "" } else { "s" });
                Err(Refused(format!(
                    "{program} may make {most} upstream call{plural}: :calls in its :limits says so"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Refuses what the head does not name. Resources, prompts and what is listed are judged where the upstreams are known.
    fn check(&self, request: &HostRequest) -> Result<(), Refused> {
        let refused =
            |what: &str, why: &str| Err(Refused(format!("{} may not call {what}: {why}", self.shown())));
        match request {
            HostRequest::Upstream(call) => match (&call.server, &call.tool) {
                (Ok(server), Ok(tool)) if !self.tools.names(server, tool) => {
                    refused(&format!("{server}/{tool}"), "its :tools do not name it")
                }
                // What names no tool is refused for that.
                _ => Ok(()),
            },
            HostRequest::Tool { name, .. } => {
                refused(&format!("tool/{name}"), "kept programs call tools of upstreams alone")
            }
            _ => Ok(()),
        }
    }
}
