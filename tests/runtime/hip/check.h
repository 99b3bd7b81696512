// What the programs share: every call and every number is checked, and one line at the end says what held.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

inline void fail(const char* file, int line, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s:%d: ", file, line);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    // Destructors of the HIP runtime would wait for kernels that may never end.
    fflush(stdout);
    _exit(1);
}

// A call that must succeed.
#define HIP(call)                                                                                  \
    do {                                                                                           \
        hipError_t result_ = (call);                                                               \
        if (result_ != hipSuccess) fail(__FILE__, __LINE__, "%s: %s", #call, hipGetErrorName(result_)); \
    } while (0)

// A call that must fail in this way.
#define HIP_FAILS(call, expected)                                                                  \
    do {                                                                                           \
        hipError_t result_ = (call);                                                               \
        if (result_ != (expected))                                                                 \
            fail(__FILE__, __LINE__, "%s: %s instead of %s", #call, hipGetErrorName(result_), #expected); \
        (void)hipGetLastError();                                                                   \
    } while (0)

// A condition that must hold, and what to say where it does not.
#define EXPECT(condition, ...)                                                                     \
    do {                                                                                           \
        if (!(condition)) fail(__FILE__, __LINE__, __VA_ARGS__);                                   \
    } while (0)

#define EXPECT_SAME(got, expected)                                                                 \
    do {                                                                                           \
        auto got_ = (got);                                                                         \
        auto expected_ = (expected);                                                               \
        if (!(got_ == expected_))                                                                  \
            fail(__FILE__, __LINE__, "%s is %.17g and should be %.17g", #got, (double)got_, (double)expected_); \
    } while (0)

// Two sequences that must be equal, element by element.
template <typename Got, typename Expected>
void expect_all(const char* file, int line, const char* what, const Got& got, const Expected& expected, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!(got[i] == expected[i]))
            fail(file, line, "%s[%zu] is %.17g and should be %.17g", what, i, (double)got[i], (double)expected[i]);
}
#define EXPECT_ALL(got, expected, count) expect_all(__FILE__, __LINE__, #got, got, expected, count)

// Device memory that holds what a vector does.
template <typename T> T* on_device(const std::vector<T>& values) {
    T* memory = nullptr;
    HIP(hipMalloc(&memory, values.size() * sizeof(T)));
    HIP(hipMemcpy(memory, values.data(), values.size() * sizeof(T), hipMemcpyHostToDevice));
    return memory;
}

template <typename T> std::vector<T> from_device(const T* memory, size_t count) {
    std::vector<T> values(count);
    HIP(hipMemcpy(values.data(), memory, count * sizeof(T), hipMemcpyDeviceToHost));
    return values;
}

// What this program says when it is started again with an argument, and how it ends: for what ends a process.
struct Ended {
    std::string said;
    int status;
    bool by_signal(int signal) const { return WIFSIGNALED(status) && WTERMSIG(status) == signal; }
};

inline Ended run_again(const char* argument) {
    int ends[2];
    EXPECT(pipe(ends) == 0, "no pipe");
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 1);
        dup2(ends[1], 2);
        close(ends[0]);
        execl("/proc/self/exe", "again", argument, (char*)nullptr);
        _exit(127);
    }
    close(ends[1]);
    Ended ended{};
    char buffer[4096];
    for (ssize_t count; (count = read(ends[0], buffer, sizeof buffer)) > 0;) ended.said.append(buffer, count);
    close(ends[0]);
    waitpid(child, &ended.status, 0);
    return ended;
}
