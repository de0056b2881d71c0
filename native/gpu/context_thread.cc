#include "context_thread.h"

#include <system_error>
#include <utility>

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
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  thread_.join();
  removeExitTask(exitTask_);
}

std::shared_ptr<ContextOrder> ContextThread::order(const void* owner, int32_t profile, const Shapes& shapes) {
  std::shared_ptr<ContextOrder> order(new ContextOrder(owner, profile, shapes));
  const std::lock_guard lock(mutex_);
  try {
    if (!thread_.joinable()) start();
  } catch (const std::system_error&) {
    order->failure_ =
        std::make_exception_ptr(Error("ERR_TRT_EXECUTION", "the system has no thread left to make it on"));
    order->ready_ = true;
    return order;
  }
  orders_.push_back(order);
  changed_.notify_all();
  return order;
}

// The lock is held.
void ContextThread::start() {
  thread_ = std::thread([this] { run(); });
  exitTask_ = addExitTask([this](ExitDeadline deadline) { halt(deadline); });
}

void ContextThread::cancel(const void* owner) noexcept {
  std::unique_lock lock(mutex_);
  std::erase_if(orders_, [&](const auto& order) { return order->owner_ == owner; });
  changed_.wait(lock, [&] { return makingFor_ != owner; });
}

void ContextThread::awaitAll() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return over_ || (orders_.empty() && makingFor_ == nullptr); });
}

void ContextThread::run() noexcept {
  for (;;) {
    std::shared_ptr<ContextOrder> order;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return over_ || !orders_.empty(); });
      if (over_) return;
      order = std::move(orders_.front());
      orders_.pop_front();
      makingFor_ = order->owner_;
    }
    // nobody has it any more
    if (order.use_count() > 1) order->make(engine_);
    order.reset();
    const std::lock_guard lock(mutex_);
    makingFor_ = nullptr;
    changed_.notify_all();
  }
}

// At the end of the process nobody is to be inside of the driver or TensorRT.
void ContextThread::halt(ExitDeadline deadline) noexcept {
  std::unique_lock lock(mutex_);
  over_ = true;
  orders_.clear();
  changed_.notify_all();
  changed_.wait_until(lock, deadline, [&] { return makingFor_ == nullptr; });
}

}  // namespace nt::gpu
