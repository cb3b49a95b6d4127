// SPDX-License-Identifier: Apache-2.0
// Macros and small functions of generated code; embedded behind abi.h. Not included by any C++ file.

#define PUN(T, x) (*(T*)&(x))
// The bits of a float register; a NaN shows as the canonical one.
#define BITS32(x) ((x) == (x) ? PUN(u32, x) : 0x7fffffffu)
#define BITS64(x) ((x) == (x) ? PUN(u64, x) : 0x7ff8000000000000ULL)
#define CANON32(x) \
  if ((x) != (x)) PUN(u32, x) = 0x7fffffffu
#define CANON64(x) \
  if ((x) != (x)) PUN(u64, x) = 0x7ff8000000000000ULL

// h becomes the host address of `size` bytes at a device address. Page and alignment are compared in one go.
#define SG_READ(h, address, size, line)                   \
  {                                                       \
    u64 a_ = (address);                                   \
    sg_page* p_ = &c->pages[(a_ >> 12) & (SG_PAGES - 1)]; \
    if ((a_ & (~0xfffULL | ((size)-1))) == p_->read)      \
      h = (u8*)(a_ + p_->delta);                          \
    else                                                  \
      h = c->rt->reach(c, a_, size, 0, line);             \
  }
#define SG_WRITE(h, address, size, line)                  \
  {                                                       \
    u64 a_ = (address);                                   \
    sg_page* p_ = &c->pages[(a_ >> 12) & (SG_PAGES - 1)]; \
    if ((a_ & (~0xfffULL | ((size)-1))) == p_->write)     \
      h = (u8*)(a_ + p_->delta);                          \
    else                                                  \
      h = c->rt->reach(c, a_, size, 1, line);             \
  }
// Shared and local sizes are multiples of 32, so an aligned access that begins inside ends inside.
#define SG_SHARED(h, address, size, write, line)         \
  {                                                      \
    u64 a_ = (address);                                  \
    if (a_ < c->shared_size && !(a_ & ((size)-1)))       \
      h = c->shared + a_;                                \
    else                                                 \
      h = c->rt->reach_shared(c, a_, size, write, line); \
  }
#define SG_LOCAL(h, address, size, write, line)         \
  {                                                     \
    u64 a_ = (address);                                 \
    if (a_ < c->local_size && !(a_ & ((size)-1)))       \
      h = c->local + a_;                                \
    else                                                \
      h = c->rt->reach_local(c, a_, size, write, line); \
  }

