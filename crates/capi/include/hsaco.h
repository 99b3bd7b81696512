/*
 * hsaco: AMD GPU code objects, for C and C++. Made from crates/capi by cbindgen; not to be edited.
 * docs/c.md is a guide, examples/c and examples/cpp have programs.
 *
 * Errors. Every function that can fail gives a hsaco_status; hsaco_last_error() is then what is wrong,
 * in words, for this thread. No function throws, prints or ends the process.
 *
 * Handles are opaque, and not to be followed. What makes one names the function that takes it back; these
 * take null as well. A handle that was freed, or is of another kind, is HSACO_STATUS_INVALID_ARGUMENT.
 *
 * Ownership. Pointers that callers hand over are used during the call only; bytes that must stay are
 * copied. What structures and text of the library point to lives as long as the handle that they came
 * from, and is not to be changed. On failure places for answers hold null or 0.
 *
 * What is asked of callers: text is UTF-8 and ends in NUL; a pointer with a count or a size points to as
 * many things; a place for an answer is one. Null is an error where nothing says that it may be; with a
 * count of 0 it is always fine. Structures that begin with their size must say it.
 *
 * Threads. All functions may be called from any thread, also with the same handle, except that freeing a
 * handle ends what its structures point to. Callbacks run on the calling thread.
 *
 * Numbers that are not known are HSACO_UNKNOWN, text that is not known is null.
 */

#ifndef HSACO_H
#define HSACO_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// Replaces names of types by what they stand for: a flag of hsaco_kernel_arguments.
#define HSACO_ARGUMENTS_RESOLVE_TYPEDEFS 1

// Writes "struct", "class", "union" and "enum" before names of types: a flag of hsaco_kernel_arguments.
#define HSACO_ARGUMENTS_KEYWORDS 2

// A number that is not known.
#define HSACO_UNKNOWN UINT64_MAX

// Looks at instructions too, which takes longer: a flag of hsaco_check_options.
#define HSACO_CHECK_CODE 1

// `workgroup` is known: a flag of hsaco_check_options.
#define HSACO_CHECK_WORKGROUP 2

// `grid` is known: a flag of hsaco_check_options.
#define HSACO_CHECK_GRID 4

// How a call ended. From HSACO_STATUS_NOT_RECOGNISED on it is the kind of what is wrong with the input.
typedef enum hsaco_status {
  // As it should.
  HSACO_STATUS_OK = 0,
  // The call did its work, and something is wrong with what it was given.
  HSACO_STATUS_FINDINGS = 1,
  // An argument is not what the function takes: a null pointer, a handle that was freed or is of another kind, a
  // structure of an unknown size, text that is no UTF-8, an unknown name.
  HSACO_STATUS_INVALID_ARGUMENT = 2,
  // Well formed, and not handled here.
  HSACO_STATUS_UNSUPPORTED = 3,
  // What was asked for is not there.
  HSACO_STATUS_NOT_FOUND = 4,
  // What was asked for is there more than once.
  HSACO_STATUS_AMBIGUOUS = 5,
  // The system refused to open or read a file.
  HSACO_STATUS_IO = 6,
  // A callback of the caller ended it.
  HSACO_STATUS_STOPPED = 7,
  // A fault of this library, which it survived. Its text is worth a report.
  HSACO_STATUS_INTERNAL = 8,
  // The content is of no known format.
  HSACO_STATUS_NOT_RECOGNISED = 9,
  // Something reaches past the end of what holds it.
  HSACO_STATUS_TRUNCATED = 10,
  // Something is all there and breaks a rule.
  HSACO_STATUS_MALFORMED = 11,
  // Something is larger or deeper than allowed.
  HSACO_STATUS_LIMIT_EXCEEDED = 12,
  // Two statements disagree: a count, a size, a hash.
  HSACO_STATUS_MISMATCH = 13,
  // A file is not as it was when it was added.
  HSACO_STATUS_CHANGED = 14,
} hsaco_status;

// How bad a finding is.
typedef enum hsaco_severity {
  // The caller has to know it.
  HSACO_SEVERITY_NOTE = 0,
  // Odd, or wrong in a way that need not hurt.
  HSACO_SEVERITY_WARNING = 1,
  // The device refuses the object, or runs it wrongly.
  HSACO_SEVERITY_ERROR = 2,
} hsaco_severity;

// A register file.
typedef enum hsaco_register_file {
  // Vector registers.
  HSACO_REGISTER_FILE_VGPR = 0,
  // Accumulation registers.
  HSACO_REGISTER_FILE_AGPR = 1,
  // Scalar registers.
  HSACO_REGISTER_FILE_SGPR = 2,
  // Scalar registers of the trap handler.
  HSACO_REGISTER_FILE_TTMP = 3,
  // A register of its own, such as vcc, exec, m0, scc.
  HSACO_REGISTER_FILE_SPECIAL = 4,
} hsaco_register_file;

// What memory an instruction accesses.
typedef enum hsaco_memory_space {
  // None.
  HSACO_MEMORY_SPACE_NONE = 0,
  // Through the scalar cache.
  HSACO_MEMORY_SPACE_SCALAR = 1,
  // Global memory.
  HSACO_MEMORY_SPACE_GLOBAL = 2,
  // Global, LDS or scratch, as the address says.
  HSACO_MEMORY_SPACE_FLAT = 3,
  // Through a buffer descriptor.
  HSACO_MEMORY_SPACE_BUFFER = 4,
  // Memory of the workgroup.
  HSACO_MEMORY_SPACE_LDS = 5,
  // Memory of the lane.
  HSACO_MEMORY_SPACE_SCRATCH = 6,
  // Through an image descriptor.
  HSACO_MEMORY_SPACE_IMAGE = 7,
} hsaco_memory_space;

// What an instruction does to memory.
typedef enum hsaco_memory_access {
  // Nothing.
  HSACO_MEMORY_ACCESS_NONE = 0,
  // It reads.
  HSACO_MEMORY_ACCESS_LOAD = 1,
  // It writes.
  HSACO_MEMORY_ACCESS_STORE = 2,
  // It reads and writes at once.
  HSACO_MEMORY_ACCESS_ATOMIC = 3,
} hsaco_memory_access;

// Where execution goes after an instruction.
typedef enum hsaco_flow {
  // To the next instruction.
  HSACO_FLOW_NEXT = 0,
  // To its branch target.
  HSACO_FLOW_BRANCH = 1,
  // There or to the next instruction.
  HSACO_FLOW_CONDITIONAL_BRANCH = 2,
  // There, and back to the next instruction.
  HSACO_FLOW_CALL = 3,
  // To the address in a register, and back to the next instruction.
  HSACO_FLOW_INDIRECT_CALL = 4,
  // To the address in a register: a jump, a tail call or the return of a function.
  HSACO_FLOW_INDIRECT_JUMP = 5,
  // Back from the trap handler.
  HSACO_FLOW_RETURN = 6,
  // Nowhere: the wave ends.
  HSACO_FLOW_END = 7,
  // To the trap handler, which may come back to the next instruction.
  HSACO_FLOW_TRAP = 8,
} hsaco_flow;

// How a block leaves its kernel.
typedef enum hsaco_block_exit {
  // It does not.
  HSACO_BLOCK_EXIT_NONE = 0,
  // The wave ends.
  HSACO_BLOCK_EXIT_END = 1,
  // It returns to its caller.
  HSACO_BLOCK_EXIT_RETURN = 2,
  // It goes to code outside.
  HSACO_BLOCK_EXIT_OUTSIDE = 3,
  // It goes where nothing says.
  HSACO_BLOCK_EXIT_UNKNOWN = 4,
} hsaco_block_exit;

// What became of a file.
typedef enum hsaco_patch_verdict {
  // It is as it was: no rule has anything to rewrite.
  HSACO_PATCH_VERDICT_UNCHANGED = 0,
  // It was rewritten.
  HSACO_PATCH_VERDICT_CHANGED = 1,
  // It should be rewritten and cannot be: there is no result.
  HSACO_PATCH_VERDICT_REFUSED = 2,
} hsaco_patch_verdict;

// What a symbol stands for. The first three are HSA's.
typedef enum hsaco_executable_symbol_kind {
  // Data in memory.
  HSACO_EXECUTABLE_SYMBOL_KIND_VARIABLE = 0,
  // A descriptor, and the code it starts.
  HSACO_EXECUTABLE_SYMBOL_KIND_KERNEL = 1,
  // Code that answers with the address of a function.
  HSACO_EXECUTABLE_SYMBOL_KIND_INDIRECT_FUNCTION = 2,
  // Code that kernels and functions call.
  HSACO_EXECUTABLE_SYMBOL_KIND_DEVICE_FUNCTION = 3,
  // Wanted from another object.
  HSACO_EXECUTABLE_SYMBOL_KIND_EXTERNAL = 4,
  // Data in LDS.
  HSACO_EXECUTABLE_SYMBOL_KIND_LDS = 5,
  // A number.
  HSACO_EXECUTABLE_SYMBOL_KIND_ABSOLUTE = 6,
} hsaco_executable_symbol_kind;

