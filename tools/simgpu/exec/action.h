// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace cupool::simgpu {

/// What an action answers when its turn has come: done, failed, or to be asked again.
struct Outcome {
  int code = 0;        ///< 0 or a failure; simgpu uses CUDA's numbers, the scheduler only tells zero from the rest
  bool again = false;  ///< the condition it waits for does not hold yet: call it once more a little later

  static constexpr Outcome done() { return {}; }
  static constexpr Outcome failed(int code) { return {code, false}; }
  static constexpr Outcome not_yet() { return {0, true}; }
};

/// A move-only callable `Outcome()`; one of up to kInline bytes lives inside, so that submitting a launch allocates nothing.
///
/// An action must not throw, and must not call into the scheduler that runs it, except to submit.
class Action {
 public:
  static constexpr std::size_t kInline = 96;

  Action() = default;
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, Action> && std::is_invocable_r_v<Outcome, F&>)
      Action(F&& callable) {  // NOLINT: any callable is an action
    using Stored = std::remove_cvref_t<F>;
    if constexpr (sizeof(Stored) <= kInline && alignof(Stored) <= alignof(std::max_align_t) &&
                  std::is_nothrow_move_constructible_v<Stored>) {
      ::new (static_cast<void*>(storage_)) Stored(std::forward<F>(callable));
      table_ = &kInlineTable<Stored>;
    } else {
      ::new (static_cast<void*>(storage_)) Stored*(new Stored(std::forward<F>(callable)));
      table_ = &kHeapTable<Stored>;
    }
  }
  Action(Action&& other) noexcept { take(other); }
  Action& operator=(Action&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  ~Action() { reset(); }

  explicit operator bool() const { return table_ != nullptr; }
  Outcome operator()() { return table_->call(storage_); }
  void reset() {
    if (table_ != nullptr) std::exchange(table_, nullptr)->destroy(storage_);
  }

 private:
  struct Table {
    Outcome (*call)(std::byte*);
    void (*move)(std::byte* from, std::byte* to) noexcept;
    void (*destroy)(std::byte*) noexcept;
  };
  template <class T>
  static T* at(std::byte* storage) {
    return std::launder(reinterpret_cast<T*>(storage));
  }
  template <class T>
  static constexpr Table kInlineTable{[](std::byte* self) -> Outcome { return (*at<T>(self))(); },
                                      [](std::byte* from, std::byte* to) noexcept {
                                        ::new (static_cast<void*>(to)) T(std::move(*at<T>(from)));
                                        at<T>(from)->~T();
                                      },
                                      [](std::byte* self) noexcept { at<T>(self)->~T(); }};
  template <class T>
  static constexpr Table kHeapTable{
      [](std::byte* self) -> Outcome { return (**at<T*>(self))(); },
      [](std::byte* from, std::byte* to) noexcept { ::new (static_cast<void*>(to)) T*(*at<T*>(from)); },
      [](std::byte* self) noexcept { delete *at<T*>(self); }};

  void take(Action& other) noexcept {
    table_ = std::exchange(other.table_, nullptr);
    if (table_ != nullptr) table_->move(other.storage_, storage_);
  }

  const Table* table_ = nullptr;
  alignas(std::max_align_t) std::byte storage_[kInline];
};

}  // namespace cupool::simgpu
