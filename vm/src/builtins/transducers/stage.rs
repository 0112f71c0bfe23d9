//! The stages that a transducer consists of.

use crate::builtins::support::{Builder, COUNTED, Table, check};
use crate::error::{Error, Reason, Result};
use crate::machine::{Ctx, portable};
use crate::value::{Combinator, CombinatorKind, Value, Vector};

/// One step of a pipeline, with its state from element to element.
pub(crate) enum PipelineStage {
    Map(Value),
    MapIndexed(Value, i64),
    Mapcat(Value),
    Cat,
    Filter {
        predicate: Value,
        truthy: bool,
    },
    Keep(Value),
    KeepIndexed(Value, i64),
    /// How many are still to come.
    Take(usize),
    TakeWhile(Value),
    /// How many are still to go.
    Drop(usize),
    /// `None` once the first element has been let through.
    DropWhile(Option<Value>),
    TakeNth {
        step: usize,
        /// Elements to skip before the next one.
        skip: usize,
    },
    Distinct(Table<()>),
    Dedupe(Option<Value>),
    Interpose {
        separator: Value,
        started: bool,
    },
    PartitionAll(usize, Builder),
    PartitionBy {
        function: Value,
        key: Option<Value>,
        run: Builder,
    },
    HaltWhen {
        predicate: Value,
        result: Value,
    },
    /// All accumulators of a fold. Unless it has started, the first element is one.
    Reductions {
        function: Value,
        acc: Value,
        started: bool,
    },
    /// Groups of neighbours, each so many steps after the one before.
    Windows {
        size: usize,
        step: usize,
        /// Elements to skip before the next group.
        skip: usize,
        run: Vector,
    },
    /// The table of replacements for elements.
    Replace(Value),
}

portable!(enum PipelineStage {
    0: Map(function),
    1: MapIndexed(function, index),
    2: Mapcat(function),
    3: Cat,
    4: Filter { predicate, truthy },
    5: Keep(function),
    6: KeepIndexed(function, index),
    7: Take(left),
    8: TakeWhile(predicate),
    9: Drop(left),
    10: DropWhile(predicate),
    11: TakeNth { step, skip },
    12: Distinct(seen),
    13: Dedupe(last),
    14: Interpose { separator, started },
    15: PartitionAll(n, run),
    16: PartitionBy { function, key, run },
    17: HaltWhen { predicate, result },
    18: Reductions { function, acc, started },
    19: Windows { size, step, skip, run },
    20: Replace(table),
} if PipelineStage::is_sound);

impl PipelineStage {
    /// The stage of `(name args…)`; arguments have been checked when the transducer was made.
    fn of(name: &str, args: &[Value]) -> Option<PipelineStage> {
        let first = || args.first().cloned().unwrap_or_default();
        let count = || args.first().and_then(check::count).unwrap_or(0);
        Some(match name {
            "map" => PipelineStage::Map(first()),
            "map-indexed" => PipelineStage::MapIndexed(first(), 0),
            "mapcat" => PipelineStage::Mapcat(first()),
            "cat" => PipelineStage::Cat,
            "filter" => PipelineStage::Filter { predicate: first(), truthy: true },
            "remove" => PipelineStage::Filter { predicate: first(), truthy: false },
            "keep" => PipelineStage::Keep(first()),
            "keep-indexed" => PipelineStage::KeepIndexed(first(), 0),
            "take" => PipelineStage::Take(count()),
            "take-while" => PipelineStage::TakeWhile(first()),
            "drop" => PipelineStage::Drop(count()),
            "drop-while" => PipelineStage::DropWhile(Some(first())),
            "take-nth" => PipelineStage::TakeNth { step: count(), skip: 0 },
            "distinct" => PipelineStage::Distinct(Table::default()),
            "dedupe" => PipelineStage::Dedupe(None),
            "interpose" => PipelineStage::Interpose { separator: first(), started: false },
            "partition" => {
                let step = args.get(1).and_then(check::count).unwrap_or(0);
                PipelineStage::Windows { size: count(), step, skip: 0, run: Vector::new() }
            }
            "partition-all" => PipelineStage::PartitionAll(count(), Builder::new()),
            "partition-by" => {
                PipelineStage::PartitionBy { function: first(), key: None, run: Builder::new() }
            }
            "halt-when" => PipelineStage::HaltWhen {
                predicate: first(),
                result: args.get(1).cloned().unwrap_or_default(),
            },
            "replace" => PipelineStage::Replace(first()),
            "reductions" => PipelineStage::Reductions { function: first(), acc: Value::Nil, started: false },
            _ => return None,
        })
    }