// What can be asked about a symbol, and what the answer is; up to 23 as in HSA.
typedef enum hsaco_executable_symbol_info {
  // uint32_t: a hsaco_executable_symbol_kind.
  HSACO_EXECUTABLE_SYMBOL_INFO_TYPE = 0,
  // uint32_t: bytes of the name, which has no NUL.
  HSACO_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH = 1,
  // char[]: the name; a kernel's ends in ".kd".
  HSACO_EXECUTABLE_SYMBOL_INFO_NAME = 2,
  // uint32_t: 0.
  HSACO_EXECUTABLE_SYMBOL_INFO_MODULE_NAME_LENGTH = 3,
  // char[]: nothing.
  HSACO_EXECUTABLE_SYMBOL_INFO_MODULE_NAME = 4,
  // uint32_t: 0 in its object, 1 in the program.
  HSACO_EXECUTABLE_SYMBOL_INFO_LINKAGE = 5,
  // uint32_t: 0, of the agent.
  HSACO_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALLOCATION = 6,
  // uint32_t: 0 global, 1 read-only.
  HSACO_EXECUTABLE_SYMBOL_INFO_VARIABLE_SEGMENT = 7,
  // uint32_t.
  HSACO_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALIGNMENT = 8,
  // uint32_t.
  HSACO_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE = 9,
  // bool.
  HSACO_EXECUTABLE_SYMBOL_INFO_VARIABLE_IS_CONST = 10,
  // uint32_t.
  HSACO_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE = 11,
  // uint32_t.
  HSACO_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_ALIGNMENT = 12,
  // uint32_t.
  HSACO_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE = 13,
  // uint32_t.
  HSACO_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE = 14,
  // bool.
  HSACO_EXECUTABLE_SYMBOL_INFO_KERNEL_DYNAMIC_CALLSTACK = 15,
  // uint32_t: 0.
  HSACO_EXECUTABLE_SYMBOL_INFO_INDIRECT_FUNCTION_CALL_CONVENTION = 16,
  // bool.
  HSACO_EXECUTABLE_SYMBOL_INFO_IS_DEFINITION = 17,
  // uint32_t: 0.
  HSACO_EXECUTABLE_SYMBOL_INFO_KERNEL_CALL_CONVENTION = 18,
  // uint32_t.
  HSACO_EXECUTABLE_SYMBOL_INFO_KERNEL_WAVEFRONT_SIZE = 19,
  // uint64_t: 0, there is no agent.
  HSACO_EXECUTABLE_SYMBOL_INFO_AGENT = 20,
  // uint64_t: where it is in memory.
  HSACO_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS = 21,
  // uint64_t: where its descriptor is in memory.
  HSACO_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT = 22,
  // uint64_t: where its code is in memory.
  HSACO_EXECUTABLE_SYMBOL_INFO_INDIRECT_FUNCTION_OBJECT = 23,
  // uint64_t: where the code of a kernel or function is in memory; an error before freezing.
  HSACO_EXECUTABLE_SYMBOL_INFO_CODE_ADDRESS = 200,
  // uint64_t: bytes of that code, 0 if unknown.
  HSACO_EXECUTABLE_SYMBOL_INFO_CODE_SIZE = 201,
  // uint32_t: the number of its object, UINT32_MAX if the caller defined it.
  HSACO_EXECUTABLE_SYMBOL_INFO_LOADED_CODE_OBJECT = 202,
  // uint32_t: 0 default, 1 internal, 2 hidden, 3 protected.
  HSACO_EXECUTABLE_SYMBOL_INFO_VISIBILITY = 203,
  // uint64_t: where it is in memory, or who provides it; the value of a number.
  HSACO_EXECUTABLE_SYMBOL_INFO_ADDRESS = 204,
  // uint64_t: bytes that it takes.
  HSACO_EXECUTABLE_SYMBOL_INFO_SIZE = 205,
} hsaco_executable_symbol_info;

// A limit of a device.
typedef enum hsaco_device_limit {
  // Bytes of LDS of a workgroup.
  HSACO_DEVICE_LIMIT_LDS = 0,
  // Vector registers of a wave.
  HSACO_DEVICE_LIMIT_VGPRS = 1,
  // Scalar registers of a wave.
  HSACO_DEVICE_LIMIT_SGPRS = 2,
  // Scalar registers that the launch can fill.
  HSACO_DEVICE_LIMIT_USER_SGPRS = 3,
  // Work-items of a workgroup.
  HSACO_DEVICE_LIMIT_WORKGROUP = 4,
  // Waves on one SIMD.
  HSACO_DEVICE_LIMIT_WAVES = 5,
} hsaco_device_limit;

// The arguments of a kernel; hsaco_arguments_free takes them back. All functions may be called from any thread.
typedef struct hsaco_arguments hsaco_arguments;

// Bytes or text that the library made; hsaco_buffer_free takes it back.
typedef struct hsaco_buffer hsaco_buffer;

// The calls of an executable; hsaco_calls_free takes them back. All functions may be called from any thread.
typedef struct hsaco_calls hsaco_calls;

// How a runtime copies bindings and constants into a segment; hsaco_compact_free takes it back. All functions may be
// called from any thread.
typedef struct hsaco_compact hsaco_compact;

// The kernels of many files; hsaco_database_free takes it back. All functions may be called from any thread.
typedef struct hsaco_database hsaco_database;

// A device to check objects against; hsaco_device_free takes it back. All functions may be called from any thread.
typedef struct hsaco_device hsaco_device;

// A device that runs kernels on the CPU; hsaco_emulator_free takes it back. All functions may be called from any thread;
// kernels of one emulator run one after the other.
typedef struct hsaco_emulator hsaco_emulator;

// Code objects that belong together; hsaco_executable_free takes it back. All functions may be called from any thread: a
// question sees the executable as it is when it is asked.
typedef struct hsaco_executable hsaco_executable;

// A kernel of a database; hsaco_kernel_free takes it back. Its instructions are decoded when they are first asked for,
// once for all threads and handles. All functions may be called from any thread.
typedef struct hsaco_kernel hsaco_kernel;

// Where the bytes of a kernel's arguments go; hsaco_layout_free takes it back. All functions may be called from any
// thread.
typedef struct hsaco_layout hsaco_layout;

// Decoded code; hsaco_listing_free takes it back. All functions may be called from any thread.
typedef struct hsaco_listing hsaco_listing;

// A code object; hsaco_object_free takes it back. All functions may be called from any thread.
typedef struct hsaco_object hsaco_object;

// What became of a file; hsaco_patched_free takes it back. All functions may be called from any thread.
typedef struct hsaco_patched hsaco_patched;

// Rewrites code objects by a rule set; hsaco_patcher_free takes it back. All functions may be called from any thread.
typedef struct hsaco_patcher hsaco_patcher;

// What a check found; hsaco_report_free takes it back. All functions may be called from any thread.
typedef struct hsaco_report hsaco_report;

// A member of a structure. Numbers that are not known are HSACO_UNKNOWN, text that is not known is null.
typedef struct hsaco_member {
  // Its name.
  const char *name;
  // Its type in the words of the source.
  const char *type_name;
  // Where it is in the structure.
  uint64_t offset;
  // Its size in bytes.
  uint64_t size;
  // Its alignment.
  uint64_t alignment;
  // Of a bit field, its first bit.
  uint64_t bit_offset;
  // Of a bit field, how many bits.
  uint64_t bit_size;
  // Whether it is a base class.
  bool is_base;
  // Its own members.
  const struct hsaco_member *const *members;
  // How many.
  size_t member_count;
} hsaco_member;

// An argument of a kernel. Numbers that are not known are HSACO_UNKNOWN, text that is not known is null.
typedef struct hsaco_argument {
  // Its name.
  const char *name;
  // Its type in the words of the source.
  const char *type_name;
  // Where it is in the kernarg segment.
  uint64_t offset;
  // Its size in bytes.
  uint64_t size;
  // The alignment of its type.
  uint64_t alignment;
  // What it holds, as the metadata says it: "global_buffer", "by_value", "hidden_block_count_x".
  const char *kind;
  // Whether the runtime adds it.
  bool is_hidden;
  // The memory that it points into, as the metadata calls it.
  const char *address_space;
  // Where it is known from: "metadata", "debug" or "both".
  const char *source;
  // The members of a structure that is passed by value.
  const struct hsaco_member *const *members;
  // How many.
  size_t member_count;
  // The type that a pointer points to.
  const char *pointee_type;
  // The size of that.
  uint64_t pointee_size;
  // The members of that.
  const struct hsaco_member *const *pointee_members;
  // How many.
  size_t pointee_member_count;
} hsaco_argument;

