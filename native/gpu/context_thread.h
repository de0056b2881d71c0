// Contexts for shapes that come often, made on a thread of their engine's: that takes from ten to some hundred
// milliseconds each, for which no request is to wait.
#pragma once

#include <atomic>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "../base/condition.h"
#include "../base/exit.h"
#include "bound_context.h"

namespace nt::gpu {

// A context that was ordered: its profile and shapes are set. Memory and addresses it gets from whoever takes it.
class ContextOrder {
 public:
  // Whether take() may be called, once.
  bool ready() const noexcept { return ready_.load(std::memory_order_acquire); }
  // Throws what the making threw.
  std::unique_ptr<BoundContext> take();

 private:
  friend class ContextThread;
  ContextOrder(const void* owner, int32_t profile, Shapes shapes)
      : owner_(owner), profile_(profile), shapes_(std::move(shapes)) {}
  void make(const Engine& engine) noexcept;

  const void* const owner_;
  const int32_t profile_;
  const Shapes shapes_;
  std::unique_ptr<BoundContext> context_;
  std::exception_ptr failure_;
  std::atomic<bool> ready_{false};
};

// The thread is there once something was ordered. One context is made at a time.
class ContextThread {
 public:
  explicit ContextThread(const Engine& engine) : engine_(engine) {}
  ContextThread(const ContextThread&) = delete;
  ContextThread& operator=(const ContextThread&) = delete;
  // All owners have cancelled.
  ~ContextThread();

  // `owner`: for cancel(). Where the system has no thread left, that is what take() throws. No input is read by the
  // CPU.
  std::shared_ptr<ContextOrder> order(const void* owner, int32_t profile, const Shapes& shapes);
  // Nothing is made for this owner any more: waits for what is being made.
  void cancel(const void* owner) noexcept;
  // Until all that was ordered is ready. How many of these are still to be taken.
  std::size_t awaitAll();

 private:
  // Of the thread; the end of the process may look at it when this is gone.
  struct State {
    std::mutex mutex;
    Condition changed;
    std::deque<std::shared_ptr<ContextOrder>> orders;
    std::vector<std::weak_ptr<ContextOrder>> made;  // whoever takes one, or wants it no more, lets go of it
    const void* makingFor = nullptr;                // whose order is being made
    bool over = false;
  };
  void start();
  static void forgetTaken(State& state) noexcept;
  static void run(State& state, const Engine& engine) noexcept;
  static bool halt(State& state, ExitDeadline deadline) noexcept;

  const Engine& engine_;
  const std::shared_ptr<State> state_ = std::make_shared<State>();
  std::thread thread_;
  int exitTask_ = -1;
};

}  // namespace nt::gpu
