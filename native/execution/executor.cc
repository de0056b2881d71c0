#include "executor.h"

namespace nt::execution {

Executor::Executor(std::shared_ptr<Engine> engine) {
  thread_ = std::thread([this, engine = std::move(engine)]() mutable { main(std::move(engine)); });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return started_; });
  if (!failure_) return;
  lock.unlock();
  thread_.join();
  std::rethrow_exception(failure_);
}

void Executor::submit(Job job) {
  const std::lock_guard lock(mutex_);
  if (closed_) throw Error("ERR_TRT_CLOSED", "The engine is closed");
  queue_.push_back(std::move(job));
  changed_.notify_all();
}

void Executor::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  const std::lock_guard lock(joinMutex_);
  if (thread_.joinable()) thread_.join();
}

void Executor::main(std::shared_ptr<Engine> engine) {
  tensorrt::Log& log = engine->library().log();
  std::unique_ptr<Lane> lane;
  try {
    engine->device().makeCurrent();
    lane = std::make_unique<Lane>(std::move(engine));
  } catch (...) {
    failure_ = std::current_exception();
  }
  std::unique_lock lock(mutex_);
  started_ = true;
  changed_.notify_all();
  while (lane) {
    changed_.wait(lock, [this] { return closed_ || !queue_.empty(); });
    if (queue_.empty()) return;  // closed, and nothing left to do
    Job job = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    runOne(*lane, job, log);
    lock.lock();
  }
}

void Executor::runOne(Lane& lane, Job& job, tensorrt::Log& log) {
  const tensorrt::LogCapture capture(log);
  std::vector<OutputTensor> outputs;
  std::exception_ptr failure;
  try {
    outputs = lane.run(job.inputs);
  } catch (Error& error) {
    if (error.code() == "ERR_TRT_EXECUTION") error.attachLog(capture.lines());
    failure = std::current_exception();
  } catch (...) {
    failure = std::current_exception();
  }
  job.done(std::move(outputs), failure);
}

}  // namespace nt::execution
