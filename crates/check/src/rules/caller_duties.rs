//! `caller-duties`: what a kernel expects of its launch.

use hsaco_object::metadata::{Hidden, ValueKind};

use crate::facts::KernelFacts;
use crate::finding::Findings;

/// Hidden arguments that point to something the caller must have set up.
const SERVICES: [(Hidden, &str); 6] = [
    (Hidden::PrintfBuffer, "a printf buffer"),
    (Hidden::HostcallBuffer, "a host call buffer and a thread that serves it"),
    (Hidden::DefaultQueue, "a queue for device enqueue"),
    (Hidden::CompletionAction, "a completion action for device enqueue"),
    (Hidden::MultigridSyncArg, "a cooperative launch"),
    (Hidden::HeapV1, "a device heap"),
];

pub(super) fn check(facts: &KernelFacts<'_, '_>, findings: &mut Findings) {
    let Some(said) = facts.said() else { return };
    if let Some(kind @ ("init" | "fini")) = said.kind.map(hsaco_bytes::Str::to_str_lossy).as_deref()
    {
        let when = if kind == "init" {
            "once after loading, before any other"
        } else {
            "once before unloading"
        };
        let message = format!("is of kind {kind}: the caller launches it {when}");
        findings.note(
            facts.metadata_field(".kind"),
            message,
            "runtimes below HIP do not do it by themselves",
        );
    }
    if let Some(symbol) = said.device_enqueue_symbol {
        let message =
            format!("is enqueued by device code: the caller writes its handle to {symbol}");
        findings.note(
            facts.metadata_field(".device_enqueue_symbol"),
            message,
            "see the runtime's device enqueue",
        );
    }
    let has = |kind: Hidden| {
        facts.arguments().iter().any(|argument| argument.value_kind == ValueKind::Hidden(kind))
    };
    let wanted: Vec<&str> =
        SERVICES.iter().filter(|(kind, _)| has(*kind)).map(|(_, service)| *service).collect();
    if !wanted.is_empty() {
        let message = format!("its hidden arguments ask for {}", wanted.join(", "));
        findings.note(
            facts.metadata_field(".args"),
            message,
            "provide what the code uses; pointers may stay 0 if it does not",
        );
    }
}
