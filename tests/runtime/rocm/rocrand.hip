// rocRAND's numbers against the same generators on the host: the engines of its headers, compiled for this machine, in the
// order in which rocRAND 5.3 documents that it hands numbers out. Integers and uniform numbers must be equal; normal ones
// go through logarithms and sines of the device, and must be near.
//
// usage: rocrand [GENERATOR]
#define FQUALIFIERS __forceinline__ __device__ __host__
#include "../hip/check.h"

#include <cmath>
#include <cstring>
#include <rocrand/rocrand.h>
#include <rocrand/rocrand_kernel.h>
#include <rocrand/rocrand_mtgp32_11213.h>
#include <rocrand/rocrand_sobol32_precomputed.h>
#include <rocrand/rocrand_sobol64_precomputed.h>

#define ROCRAND(call)                                                                              \
    do {                                                                                           \
        rocrand_status result_ = (call);                                                           \
        if (result_ != ROCRAND_STATUS_SUCCESS) fail(__FILE__, __LINE__, "%s: %d", #call, result_); \
    } while (0)

namespace device = rocrand_device::detail;

const unsigned long long seed = 0x123456789abcdefull;

// The numbers from which one output is made: `width` of them for output `index`.
struct Model {
    rocrand_rng_type type;

    std::vector<unsigned> inputs(size_t index, unsigned width) const {
        std::vector<unsigned> numbers;
        if (type == ROCRAND_RNG_PSEUDO_XORWOW) {
            rocrand_state_xorwow engine(seed, index, 0);
            while (numbers.size() < width) numbers.push_back(engine());
        } else if (type == ROCRAND_RNG_PSEUDO_MRG32K3A) {
            rocrand_state_mrg32k3a engine(seed, index, 0);
            while (numbers.size() < width) numbers.push_back(engine());
        } else if (type == ROCRAND_RNG_PSEUDO_PHILOX4_32_10) {
            rocrand_state_philox4x32_10 engine(seed, 0, index * width);
            while (numbers.size() < width) numbers.push_back(engine());
        } else {
            // A workgroup of 256 items takes as many numbers at once.
            for (unsigned i = 0; i < width; i++) numbers.push_back(twister(index / 256, i * 256 + index % 256));
        }
        return numbers;
    }

    // A number of the Mersenne twister of a workgroup (MTGP32), by its recursion.
    static unsigned twister(size_t group, size_t index) {
        const auto& it = mtgp32dc_params_fast_11213[group];
        std::vector<unsigned> x(MTGP_N + index + 1);
        rocrand_device::rocrand_mtgp32_init_state(x.data(), &it, (unsigned)(seed ^ (seed >> 32)) + group + 1);
        for (size_t i = 0; i <= index; i++) {
            unsigned mixed = (x[i] & mtgp32dc_params_fast_11213[0].mask) ^ x[i + 1];
            mixed ^= mixed << it.sh1;
            unsigned next = mixed ^ (x[i + it.pos] >> it.sh2);
            x[i + MTGP_N] = next ^ it.tbl[next & 15];
        }
        unsigned temper = x[index + it.pos - 1];
        temper ^= temper >> 16;
        temper ^= temper >> 8;
        return x[index + MTGP_N] ^ it.tmp_tbl[temper & 15];
    }

    bool is_mrg() const { return type == ROCRAND_RNG_PSEUDO_MRG32K3A; }
    bool is_pseudo() const { return type < ROCRAND_RNG_QUASI_DEFAULT; }

    unsigned long long sobol(size_t index, unsigned dimension) const {
        if (type == ROCRAND_RNG_QUASI_SOBOL32)
            return rocrand_device::sobol32_engine<false>(h_sobol32_direction_vectors + dimension * 32, index).current();
        return rocrand_device::sobol64_engine<false>(h_sobol64_direction_vectors + dimension * 64, index).current();
    }

    unsigned integer(size_t index) const {
        unsigned number = inputs(index, 1)[0];
        return is_mrg() ? device::mrg_uniform_distribution_uint(number) : number;
    }

    float uniform(size_t index) const {
        unsigned number = inputs(index, 1)[0];
        return is_mrg() ? device::mrg_uniform_distribution(number) : device::uniform_distribution(number);
    }

    double uniform_double(size_t index) const {
        if (is_mrg()) return device::mrg_uniform_distribution_double(inputs(index, 1)[0]);
        auto numbers = inputs(index, 2);
        return device::uniform_distribution_double(numbers[0], numbers[1]);
    }

    float2 normal(size_t pair) const {
        auto numbers = inputs(pair, 2);
        return is_mrg() ? device::mrg_normal_distribution2(numbers[0], numbers[1]) : device::normal_distribution2(numbers[0], numbers[1]);
    }
};

// What a new generator writes when it is asked once.
template <typename T, typename Ask> std::vector<T> generated(const Model& model, size_t count, unsigned dimensions, Ask ask) {
    rocrand_generator generator;
    ROCRAND(rocrand_create_generator(&generator, model.type));
    if (model.is_pseudo())
        ROCRAND(rocrand_set_seed(generator, seed));
    else
        ROCRAND(rocrand_set_quasi_random_generator_dimensions(generator, dimensions));
    T* memory;
    HIP(hipMalloc(&memory, count * sizeof(T)));
    ROCRAND(ask(generator, memory, count));
    HIP(hipDeviceSynchronize());
    auto values = from_device(memory, count);
    HIP(hipFree(memory));
    ROCRAND(rocrand_destroy_generator(generator));
    return values;
}

static void near(const char* what, size_t index, double got, double expected) {
    EXPECT(fabs(got - expected) <= 2e-5 * (1 + fabs(expected)), "%s[%zu] is %.9g and should be near %.9g", what, index, got, expected);
}

static void pseudo(const Model& model, size_t count) {
    auto integers = generated<unsigned>(model, count, 1, rocrand_generate);
    auto floats = generated<float>(model, count, 1, rocrand_generate_uniform);
    auto doubles = generated<double>(model, count, 1, rocrand_generate_uniform_double);
    for (size_t i = 0; i < count; i++) {
        EXPECT(integers[i] == model.integer(i), "integer %zu is %u and should be %u", i, integers[i], model.integer(i));
        EXPECT(floats[i] == model.uniform(i), "float %zu is %.9g and should be %.9g", i, floats[i], model.uniform(i));
        EXPECT(doubles[i] == model.uniform_double(i), "double %zu is %.17g and should be %.17g", i, doubles[i], model.uniform_double(i));
    }
    auto normal = [](rocrand_generator it, float* memory, size_t size) { return rocrand_generate_normal(it, memory, size, 2.0f, 0.5f); };
    auto log_normal = [](rocrand_generator it, float* memory, size_t size) { return rocrand_generate_log_normal(it, memory, size, 0.0f, 0.25f); };
    auto normals = generated<float>(model, count / 2 * 2, 1, normal);
    auto log_normals = generated<float>(model, count / 2 * 2, 1, log_normal);
    for (size_t i = 0; i < count / 2; i++) {
        float2 pair = model.normal(i);
        near("normal", 2 * i, normals[2 * i], 2.0 + 0.5 * pair.x);
        near("normal", 2 * i + 1, normals[2 * i + 1], 2.0 + 0.5 * pair.y);
        near("log normal", 2 * i, log_normals[2 * i], exp(0.25 * pair.x));
        near("log normal", 2 * i + 1, log_normals[2 * i + 1], exp(0.25 * pair.y));
    }
    auto poisson = [](rocrand_generator it, unsigned* memory, size_t size) { return rocrand_generate_poisson(it, memory, size, 10.0); };
    double sum = 0;
    for (unsigned value : generated<unsigned>(model, count, 1, poisson)) sum += value;
    EXPECT(fabs(sum / count - 10) < 5 * sqrt(10.0 / count), "the mean of Poisson's numbers is %g and should be near 10", sum / count);
}

static void quasi(const Model& model, size_t count) {
    const unsigned dimensions = 3;
    const bool wide = model.type == ROCRAND_RNG_QUASI_SOBOL64;
    auto integers = generated<unsigned>(model, dimensions * count, dimensions, rocrand_generate);
    auto floats = generated<float>(model, dimensions * count, dimensions, rocrand_generate_uniform);
    auto doubles = generated<double>(model, dimensions * count, dimensions, rocrand_generate_uniform_double);
    for (size_t at = 0; at < dimensions * count; at++) {
        unsigned long long number = model.sobol(at % count, at / count);
        unsigned integer = wide ? number >> 32 : number;
        EXPECT(integers[at] == integer, "integer %zu is %u and should be %u", at, integers[at], integer);
        float single = wide ? device::uniform_distribution(number) : device::uniform_distribution((unsigned)number);
        EXPECT(floats[at] == single, "float %zu is %.9g and should be %.9g", at, floats[at], single);
        double precise = wide ? device::uniform_distribution_double(number) : device::uniform_distribution_double((unsigned)number);
        EXPECT(doubles[at] == precise, "double %zu is %.17g and should be %.17g", at, doubles[at], precise);
    }
}

int main(int count, char** arguments) {
    const struct {
        const char* name;
        rocrand_rng_type type;
    } all[] = {
        {"sobol32", ROCRAND_RNG_QUASI_SOBOL32},   {"sobol64", ROCRAND_RNG_QUASI_SOBOL64},
        {"mtgp32", ROCRAND_RNG_PSEUDO_MTGP32},    {"philox", ROCRAND_RNG_PSEUDO_PHILOX4_32_10},
        {"xorwow", ROCRAND_RNG_PSEUDO_XORWOW},    {"mrg32k3a", ROCRAND_RNG_PSEUDO_MRG32K3A},
    };
    int version = 0, done = 0;
    ROCRAND(rocrand_get_version(&version));
    for (auto& it : all) {
        if (count == 2 && strcmp(arguments[1], it.name)) continue;
        Model model = {it.type};
        if (model.is_pseudo())
            pseudo(model, 1001);
        else
            quasi(model, 700);
        done++;
    }
    EXPECT(done > 0, "no generator %s", arguments[1]);
    printf("rocrand: %d generators of version %d give the host's numbers\n", done, version);
}