static float sg_f32(u32 bits) {
  return *(float*)&bits;
}
static double sg_f64(u64 bits) {
  return *(double*)&bits;
}
static u32 sg_b32(float x) {
  return *(u32*)&x;
}
static u64 sg_b64(double x) {
  return *(u64*)&x;
}
static float sg_ftz(float x) {
  u32 bits = *(u32*)&x;
  if (bits & 0x7f800000u) return x;
  bits &= 0x80000000u;
  return *(float*)&bits;
}
static float sg_sat32(float x) {
  if (!(x > 0.0f)) return 0.0f;
  return x < 1.0f ? x : 1.0f;
}
static double sg_sat64(double x) {
  if (!(x > 0.0)) return 0.0;
  return x < 1.0 ? x : 1.0;
}
// One NaN loses against a number; -0 is less than +0.
static float sg_min32(float a, float b) {
  if (a != a) return b;
  if (b != b) return a;
  if (a == b) return *(u32*)&a >> 31 ? a : b;
  return a < b ? a : b;
}
static float sg_max32(float a, float b) {
  if (a != a) return b;
  if (b != b) return a;
  if (a == b) return *(u32*)&a >> 31 ? b : a;
  return a > b ? a : b;
}
static double sg_min64(double a, double b) {
  if (a != a) return b;
  if (b != b) return a;
  if (a == b) return *(u64*)&a >> 63 ? a : b;
  return a < b ? a : b;
}
static double sg_max64(double a, double b) {
  if (a != a) return b;
  if (b != b) return a;
  if (a == b) return *(u64*)&a >> 63 ? b : a;
  return a > b ? a : b;
}
static u32 sg_mulhi_u32(u32 a, u32 b) {
  return (u32)((u64)a * b >> 32);
}
static u32 sg_mulhi_s32(u32 a, u32 b) {
  return (u32)((u64)((s64)(s32)a * (s32)b) >> 32);
}
static u32 sg_div_u32(u32 a, u32 b) {
  return b ? a / b : 0xffffffffu;
}
static u32 sg_rem_u32(u32 a, u32 b) {
  return b ? a % b : a;
}
static u32 sg_div_s32(u32 a, u32 b) {
  if (!b) return 0xffffffffu;
  if (b == 0xffffffffu) return 0u - a;
  return (u32)((s32)a / (s32)b);
}
static u32 sg_rem_s32(u32 a, u32 b) {
  if (!b) return a;
  if (b == 0xffffffffu) return 0;
  return (u32)((s32)a % (s32)b);
}
static u64 sg_div_u64(u64 a, u64 b) {
  return b ? a / b : 0xffffffffffffffffULL;
}
static u64 sg_rem_u64(u64 a, u64 b) {
  return b ? a % b : a;
}
static u64 sg_div_s64(u64 a, u64 b) {
  if (!b) return 0xffffffffffffffffULL;
  if (b == 0xffffffffffffffffULL) return 0ULL - a;
  return (u64)((s64)a / (s64)b);
}
static u64 sg_rem_s64(u64 a, u64 b) {
  if (!b) return a;
  if (b == 0xffffffffffffffffULL) return 0;
  return (u64)((s64)a % (s64)b);
}
static u32 sg_shl32(u32 a, u32 n) {
  return n > 31 ? 0 : a << n;
}
static u64 sg_shl64(u64 a, u32 n) {
  return n > 63 ? 0 : a << n;
}
static u32 sg_shr_u32(u32 a, u32 n) {
  return n > 31 ? 0 : a >> n;
}
static u64 sg_shr_u64(u64 a, u32 n) {
  return n > 63 ? 0 : a >> n;
}
static u32 sg_shr_s32(u32 a, u32 n) {
  return (u32)((s32)a >> (n > 31 ? 31 : n));
}
static u64 sg_shr_s64(u64 a, u32 n) {
  return (u64)((s64)a >> (n > 63 ? 63 : n));
}
static u32 sg_shf_l(u32 low, u32 high, u32 n) {
  return n == 0 ? high : n > 31 ? low : high << n | low >> (32 - n);
}
static u32 sg_shf_r(u32 low, u32 high, u32 n) {
  return n == 0 ? low : n > 31 ? high : high << (32 - n) | low >> n;
}
static u32 sg_add_sat(u32 a, u32 b) {
  s64 sum = (s64)(s32)a + (s32)b;
  return sum > 2147483647LL ? 0x7fffffffu : sum < -2147483648LL ? 0x80000000u : (u32)sum;
}
static u32 sg_sub_sat(u32 a, u32 b) {
  s64 sum = (s64)(s32)a - (s32)b;
  return sum > 2147483647LL ? 0x7fffffffu : sum < -2147483648LL ? 0x80000000u : (u32)sum;
}
static s32 sg_f32_to_s32(const sg_runtime* rt, float x) {
  if (x > -2147483648.0f && x < 2147483648.0f) return (s32)x;
  return (s32)rt->convert(*(u32*)&x, SG_T_F32, SG_T_S32, SG_RZ, 0);
}
#if defined(__FMA__) && !defined(__TINYC__)
#define SG_FMA32(a, b, d) __builtin_fmaf(a, b, d)
#define SG_FMA64(a, b, d) __builtin_fma(a, b, d)
#else
#define SG_FMA32(a, b, d) c->rt->fma32(a, b, d)
#define SG_FMA64(a, b, d) c->rt->fma64(a, b, d)
#endif
#if defined(__TINYC__)
#define SG_SQRT32(a) c->rt->sqrt32(a)
#define SG_SQRT64(a) c->rt->sqrt64(a)
#else
#define SG_SQRT32(a) __builtin_sqrtf(a)
#define SG_SQRT64(a) __builtin_sqrt(a)
#endif
#define SG_EACH_THREAD(thread)                    \
  u32 x_, y_, z_, n_ = 0;                         \
  for (z_ = 0; z_ < c->ntid[2]; ++z_)             \
    for (y_ = 0; y_ < c->ntid[1]; ++y_)           \
      for (x_ = 0; x_ < c->ntid[0]; ++x_, ++n_) { \
        c->tid[0] = x_;                           \
        c->tid[1] = y_;                           \
        c->tid[2] = z_;                           \
        c->lane = n_ & 31;                        \
        c->warp = n_ >> 5;                        \
        thread(c);                                \
      }
