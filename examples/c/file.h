/* What the examples share: reading a file, and saying why something failed. */

#ifndef EXAMPLE_FILE_H
#define EXAMPLE_FILE_H

#include <hsaco.h>

#include <stdio.h>
#include <stdlib.h>

/* The bytes of a file, for free(); null if it cannot be read. */
static inline uint8_t *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = NULL;
    if (file != NULL && fseek(file, 0, SEEK_END) == 0) {
        const long end = ftell(file);
        rewind(file);
        *size = end < 0 ? 0 : (size_t)end;
        bytes = malloc(*size + 1);
        if (bytes != NULL && fread(bytes, 1, *size, file) != *size) {
            free(bytes);
            bytes = NULL;
        }
    }
    if (file != NULL)
        fclose(file);
    if (bytes == NULL)
        fprintf(stderr, "%s: cannot be read\n", path);
    return bytes;
}

/* Tells why the last call failed. */
static inline int failed(const char *what) {
    printf("%s: %s\n", what, hsaco_last_error());
    return 1;
}

#endif