// A function of an executable.
typedef struct hsaco_function_ref {
  // Its name; null where no symbol has one.
  const char *name;
  // The object that it is in, by the name under which it was loaded; null if the caller defined it.
  const char *object;
  // Where it is in memory; HSACO_UNKNOWN if the caller defined it.
  uint64_t address;
} hsaco_function_ref;

// A call.
typedef struct hsaco_call {
  // Who calls.
  const struct hsaco_function_ref *caller;
  // Where the instruction is in memory.
  uint64_t site;
  // How control gets to the callee, such as "call" or "tail call".
  const char *kind;
  // Who is called; null if that is not known.
  const struct hsaco_function_ref *callee;
  // How that is known, such as "relocation".
  const char *evidence;
  // Whether caller and callee are in different objects.
  bool crosses_objects;
  // Of a call of an unknown callee, such as through a table, the functions that it may go to.
  const struct hsaco_function_ref *const *candidates;
  // How many.
  size_t candidate_count;
} hsaco_call;

// What to check. Set everything to 0 and `size` to sizeof(hsaco_check_options).
typedef struct hsaco_check_options {
  // sizeof(hsaco_check_options).
  size_t size;
  // The device; null checks only what holds for all of them.
  const struct hsaco_device *device;
  // Only these kernels, which must be there: names, mangled or as people read them.
  const char *const *kernels;
  // How many; 0 for all.
  size_t kernel_count;
  // HSACO_CHECK_CODE, HSACO_CHECK_WORKGROUP, HSACO_CHECK_GRID.
  uint32_t flags;
  // Work-items of a workgroup in each dimension, with HSACO_CHECK_WORKGROUP.
  uint32_t workgroup[3];
  // Workgroups of the grid in each dimension, with HSACO_CHECK_GRID.
  uint32_t grid[3];
  // Bytes of LDS that the launch adds to what the kernel has.
  uint64_t dynamic_lds;
  // Only these rules.
  const char *const *select;
  // How many; 0 for all.
  size_t select_count;
  // None of these rules.
  const char *const *ignore;
  // How many.
  size_t ignore_count;
} hsaco_check_options;

// One thing that was found. What it points to lives as long as the report. Numbers that are not known are HSACO_UNKNOWN.
typedef struct hsaco_finding {
  // The rule, such as "lds-limit"; docs/rules has a page for it.
  const char *rule;
  // How bad it is.
  enum hsaco_severity severity;
  // The kernel, by its mangled name; null if it is the whole object.
  const char *kernel;
  // The field of a header, a descriptor or the metadata; null if there is none.
  const char *field;
  // Where that stands in the bytes.
  uint64_t offset;
  // The address of an instruction.
  uint64_t address;
  // Which object of a file with several, from 0.
  uint64_t object;
  // What is wrong.
  const char *message;
  // What to do.
  const char *help;
  // All of it in one line.
  const char *text;
} hsaco_finding;

// Registers in a row.
typedef struct hsaco_register {
  // Which file they are of.
  enum hsaco_register_file file;
  // The number of the first; 0 of a special register.
  uint32_t first;
  // How many registers of 32 bits.
  uint32_t count;
  // 0 all bits, 1 the lower 16, 2 the upper 16.
  uint32_t half;
  // As it is printed, such as `v[2:3]` or `vcc`.
  const char *name;
} hsaco_register;

// A decoded instruction, or bytes that are none. What it points to lives as long as the kernel or listing that it is of.
typedef struct hsaco_instruction {
  // Which instruction of its kernel or listing it is, from 0.
  size_t index;
  // Where it stands.
  uint64_t address;
  // Its bytes.
  const uint8_t *bytes;
  // How many.
  size_t size;
  // Its text, as llvm-objdump prints it.
  const char *text;
  // Its name as it is printed, such as "v_add_f32_e32"; ".long" of a word that is no instruction.
  const char *mnemonic;
  // Its name without the suffix of its encoding, such as "v_add_f32".
  const char *base_mnemonic;
  // Its operands, as they are printed.
  const char *const *operands;
  // How many.
  size_t operand_count;
  // What follows its operands, such as "offset:16".
  const char *const *modifiers;
  // How many.
  size_t modifier_count;
  // The registers that it reads, implicit ones such as exec included.
  const struct hsaco_register *reads;
  // How many.
  size_t read_count;
  // The registers that it writes, implicit ones such as vcc and scc included.
  const struct hsaco_register *writes;
  // How many.
  size_t write_count;
  // The memory that it accesses.
  enum hsaco_memory_space memory_space;
  // What it does there.
  enum hsaco_memory_access memory_access;
  // Bytes that a lane moves, or the wave in scalar accesses; 0 where a format or a descriptor decides.
  uint32_t memory_width;
  // What it does to LDS on the other side, where data bypass registers.
  enum hsaco_memory_access lds_access;
  // Where execution goes after it.
  enum hsaco_flow flow;
  // Where it branches to, if it says so itself; HSACO_UNKNOWN if not.
  uint64_t branch_target;
} hsaco_instruction;

// An argument that a caller declares.
typedef struct hsaco_declared_argument {
  // Its name; null for none.
  const char *name;
  // Where it is in the segment.
  uint64_t offset;
  // Its size in bytes.
  uint64_t size;
  // What it holds, as the metadata calls it: "global_buffer", "by_value", "hidden_block_count_x".
  const char *kind;
} hsaco_declared_argument;

// Constants to copy.
typedef struct hsaco_constant_span {
  // Where they go in the segment.
  uint32_t target;
  // Where they are in the run of constants.
  uint32_t source;
  // How many bytes.
  uint32_t length;
} hsaco_constant_span;

// What a compact layout is.
typedef struct hsaco_compact_info {
  // Bytes of the segment that packing fills.
  uint32_t segment_size;
  // What its address must be a multiple of.
  uint32_t segment_alignment;
  // For each binding, by ordinal, the word of 8 bytes that its address goes to.
  const uint32_t *bindings;
  // How many bindings a caller must bring.
  size_t binding_count;
  // Where constants go.
  const struct hsaco_constant_span *spans;
  // How many.
  size_t span_count;
  // Bytes of constants that a caller must bring.
  uint32_t constant_size;
  // Arguments that the runtime adds.
  size_t hidden_count;
  // Whether binding i goes to word i: all of them are one copy.
  bool has_packed_bindings;
  // Whether constants go to one run of the segment: all of them are one copy.
  bool has_contiguous_constants;
  // Whether bindings and constants leave bytes of the segment unwritten.
  bool needs_zero_fill;
  // What tells layouts apart; never that of a native one.
  uint8_t hash[16];
} hsaco_compact_info;

// An argument's place.
typedef struct hsaco_parameter {
  // Its name; null if not known.
  const char *name;
  // Where it is in the segment.
  uint32_t offset;
  // Its size in bytes.
  uint32_t size;
  // What it holds: "global_buffer", "by_value", "hidden_block_count_x".
  const char *kind;
} hsaco_parameter;

// The value of a hidden argument.
typedef struct hsaco_hidden_value {
  // Its name in the metadata, such as "hidden_heap_v1".
  const char *name;
  // Its value.
  uint64_t value;
} hsaco_hidden_value;

// A launch. Set everything to 0 and `size` to sizeof(hsaco_launch).
typedef struct hsaco_launch {
  // sizeof(hsaco_launch).
  size_t size;
  // 1, 2 or 3.
  uint32_t dimensions;
  // Work-items of the grid, in as many dimensions.
  uint32_t work_items[3];
  // Work-items of a workgroup, in as many dimensions.
  uint32_t workgroup[3];
  // Bytes of LDS that the launch adds to what the kernel has.
  uint32_t dynamic_lds;
  // Hidden arguments that do not follow from the grid.
  const struct hsaco_hidden_value *hidden;
  // How many.
  size_t hidden_count;
} hsaco_launch;

// Says whether a kernel is wanted, by its mangled name; 0 if not.
typedef int (*hsaco_kernel_filter)(const char *name, void *data);

// Which objects and kernels of a file are added. Set everything to 0 and `size` to sizeof(hsaco_selection).
typedef struct hsaco_selection {
  // sizeof(hsaco_selection).
  size_t size;
  // Only objects of this target, such as "gfx942"; features that it does not name may be anything. Null for any.
  const char *target;
  // Only objects that this device runs, of each bundle those that fit it most closely. Null for any; excludes `target`.
  const char *device;
  // Only kernels for which this gives not 0; null for all. It is called while the file is added, on the same thread.
  hsaco_kernel_filter filter;
  // Handed to `filter`.
  void *data;
} hsaco_selection;

// What was decoded of a database so far.
typedef struct hsaco_database_counts {
  // Objects.
  uint64_t objects;
  // Kernels.
  uint64_t kernels;
  // Kernels whose instructions were decoded.
  uint64_t decoded_kernels;
  // Instructions that were decoded.
  uint64_t decoded_instructions;
  // Bytes of code that were decoded.
  uint64_t decoded_bytes;
} hsaco_database_counts;

