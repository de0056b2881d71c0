#include "session.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "../base/text.h"

namespace nt::execution {

// What the constructor waits for.
struct Session::Start {
  std::mutex mutex;
  std::condition_variable changed;
  int left = 0;
  std::exception_ptr failure;
};

Session::Session(std::shared_ptr<Engine> engine, SessionOptions options, Sink sink)
    : engine_(std::move(engine)),
      options_(std::move(options)),
      sink_(std::move(sink)),
      queue_(options_.batching, options_.maxQueue, [this](std::size_t bytes) {
        engine_->device().makeCurrent();
        return cuda::PinnedPool::of(engine_->device()).acquire(bytes);
      }) {
  if (options_.lane.merging) engine_->checkMergeable();
  if (options_.lane.profile >= std::max(engine_->profiles(), 1)) {
    throw Error("ERR_TRT_INVALID_ARGUMENT", "Expected a profile below " + std::to_string(engine_->profiles()) + " but received " +
                                                std::to_string(options_.lane.profile));
  }
  const auto start = std::make_shared<Start>();
  start->left = options_.lanes;
  for (int i = 0; i < options_.lanes; ++i) workers_.push_back(std::make_unique<Worker>());
  for (const auto& worker : workers_) {
    worker->thread = std::thread([this, &worker = *worker, start] { main(worker, start); });
  }
  std::unique_lock lock(start->mutex);
  start->changed.wait(lock, [&] { return start->left == 0; });
  if (!start->failure) return;
  lock.unlock();
  close();
  std::rethrow_exception(start->failure);
}

void Session::main(Worker& worker, const std::shared_ptr<Start>& start) {
  std::exception_ptr failure;
  try {
    engine_->device().makeCurrent();
    worker.lane = std::make_unique<Lane>(engine_, options_.lane);
  } catch (...) {
    failure = std::current_exception();
  }
  {
    const std::lock_guard lock(start->mutex);
    if (failure) start->failure = failure;
    --start->left;
    start->changed.notify_all();
  }
  if (failure) return;
  serve(worker);
  const std::lock_guard lock(worker.busy);
  worker.lane.reset();
}

void Session::serve(Worker& worker) {
  while (std::shared_ptr<Batch> batch = queue_.waitAndTake()) {
    const std::lock_guard lock(worker.busy);
    enqueue(worker, std::move(batch));
    // enqueue k+1, then wait for k
    while (!worker.lane->idle()) {
      while (worker.lane->hasFreeSlot()) {
        std::shared_ptr<Batch> next = queue_.take(Clock::now());
        if (!next) break;
        enqueue(worker, std::move(next));
      }
      if (!worker.lane->idle()) finish(worker);
    }
  }
}

void Session::enqueue(Worker& worker, std::shared_ptr<Batch> batch) {
  running_ += batch->parts.size();
  stats_.enqueued();
  try {
    worker.lane->enqueue(batch);
  } catch (...) {
    fail(*batch, std::current_exception());
  }
  worker.deviceBytes = worker.lane->deviceBytes();
}

void Session::finish(Worker& worker) {
  // kept for the case of a failure: finish() lets go of the batch
  std::vector<Part> parts = worker.lane->oldest().parts;
  try {
    std::vector<Completion> completions = worker.lane->finish();
    running_ -= parts.size();
    stats_.finished(completions);
    sink_(std::move(completions));
  } catch (...) {
    Batch batch;
    batch.parts = std::move(parts);
    fail(batch, std::current_exception());
  }
}

void Session::fail(const Batch& batch, std::exception_ptr failure) {
  std::vector<Completion> completions(batch.parts.size());
  for (std::size_t i = 0; i < completions.size(); ++i) {
    completions[i].request = batch.parts[i].request;
    completions[i].failure = failure;
  }
  running_ -= completions.size();
  stats_.finished(completions);
  sink_(std::move(completions));
}

int64_t Session::rowsOf(const std::vector<Given>& inputs) const {
  if (!options_.lane.merging) return 1;
  const int64_t rows = inputs.front().shape.front();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].shape.front() == rows) continue;
    throw Error("ERR_TRT_SHAPE", "With batching all inputs have the same number of rows, but '" + engine_->inputs()[0].name + "' has " +
                                     std::to_string(rows) + " and '" + engine_->inputs()[i].name + "' " +
                                     std::to_string(inputs[i].shape.front()));
  }
  if (rows < 1 || rows > options_.batching.maxBatch) {
    throw Error("ERR_TRT_SHAPE", "Expected 1 to " + std::to_string(options_.batching.maxBatch) + " rows (maxBatch) but received " +
                                     std::to_string(rows));
  }
  return rows;
}

