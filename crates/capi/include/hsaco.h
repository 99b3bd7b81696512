/*
 * hsaco: AMD GPU code objects, for C and C++. Made from crates/capi by cbindgen; not to be edited.
 *
 * Every function that can fail gives a hsaco_status; hsaco_last_error() is then what is wrong, in
 * words, for this thread. Strings are UTF-8 and end in NUL. What a function makes, the function that
 * is named with it takes back. Nothing here prints, opens a file or keeps a pointer to the caller's
 * bytes.
 */

#ifndef HSACO_H
#define HSACO_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// How a call ended.
typedef enum hsaco_status {
  // As it should.
  HSACO_STATUS_OK = 0,
  // The call did its work, and something is wrong with what it was given.
  HSACO_STATUS_FINDINGS = 1,
  // An argument is not what the function takes: a null pointer, text that is no UTF-8, an unknown name.
  HSACO_STATUS_INVALID_ARGUMENT = 2,
  // The input is of a kind that hsaco does not handle.
  HSACO_STATUS_UNSUPPORTED = 3,
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

// Code objects that belong together; hsaco_executable_destroy takes it back.
typedef struct hsaco_executable hsaco_executable;

// What a check found; hsaco_report_free takes it back.
typedef struct hsaco_report hsaco_report;

// One thing that was found. Its strings live as long as the report.
typedef struct hsaco_finding {
  // The rule, such as "lds-limit"; docs/rules has a page for it.
  const char *rule;
  // How bad it is.
  enum hsaco_severity severity;
  // The kernel, by its mangled name; null if it is the whole object.
  const char *kernel;
  // The field of a header, a descriptor or the metadata; null if there is none.
  const char *field;
  // Where that stands in the bytes; UINT64_MAX if it has no place.
  uint64_t offset;
  // What is wrong.
  const char *message;
  // What to do.
  const char *help;
  // All of it in one line.
  const char *text;
} hsaco_finding;

// A symbol of an executable; 0 is none.
typedef struct hsaco_executable_symbol {
  // Its number, which is good for as long as the executable.
  uint64_t handle;
} hsaco_executable_symbol;

// Called with each symbol; anything but HSACO_STATUS_OK ends the iteration.
typedef enum hsaco_status (*hsaco_executable_symbol_callback)(const struct hsaco_executable *executable,
                                                              struct hsaco_executable_symbol symbol,
                                                              void *data);

// Called with each segment: its address, its size in memory, the bytes that it begins with and how many, and its
// permissions (4 read, 2 write, 1 execute).
typedef enum hsaco_status (*hsaco_executable_segment_callback)(uint64_t address,
                                                               uint64_t size,
                                                               const uint8_t *bytes,
                                                               size_t byte_count,
                                                               uint32_t permissions,
                                                               void *data);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Checks a code object, or whatever carries some (a bundle, a library), against a device such as "gfx942" or
// "gfx90a:sramecc+:xnack-". Far cheaper than registering it, and with no device there.
//
// Gives HSACO_STATUS_OK if the device takes the object, HSACO_STATUS_FINDINGS if it does not: hsaco_last_error() then
// says why, a line for each error. Warnings and notes are in the report only, which may be null.
//
// # Safety
// `bytes` points to `size` bytes, `device` to text that ends in NUL, and `report` is null or points to a place for a
// pointer, which is filled in with a report, or with null if an argument is invalid.
enum hsaco_status hsaco_check(const uint8_t *bytes,
                              size_t size,
                              const char *device,
                              struct hsaco_report **report);

// How many findings a report has; 0 for null.
//
// # Safety
// `report` is null or from hsaco_check, and not freed.
size_t hsaco_report_size(const struct hsaco_report *report);

// One finding of a report, or null if there are not as many.
//
// # Safety
// `report` is null or from hsaco_check, and not freed.
const struct hsaco_finding *hsaco_report_finding(const struct hsaco_report *report, size_t index);

// Takes a report back; null is fine.
//
// # Safety
// `report` is null or from hsaco_check, and not freed before.
void hsaco_report_free(struct hsaco_report *report);

// Why the last call on this thread did not give HSACO_STATUS_OK, in one line for each reason; empty when it did, unless
// the function says otherwise. The text lives until the next call of this library on this thread.
const char *hsaco_last_error(void);

// The version of the library, such as "0.1.0".
const char *hsaco_version(void);

// Makes an executable for a device such as "gfx942:sramecc+:xnack-", or for whatever its objects are for if that is
// null.
//
// # Safety
// `device` is null or text that ends in NUL; `executable` points to a place for a pointer, which is filled in, with null
// on failure.
enum hsaco_status hsaco_executable_create(const char *device,
                                          struct hsaco_executable **executable);

// Takes an executable back; null is fine.
//
// # Safety
// `executable` is null or from hsaco_executable_create, and not destroyed before.
void hsaco_executable_destroy(struct hsaco_executable *executable);

// Says where a variable is that objects may refer to.
//
// # Safety
// `executable` is from hsaco_executable_create and alive, `name` is text that ends in NUL.
enum hsaco_status hsaco_executable_define_variable(struct hsaco_executable *executable,
                                                   const char *name,
                                                   uint64_t address,
                                                   uint64_t size);

// Says where a function is that objects may call.
//
// # Safety
// As that of hsaco_executable_define_variable.
enum hsaco_status hsaco_executable_define_function(struct hsaco_executable *executable,
                                                   const char *name,
                                                   uint64_t address);

// Adds a code object, of which the bytes are copied. `name` is what messages call it; `base` is where its address 0 is to
// be, UINT64_MAX for wherever there is room. Objects come in any order. A failure leaves the executable as it was.
//
// # Safety
// `executable` is from hsaco_executable_create and alive, `name` is text that ends in NUL, `bytes` points to `size`
// bytes, `loaded` is null or points to a place for the object's number.
enum hsaco_status hsaco_executable_load_code_object(struct hsaco_executable *executable,
                                                    const char *name,
                                                    const uint8_t *bytes,
                                                    size_t size,
                                                    uint64_t base,
                                                    uint32_t *loaded);

// Puts the objects together, from `base` on. `fix_resources` says whether kernels get what they need with all that they
// call. On HSACO_STATUS_FINDINGS hsaco_last_error() has everything that is wrong, a line each, and the executable is as
// it was. On HSACO_STATUS_OK without `fix_resources` it has a line for each kernel that falls short of what it needs, with
// both numbers, and is empty if none does.
//
// # Safety
// `executable` is from hsaco_executable_create and alive.
enum hsaco_status hsaco_executable_freeze(struct hsaco_executable *executable,
                                          uint64_t base,
                                          bool fix_resources);

// The `hsa_status_t` that ROCm's loader has for why the last call that changes this executable failed; 0 if it did not.
//
// # Safety
// `executable` is null or from hsaco_executable_create and alive.
uint32_t hsaco_executable_hsa_status(const struct hsaco_executable *executable);

// The symbol of a name, with or without ".kd", mangled or as people read it.
//
// # Safety
// `executable` is from hsaco_executable_create and alive, `name` is text that ends in NUL, `symbol` points to a place
// for a symbol.
enum hsaco_status hsaco_executable_get_symbol_by_name(const struct hsaco_executable *executable,
                                                      const char *name,
                                                      struct hsaco_executable_symbol *symbol);

// Calls back with each symbol.
//
// # Safety
// `executable` is from hsaco_executable_create and alive; `callback` may be called with it, a symbol and `data`.
enum hsaco_status hsaco_executable_iterate_symbols(const struct hsaco_executable *executable,
                                                   hsaco_executable_symbol_callback callback,
                                                   void *data);

// Answers a question about a symbol, with a value of the type that the attribute names.
//
// # Safety
// `executable` is from hsaco_executable_create and alive, `value` points to a place for the answer: for a name as many
// bytes as HSACO_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH says.
enum hsaco_status hsaco_executable_symbol_get_info(const struct hsaco_executable *executable,
                                                   struct hsaco_executable_symbol symbol,
                                                   uint32_t attribute,
                                                   void *value);

// Calls back with each segment of a frozen executable: what memory holds, relocations applied. It is an error before
// freezing.
//
// # Safety
// `executable` is from hsaco_executable_create and alive; `callback` may be called with `data`, and keeps no pointer.
enum hsaco_status hsaco_executable_iterate_segments(const struct hsaco_executable *executable,
                                                    hsaco_executable_segment_callback callback,
                                                    void *data);

// Makes one code object of all those of a frozen executable; hsaco_bytes_free takes it back.
//
// # Safety
// `executable` is from hsaco_executable_create and alive; `bytes` and `size` point to places that are filled in, with
// null and 0 on failure.
enum hsaco_status hsaco_executable_link(struct hsaco_executable *executable,
                                        uint8_t **bytes,
                                        size_t *size);

// Takes bytes back; null is fine.
//
// # Safety
// `bytes` is null, or from a function that says so with this `size`, and not freed before.
void hsaco_bytes_free(uint8_t *bytes, size_t size);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* HSACO_H */
