/* comgr's hotswap call, amd_comgr_hotswap_rewrite, on hsaco: an object for one stepping of gfx1250 becomes one for another,
 * or a reason. Success means that there is a valid object, not that it is a changed one. Unlike comgr's, the result is
 * verified, and a manifest says every byte that changed.
 *
 *   cc hotswap.c $(pkg-config --cflags --libs hsaco) -o hotswap
 *   hotswap kernels.co amdgcn-amd-amdhsa--gfx1250:gfx1250-b0-specific+ amdgcn-amd-amdhsa--gfx1250 out.co
 */

#include "file.h"

#include <string.h>

/* Whether an ISA name says a stepping: + is B0, - is A0. */
static int stepping(const char *isa, char sign) {
    char token[] = "gfx1250-b0-specific?";
    token[sizeof token - 2] = sign;
    return strstr(isa, token) != NULL;
}

/* What comgr takes for unsaid: the source is B0, the target A0. Null where there is nothing to rewrite by. */
static const char *rule_set(const char *source_isa, const char *target_isa) {
    const int from_b0 = !stepping(source_isa, '-');
    const int to_b0 = stepping(target_isa, '+');
    return from_b0 && !to_b0 ? "gfx1250-b0-to-a0" : NULL;
}

/* A result, or null where the object is one already. */
static hsaco_status hotswap_rewrite(const uint8_t *object, size_t size, const char *source_isa, const char *target_isa,
                                    hsaco_patched **result) {
    hsaco_patcher *patcher = NULL;
    hsaco_status status;
    if (strstr(source_isa, "gfx1250") == NULL || strstr(target_isa, "gfx1250") == NULL)
        return HSACO_STATUS_INVALID_ARGUMENT;
    *result = NULL;
    if (rule_set(source_isa, target_isa) == NULL)
        return HSACO_STATUS_OK;
    status = hsaco_patcher_create(rule_set(source_isa, target_isa), NULL, 0, &patcher);
    if (status == HSACO_STATUS_OK)
        status = hsaco_patcher_patch(patcher, object, size, result);
    if (status != HSACO_STATUS_OK)
        failed("not rewritten");
    hsaco_patcher_free(patcher);
    return status;
}

static hsaco_status write_file(const char *path, const uint8_t *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    hsaco_status status = HSACO_STATUS_OK;
    if (file == NULL || fwrite(bytes, 1, size, file) != size)
        status = HSACO_STATUS_IO;
    if (file != NULL && fclose(file) != 0)
        status = HSACO_STATUS_IO;
    return status;
}

/* Writes a result, once it has been held against its original and its manifest. */
static hsaco_status write_verified(const uint8_t *object, size_t size, const hsaco_patched *result, const char *path) {
    static const char *const VERDICTS[] = {"unchanged", "changed", "refused"};
    hsaco_buffer *data = NULL, *manifest = NULL;
    const uint8_t *bytes = NULL, *json = NULL;
    size_t byte_count = 0, json_size = 0;
    hsaco_patch_verdict verdict = HSACO_PATCH_VERDICT_REFUSED;
    hsaco_status status;
    hsaco_patched_verdict(result, &verdict);
    hsaco_patched_data(result, &data);
    hsaco_patched_manifest(result, &manifest);
    hsaco_buffer_data(data, &bytes, &byte_count);
    hsaco_buffer_data(manifest, &json, &json_size);
    status = hsaco_patch_verify(object, size, bytes, byte_count, json, json_size);
    if (status == HSACO_STATUS_OK) {
        printf("%s: %zu bytes, verified\n", VERDICTS[verdict], byte_count);
        status = write_file(path, bytes, byte_count);
    } else {
        failed("does not hold");
    }
    hsaco_buffer_free(data);
    hsaco_buffer_free(manifest);
    return status;
}

int main(int argc, char **argv) {
    hsaco_patched *result = NULL;
    size_t size = 0;
    uint8_t *object;
    hsaco_status status;
    if (argc != 5) {
        fprintf(stderr, "usage: hotswap OBJECT SOURCE-ISA TARGET-ISA OUTPUT\n");
        return 2;
    }
    object = read_file(argv[1], &size);
    if (object == NULL)
        return 2;
    status = hotswap_rewrite(object, size, argv[2], argv[3], &result);
    if (status == HSACO_STATUS_OK && result == NULL) {
        printf("copied: %zu bytes\n", size);
        status = write_file(argv[4], object, size);
    } else if (status == HSACO_STATUS_OK) {
        status = write_verified(object, size, result, argv[4]);
    }
    hsaco_patched_free(result);
    free(object);
    return status == HSACO_STATUS_OK ? 0 : 1;
}
