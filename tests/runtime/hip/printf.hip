// What kernels print comes out of the process, every line of every lane once.
#include "check.h"

#include <algorithm>

__global__ void tell(const char* unused, int value) {
    (void)unused;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i % 3 == 0) printf("item %d of %s: %.3f %c %lld 0x%x\n", i, "grid", i * 0.5, 'a' + i % 26, (long long)value << 32, i * 256);
}

__global__ void plain() { printf("no arguments\n"); }

int main() {
    // Standard output is a file for a while.
    FILE* kept = tmpfile();
    EXPECT(kept, "no temporary file");
    int out = dup(1);
    dup2(fileno(kept), 1);
    tell<<<3, 64>>>(nullptr, 5);
    HIP(hipDeviceSynchronize());
    plain<<<1, 2>>>();
    HIP(hipDeviceSynchronize());
    fflush(stdout);
    dup2(out, 1);

    std::vector<std::string> lines, expected(2, "no arguments\n");
    rewind(kept);
    char line[256];
    while (fgets(line, sizeof line, kept)) lines.push_back(line);
    for (int i = 0; i < 192; i += 3) {
        snprintf(line, sizeof line, "item %d of grid: %.3f %c %lld 0x%x\n", i, i * 0.5, 'a' + i % 26, 5LL << 32, i * 256);
        expected.push_back(line);
    }
    std::sort(lines.begin(), lines.end());
    std::sort(expected.begin(), expected.end());
    EXPECT(lines.size() == expected.size(), "%zu lines instead of %zu", lines.size(), expected.size());
    for (size_t i = 0; i < lines.size(); i++)
        EXPECT(lines[i] == expected[i], "printed %s and should have %s", lines[i].c_str(), expected[i].c_str());
    printf("printf: %zu lines\n", lines.size());
}
