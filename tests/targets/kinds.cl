// Kernels that between them have an argument of every kind and an attribute of every sort that OpenCL knows.
typedef struct {
  int number;
  float values[4];
} Record;

__attribute__((reqd_work_group_size(16, 4, 1))) kernel void
images(read_only image2d_t a, write_only image2d_t b, read_write image3d_t c, read_only image1d_t d,
       read_only image1d_buffer_t e, read_only image2d_array_t f, sampler_t s, global float4 *out) {
  out[0] = 1.0f;
}

__attribute__((work_group_size_hint(64, 1, 1), vec_type_hint(float4))) kernel void
qualified(global const int *restrict a, global volatile int *b, constant float *c, local double *l, Record record,
          char letter, short3 vector, ulong number) {
  l[0] = a[0] + c[1] + record.number + letter + vector.x + number;
  b[0] = l[0];
}

kernel void pipes(read_only pipe int in, write_only pipe float out, queue_t queue, global clk_event_t *event) {}

#ifdef PRINTF
kernel void prints(global int *a) { printf("a=%d '%s'\n", a[0], "text: #"); }
#endif

kernel void enqueues(queue_t queue, global int *a) {
  ndrange_t range;
  enqueue_kernel(queue, CLK_ENQUEUE_FLAGS_NO_WAIT, range, ^{ a[0] = 1; });
}

kernel void empty(void) {}

void use(int *flat);
kernel void apertures(local int *in_lds) {
  int in_scratch;
  use(in_lds);
  use(&in_scratch);
}

kernel void implicit(global ulong *out) { out[0] = ((constant ulong *)__builtin_amdgcn_implicitarg_ptr())[0]; }
