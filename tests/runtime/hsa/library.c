// Device functions that kernels of other objects call by address.
#define GLOBAL __attribute__((address_space(1)))
#define DEFAULT __attribute__((visibility("default")))

DEFAULT GLOBAL int bias = 1000;

DEFAULT int negate(int x) { return -x; }
DEFAULT int square(int x) { return x * x; }
DEFAULT int biased(int x) { return x + bias; }