// Called with each range of code: its object, which the callback must free, its first address and the one behind it.
// Anything but 0 ends the iteration.
typedef int (*hsaco_code_range_callback)(struct hsaco_object *object,
                                         uint64_t start,
                                         uint64_t end,
                                         void *data);

// Something that could not be read of a file; the rest of it was.
typedef struct hsaco_problem {
  // The file, by the name under which it was added.
  const char *file;
  // What is wrong, in words.
  const char *message;
  // Where, in the file; HSACO_UNKNOWN if it has no place.
  uint64_t offset;
  // Its kind: a hsaco_status.
  uint32_t status;
} hsaco_problem;

// What a kernel is called with.
typedef struct hsaco_call_value {
  // The bytes: those of a value, or of memory that the kernel gets the address of.
  uint8_t *data;
  // How many. A value has exactly the argument's size.
  size_t size;
  // 0 for a value; 1 for memory, which is copied to the device and back afterwards.
  uint32_t is_memory;
} hsaco_call_value;

// Called with what a kernel prints: bytes, how many, and 1 if it is for standard error.
typedef void (*hsaco_print_callback)(const uint8_t *text, size_t size, int is_error, void *data);

// How a kernel is run. Set everything to 0 and `size` to sizeof(hsaco_run_options).
typedef struct hsaco_run_options {
  // sizeof(hsaco_run_options).
  size_t size;
  // Most instructions that all waves execute together; 0 for any number.
  uint64_t max_instructions;
  // Another number has waves take turns in another order.
  uint64_t seed;
  // Gets what kernels print; null drops it. It is called on this thread.
  hsaco_print_callback print;
  // Handed to `print`.
  void *data;
} hsaco_run_options;

// What a run was.
typedef struct hsaco_run_outcome {
  // Instructions that waves executed.
  uint64_t instructions;
  // Waves.
  uint64_t waves;
} hsaco_run_outcome;

// A symbol of an executable; 0 is none.
typedef struct hsaco_executable_symbol {
  // Its number, which is good for as long as the executable.
  uint64_t handle;
} hsaco_executable_symbol;

// Called with each symbol; anything but 0 ends the iteration.
typedef int (*hsaco_executable_symbol_callback)(const struct hsaco_executable *executable,
                                                struct hsaco_executable_symbol symbol,
                                                void *data);

// Called with each segment: its address, its size in memory, the bytes that it begins with and how many, and its
// permissions (4 read, 2 write, 1 execute). Anything but 0 ends the iteration.
typedef int (*hsaco_executable_segment_callback)(uint64_t address,
                                                 uint64_t size,
                                                 const uint8_t *bytes,
                                                 size_t byte_count,
                                                 uint32_t permissions,
                                                 void *data);

// A resource that a kernel has less of than it needs.
typedef struct hsaco_shortage {
  // Which: "vgprs", "lds".
  const char *resource;
  // What the descriptor gives.
  uint32_t allocated;
  // What the code uses.
  uint32_t needed;
  // The functions from the kernel to the one that needs it.
  const char *const *path;
  // How many.
  size_t path_count;
} hsaco_shortage;

// A kernel that needs more than it was compiled to have, with all that it calls.
typedef struct hsaco_raise {
  // Its name, without ".kd".
  const char *kernel;
  // The object that it is in, by the name under which it was loaded.
  const char *object;
  // Whether descriptor and metadata were raised; else this only says what is missing.
  bool is_applied;
  // Whether it needs a stack of a size that only run time knows, and was compiled without.
  bool needs_dynamic_stack;
  // Most work-items of a workgroup that still fit; HSACO_UNKNOWN if that did not change.
  uint64_t workgroup_limit;
  // What it has too little of.
  const struct hsaco_shortage *const *shortages;
  // How many.
  size_t shortage_count;
} hsaco_raise;

// What is at an address of memory.
typedef struct hsaco_address_info {
  // The number of the object.
  uint32_t object;
  // The address in the object, before that was placed.
  uint64_t object_address;
  // The symbol that it is in or behind; 0 if there is none.
  struct hsaco_executable_symbol symbol;
  // How far behind its start.
  uint64_t distance;
} hsaco_address_info;

// What a kernel is and what it needs. Numbers that are not known are HSACO_UNKNOWN.
typedef struct hsaco_kernel_info {
  // Its mangled name.
  const char *name;
  // Its name as people read it.
  const char *demangled;
  // The target of its object, such as "gfx90a:xnack-".
  const char *target;
  // The name under which its file was added.
  const char *file;
  // Which object of the file it is in, from 0.
  size_t object_number;
  // Which kernel of its object it is, from 0.
  size_t number;
  // The address of its first instruction in the object.
  uint64_t entry;
  // Bytes of code.
  uint64_t code_size;
  // Vector registers, accumulation registers included where they share a file.
  uint64_t vgprs;
  // Accumulation registers.
  uint64_t agprs;
  // Scalar registers.
  uint64_t sgprs;
  // Bytes of static LDS.
  uint64_t lds;
  // Bytes of scratch memory of a work-item.
  uint64_t scratch;
  // Bytes of the kernarg segment.
  uint64_t kernarg_size;
  // Work-items of a wave.
  uint64_t wavefront_size;
  // Most work-items of a workgroup.
  uint64_t max_workgroup_size;
} hsaco_kernel_info;

// A place in a source file.
typedef struct hsaco_location {
  // The path, as absolute as the compiler wrote it down.
  const char *file;
  // From 1; 0 if not known.
  uint32_t line;
  // From 1; 0 if not known.
  uint32_t column;
} hsaco_location;

// A function that an instruction is in.
typedef struct hsaco_frame {
  // Its name, as the linker knows it if it does; null if not known.
  const char *function;
  // Its name as people read it; null if not known.
  const char *demangled;
  // The path of the place there; null if not known.
  const char *file;
  // From 1; 0 if not known.
  uint32_t line;
  // From 1; 0 if not known.
  uint32_t column;
} hsaco_frame;

// Instructions of a kernel that run one after the other.
typedef struct hsaco_block {
  // Which block of the kernel it is, from 0; 0 is the entry.
  size_t index;
  // The address of its first instruction.
  uint64_t start;
  // The address behind its last instruction.
  uint64_t end;
  // The number of its first instruction.
  size_t first_instruction;
  // How many it has.
  size_t instruction_count;
  // The numbers of the blocks that may follow it.
  const size_t *successors;
  // How many.
  size_t successor_count;
  // The numbers of the blocks that it may follow.
  const size_t *predecessors;
  // How many.
  size_t predecessor_count;
  // How it leaves the kernel, beside its successors.
  enum hsaco_block_exit exit;
} hsaco_block;

// A source line that code comes from.
typedef struct hsaco_line {
  // The path, as absolute as the compiler wrote it down.
  const char *file;
  // From 1.
  uint32_t line;
  // The numbers of the instructions that come from it, in the order of their addresses.
  const size_t *instructions;
  // How many.
  size_t instruction_count;
} hsaco_line;

// What a layout is.
typedef struct hsaco_layout_info {
  // Bytes of the segment.
  uint32_t size;
  // What its address must be a multiple of.
  uint32_t alignment;
  // Bytes that a caller must bring: up to the end of the last argument of the source.
  uint32_t required;
  // Where the caller's bytes end: at the first hidden argument, else with the segment.
  uint32_t explicit_size;
  // Arguments of the source.
  size_t parameter_count;
  // Arguments that the runtime adds.
  size_t hidden_count;
  // Offsets at which addresses of global memory stand, for callers that translate them.
  const uint32_t *pointer_slots;
  // How many.
  size_t pointer_slot_count;
  // What tells layouts apart: the same for the same places and kinds.
  uint8_t hash[16];
} hsaco_layout_info;

// A value for an argument. Either all values of a call have names, or none has.
typedef struct hsaco_argument_value {
  // The argument; null for the one at the same position.
  const char *name;
  // The bytes, which are copied as they are.
  const uint8_t *data;
  // How many: exactly the argument's size.
  size_t size;
} hsaco_argument_value;

// What is odd about a prepacked buffer that has every argument.
typedef struct hsaco_prepacked {
  // Bytes of the buffer that are used.
  uint64_t used;
  // Bytes of padding at the end that the buffer leaves out; they are zero.
  uint64_t padding;
  // Bytes that lie where hidden arguments are, and are not used.
  uint64_t hidden;
  // Bytes behind the segment, which are not used.
  uint64_t surplus;
} hsaco_prepacked;

// What a code object is.
typedef struct hsaco_object_info {
  // The name under which its file was added.
  const char *file;
  // Which object of the file it is, from 0.
  size_t number;
  // Its target, such as "gfx90a:xnack-".
  const char *target;
  // The id of its entry in a bundle; null if it is in none.
  const char *entry_id;
  // How many kernels of it are in the database.
  size_t kernel_count;
  // How many device functions it has.
  size_t function_count;
  // How many problems its tables have.
  size_t problem_count;
} hsaco_object_info;

