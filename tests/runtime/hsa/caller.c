// A kernel that calls what a table of addresses names, which is of another object.
#define KERNEL __attribute__((amdgpu_kernel, visibility("protected"))) void
#define GLOBAL __attribute__((address_space(1)))

typedef int (*function)(int);

KERNEL call_all(GLOBAL function *table, int functions, GLOBAL int *values, GLOBAL int *results, int count) {
    int i = (int)__builtin_amdgcn_workgroup_id_x() * 64 + (int)__builtin_amdgcn_workitem_id_x();
    if (i >= count)
        return;
    for (int f = 0; f < functions; f++)
        results[f * count + i] = table[f](values[i]);
}
