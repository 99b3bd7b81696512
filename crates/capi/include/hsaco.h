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

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Checks a code object, or whatever carries some (a bundle, a library), against a device such as "gfx942" or
// "gfx90a:sramecc+:xnack-". Far cheaper than registering it, and with no device there.
//
// Gives HSACO_STATUS_OK if the device takes the object, HSACO_STATUS_FINDINGS if it does not: hsaco_last_error() then
// says why, a line for each error. Warnings and notes are in the report only, which may be null if nobody wants it.
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

// Why the last call on this thread did not give HSACO_STATUS_OK, in one line for each reason; empty when it did. The
// text lives until the next call of this library on this thread.
const char *hsaco_last_error(void);

// The version of the library, such as "0.1.0".
const char *hsaco_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* HSACO_H */