// Code that kernels call: a symbol names it, and no descriptor describes it.
typedef struct hsaco_device_function {
  // Its mangled name.
  const char *name;
  // Its name as people read it.
  const char *demangled;
  // Where it starts.
  uint64_t address;
  // How many bytes it has, as its symbol says.
  uint64_t size;
} hsaco_device_function;

// What a packet needs beside the launch. Set everything to 0 and `size` to sizeof(hsaco_packet_needs), or have
// hsaco_kernel_packet_needs fill it in.
typedef struct hsaco_packet_needs {
  // sizeof(hsaco_packet_needs).
  size_t size;
  // Where the kernel's descriptor is in memory.
  uint64_t kernel_object;
  // Where its arguments are in memory.
  uint64_t kernarg_address;
  // A signal, or 0.
  uint64_t completion_signal;
  // Bytes of static LDS.
  uint32_t static_lds;
  // Most bytes of LDS that the device has; 0 for any.
  uint32_t lds_limit;
  // Most work-items of a workgroup; 0 for 1024.
  uint32_t max_workgroup;
  // Bytes of scratch memory of a work-item.
  uint32_t private_segment;
  // The sizes of a workgroup that the kernel was compiled for; 0 where it is for any.
  uint32_t required_workgroup[3];
  // Before the packet begins: 0 system, 1 agent, 2 none.
  uint32_t acquire;
  // After it ends: 0 system, 1 agent, 2 none.
  uint32_t release;
  // Whether packets before it need not have ended: 0 or 1.
  uint32_t no_barrier;
} hsaco_packet_needs;

// What a packet says; which members mean something depends on its kind.
typedef struct hsaco_packet_info {
  // Its kind, as in HSA: 0 vendor, 1 invalid, 2 dispatch, 3 barrier-and, 4 agent, 5 barrier-or; others are unknown.
  uint32_t kind;
  // Dimensions of the grid.
  uint32_t dimensions;
  // Work-items of a workgroup.
  uint32_t workgroup[3];
  // Work-items of the grid.
  uint32_t grid[3];
  // Bytes of scratch memory of a work-item.
  uint32_t private_segment;
  // Bytes of LDS.
  uint32_t group_segment;
  // Where the kernel's descriptor is in memory.
  uint64_t kernel_object;
  // Where its arguments are in memory.
  uint64_t kernarg_address;
  // Signals that a barrier waits for.
  uint64_t signals[5];
  // Arguments of an agent packet.
  uint64_t arguments[4];
  // Where an agent packet's answer goes.
  uint64_t return_address;
  // The function of an agent packet.
  uint32_t function;
  // A signal, or 0.
  uint64_t completion_signal;
} hsaco_packet_info;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The arguments of a kernel: those of the source in its order, then hidden ones, as its metadata and its debug
// information have them. `flags` are HSACO_ARGUMENTS_RESOLVE_TYPEDEFS and HSACO_ARGUMENTS_KEYWORDS.
enum hsaco_status hsaco_kernel_arguments(const struct hsaco_kernel *kernel,
                                         uint32_t flags,
                                         struct hsaco_arguments **arguments);

// How many arguments there are.
enum hsaco_status hsaco_arguments_count(const struct hsaco_arguments *arguments, size_t *count);

// The argument of that number; HSACO_STATUS_NOT_FOUND behind the last. It lives as long as the list.
enum hsaco_status hsaco_arguments_get(const struct hsaco_arguments *arguments,
                                      size_t index,
                                      const struct hsaco_argument **argument);

// Something that metadata and debug information say differently, in words; HSACO_STATUS_NOT_FOUND behind the last. It
// lives as long as the list. The arguments have what the metadata says.
enum hsaco_status hsaco_arguments_disagreement(const struct hsaco_arguments *arguments,
                                               size_t index,
                                               const char **words);

// Takes arguments back; null is fine.
enum hsaco_status hsaco_arguments_free(struct hsaco_arguments *arguments);

// The bytes of a buffer and how many; one NUL that does not count stands behind them. They live as long as the buffer.
enum hsaco_status hsaco_buffer_data(const struct hsaco_buffer *buffer,
                                    const uint8_t **data,
                                    size_t *size);

// Takes a buffer back; null is fine.
enum hsaco_status hsaco_buffer_free(struct hsaco_buffer *buffer);

// Every call of a frozen executable, across objects, in the order of addresses. Decodes all code.
enum hsaco_status hsaco_executable_calls(const struct hsaco_executable *executable,
                                         struct hsaco_calls **calls);

// How many calls there are.
enum hsaco_status hsaco_calls_count(const struct hsaco_calls *calls, size_t *count);

// The call of that number; HSACO_STATUS_NOT_FOUND behind the last. It lives as long as the list.
enum hsaco_status hsaco_calls_get(const struct hsaco_calls *calls,
                                  size_t index,
                                  const struct hsaco_call **call);

// Takes calls back; null is fine.
enum hsaco_status hsaco_calls_free(struct hsaco_calls *calls);

// Checks a code object, or whatever carries some (a bundle, a library), against a device such as "gfx942" or
// "gfx90a:sramecc+:xnack-". Far cheaper than registering it, and with no device there.
//
// Gives HSACO_STATUS_OK if the device takes the object, HSACO_STATUS_FINDINGS if it does not: hsaco_last_error() then
// says why, a line for each error. Warnings and notes are in the report only. `report` may be null.
enum hsaco_status hsaco_check(const uint8_t *bytes,
                              size_t size,
                              const char *device,
                              struct hsaco_report **report);

// Checks as hsaco_check does, with a device that may have its own limits, for some kernels, for a launch, with code.
//
// HSACO_STATUS_NOT_FOUND if there was nothing to check: no object, or no kernel of those names.
enum hsaco_status hsaco_check_with(const uint8_t *bytes,
                                   size_t size,
                                   const struct hsaco_check_options *options,
                                   struct hsaco_report **report);

// How many findings a report has.
enum hsaco_status hsaco_report_count(const struct hsaco_report *report, size_t *count);

// The finding of that number, in the order of objects and kernels; HSACO_STATUS_NOT_FOUND behind the last. It lives as
// long as the report.
enum hsaco_status hsaco_report_finding(const struct hsaco_report *report,
                                       size_t index,
                                       const struct hsaco_finding **finding);

// Takes a report back; null is fine.
enum hsaco_status hsaco_report_free(struct hsaco_report *report);

// Decodes code for a target such as "gfx942", as if it stood at `address`. Bytes that are no instruction are there as
// ".long" and ".byte".
enum hsaco_status hsaco_disassemble(const uint8_t *code,
                                    size_t size,
                                    const char *target,
                                    uint64_t address,
                                    struct hsaco_listing **listing);

// How many instructions there are.
enum hsaco_status hsaco_listing_count(const struct hsaco_listing *listing, size_t *count);

// The instruction of that number, in the order of their addresses; HSACO_STATUS_NOT_FOUND behind the last. It lives as
// long as the listing.
enum hsaco_status hsaco_listing_instruction(const struct hsaco_listing *listing,
                                            size_t index,
                                            const struct hsaco_instruction **instruction);

// Takes a listing back; null is fine.
enum hsaco_status hsaco_listing_free(struct hsaco_listing *listing);

// Assembles lines, one instruction or ".long" and the like each, for a target such as "gfx942"; ; and // begin comments.
// HSACO_STATUS_MALFORMED for the first line that does not assemble: hsaco_last_error() has its line, its column and why.
// hsaco_buffer_free takes the code back.
enum hsaco_status hsaco_assemble(const char *lines,
                                 const char *target,
                                 struct hsaco_buffer **code);

// The compact layout of a kernel. `marker_seen` is the caller's word that the object carries a marker of a runtime that
// packs: without it arguments are the caller's to pack, and this is HSACO_STATUS_UNSUPPORTED.
enum hsaco_status hsaco_kernel_compact(const struct hsaco_kernel *kernel,
                                       bool marker_seen,
                                       struct hsaco_compact **compact);

// The compact layout of arguments that the caller declares; see hsaco_layout_create.
enum hsaco_status hsaco_compact_create(uint64_t size,
                                       uint64_t alignment,
                                       const struct hsaco_declared_argument *arguments,
                                       size_t count,
                                       bool marker_seen,
                                       struct hsaco_compact **compact);

// What a compact layout is. It lives as long as the handle.
enum hsaco_status hsaco_compact_get_info(const struct hsaco_compact *compact,
                                         const struct hsaco_compact_info **info);

// The hidden argument of that number; HSACO_STATUS_NOT_FOUND behind the last. It lives as long as the handle.
enum hsaco_status hsaco_compact_hidden(const struct hsaco_compact *compact,
                                       size_t index,
                                       const struct hsaco_parameter **parameter);

// Packs addresses and constants, exactly as many as the kernel takes. The rest is as for hsaco_layout_pack.
enum hsaco_status hsaco_compact_pack(const struct hsaco_compact *compact,
                                     const uint64_t *bindings,
                                     size_t binding_count,
                                     const uint8_t *constants,
                                     size_t constant_size,
                                     const struct hsaco_launch *launch,
                                     uint8_t *segment,
                                     size_t segment_size,
                                     size_t *left_zero);

