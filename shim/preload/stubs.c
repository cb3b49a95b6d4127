// SPDX-License-Identifier: Apache-2.0
//
// The exported entry points, and the exported loader functions. Both must hand over without leaving a trace: registers, stack and
// return address arrive at the target exactly as the caller left them, so the target sees the program as its caller. A compiler's
// tail call would do that only when it optimises; hence assembly.
#include "shim/preload/preload.h"

#ifndef __x86_64__
#error "the stubs are written for x86-64: add this architecture's here"
#endif

void* cupool_slots[CUPOOL_SLOT_COUNT] __attribute__((visibility("hidden")));

// A driver or NVML name is exported as NAME@CUPOOL_1, hidden and of version index 2. References of programs carry no version and
// bind to it; dlsym, which accepts only default versions, does not see it. So a lookup by RTLD_DEFAULT, RTLD_NEXT or the program's
// own handle finds what it would find without us, error text included. Runtime names cannot be hidden: their callers ask for a
// version (libcudart.so.13), which only an unversioned definition satisfies; shim/preload/lookup.c steps over ours.
//
// r11 and r10 are free in the calling convention between a caller and its callee. rax is not: it counts vector registers.
// clang-format off
__asm__(
    ".text\n"
    ".set cupool_slot, 0\n"
    ".macro cupool_stub label\n"
    "  .balign 32\n"
    "  .type \\label, @function\n"
    "\\label:\n"
    "  endbr64\n"
    "  movq cupool_slots+8*cupool_slot(%rip), %r11\n"
    "  testq %r11, %r11\n"
    "  je 1f\n"
    "  jmp *%r11\n"
    "1: movl $cupool_slot, %r11d\n"
    "  jmp cupool_first_call\n"
    "  .size \\label, .-\\label\n"
    "  .set cupool_slot, cupool_slot+1\n"
    ".endm\n"
    ".macro cupool_export_driver name\n"
    "  .globl cupool_at_\\name\n"
    "  cupool_stub cupool_at_\\name\n"
    "  .symver cupool_at_\\name, \\name@CUPOOL_1\n"
    ".endm\n"
    ".macro cupool_export_nvml name\n"
    "  cupool_export_driver \\name\n"
    ".endm\n"
    ".macro cupool_export_runtime name\n"
    "  .globl \\name\n"
    "  cupool_stub \\name\n"
    ".endm\n"
    "  .balign 32\n"
    "  .globl cupool_stubs\n"
    "  .hidden cupool_stubs\n"
    "cupool_stubs:\n"
    "  .cfi_startproc\n"  // one frame description for all: no stub moves the stack
#define CUPOOL_EXPORT(kind, name) "cupool_export_" #kind " " #name "\n"
#include "shim/abi/exports.def"
    "  .cfi_endproc\n");

// A stub whose slot is empty comes here with its number in r11. All argument registers are kept; xmm0 to xmm7 carry the few arguments
// that are floating point.
__asm__(
    ".text\n"
    ".balign 16\n"
    ".type cupool_first_call, @function\n"
    "cupool_first_call:\n"
    "  .cfi_startproc\n"
    "  subq $200, %rsp\n"
    "  .cfi_adjust_cfa_offset 200\n"
    "  movq %rdi, 0(%rsp)\n"
    "  movq %rsi, 8(%rsp)\n"
    "  movq %rdx, 16(%rsp)\n"
    "  movq %rcx, 24(%rsp)\n"
    "  movq %r8, 32(%rsp)\n"
    "  movq %r9, 40(%rsp)\n"
    "  movq %rax, 48(%rsp)\n"
    "  movaps %xmm0, 64(%rsp)\n"
    "  movaps %xmm1, 80(%rsp)\n"
    "  movaps %xmm2, 96(%rsp)\n"
    "  movaps %xmm3, 112(%rsp)\n"
    "  movaps %xmm4, 128(%rsp)\n"
    "  movaps %xmm5, 144(%rsp)\n"
    "  movaps %xmm6, 160(%rsp)\n"
    "  movaps %xmm7, 176(%rsp)\n"
    "  movl %r11d, %edi\n"
    "  movq 200(%rsp), %rsi\n"
    "  call cupool_resolve_stub\n"
    "  movq %rax, %r11\n"
    "  movq 0(%rsp), %rdi\n"
    "  movq 8(%rsp), %rsi\n"
    "  movq 16(%rsp), %rdx\n"
    "  movq 24(%rsp), %rcx\n"
    "  movq 32(%rsp), %r8\n"
    "  movq 40(%rsp), %r9\n"
    "  movq 48(%rsp), %rax\n"
    "  movaps 64(%rsp), %xmm0\n"
    "  movaps 80(%rsp), %xmm1\n"
    "  movaps 96(%rsp), %xmm2\n"
    "  movaps 112(%rsp), %xmm3\n"
    "  movaps 128(%rsp), %xmm4\n"
    "  movaps 144(%rsp), %xmm5\n"
    "  movaps 160(%rsp), %xmm6\n"
    "  movaps 176(%rsp), %xmm7\n"
    "  addq $200, %rsp\n"
    "  .cfi_adjust_cfa_offset -200\n"
    "  jmp *%r11\n"
    "  .cfi_endproc\n"
    "  .size cupool_first_call, .-cupool_first_call\n");

// dlsym, dlvsym and dlmopen: three argument registers, kept over the question whether we answer. The answer comes back as a pair:
// rax the result, rdx whether it is one; else the process's own function is entered by a jump, so that it finds the true caller.
__asm__(
    ".text\n"
    ".macro cupool_loader_function name, decide, real\n"
    "  .balign 16\n"
    "  .globl \\name\n"
    "  .type \\name, @function\n"
    "\\name:\n"
    "  .cfi_startproc\n"
    "  endbr64\n"
    "  subq $40, %rsp\n"
    "  .cfi_adjust_cfa_offset 40\n"
    "  movq %rdi, 0(%rsp)\n"
    "  movq %rsi, 8(%rsp)\n"
    "  movq %rdx, 16(%rsp)\n"
    "  movq 40(%rsp), %rcx\n"
    "  call \\decide\n"
    "  testq %rdx, %rdx\n"
    "  movq 0(%rsp), %rdi\n"
    "  movq 8(%rsp), %rsi\n"
    "  movq 16(%rsp), %rdx\n"
    "  leaq 40(%rsp), %rsp\n"
    "  .cfi_adjust_cfa_offset -40\n"
    "  je 1f\n"
    "  ret\n"
    "1: jmp *\\real(%rip)\n"
    "  .cfi_endproc\n"
    "  .size \\name, .-\\name\n"
    ".endm\n"
    "cupool_loader_function dlsym, cupool_decide_dlsym, cupool_real_dlsym\n"
    "cupool_loader_function dlvsym, cupool_decide_dlvsym, cupool_real_dlvsym\n"
    "cupool_loader_function dlmopen, cupool_decide_dlmopen, cupool_real_dlmopen\n");
// clang-format on

/// Where the stub of `slot` goes this time. Called from assembly only.
__attribute__((used, visibility("hidden"))) void* cupool_resolve_stub(uint32_t slot, const void* caller);
void* cupool_resolve_stub(uint32_t slot, const void* caller) {
  const struct cupool_core* core = cupool_core();
  return core != NULL ? core->resolve(slot, caller) : cupool_without_core_resolve(slot, caller);
}
