// The kernel of caller.c, whose values come through LDS in pairs: what stepping A0 of gfx1250 must have rewritten.
#define KERNEL __attribute__((amdgpu_kernel, visibility("protected"))) void
#define GLOBAL __attribute__((address_space(1)))
#define LOCAL __attribute__((address_space(3)))

typedef int (*function)(int);

enum { ITEMS = 64 };

static LOCAL int pairs[2 * ITEMS] __attribute__((loader_uninitialized));

KERNEL call_all(GLOBAL function *table, int functions, GLOBAL int *values, GLOBAL int *results, int count) {
    int item = (int)__builtin_amdgcn_workitem_id_x();
    int i = (int)__builtin_amdgcn_workgroup_id_x() * ITEMS + item;
    int value = i < count ? values[i] : 0;
    pairs[item] = value + 5;
    pairs[item + ITEMS] = 2 * value;
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    // Another work-item's, and back.
    int other = ITEMS - 1 - item;
    int swapped = pairs[other + ITEMS] - pairs[other] + 5;
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    pairs[item] = swapped;
    pairs[item + ITEMS] = 0;
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    value = pairs[other] + pairs[other + ITEMS];
    if (i >= count)
        return;
    for (int f = 0; f < functions; f++)
        results[f * count + i] = table[f](value);
}