// Takes addresses and constants out of a packed segment. There must be room for exactly as many as the kernel takes.
enum hsaco_status hsaco_compact_unpack(const struct hsaco_compact *compact,
                                       const uint8_t *segment,
                                       size_t segment_size,
                                       uint64_t *bindings,
                                       size_t binding_count,
                                       uint8_t *constants,
                                       size_t constant_size);

// Takes a compact layout back; null is fine.
enum hsaco_status hsaco_compact_free(struct hsaco_compact *compact);

// Makes an empty database.
enum hsaco_status hsaco_database_create(struct hsaco_database **database);

// Takes a database back; null is fine. Objects and kernels that came from it stay.
enum hsaco_status hsaco_database_free(struct hsaco_database *database);

// Adds the code objects of a file, or of all files of a directory: code objects, bundles, libraries, archives, judged
// by content. Nothing is decoded, and of a file only what is asked for is read. `selection` may be null. `added` is
// null or becomes the number of objects.
//
// What is there already is not added again. Something that cannot be read beside objects that can is no failure:
// hsaco_database_problem tells it.
enum hsaco_status hsaco_database_add_file(struct hsaco_database *database,
                                          const char *path,
                                          const struct hsaco_selection *selection,
                                          size_t *added);

// Adds the code objects of bytes, which are copied; `name` is what messages call them. The rest is as for
// hsaco_database_add_file.
enum hsaco_status hsaco_database_add_bytes(struct hsaco_database *database,
                                           const char *name,
                                           const uint8_t *bytes,
                                           size_t size,
                                           const struct hsaco_selection *selection,
                                           size_t *added);

// How much is in a database, and how much of it was decoded so far.
enum hsaco_status hsaco_database_get_counts(const struct hsaco_database *database,
                                            struct hsaco_database_counts *counts);

// The object of that number, in the order in which they were added; HSACO_STATUS_NOT_FOUND behind the last.
// hsaco_object_free takes it back.
enum hsaco_status hsaco_database_object(const struct hsaco_database *database,
                                        size_t index,
                                        struct hsaco_object **object);

// The kernel of that number, in the order in which they were added; HSACO_STATUS_NOT_FOUND behind the last.
// hsaco_kernel_free takes it back.
enum hsaco_status hsaco_database_kernel_at(const struct hsaco_database *database,
                                           size_t index,
                                           struct hsaco_kernel **kernel);

// The only kernel of a name: mangled or readable, with or without ".kd". `target` and `device` choose between objects as
// a hsaco_selection does; of several a device takes the closest. Both may be null, one must be.
//
// HSACO_STATUS_NOT_FOUND if there is none, HSACO_STATUS_AMBIGUOUS if there are several. hsaco_kernel_free takes it back.
enum hsaco_status hsaco_database_kernel(const struct hsaco_database *database,
                                        const char *name,
                                        const char *target,
                                        const char *device,
                                        struct hsaco_kernel **kernel);

// One of the kernels of a name, of which there may be several: for other targets, in other files.
// HSACO_STATUS_NOT_FOUND behind the last. hsaco_kernel_free takes it back.
enum hsaco_status hsaco_database_kernel_named(const struct hsaco_database *database,
                                              const char *name,
                                              size_t index,
                                              struct hsaco_kernel **kernel);

// Calls back with the code of a source line, in every object that says where its code comes from: a path matches if it
// ends in `file`. A column of 0 is any. Objects without debug information have no such code.
enum hsaco_status hsaco_database_code_of_line(const struct hsaco_database *database,
                                              const char *file,
                                              uint32_t line,
                                              uint32_t column,
                                              hsaco_code_range_callback callback,
                                              void *data);

// What could not be read of the files that were added; HSACO_STATUS_NOT_FOUND behind the last. It lives as long as the
// database.
enum hsaco_status hsaco_database_problem(const struct hsaco_database *database,
                                         size_t index,
                                         const struct hsaco_problem **problem);

// The readable spelling of a mangled C++ or Rust name, as llvm-cxxfilt has it; any other name as it is.
// hsaco_buffer_free takes it back.
enum hsaco_status hsaco_demangle(const char *name,
                                 struct hsaco_buffer **readable);

// Makes a device by its name, such as "gfx942", "gfx90a:sramecc+:xnack-" or "MI300X", with the limits of its
// processor.
enum hsaco_status hsaco_device_create(const char *name,
                                      struct hsaco_device **device);

// Gives a device another limit, such as what hipDeviceGetAttribute says of the one that is there. `limit` is a
// hsaco_device_limit.
enum hsaco_status hsaco_device_set_limit(struct hsaco_device *device,
                                         uint32_t limit,
                                         uint32_t value);

// A limit of a device: a hsaco_device_limit.
enum hsaco_status hsaco_device_get_limit(const struct hsaco_device *device,
                                         uint32_t limit,
                                         uint32_t *value);

// Takes a device back; null is fine.
enum hsaco_status hsaco_device_free(struct hsaco_device *device);

// The size of an ELF file from its address: what a linker put into the program with no length beside it. Only headers
// are read. `available` is how many bytes can be read at most; SIZE_MAX if that is not known, when the file must be
// whole.
enum hsaco_status hsaco_elf_size(const uint8_t *bytes,
                                 size_t available,
                                 size_t *size);

// Makes a device of a target such as "gfx942", with so many bytes of memory at most.
enum hsaco_status hsaco_emulator_create(const char *target,
                                        uint64_t memory,
                                        struct hsaco_emulator **emulator);

// Loads a frozen executable into the memory of a device. It must not be where another one is.
enum hsaco_status hsaco_emulator_load(struct hsaco_emulator *emulator,
                                      const struct hsaco_executable *executable);

// Allocates memory of a device, which is zero.
enum hsaco_status hsaco_emulator_allocate(struct hsaco_emulator *emulator,
                                          uint64_t size,
                                          uint64_t *address);

// Takes memory of a device back; HSACO_STATUS_NOT_FOUND if none was allocated at that address.
enum hsaco_status hsaco_emulator_release(struct hsaco_emulator *emulator, uint64_t address);

// Writes to the memory of a device.
enum hsaco_status hsaco_emulator_write(struct hsaco_emulator *emulator,
                                       uint64_t address,
                                       const uint8_t *data,
                                       size_t size);

// Reads memory of a device.
enum hsaco_status hsaco_emulator_read(const struct hsaco_emulator *emulator,
                                      uint64_t address,
                                      uint8_t *data,
                                      size_t size);

// Runs a kernel of an executable that was loaded, with a value for each argument, as a program would call a function:
// memory is copied to the device, and back afterwards, also where the kernel stopped. `options` and `outcome` may be
// null.
//
// HSACO_STATUS_FINDINGS where the arguments do not fit or the kernel stopped: hsaco_last_error() says where and why.
enum hsaco_status hsaco_emulator_call(struct hsaco_emulator *emulator,
                                      const struct hsaco_executable *executable,
                                      const char *kernel,
                                      const struct hsaco_launch *launch,
                                      const struct hsaco_call_value *arguments,
                                      size_t argument_count,
                                      const struct hsaco_run_options *options,
                                      struct hsaco_run_outcome *outcome);

// Runs a kernel of an executable that was loaded, with a segment that is packed already, hidden arguments included.
// Addresses in it are the device's. The rest is as for hsaco_emulator_call.
enum hsaco_status hsaco_emulator_dispatch(struct hsaco_emulator *emulator,
                                          const struct hsaco_executable *executable,
                                          const char *kernel,
                                          const struct hsaco_launch *launch,
                                          const uint8_t *segment,
                                          size_t segment_size,
                                          const struct hsaco_run_options *options,
                                          struct hsaco_run_outcome *outcome);

// Takes a device back; null is fine.
enum hsaco_status hsaco_emulator_free(struct hsaco_emulator *emulator);

// Why the last call on this thread did not give HSACO_STATUS_OK, in one line for each reason; empty when it did, unless
// the function says otherwise. Functions that take handles back leave it as it is unless they fail. The text lives until
// the next call of this library on this thread. Never null.
const char *hsaco_last_error(void);

// The name of a status, such as "not found"; "unknown" for a number that is none. It lives for ever.
const char *hsaco_status_name(uint32_t status);

// The version of the library, such as "0.1.0". It lives for ever.
const char *hsaco_version(void);

// Makes an executable for a device such as "gfx942:sramecc+:xnack-", or for whatever its objects are for if that is
// null.
enum hsaco_status hsaco_executable_create(const char *device,
                                          struct hsaco_executable **executable);

// Takes an executable back; null is fine.
enum hsaco_status hsaco_executable_free(struct hsaco_executable *executable);

// Says where a variable is that objects may refer to.
enum hsaco_status hsaco_executable_define_variable(struct hsaco_executable *executable,
                                                   const char *name,
                                                   uint64_t address,
                                                   uint64_t size);

