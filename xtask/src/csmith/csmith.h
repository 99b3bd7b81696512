/* What csmith's programs include, without a library: a checksum instead of what they print. */
#include <stdint.h>
#include <limits.h>
#include <stddef.h>
#define FLT_MAX __FLT_MAX__
#define DBL_MAX __DBL_MAX__
#define printf(...) ((void)0)
#define fabsf __builtin_fabsf
#define fabs __builtin_fabs
#define ldexpf __builtin_ldexpf
#define ldexp __builtin_ldexp
#define LOG_INDEX
#define LOG_EXEC
#define FUNC_NAME(x) safe_##x
#define UNDEFINED(x) (x)
#ifndef STATIC
#define STATIC static
#endif
#include "safe_math.h"
static uint32_t crc32_context = 0xFFFFFFFFu;
/* Inlined and unrolled at each of its calls, this would be most of what compilers work on. */
__attribute__((noinline)) static void transparent_crc(uint64_t val, char *name, int flag) {
  for (int i = 0; i < 8; i++) {
    crc32_context ^= (uint8_t)(val >> (8 * i));
    for (int j = 0; j < 8; j++)
      crc32_context = crc32_context >> 1 ^ (0xEDB88320u & -(crc32_context & 1));
  }
}
__attribute__((noinline)) static void transparent_crc_bytes(char *p, int n, char *name, int flag) {
  for (int i = 0; i < n; i++) transparent_crc((unsigned char)p[i], name, flag);
}
#define crc32_gentab()
#define platform_main_begin()
static uint32_t checksum;
#define platform_main_end(crc, flag) (checksum = (crc))
#define main program_main
