//! Numbers, layouts and names, held against the headers of `libhsa-runtime-dev` by a C compiler.
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, reason = "tests fail by panics")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::mem::offset_of;
use std::process::{Command, Stdio};

use crate::abi::{self, NUMBERS, STATUSES};
use crate::api::names;

const HEADERS: &str = "#include <hsa/hsa.h>\n#include <hsa/hsa_ext_amd.h>\n#include <hsa/hsa_ext_image.h>\n\
                       #include <hsa/hsa_ext_finalize.h>\n#include <hsa/hsa_ven_amd_loader.h>\n\
                       #include <hsa/amd_hsa_queue.h>\n#include <hsa/amd_hsa_signal.h>\n#include <stddef.h>\n";

/// What the C compiler answers to a source.
fn compile(arguments: &[&str], source: &str) -> String {
    use std::io::Write as _;
    let mut child = Command::new("cc")
        .args(arguments)
        .args(["-x", "c", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a C compiler");
    child.stdin.take().unwrap().write_all(source.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// All constants of enumerations, by name.
fn enumerators(text: &str) -> BTreeMap<String, u32> {
    let mut found = BTreeMap::new();
    for part in text.split([',', '{', '}', ';']) {
        let Some((name, value)) = part.split_once('=') else { continue };
        let (name, value) = (name.trim(), value.trim());
        let number = match value.strip_prefix("0x").or(value.strip_prefix("0X")) {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => value.parse().ok(),
        };
        if let Some(number) = number.filter(|_| name.starts_with("HSA_")) {
            found.insert(name.to_owned(), number);
        }
    }
    found
}

/// What the names of a module's numbers begin with in the headers.
fn prefixes(module: &str) -> &'static [&'static str] {
    match module {
        "system" => &["HSA_SYSTEM_INFO_", "HSA_AMD_SYSTEM_INFO_"],
        "agent" => &["HSA_AGENT_INFO_", "HSA_AMD_AGENT_INFO_", "HSA_EXT_AGENT_INFO_"],
        "isa" => &["HSA_ISA_INFO_"],
        "cache" => &["HSA_CACHE_INFO_"],
        "region" => &["HSA_REGION_INFO_", "HSA_AMD_REGION_INFO_"],
        "pool" => &["HSA_AMD_MEMORY_POOL_INFO_"],
        "agent_pool" => &["HSA_AMD_AGENT_MEMORY_POOL_INFO_"],
        "access" => &["HSA_AMD_MEMORY_POOL_ACCESS_"],
        "flag" => &["HSA_REGION_GLOBAL_FLAG_"],
        "symbol" => &["HSA_EXECUTABLE_SYMBOL_INFO_", "HSA_CODE_SYMBOL_INFO_"],
        "symbol_kind" => &["HSA_SYMBOL_KIND_"],
        "loaded" => &[
            "HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_",
            "HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_",
        ],
        "packet" => &["HSA_PACKET_TYPE_"],
        "condition" => &["HSA_SIGNAL_CONDITION_"],
        "queue_type" => &["HSA_QUEUE_TYPE_"],
        "extension" => &["HSA_EXTENSION_"],
        _ => panic!("{module} has no prefix"),
    }
}

/// What came after ROCm 5.2, whose headers Debian 12 has.
const LATER: &[&str] = &[
    "MWAITX_ENABLED",
    "DMABUF_SUPPORTED",
    "VIRTUAL_MEM_API_SUPPORTED",
    "XNACK_ENABLED",
    "EXT_VERSION_MAJOR",
    "EXT_VERSION_MINOR",
    "MEMORY_AVAIL",
    "TIMESTAMP_FREQUENCY",
    "ASIC_FAMILY_ID",
    "UCODE_VERSION",
    "SDMA_UCODE_VERSION",
    "NUM_SDMA_ENG",
    "NUM_SDMA_XGMI_ENG",
    "IOMMU_SUPPORT",
    "NUM_XCC",
    "DRIVER_UID",
    "NEAREST_CPU",
    "MEMORY_PROPERTIES",
    "AQL_EXTENSIONS",
    "SCRATCH_LIMIT_MAX",
    "SCRATCH_LIMIT_CURRENT",
    "LOCATION",
    "RUNTIME_ALLOC_REC_GRANULE",
    "EXTENDED_SCOPE",
    "KERNEL_WAVEFRONT_SIZE",
    "AMD_PC_SAMPLING",
    "HSA_STATUS_ERROR_OUT_OF_REGISTERS",
    "HSA_STATUS_ERROR_RESOURCE_BUSY",
];

#[test]
#[cfg_attr(not(hsa_headers), ignore = "needs libhsa-runtime-dev")]
fn numbers_are_those_of_the_headers() {
    let known = enumerators(&compile(&["-E", "-P"], HEADERS));
    assert!(known.len() > 300, "{}", known.len());
    let mut missing = Vec::new();
    for (module, name, value) in NUMBERS {
        let names: Vec<_> = prefixes(module).iter().map(|it| format!("{it}{name}")).collect();
        let found: BTreeSet<_> = names.iter().filter_map(|it| known.get(it)).collect();
        match found.len() {
            0 if LATER.contains(name) => {}
            0 => missing.push(format!("{module}::{name}")),
            _ => assert!(
                found.contains(value),
                "{module}::{name} is {value}, the headers say {found:?}"
            ),
        }
    }
    for (status, name, _) in STATUSES {
        match known.get(*name) {
            Some(value) => assert_eq!(*value, status.0, "{name}"),
            None if LATER.contains(name) => {}
            None => missing.push((*name).to_owned()),
        }
    }
    assert!(missing.is_empty(), "not in the headers: {}", missing.join(", "));
    let told: BTreeSet<_> = STATUSES.iter().map(|it| it.1).collect();
    let is_core = |it: &&String| it.starts_with("HSA_STATUS_");
    let untold: Vec<_> =
        known.keys().filter(is_core).filter(|it| !told.contains(it.as_str())).collect();
    assert!(untold.is_empty(), "statuses without a text: {untold:?}");
}

#[test]
#[cfg_attr(not(hsa_headers), ignore = "needs libhsa-runtime-dev")]
fn layouts_are_those_of_the_headers() {
    let mut source = HEADERS.to_owned();
    let mut size = |c: &str, bytes: usize| {
        writeln!(source, "_Static_assert(sizeof({c}) == {bytes}, \"{c}\");").unwrap();
    };
    size("hsa_queue_t", size_of::<abi::HsaQueue>());
    size("amd_queue_t", size_of::<abi::AmdQueue>());
    size("amd_signal_t", size_of::<abi::AmdSignal>());
    size("hsa_dim3_t", size_of::<abi::Dim3>());
    size("hsa_pitched_ptr_t", size_of::<abi::PitchedPointer>());
    size("hsa_amd_pointer_info_t", size_of::<abi::PointerInfo>());
    size("hsa_amd_svm_attribute_pair_t", size_of::<abi::SvmAttribute>());
    size("hsa_amd_profiling_dispatch_time_t", size_of::<abi::Times>());
    size("hsa_amd_event_t", size_of::<abi::MemoryFaultEvent>());
    size("hsa_ven_amd_loader_segment_descriptor_t", size_of::<abi::SegmentDescriptor>());
    size("hsa_kernel_dispatch_packet_t", 64);
    let mut field = |c: &str, name: &str, offset: usize| {
        writeln!(source, "_Static_assert(offsetof({c}, {name}) == {offset}, \"{c}.{name}\");")
            .unwrap();
    };
    field("hsa_queue_t", "base_address", offset_of!(abi::HsaQueue, base_address));
    field("hsa_queue_t", "doorbell_signal", offset_of!(abi::HsaQueue, doorbell_signal));
    field("hsa_queue_t", "size", offset_of!(abi::HsaQueue, size));
    field("hsa_queue_t", "id", offset_of!(abi::HsaQueue, id));
    field("amd_queue_t", "write_dispatch_id", offset_of!(abi::AmdQueue, write_dispatch_id));
    field(
        "amd_queue_t",
        "group_segment_aperture_base_hi",
        offset_of!(abi::AmdQueue, group_segment_aperture_base_hi),
    );
    field("amd_queue_t", "max_cu_id", offset_of!(abi::AmdQueue, max_cu_id));
    field("amd_queue_t", "read_dispatch_id", offset_of!(abi::AmdQueue, read_dispatch_id));
    field("amd_queue_t", "queue_properties", offset_of!(abi::AmdQueue, queue_properties));
    field("amd_queue_t", "queue_inactive_signal", offset_of!(abi::AmdQueue, queue_inactive_signal));
    field("amd_signal_t", "value", offset_of!(abi::AmdSignal, value));
    field("amd_signal_t", "event_mailbox_ptr", offset_of!(abi::AmdSignal, event_mailbox_ptr));
    field("amd_signal_t", "start_ts", offset_of!(abi::AmdSignal, start_ts));
    field("amd_signal_t", "end_ts", offset_of!(abi::AmdSignal, end_ts));
    field("amd_signal_t", "queue_ptr", offset_of!(abi::AmdSignal, queue_ptr));
    field("amd_signal_t", "reserved3", offset_of!(abi::AmdSignal, sleepers));
    field("hsa_amd_pointer_info_t", "sizeInBytes", offset_of!(abi::PointerInfo, size_in_bytes));
    field("hsa_amd_pointer_info_t", "agentOwner", offset_of!(abi::PointerInfo, agent_owner));
    field("hsa_amd_pointer_info_t", "global_flags", offset_of!(abi::PointerInfo, global_flags));
    field(
        "hsa_amd_event_t",
        "memory_fault.virtual_address",
        offset_of!(abi::MemoryFaultEvent, virtual_address),
    );
    let segment = "hsa_ven_amd_loader_segment_descriptor_t";
    field(segment, "segment_base", offset_of!(abi::SegmentDescriptor, segment_base));
    compile(&["-fsyntax-only"], &source);
}

#[test]
#[cfg_attr(not(hsa_headers), ignore = "needs libhsa-runtime-dev")]
fn every_function_of_the_headers_is_exported() {
    let text = compile(&["-E", "-P"], HEADERS);
    // Types and pointers to functions are not declared by themselves.
    let declared = text
        .split(';')
        .filter(|it| !it.contains("typedef") && !it.contains("(*") && !it.contains('{'));
    let mut names_declared = BTreeSet::new();
    for declaration in declared {
        let Some(at) = declaration.find('(') else { continue };
        let name =
            declaration.get(..at).unwrap_or_default().split_whitespace().last().unwrap_or_default();
        if name.starts_with("hsa_") {
            names_declared.insert(name.to_owned());
        }
    }
    assert!(names_declared.len() > 180, "{}", names_declared.len());
    let exported: BTreeSet<_> = names().collect();
    let is_loader = |it: &&String| it.starts_with("hsa_ven_amd_loader_");
    let missing: Vec<_> = names_declared
        .iter()
        .filter(|it| !is_loader(it) && !exported.contains(it.as_str()))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
