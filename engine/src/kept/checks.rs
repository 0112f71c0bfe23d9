//! What a called program takes and gives, checked where it is called.

use ptc_vm::machine::{CalledProgram, ProgramChecks};
use ptc_vm::{Error, Reason, Result, Value, meter};

use super::schema::ProgramSchema;
use super::scopes::scopes;

/// Bytes of JSON that are checked in a step.
const BYTES_A_STEP: u64 = 16;

/// A value as JSON, if it fits.
fn checked(schema: &ProgramSchema, value: &Value) -> std::result::Result<String, String> {
    let checks = schema.checks().ok_or_else(|| "its schema cannot be read".to_owned())?;
    checks.validate(value)
}

/// Checks by the `:input` and `:output` of heads.
pub(crate) struct KeptChecks;

impl ProgramChecks for KeptChecks {
    fn argument(&self, called: &CalledProgram, argument: Value) -> Result<Value> {
        let scopes = scopes(&called.program);
        let scope = scopes.as_ref().and_then(|scopes| scopes.parts.get(called.part as usize)?.as_ref());
        let Some(input) = scope.and_then(|scope| scope.input.as_ref()) else {
            let text = format!("the head of program/{} cannot be read", called.name());
            return Err(Error::verbatim(Reason::InvalidToolArgs, text));
        };
        let checked = checked(input, &argument).map_err(|why| {
            let text = format!("arguments do not fit the input schema of program/{}: {why}", called.name());
            Error::verbatim(Reason::InvalidToolArgs, text)
        })?;
        meter::charge_steps(checked.len() as u64 / BYTES_A_STEP)?;
        input.completed(argument, |name| Value::keyword(name))
    }

    fn result(&self, called: &CalledProgram, value: &Value) -> Result<()> {
        let Some(scopes) = scopes(&called.program) else { return Ok(()) };
        let scope = scopes.parts.get(called.part as usize).and_then(Option::as_ref);
        let Some(output) = scope.and_then(|scope| scope.output.as_ref()) else { return Ok(()) };
        let checked = checked(output, value).map_err(|why| {
            let text =
                format!("the value of program/{} does not fit its output schema: {why}", called.name());
            Error::verbatim(Reason::ValidationError, text)
        })?;
        meter::charge_steps(checked.len() as u64 / BYTES_A_STEP)
    }
}