std::vector<std::size_t> Session::rowBytes(const std::vector<Given>& inputs, int64_t rows) const {
  std::vector<std::size_t> bytes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::size_t size = tensorrt::byteSize(engine_->inputs()[i].dtype, inputs[i].shape);
    const std::size_t given = inputs[i].lease ? size : inputs[i].bytes.size();
    if (given != size) {
      throw Error("ERR_TRT_SHAPE", "Expected " + std::to_string(size) + " bytes for input '" + engine_->inputs()[i].name + "' of shape " +
                                       shapeText(inputs[i].shape) + " but received " + std::to_string(given));
    }
    bytes.push_back(size / static_cast<std::size_t>(rows));
  }
  return bytes;
}

void Session::copy(const std::vector<Given>& inputs, const Batch& batch, int64_t row) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].bytes.empty() && !inputs[i].lease) std::memcpy(batch.row(i, row), inputs[i].bytes.data(), inputs[i].bytes.size());
  }
}

void Session::submit(const std::vector<Given>& inputs, Part part) {
  engine_->device().throwIfLost();
  Shapes shapes;
  for (const Given& input : inputs) shapes.push_back(input.shape);
  part.rows = rowsOf(inputs);
  part.asked = Clock::now();
  const Queue::Place place = queue_.reserve(shapes, rowBytes(inputs, part.rows), std::move(part));
  copy(inputs, *place.batch, place.row);
  queue_.commit(place);
}

bool Session::cancel(uint64_t request) {
  const bool cancelled = queue_.cancel(request);
  if (cancelled) stats_.cancelled();
  return cancelled;
}

Completion Session::run(const std::vector<Given>& inputs, Part part) {
  engine_->device().makeCurrent();
  auto batch = std::make_shared<Batch>();
  part.rows = rowsOf(inputs);
  part.asked = Clock::now();
  batch->rows = batch->capacity = part.rows;
  batch->rowBytes = rowBytes(inputs, part.rows);
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    batch->shapes.push_back(inputs[i].shape);
    batch->offsets.push_back(bytes);
    bytes += (batch->rowBytes[i] * static_cast<std::size_t>(part.rows) + 255) / 256 * 256;
  }
  batch->memory = cuda::PinnedPool::of(engine_->device()).acquire(bytes);
  batch->parts.push_back(std::move(part));
  copy(inputs, *batch, 0);

  std::unique_lock<std::mutex> lock;
  Worker* chosen = workers_.front().get();
  for (const auto& worker : workers_) {
    lock = std::unique_lock(worker->busy, std::try_to_lock);
    if (!lock.owns_lock()) continue;
    chosen = worker.get();
    break;
  }
  if (!lock.owns_lock()) lock = std::unique_lock(chosen->busy);
  if (!chosen->lane) throw Error("ERR_TRT_CLOSED", "The engine is closed");
  stats_.enqueued();
  chosen->lane->enqueue(std::move(batch));
  std::vector<Completion> completions = chosen->lane->finish(true);
  stats_.finished(completions);
  return std::move(completions.front());
}

void Session::close() {
  queue_.close();
  const std::lock_guard lock(closing_);
  for (const auto& worker : workers_) {
    if (worker->thread.joinable()) worker->thread.join();
  }
}

Session::Memory Session::memory() const {
  const auto& pool = cuda::PinnedPool::of(engine_->device());
  Memory memory{0, pool.used(), pool.kept()};
  for (const auto& worker : workers_) {
    memory.device += worker->deviceBytes + static_cast<std::size_t>(std::max<int64_t>(engine_->contextMemory(), 0));
  }
  return memory;
}

}  // namespace nt::execution
