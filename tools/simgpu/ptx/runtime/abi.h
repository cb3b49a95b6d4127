// SPDX-License-Identifier: Apache-2.0
// What compiled kernels and simgpu share. The build also embeds this file as text in front of every generated C source, so it is
// plain C that gcc, clang and tcc accept, includes nothing, and uses no atomics, no 128-bit integers and no inline functions.
#ifndef SG_ABI_H
#define SG_ABI_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;

#define SG_ABI_VERSION 1

// Generic addresses of memory that is not global. No device address has these bits.
#define SG_WINDOW_SHARED 0x0100000000000000ULL
#define SG_WINDOW_LOCAL 0x0200000000000000ULL
#define SG_WINDOW_PARAM 0x0300000000000000ULL
#define SG_WINDOW_MASK 0xff00000000000000ULL

#define SG_PAGES 256
typedef struct sg_page {  // one remembered translation of a 4 KiB page
  u64 read;               // the page's address if it may be read, else 1 (which no masked address equals)
  u64 write;
  u64 delta;  // host address minus device address
  u64 unused;
} sg_page;

struct sg_runtime;
typedef struct sg_ctx {  // one worker's view of the block it runs
  const struct sg_runtime* rt;
  u32 tid[3], ntid[3], ctaid[3], nctaid[3];
  u32 lane, warp;  // of the running thread: tid.x + tid.y * ntid.x + ... in warps of 32
  u8* shared;
  u64 shared_size;  // 0 while every access is to be checked
  u8* local;
  u64 local_size;
  u8* params;
  u64 param_size;
  const u64* globals;
  const u32* shared_offsets;  // of the module's shared variables in this kernel
  u32 dynamic_shared;         // offset of extern shared arrays
  u32 kernel_shared_total;
  s64 fuel;   // backward branches until somebody looks whether the launch is to stop
  s64 slice;  // backward branches until a resumable thread lets others run
  u64 grid_id;
  sg_page pages[SG_PAGES];
} sg_ctx;

// Why a resumable thread returned.
#define SG_DONE 0
#define SG_BARRIER 1  // in[0] barrier, in[1] threads expected (0: all), in[2] SG_BAR_*, in[3] predicate; out[0] result
#define SG_WARP 2     // op, in[], mask in in[0]
#define SG_YIELD 3

#define SG_BAR_SYNC 0
#define SG_BAR_ARRIVE 1
#define SG_BAR_RED_POPC 2
#define SG_BAR_RED_AND 3
#define SG_BAR_RED_OR 4

// Warp operations. Arguments from in[1] on.
#define SG_W_SYNC 1
#define SG_W_SHFL_UP 2  // value, b, c -> value, predicate
#define SG_W_SHFL_DOWN 3
#define SG_W_SHFL_BFLY 4
#define SG_W_SHFL_IDX 5
#define SG_W_VOTE_ALL 6  // predicate -> predicate
#define SG_W_VOTE_ANY 7
#define SG_W_VOTE_UNI 8
#define SG_W_VOTE_BALLOT 9
#define SG_W_MATCH_ANY 10  // low, high -> mask
#define SG_W_MATCH_ALL 11  // low, high -> mask, predicate
#define SG_W_ACTIVEMASK 12
#define SG_W_ELECT 13     // -> leader lane, predicate
#define SG_W_REDUX 14     // + kind << 8 (SG_R_*)
#define SG_W_MMA 15       // + shape << 8 (SG_M_*) and flags << 16; a, b, c -> d
#define SG_W_LDMATRIX 16  // + count << 8, transposed << 16; address -> registers
#define SG_W_STMATRIX 17
#define SG_W_MOVMATRIX 18

#define SG_R_ADD 0
#define SG_R_MIN_S 1
#define SG_R_MAX_S 2
#define SG_R_MIN_U 3
#define SG_R_MAX_U 4
#define SG_R_AND 5
#define SG_R_OR 6
#define SG_R_XOR 7
#define SG_R_FMIN 8  // + 16: .abs, + 32: .NaN
#define SG_R_FMAX 9

