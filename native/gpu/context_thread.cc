#include "context_thread.h"

#include <utility>

#include "../base/thread.h"

namespace nt::gpu {

std::unique_ptr<BoundContext> ContextOrder::take() {
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return std::move(context_);
}

void ContextOrder::make(const Engine& engine) noexcept {
  try {
    engine.enter();
    auto context = std::make_unique<BoundContext>(engine);
    if (profile_ != context->profile()) {
      const cuda::OwnedStream stream(engine.device());
      context->setProfile(profile_, stream);
      stream.synchronize();  // the context is for another stream from here on
    }
    context->setShapes(shapes_, {});
    context_ = std::move(context);
  } catch (...) {
    failure_ = std::current_exception();
  }
  ready_.store(true, std::memory_order_release);
}

ContextThread::~ContextThread() {
  if (!thread_.joinable()) return;
  removeExitTask(exitTask_);
  {
    const std::lock_guard lock(state_->mutex);
    state_->over = true;
    state_->changed.notify_all();
  }
  thread_.join();
}

std::shared_ptr<ContextOrder> ContextThread::order(const void* owner, int32_t profile, const Shapes& shapes) {
  std::shared_ptr<ContextOrder> order(new ContextOrder(owner, profile, shapes));
  const std::lock_guard lock(state_->mutex);
  try {
    if (!thread_.joinable()) start();
  } catch (const Error&) {
    order->failure_ = std::current_exception();
    order->ready_ = true;
    return order;
  }
  state_->orders.push_back(order);
  state_->changed.notify_all();
  return order;
}

// The lock is held.
void ContextThread::start() {
  thread_ = startThread("the one that makes contexts for CUDA graphs",
                        [&state = *state_, &engine = engine_] { run(state, engine); });
  exitTask_ = addExitTask([weak = std::weak_ptr<State>(state_)](ExitDeadline deadline) {
    const auto state = weak.lock();
    return !state || halt(*state, deadline);
  });
}

void ContextThread::cancel(const void* owner) noexcept {
  std::unique_lock lock(state_->mutex);
  std::erase_if(state_->orders, [&](const auto& order) { return order->owner_ == owner; });
  state_->changed.wait(lock, [&] { return state_->makingFor != owner; });
}

std::size_t ContextThread::awaitAll() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->over || (state_->orders.empty() && state_->makingFor == nullptr); });
  forgetTaken(*state_);
  return state_->made.size();
}

// The lock is held.
void ContextThread::forgetTaken(State& state) noexcept {
  std::erase_if(state.made, [](const auto& order) { return order.expired(); });
}

void ContextThread::run(State& state, const Engine& engine) noexcept {
  for (;;) {
    std::shared_ptr<ContextOrder> order;
    {
      std::unique_lock lock(state.mutex);
      state.changed.wait(lock, [&] { return state.over || !state.orders.empty(); });
      if (state.over) return;
      order = std::move(state.orders.front());
      state.orders.pop_front();
      state.makingFor = order->owner_;
    }
    if (order.use_count() > 1) order->make(engine);  // else nobody wants it any more
    const std::lock_guard lock(state.mutex);
    forgetTaken(state);
    state.made.push_back(order);
    order.reset();
    state.makingFor = nullptr;
    state.changed.notify_all();
  }
}

// At the end of the process nobody is to be inside of the driver or TensorRT.
bool ContextThread::halt(State& state, ExitDeadline deadline) noexcept {
  std::unique_lock lock(state.mutex);
  state.over = true;
  state.orders.clear();
  state.changed.notify_all();
  return state.changed.wait_until(lock, deadline, [&] { return state.makingFor == nullptr; });
}

}  // namespace nt::gpu