    /// Whether it can take elements.
    fn is_sound(&self) -> bool {
        match self {
            PipelineStage::MapIndexed(_, index) | PipelineStage::KeepIndexed(_, index) => {
                (0..COUNTED).contains(index)
            }
            PipelineStage::Windows { size, step, run, .. } => *step > 0 && run.len() < *size,
            _ => true,
        }
    }

    /// Whether it may end a run by itself.
    pub(super) fn ends(&self) -> bool {
        matches!(self, PipelineStage::Take(_) | PipelineStage::TakeWhile(_) | PipelineStage::HaltWhen { .. })
    }

    /// The elements that a gathering stage still holds when there are no more.
    pub(super) fn flush(&mut self) -> Option<Value> {
        match self {
            PipelineStage::PartitionAll(_, run) | PipelineStage::PartitionBy { run, .. }
                if !run.is_empty() =>
            {
                Some(run.take())
            }
            _ => None,
        }
    }
}

/// The stages of a transducer: one of ours, or a `comp` of them at any depth. `n` is the position of the argument
/// in a call of `name`, for the error.
pub(super) fn stages(
    ctx: &mut Ctx<'_>,
    name: &str,
    n: usize,
    transducer: &Value,
) -> Result<Vec<PipelineStage>> {
    let mut stages = Vec::new();
    let mut open = vec![transducer.clone()];
    while let Some(part) = open.pop() {
        ctx.charge(1)?;
        ctx.reserve((stages.len() + open.len()) * size_of::<PipelineStage>())?;
        let found = match &part {
            Value::Builtin(builtin) if builtin.name == "identity" => continue,
            Value::Builtin(builtin) if builtin.name == "cat" => Some(PipelineStage::Cat),
            Value::Combinator(combinator) => match (combinator.kind, &combinator.parts[..]) {
                (CombinatorKind::Comp, parts) => {
                    open.extend(parts.iter().rev().cloned());
                    continue;
                }
                (CombinatorKind::Transducer, [Value::Builtin(builtin), args @ ..]) => {
                    PipelineStage::of(builtin.name, args)
                }
                _ => None,
            },
            _ => None,
        };
        match found {
            Some(stage) => stages.push(stage),
            None => return Err(Error::argument(name, n, "transducer", &part)),
        }
    }
    Ok(stages)
}

/// A transducer whose first stage takes several elements at a time, as one that takes vectors of them: only functions of `map`
/// and `mapcat` have so many arguments.
pub(super) fn of_several(ctx: &mut Ctx<'_>, transducer: &Value) -> Result<Value> {
    // What comes behind the first one, the last one first.
    let mut behind = Vec::new();
    let mut first = transducer.clone();
    loop {
        ctx.charge(1)?;
        let Value::Combinator(combinator) = &first else { break };
        let (CombinatorKind::Comp, [head, more @ ..]) = (combinator.kind, &combinator.parts[..]) else {
            break;
        };
        ctx.charge(more.len())?;
        ctx.reserve((behind.len() + more.len()) * size_of::<Value>())?;
        behind.extend(more.iter().rev().cloned());
        first = head.clone();
    }
    let Value::Combinator(combinator) = &first else {
        return Err(Error::argument("sequence", 1, "transducer", &first));
    };
    let (CombinatorKind::Transducer, [Value::Builtin(builtin), function]) =
        (combinator.kind, &combinator.parts[..])
    else {
        return Err(Error::argument("sequence", 1, "transducer", &first));
    };
    if !matches!(builtin.name, "map" | "mapcat") {
        return Err(Error::new(
            Reason::ArityError,
            format!(
                "sequence: ({} …) takes the elements of one collection; begin with map or mapcat",
                builtin.name
            ),
        ));
    }
    let spread = vec![ctx.library().required("apply"), function.clone()];
    let spread = Value::Combinator(Combinator::new(CombinatorKind::Partial, spread));
    let stage = vec![ctx.library().required(builtin.name), spread];
    let mut all = vec![Value::Combinator(Combinator::new(CombinatorKind::Transducer, stage))];
    all.extend(behind.into_iter().rev());
    Ok(Value::Combinator(Combinator::new(CombinatorKind::Comp, all)))
}