// mma: element types of the products.
#define SG_M_F16 0
#define SG_M_BF16 1
#define SG_M_TF32 2
#define SG_M_F64 3
#define SG_M_S8 4  // a and b each signed (S8) or unsigned (U8): flags
#define SG_M_S4 5
// flags of mma
#define SG_MF_A_UNSIGNED 1
#define SG_MF_B_UNSIGNED 2
#define SG_MF_SATURATE 4
#define SG_MF_HALF_ACCUMULATE 8

#define SG_THREAD_WORDS 24
typedef struct sg_thread {  // a resumable thread between two calls; the kernel's saved registers follow
  u32 pc;
  u32 line;  // of the operation it waits at
  u32 op;    // SG_W_* and its details
  u32 unused;
  u32 in[SG_THREAD_WORDS];
  u32 out[8];
} sg_thread;

typedef struct sg_kernel {
  const char* name;
  void (*block)(sg_ctx*);            // runs all threads of a block, or 0
  u32 (*step)(sg_ctx*, sg_thread*);  // runs one thread up to where it must wait, or 0
  u32 record_bytes;                  // sg_thread and saved registers
  u32 yields;                        // whether step may return SG_YIELD
} sg_kernel;

typedef struct sg_module {
  u32 abi;
  u32 kernel_count;
  const sg_kernel* kernels;
} sg_module;

// Rounding: nearest even, towards zero, down, up, nearest with ties away.
#define SG_RN 0
#define SG_RZ 1
#define SG_RM 2
#define SG_RP 3
#define SG_RNA 4
#define SG_RX 5  // none: keep the fraction

// Arithmetic by number, for what is not a plain C operator.
#define SG_ADD 0
#define SG_SUB 1
#define SG_MUL 2
#define SG_DIV 3
#define SG_FMA 4
#define SG_SQRT 5
#define SG_RCP 6
#define SG_RSQRT 7
#define SG_EX2 8
#define SG_LG2 9
#define SG_SIN 10
#define SG_COS 11
#define SG_TANH 12
#define SG_MIN 13
#define SG_MAX 14
#define SG_NEG 15
#define SG_ABS 16

// Number formats of the general conversion.
#define SG_T_U8 0
#define SG_T_S8 1
#define SG_T_U16 2
#define SG_T_S16 3
#define SG_T_U32 4
#define SG_T_S32 5
#define SG_T_U64 6
#define SG_T_S64 7
#define SG_T_F16 8
#define SG_T_BF16 9
#define SG_T_TF32 10
#define SG_T_F32 11
#define SG_T_F64 12
#define SG_T_E4M3 13
#define SG_T_E5M2 14

#define SG_CVT_SAT 1         // clamp to [0, 1]
#define SG_CVT_FTZ 2         // f32 denormals, in and out, are zeros
#define SG_CVT_SATFINITE 4   // what is too large becomes the largest finite number
#define SG_CVT_INTEGRAL 256  // a float rounds to a whole number
#define SG_CVT_RELU 8        // what is below zero becomes zero

// Flags of half-precision arithmetic.
#define SG_H_FTZ 1
#define SG_H_SAT 2
#define SG_H_RELU 4
#define SG_H_NAN 8  // min and max give NaN if one operand is
#define SG_H_XORSIGN 16

// Atomic operations; the type in bits 8 to 15 (SG_T_*, SG_T_F16 + SG_X2 for pairs), the space in bits 16 on.
#define SG_A_ADD 0
#define SG_A_MIN 1
#define SG_A_MAX 2
#define SG_A_INC 3
#define SG_A_DEC 4
#define SG_A_AND 5
#define SG_A_OR 6
#define SG_A_XOR 7
#define SG_A_EXCH 8
#define SG_A_CAS 9
#define SG_X2 0x40
#define SG_A_SHARED 0x10000
#define SG_A_LOCAL 0x20000
#define SG_A_FTZ 0x40000