// Says where a function is that objects may call.
enum hsaco_status hsaco_executable_define_function(struct hsaco_executable *executable,
                                                   const char *name,
                                                   uint64_t address);

// Adds a code object, of which the bytes are copied. `name` is what messages call it; `base` is where its address 0 is to
// be, HSACO_UNKNOWN for wherever there is room. Objects come in any order. A failure leaves the executable as it was.
// `loaded` is null or becomes the object's number.
enum hsaco_status hsaco_executable_load_code_object(struct hsaco_executable *executable,
                                                    const char *name,
                                                    const uint8_t *bytes,
                                                    size_t size,
                                                    uint64_t base,
                                                    uint32_t *loaded);

// Puts the objects together, from `base` on. `fix_resources` says whether kernels get what they need with all that they
// call. On HSACO_STATUS_FINDINGS hsaco_last_error() has everything that is wrong, a line each, and the executable is as
// it was. On HSACO_STATUS_OK without `fix_resources` it has a line for each kernel that falls short of what it needs, with
// both numbers, and is empty if none does; hsaco_executable_raise has the same as numbers.
enum hsaco_status hsaco_executable_freeze(struct hsaco_executable *executable,
                                          uint64_t base,
                                          bool fix_resources);

// The `hsa_status_t` that ROCm's loader has for why the last call that changes this executable failed; 0 if it did not.
enum hsaco_status hsaco_executable_hsa_status(const struct hsaco_executable *executable,
                                              uint32_t *status);

// The symbol of a name, with or without ".kd", mangled or as people read it.
enum hsaco_status hsaco_executable_get_symbol_by_name(const struct hsaco_executable *executable,
                                                      const char *name,
                                                      struct hsaco_executable_symbol *symbol);

// Calls back with each symbol.
enum hsaco_status hsaco_executable_iterate_symbols(const struct hsaco_executable *executable,
                                                   hsaco_executable_symbol_callback callback,
                                                   void *data);

// Answers a question about a symbol, with a value of the type that the attribute, a hsaco_executable_symbol_info, names.
// `value_size` is the room at `value`: exactly the size of that type, and for a name at least as many bytes as
// HSACO_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH says.
enum hsaco_status hsaco_executable_symbol_get_info(const struct hsaco_executable *executable,
                                                   struct hsaco_executable_symbol symbol,
                                                   uint32_t attribute,
                                                   void *value,
                                                   size_t value_size);

// Calls back with each segment of a frozen executable: what memory holds, relocations applied. It is an error before
// freezing.
enum hsaco_status hsaco_executable_iterate_segments(const struct hsaco_executable *executable,
                                                    hsaco_executable_segment_callback callback,
                                                    void *data);

// A kernel that needs more than it was compiled to have; HSACO_STATUS_NOT_FOUND behind the last. It lives as long as the
// executable, which must be frozen.
enum hsaco_status hsaco_executable_raise(const struct hsaco_executable *executable,
                                         size_t index,
                                         const struct hsaco_raise **raise);

// Something that freezing could not find out about what kernels need; HSACO_STATUS_NOT_FOUND behind the last. It lives as
// long as the executable, which must be frozen.
enum hsaco_status hsaco_executable_remark(const struct hsaco_executable *executable,
                                          size_t index,
                                          const char **words);

// What is at an address of memory: its object and the symbol that it is in or behind. HSACO_STATUS_NOT_FOUND where
// nothing of the executable is.
enum hsaco_status hsaco_executable_locate(const struct hsaco_executable *executable,
                                          uint64_t address,
                                          struct hsaco_address_info *info);

// Makes one code object of all those of a frozen executable. hsaco_buffer_free takes it back.
enum hsaco_status hsaco_executable_link(const struct hsaco_executable *executable,
                                        struct hsaco_buffer **linked);

// How many handles there are that were not freed, of all kinds and threads: for tests of callers.
size_t hsaco_live_handles(void);

// What a kernel is and what it needs. It lives as long as the handle. Decodes nothing.
enum hsaco_status hsaco_kernel_get_info(const struct hsaco_kernel *kernel,
                                        const struct hsaco_kernel_info **info);

// The code of a kernel. hsaco_buffer_free takes it back.
enum hsaco_status hsaco_kernel_code(const struct hsaco_kernel *kernel, struct hsaco_buffer **code);

// How many instructions a kernel has. Decodes it, the first time.
enum hsaco_status hsaco_kernel_instruction_count(const struct hsaco_kernel *kernel, size_t *count);

// The instruction of that number, in the order of their addresses; HSACO_STATUS_NOT_FOUND behind the last. It lives as
// long as the handle. Decodes the kernel, the first time.
enum hsaco_status hsaco_kernel_instruction(const struct hsaco_kernel *kernel,
                                           size_t index,
                                           const struct hsaco_instruction **instruction);

// The place in the source that an instruction comes from; null where nothing says, which is no failure. It lives as long
// as the handle. Reads the debug information of the object, the first time.
enum hsaco_status hsaco_kernel_location(const struct hsaco_kernel *kernel,
                                        size_t index,
                                        const struct hsaco_location **location);

// A function that an instruction is in, those inlined first; HSACO_STATUS_NOT_FOUND behind the last. It lives as long as
// the handle.
enum hsaco_status hsaco_kernel_frame(const struct hsaco_kernel *kernel,
                                     size_t instruction,
                                     size_t index,
                                     const struct hsaco_frame **frame);

// How many blocks a kernel has. Decodes it, the first time.
enum hsaco_status hsaco_kernel_block_count(const struct hsaco_kernel *kernel, size_t *count);

// The block of that number, in the order of their addresses; HSACO_STATUS_NOT_FOUND behind the last. It lives as long as
// the handle. Decodes the kernel, the first time.
enum hsaco_status hsaco_kernel_block(const struct hsaco_kernel *kernel,
                                     size_t index,
                                     const struct hsaco_block **block);

// How many source lines the code of a kernel comes from, those of inlined functions included; 0 without debug
// information. Decodes the kernel, the first time.
enum hsaco_status hsaco_kernel_line_count(const struct hsaco_kernel *kernel,
                                          size_t *count);

// The source line of that number, sorted by file and line; HSACO_STATUS_NOT_FOUND behind the last. It lives as long as
// the handle.
enum hsaco_status hsaco_kernel_line(const struct hsaco_kernel *kernel,
                                    size_t index,
                                    const struct hsaco_line **line);

// Takes a kernel back; null is fine.
enum hsaco_status hsaco_kernel_free(struct hsaco_kernel *kernel);

// Lays out the arguments of a kernel, with names and types of the debug information where there are any.
//
// HSACO_STATUS_UNSUPPORTED where the metadata does not say which arguments there are: then only prepacked buffers will
// do, which hsaco_kernel_check_prepacked checks.
enum hsaco_status hsaco_kernel_layout(const struct hsaco_kernel *kernel,
                                      struct hsaco_layout **layout);

// Lays out arguments that the caller declares, of a segment of `size` bytes; an alignment of 0 is one that nothing says.
enum hsaco_status hsaco_layout_create(uint64_t size,
                                      uint64_t alignment,
                                      const struct hsaco_declared_argument *arguments,
                                      size_t count,
                                      struct hsaco_layout **layout);

// What a layout is. It lives as long as the handle.
enum hsaco_status hsaco_layout_get_info(const struct hsaco_layout *layout,
                                        const struct hsaco_layout_info **info);

// The argument of the source of that number; HSACO_STATUS_NOT_FOUND behind the last. It lives as long as the handle.
enum hsaco_status hsaco_layout_parameter(const struct hsaco_layout *layout,
                                         size_t index,
                                         const struct hsaco_parameter **parameter);

// The hidden argument of that number; HSACO_STATUS_NOT_FOUND behind the last. It lives as long as the handle.
enum hsaco_status hsaco_layout_hidden(const struct hsaco_layout *layout,
                                      size_t index,
                                      const struct hsaco_parameter **parameter);

// How many blocks of 64 bytes the segment takes in a kernarg ring.
enum hsaco_status hsaco_layout_blocks(const struct hsaco_layout *layout, uint32_t *blocks);

// Packs values into the first bytes of `segment`, with the hidden arguments of a launch, which may be null; all bytes of
// the segment are written, none behind it, and nothing if anything is wrong. `segment_size` is the room there is.
//
// `left_zero` is null or becomes the number of declared hidden arguments that nothing supplies: they are zero, and
// hsaco_last_error() names them, a line each, although the status is HSACO_STATUS_OK.
enum hsaco_status hsaco_layout_pack(const struct hsaco_layout *layout,
                                    const struct hsaco_argument_value *values,
                                    size_t count,
                                    const struct hsaco_launch *launch,
                                    uint8_t *segment,
                                    size_t segment_size,
                                    size_t *left_zero);

