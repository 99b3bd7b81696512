/* A kernel library that looks at an embedded code object before it registers it, as AITER's init() would: the kernel by
 * its name, the blob by its address alone, the LDS that the device itself reports. A bad one is refused with a reason
 * instead of a null function at the first launch.
 *
 *   cc registration.c $(pkg-config --cflags --libs hsaco) -o registration
 *   registration gfx950 65536 kernels.co kernel
 */

#include "file.h"

#include <string.h>

/* What a library knows when it registers a kernel: hipGetDeviceProperties() has name and LDS. */
static hsaco_status check_kernel(const uint8_t *blob, const char *name, const char *device_name, uint32_t lds) {
    hsaco_device *device = NULL;
    hsaco_check_options options;
    hsaco_status status;
    size_t size = 0;

    /* Linkers put objects into a program with no length beside them. */
    status = hsaco_elf_size(blob, SIZE_MAX, &size);
    if (status == HSACO_STATUS_OK)
        status = hsaco_device_create(device_name, &device);
    if (status == HSACO_STATUS_OK)
        status = hsaco_device_set_limit(device, HSACO_DEVICE_LIMIT_LDS, lds);
    if (status == HSACO_STATUS_OK) {
        memset(&options, 0, sizeof options);
        options.size = sizeof options;
        options.device = device;
        options.kernels = &name;
        options.kernel_count = 1;
        status = hsaco_check_with(blob, size, &options, NULL);
    }
    /* Freeing leaves the reason for a failure as it is. */
    hsaco_device_free(device);
    return status;
}

int main(int argc, char **argv) {
    uint8_t *blob;
    size_t size = 0;
    hsaco_status status;
    if (argc != 5) {
        fprintf(stderr, "usage: registration DEVICE LDS FILE KERNEL\n");
        return 2;
    }
    blob = read_file(argv[3], &size);
    if (blob == NULL)
        return 2;
    status = check_kernel(blob, argv[4], argv[1], (uint32_t)strtoul(argv[2], NULL, 0));
    if (status == HSACO_STATUS_OK)
        printf("registered %s\n", argv[4]);
    else
        printf("refused: %s\n", hsaco_last_error());
    free(blob);
    return status == HSACO_STATUS_OK ? 0 : 1;
}