// What generated code calls: result, name, arguments.
#define SG_HELPERS(X)                                                                           \
  X(u8*, reach, (sg_ctx * c, u64 address, u32 size, u32 write, u32 line))                       \
  X(u8*, reach_shared, (sg_ctx * c, u64 address, u32 size, u32 write, u32 line))                \
  X(u8*, reach_local, (sg_ctx * c, u64 address, u32 size, u32 write, u32 line))                 \
  X(u8*, reach_param, (sg_ctx * c, u64 address, u32 size, u32 write, u32 line))                 \
  X(u64, atom, (sg_ctx * c, u64 address, u32 op, u64 a, u64 b, u32 line))                       \
  X(void, async_copy, (sg_ctx * c, u64 to, u64 from, u32 size, u32 from_size, u32 line))        \
  X(void, refuel, (sg_ctx * c, u32 line))                                                       \
  X(void, trap, (sg_ctx * c, u32 line))                                                         \
  X(void, unsupported, (sg_ctx * c, u32 line))                                                  \
  X(void, assert_fail, (sg_ctx * c, u64 message, u64 file, u32 number, u64 function, u32 line)) \
  X(u32, print, (sg_ctx * c, u64 format, u64 arguments, u32 line))                              \
  X(u64, allocate, (sg_ctx * c, u64 size, u32 line))                                            \
  X(void, release, (sg_ctx * c, u64 address, u32 line))                                         \
  X(u64, clock, (void))                                                                         \
  X(void, fence, (void))                                                                        \
  X(u64, mulhi_u64, (u64 a, u64 b))                                                             \
  X(u64, mulhi_s64, (u64 a, u64 b))                                                             \
  X(u32, popc, (u64 a))                                                                         \
  X(u32, clz, (u64 a, u32 bits))                                                                \
  X(u64, brev, (u64 a, u32 bits))                                                               \
  X(u32, bfind, (u64 a, u32 bits, u32 is_signed, u32 shift_amount))                             \
  X(u32, fns, (u32 mask, u32 base, s32 offset))                                                 \
  X(u64, bfe, (u64 a, u32 position, u32 length, u32 bits, u32 is_signed))                       \
  X(u64, bfi, (u64 a, u64 b, u32 position, u32 length, u32 bits))                               \
  X(u32, prmt, (u32 a, u32 b, u32 selector, u32 mode))                                          \
  X(u32, dp4a, (u32 a, u32 b, u32 c, u32 a_signed, u32 b_signed))                               \
  X(u32, dp2a, (u32 a, u32 b, u32 c, u32 a_signed, u32 b_signed, u32 high))                     \
  X(float, fma32, (float a, float b, float c))                                                  \
  X(double, fma64, (double a, double b, double c))                                              \
  X(float, op32, (u32 op, u32 rounding, float a, float b, float c))                             \
  X(double, op64, (u32 op, u32 rounding, double a, double b, double c))                         \
  X(float, sqrt32, (float a))                                                                   \
  X(double, sqrt64, (double a))                                                                 \
  X(float, approx32, (u32 op, float a))                                                         \
  X(u32, half_op, (u32 op, u32 is_bfloat, u32 flags, u32 a, u32 b, u32 c))                      \
  X(float, half_to_float, (u32 a, u32 is_bfloat))                                               \
  X(u32, float_to_half, (float a, u32 is_bfloat))                                               \
  X(u64, convert, (u64 bits, u32 from, u32 to, u32 rounding, u32 flags))

typedef struct sg_runtime {
#define SG_MEMBER(result, name, arguments) result(*name) arguments;
  SG_HELPERS(SG_MEMBER)
#undef SG_MEMBER
} sg_runtime;

#endif
