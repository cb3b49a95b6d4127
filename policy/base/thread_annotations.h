// SPDX-License-Identifier: Apache-2.0
#pragma once

// Clang's thread-safety analysis, so that the compiler checks which lock guards which member; nothing under other compilers.
#if defined(__clang__)
#define CUPOOL_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define CUPOOL_THREAD_ATTRIBUTE(x)
#endif

#define CUPOOL_CAPABILITY(name) CUPOOL_THREAD_ATTRIBUTE(capability(name))
#define CUPOOL_SCOPED_CAPABILITY CUPOOL_THREAD_ATTRIBUTE(scoped_lockable)
#define CUPOOL_GUARDED_BY(mutex) CUPOOL_THREAD_ATTRIBUTE(guarded_by(mutex))
#define CUPOOL_REQUIRES(...) CUPOOL_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define CUPOOL_ACQUIRE(...) CUPOOL_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define CUPOOL_RELEASE(...) CUPOOL_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define CUPOOL_TRY_ACQUIRE(...) CUPOOL_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define CUPOOL_EXCLUDES(...) CUPOOL_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define CUPOOL_NO_THREAD_ANALYSIS CUPOOL_THREAD_ATTRIBUTE(no_thread_safety_analysis)