// Checks a buffer that the caller has packed: every byte of every visible argument must be there. A length with a null
// pointer is refused before anything is read.
enum hsaco_status hsaco_layout_check_prepacked(const struct hsaco_layout *layout,
                                               const uint8_t *data,
                                               size_t size,
                                               struct hsaco_prepacked *prepacked);

// Checks a prepacked buffer, and writes it with the hidden arguments of a launch, which may be null, into the first
// bytes of `segment`; padding is zero. The rest is as for hsaco_layout_pack.
enum hsaco_status hsaco_layout_write_prepacked(const struct hsaco_layout *layout,
                                               const uint8_t *data,
                                               size_t size,
                                               const struct hsaco_launch *launch,
                                               uint8_t *segment,
                                               size_t segment_size,
                                               size_t *left_zero);

// Replaces the value of one argument in a packed segment; one that does not fit leaves the old bytes.
enum hsaco_status hsaco_layout_replace(const struct hsaco_layout *layout,
                                       size_t position,
                                       const uint8_t *data,
                                       size_t size,
                                       uint8_t *segment,
                                       size_t segment_size);

// Where the bytes of an argument are in a packed segment, which must have all of them: a pointer into it. Positions
// from hsaco_layout_info.parameter_count on are hidden arguments.
enum hsaco_status hsaco_layout_unpack(const struct hsaco_layout *layout,
                                      const uint8_t *segment,
                                      size_t segment_size,
                                      size_t position,
                                      const uint8_t **data,
                                      size_t *size);

// Fails with HSACO_STATUS_MISMATCH unless the 16 bytes of `hash` are this layout's: bytes that were packed for another
// one mean something else here.
enum hsaco_status hsaco_layout_check_hash(const struct hsaco_layout *layout,
                                          const uint8_t *hash,
                                          size_t hash_size);

// Checks a prepacked buffer of a kernel of whose arguments the metadata says nothing: by the size of its segment, if the
// descriptor has one.
enum hsaco_status hsaco_kernel_check_prepacked(const struct hsaco_kernel *kernel,
                                               const uint8_t *data,
                                               size_t size,
                                               struct hsaco_prepacked *prepacked);

// Takes a layout back; null is fine.
enum hsaco_status hsaco_layout_free(struct hsaco_layout *layout);

// The object that a kernel is in. hsaco_object_free takes it back.
enum hsaco_status hsaco_kernel_object(const struct hsaco_kernel *kernel,
                                      struct hsaco_object **object);

// What an object is. It lives as long as the handle.
enum hsaco_status hsaco_object_get_info(const struct hsaco_object *object,
                                        const struct hsaco_object_info **info);

// The bytes of an object, an ELF file. hsaco_buffer_free takes them back.
enum hsaco_status hsaco_object_data(const struct hsaco_object *object, struct hsaco_buffer **data);

// The code of an object as text, to the byte as `llvm-objdump -d` of LLVM 22 prints it. hsaco_buffer_free takes it back.
enum hsaco_status hsaco_object_disassembly(const struct hsaco_object *object,
                                           struct hsaco_buffer **text);

// The kernel of that number; HSACO_STATUS_NOT_FOUND behind the last. hsaco_kernel_free takes it back.
enum hsaco_status hsaco_object_kernel(const struct hsaco_object *object,
                                      size_t index,
                                      struct hsaco_kernel **kernel);

// The device function of that number; HSACO_STATUS_NOT_FOUND behind the last. It lives as long as the handle.
enum hsaco_status hsaco_object_function(const struct hsaco_object *object,
                                        size_t index,
                                        const struct hsaco_device_function **function);

// What is wrong with the tables of an object; HSACO_STATUS_NOT_FOUND behind the last. It lives as long as the handle.
enum hsaco_status hsaco_object_problem(const struct hsaco_object *object,
                                       size_t index,
                                       const struct hsaco_problem **problem);

// Takes an object back; null is fine.
enum hsaco_status hsaco_object_free(struct hsaco_object *object);

// How many blocks of 64 bytes a kernarg ring needs for so many bytes of an alignment: at least one.
// HSACO_STATUS_LIMIT_EXCEEDED where it is no number of 32 bits, or the alignment is none that blocks have.
enum hsaco_status hsaco_kernarg_blocks(uint64_t size,
                                       uint64_t alignment,
                                       uint32_t *blocks);

// How many words of 8 bytes a command buffer needs for so many bytes; HSACO_STATUS_LIMIT_EXCEEDED above 65535.
enum hsaco_status hsaco_command_words(uint64_t size,
                                      uint16_t *words);

// Static and dynamic LDS together; HSACO_STATUS_LIMIT_EXCEEDED above the limit of the device.
enum hsaco_status hsaco_group_segment(uint32_t static_lds,
                                      uint32_t dynamic_lds,
                                      uint32_t limit,
                                      uint32_t *size);

// What packets of a kernel need: LDS, scratch memory, limits of its target. Addresses, signal and fences become 0.
// `needs->size` must be set.
enum hsaco_status hsaco_kernel_packet_needs(const struct hsaco_kernel *kernel,
                                            struct hsaco_packet_needs *needs);

// Makes the packet of 64 bytes that launches a kernel, held to every rule of HSA. Nothing is written if one is broken.
enum hsaco_status hsaco_packet_dispatch(const struct hsaco_launch *launch,
                                        const struct hsaco_packet_needs *needs,
                                        uint8_t *packet,
                                        size_t packet_size);

// What a packet of 64 bytes says. HSACO_STATUS_FINDINGS where it breaks rules of HSA: hsaco_last_error() then has them,
// a line each, and `info` is filled in all the same.
enum hsaco_status hsaco_packet_decode(const uint8_t *packet,
                                      size_t packet_size,
                                      struct hsaco_packet_info *info);

// The name of the rule set of that number, such as "gfx1250-b0-to-a0"; HSACO_STATUS_NOT_FOUND behind the last.
// hsaco_buffer_free takes it back.
enum hsaco_status hsaco_rule_set(size_t index,
                                 struct hsaco_buffer **name);

// Makes a patcher of a rule set, such as "gfx1250-b0-to-a0", with options, such as "entry-stub". `hsaco rules` lists both.
enum hsaco_status hsaco_patcher_create(const char *rule_set,
                                       const char *const *options,
                                       size_t option_count,
                                       struct hsaco_patcher **patcher);

// Adds an edit to what a patcher does to every object. `kind` is "replace", "insert", "count" or "call"; `edit` is what
// `hsaco patch` takes for it: "0x1900=s_nop 0; s_nop 1", "entries", "blocks=_Z5probev".
enum hsaco_status hsaco_patcher_edit(struct hsaco_patcher *patcher,
                                     const char *kind,
                                     const char *edit);

// Rewrites every object of a file and puts them back where they were: all that the rules want, or nothing. The result
// is verified before it is handed out.
//
// HSACO_STATUS_OK when there is a result, which may be the same as before; HSACO_STATUS_FINDINGS when something should be
// rewritten and cannot be: hsaco_last_error() has the reasons, and the manifest of `patched` all of them.
// hsaco_patched_free takes it back.
enum hsaco_status hsaco_patcher_patch(const struct hsaco_patcher *patcher,
                                      const uint8_t *bytes,
                                      size_t size,
                                      struct hsaco_patched **patched);

// Sets numbers of kernels in descriptor and metadata, such as "foo.vgpr_count=77", in a code object.
enum hsaco_status hsaco_patch_set(const uint8_t *bytes,
                                  size_t size,
                                  const char *const *settings,
                                  size_t setting_count,
                                  struct hsaco_patched **patched);

// What became of the file.
enum hsaco_status hsaco_patched_verdict(const struct hsaco_patched *patched,
                                        enum hsaco_patch_verdict *verdict);

// The rewritten file; the original bytes where nothing was changed. HSACO_STATUS_NOT_FOUND if it was refused.
// hsaco_buffer_free takes it back.
enum hsaco_status hsaco_patched_data(const struct hsaco_patched *patched,
                                     struct hsaco_buffer **data);

// Everything that was changed or refused, as JSON: docs/json.md has the keys. hsaco_buffer_free takes it back.
enum hsaco_status hsaco_patched_manifest(const struct hsaco_patched *patched,
                                         struct hsaco_buffer **manifest);

// The manifest for people. It lives as long as the handle.
enum hsaco_status hsaco_patched_summary(const struct hsaco_patched *patched, const char **text);

// Takes a result back; null is fine.
enum hsaco_status hsaco_patched_free(struct hsaco_patched *patched);

// Takes a patcher back; null is fine.
enum hsaco_status hsaco_patcher_free(struct hsaco_patcher *patcher);

// Verifies a rewritten file against its original and its manifest, believing neither: every change is in the manifest,
// every other byte is as it was. HSACO_STATUS_FINDINGS where something does not hold: hsaco_last_error() has it, a line
// each.
enum hsaco_status hsaco_patch_verify(const uint8_t *original,
                                     size_t original_size,
                                     const uint8_t *result,
                                     size_t result_size,
                                     const uint8_t *manifest,
                                     size_t manifest_size);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* HSACO_H */
