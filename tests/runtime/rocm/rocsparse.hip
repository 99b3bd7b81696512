// rocSPARSE's products and sorts against loops on the host.
#include "../hip/check.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <rocsparse/rocsparse.h>

#define ROCSPARSE(call)                                                                            \
    do {                                                                                           \
        rocsparse_status result_ = (call);                                                         \
        if (result_ != rocsparse_status_success) fail(__FILE__, __LINE__, "%s: %d", #call, result_); \
    } while (0)

// A matrix with rows of many lengths, some empty, one full.
struct Matrix {
    int rows, columns;
    std::vector<int> begin, column;
    std::vector<double> value;

    Matrix(int rows, int columns) : rows(rows), columns(columns), begin(1, 0) {
        unsigned state = 99;
        for (int row = 0; row < rows; row++) {
            int step = row == 5 ? 1 : row % 11 == 0 ? columns : 1 + (row * 7) % 40;
            for (int c = row % step; c < columns && row % 11 != 0; c += step) {
                state = state * 1664525 + 1013904223;
                column.push_back(c);
                // Sums of such values are exact in any order, in single precision too.
                value.push_back((int)(state >> 24) - 128);
            }
            begin.push_back((int)column.size());
        }
    }
    int entries() const { return (int)column.size(); }
};

template <typename T> std::vector<T> converted(const std::vector<double>& values) { return std::vector<T>(values.begin(), values.end()); }

struct Device {
    rocsparse_handle handle;
    int *begin, *column;
    Device(const Matrix& it) : begin(on_device(it.begin)), column(on_device(it.column)) { ROCSPARSE(rocsparse_create_handle(&handle)); }
};

template <typename T> rocsparse_datatype type();
template <> rocsparse_datatype type<float>() { return rocsparse_datatype_f32_r; }
template <> rocsparse_datatype type<double>() { return rocsparse_datatype_f64_r; }

template <typename T> static void multiply_vector(const Matrix& a, const Device& d, rocsparse_spmv_alg algorithm) {
    std::vector<T> values = converted<T>(a.value), x(a.columns), y(a.rows, T(3)), expected(a.rows);
    for (int c = 0; c < a.columns; c++) x[c] = T(c % 17 - 8);
    T alpha = 2, beta = -1;
    for (int r = 0; r < a.rows; r++) {
        T sum = 0;
        for (int i = a.begin[r]; i < a.begin[r + 1]; i++) sum += values[i] * x[a.column[i]];
        expected[r] = alpha * sum + beta * y[r];
    }
    T *dv = on_device(values), *dx = on_device(x), *dy = on_device(y);
    rocsparse_spmat_descr matrix;
    rocsparse_dnvec_descr from, to;
    ROCSPARSE(rocsparse_create_csr_descr(&matrix, a.rows, a.columns, a.entries(), d.begin, d.column, dv, rocsparse_indextype_i32,
                                         rocsparse_indextype_i32, rocsparse_index_base_zero, type<T>()));
    ROCSPARSE(rocsparse_create_dnvec_descr(&from, a.columns, dx, type<T>()));
    ROCSPARSE(rocsparse_create_dnvec_descr(&to, a.rows, dy, type<T>()));
    size_t size = 0;
    auto none = rocsparse_operation_none;
    ROCSPARSE(rocsparse_spmv(d.handle, none, &alpha, matrix, from, &beta, to, type<T>(), algorithm, &size, nullptr));
    void* buffer;
    HIP(hipMalloc(&buffer, std::max(size, size_t(4))));
    ROCSPARSE(rocsparse_spmv(d.handle, none, &alpha, matrix, from, &beta, to, type<T>(), algorithm, &size, buffer));
    HIP(hipDeviceSynchronize());
    EXPECT_ALL(from_device(dy, a.rows), expected, (size_t)a.rows);
    ROCSPARSE(rocsparse_destroy_spmat_descr(matrix));
    for (void* memory : {(void*)dv, (void*)dx, (void*)dy, buffer}) HIP(hipFree(memory));
}

template <typename T> static void multiply_matrix(const Matrix& a, const Device& d) {
    const int n = 9;
    std::vector<T> values = converted<T>(a.value), b(a.columns * n), c(a.rows * n, T(1)), expected(a.rows * n);
    for (size_t i = 0; i < b.size(); i++) b[i] = T((int)(i % 13) - 6);
    T alpha = 1, beta = 4;
    for (int column = 0; column < n; column++)
        for (int r = 0; r < a.rows; r++) {
            T sum = 0;
            for (int i = a.begin[r]; i < a.begin[r + 1]; i++) sum += values[i] * b[column * a.columns + a.column[i]];
            expected[column * a.rows + r] = alpha * sum + beta;
        }
    T *dv = on_device(values), *db = on_device(b), *dc = on_device(c);
    rocsparse_spmat_descr matrix;
    rocsparse_dnmat_descr from, to;
    ROCSPARSE(rocsparse_create_csr_descr(&matrix, a.rows, a.columns, a.entries(), d.begin, d.column, dv, rocsparse_indextype_i32,
                                         rocsparse_indextype_i32, rocsparse_index_base_zero, type<T>()));
    ROCSPARSE(rocsparse_create_dnmat_descr(&from, a.columns, n, a.columns, db, type<T>(), rocsparse_order_column));
    ROCSPARSE(rocsparse_create_dnmat_descr(&to, a.rows, n, a.rows, dc, type<T>(), rocsparse_order_column));
    void* buffer = nullptr;
    size_t size = 0;
    auto none = rocsparse_operation_none;
    auto stage = [&](rocsparse_spmm_stage it) {
        ROCSPARSE(rocsparse_spmm(d.handle, none, none, &alpha, matrix, from, &beta, to, type<T>(), rocsparse_spmm_alg_default, it, &size, buffer));
    };
    stage(rocsparse_spmm_stage_buffer_size);
    HIP(hipMalloc(&buffer, std::max(size, size_t(4))));
    stage(rocsparse_spmm_stage_preprocess);
    stage(rocsparse_spmm_stage_compute);
    HIP(hipDeviceSynchronize());
    EXPECT_ALL(from_device(dc, c.size()), expected, c.size());
    ROCSPARSE(rocsparse_destroy_spmat_descr(matrix));
    for (void* memory : {(void*)dv, (void*)db, (void*)dc, buffer}) HIP(hipFree(memory));
}

// The entries in disorder, sorted by rows, with the permutation.
static void sort(const Matrix& a, const Device& d) {
    int entries = a.entries();
    std::vector<int> row(entries), from(entries);
    for (int r = 0; r < a.rows; r++) std::fill(row.begin() + a.begin[r], row.begin() + a.begin[r + 1], r);
    for (int i = 0; i < entries; i++) from[i] = (int)((long long)i * 7919 % entries);
    EXPECT(std::__gcd(7919, entries) == 1, "%d entries", entries);
    std::vector<int> mixed_row(entries), mixed_column(entries);
    for (int i = 0; i < entries; i++) mixed_row[i] = row[from[i]], mixed_column[i] = a.column[from[i]];
    int *dr = on_device(mixed_row), *dc = on_device(mixed_column), *permutation;
    HIP(hipMalloc(&permutation, entries * sizeof(int)));
    ROCSPARSE(rocsparse_create_identity_permutation(d.handle, entries, permutation));
    size_t size;
    ROCSPARSE(rocsparse_coosort_buffer_size(d.handle, a.rows, a.columns, entries, dr, dc, &size));
    void* buffer;
    HIP(hipMalloc(&buffer, size));
    ROCSPARSE(rocsparse_coosort_by_row(d.handle, a.rows, a.columns, entries, dr, dc, permutation, buffer));
    HIP(hipDeviceSynchronize());
    EXPECT_ALL(from_device(dr, entries), row, (size_t)entries);
    EXPECT_ALL(from_device(dc, entries), a.column, (size_t)entries);
    auto got = from_device(permutation, entries);
    for (int i = 0; i < entries; i++) EXPECT_SAME(from[got[i]], i);
    for (void* memory : {(void*)dr, (void*)dc, (void*)permutation, buffer}) HIP(hipFree(memory));
}

int main() {
    Matrix matrix(300, 257);
    Device device(matrix);
    for (auto algorithm : {rocsparse_spmv_alg_csr_adaptive, rocsparse_spmv_alg_csr_stream}) {
        multiply_vector<float>(matrix, device, algorithm);
        multiply_vector<double>(matrix, device, algorithm);
    }
    multiply_matrix<float>(matrix, device);
    multiply_matrix<double>(matrix, device);
    sort(matrix, device);
    printf("rocsparse: SpMV, SpMM and sort of %d entries\n", matrix.entries());
}
