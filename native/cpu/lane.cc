#include "lane.h"

#include <algorithm>

#include "../base/error.h"
#include "../execution/layout.h"
#include "../onnxruntime/dtype.h"

namespace nt::cpu {

using execution::Clock;

Lane::Lane(std::shared_ptr<const Engine> engine, execution::LaneOptions options, std::size_t outputs)
    : engine_(std::move(engine)), library_(engine_->library()), options_(std::move(options)), runOptions_(library_) {
  const auto check = [&](onnxruntime::OrtStatus* status) {
    library_.check(status, "ERR_TRT_EXECUTION", "onnxruntime's run options");
  };
  check(library_.CreateRunOptions(runOptions_.out()));
  check(library_.RunOptionsSetRunLogSeverityLevel(runOptions_.get(), onnxruntime::kLogFatal));
  for (const IoTensor& tensor : engine_->inputs()) {
    inputNames_.push_back(tensor.name.c_str());
    inputs_.emplace_back(library_);
  }
  for (std::size_t i = 0; i < outputs; ++i) results_.emplace_back(library_);
  ++live().lanes;
}

void Lane::enqueue(int, std::shared_ptr<Batch> batch) {
  shapes_ = batch->shapes;
  if (options_.merging) {
    for (Shape& shape : shapes_) shape[0] = execution::paddedRows(batch->rows, options_);
  }
  engine_->checkShapes(shapes_);
  started_ = batch->times.begun = Clock::now();
  begin(std::move(batch));
}

void Lane::begin(std::shared_ptr<Batch> batch) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(terminated_, false))
    library_.check(library_.RunOptionsUnsetTerminate(runOptions_.get()), "ERR_TRT_EXECUTION",
                   "RunOptionsUnsetTerminate");
  batch_ = std::move(batch);
}

void Lane::release() noexcept {
  for (Result& result : results_) {
    result.owner.reset();
    result.made.reset();
  }
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (engine_->inputs()[i].dtype == DType::string) inputs_[i].value.reset();
  }
  optionals_.clear();
  if (small_) small_->setIdle(true);
  gathered_.reset();
  const std::lock_guard lock(mutex_);
  batch_.reset();
}

std::vector<Completion> Lane::finish(int, execution::Wait) {
  const struct Release {
    Lane& lane;
    ~Release() { lane.release(); }
  } release{*this};
  gather();
  bindInputs();
  bindOutputs();
  execution::Batch::Times& times = batch_->times;
  times.placed = Clock::now();
  runOrFail();
  times.computed = Clock::now();
  execution::Timing timing;
  timing.compute = std::chrono::duration<float, std::milli>(times.computed - times.placed).count();
  readOutputs();
  return execution::completionsOf(*batch_, started_, timing,
                                  [this](Completion& completion, const Part& part) { complete(completion, part); });
}

void Lane::make(Binding& binding, const IoTensor& tensor, const Shape& shape, void* data) {
  if (binding.value && binding.data == data && binding.shape == shape) return;
  onnxruntime::OrtStatus* status = library_.CreateTensorWithDataAsOrtValue(
      library_.cpuMemory(), data, byteSize(tensor.dtype, shape), shape.data(), shape.size(),
      onnxruntime::elementType(tensor.dtype), binding.value.out());
  if (status != nullptr) library_.check(status, "ERR_TRT_EXECUTION", "onnxruntime refused '" + tensor.name + "'");
  binding.data = data;
  binding.shape = shape;
}

bool Lane::anyBound() const noexcept {
  return std::ranges::any_of(asked_, [&](std::size_t i) { return results_[i].bound; });
}

void Lane::unbind() {
  for (std::size_t k = 0; k < asked_.size(); ++k) {
    Result& result = results_[asked_[k]];
    result.owner.reset();
    result.bound = false;
    result.data = nullptr;
    got_[k] = nullptr;
  }
}

onnxruntime::OrtStatus* Lane::run() {
  return library_.Run(engine_->session(), runOptions_.get(), inputNames_.data(), given_.data(), given_.size(),
                      askedNames_.data(), askedNames_.size(), got_.data());
}

void Lane::runOrFail() {
  if (asked_.empty()) return;
  onnxruntime::OrtStatus* status = run();
  if (status != nullptr && anyBound() && !abandoned()) {
    // perhaps an output is not of the shape that the model declares: then memory of ours does not fit it
    unbind();
    onnxruntime::OrtStatus* again = run();
    if (again == nullptr) {
      engine_->distrust();
      library_.ReleaseStatus(status);
      status = nullptr;
    } else {
      library_.ReleaseStatus(again);
    }
  }
  if (status != nullptr) fail(status);
  for (std::size_t k = 0; k < asked_.size(); ++k) {
    Result& result = results_[asked_[k]];
    if (!result.bound) *result.made.out() = got_[k];
  }
}

void Lane::fail(onnxruntime::OrtStatus* status) {
  const bool ended = abandoned();
  try {
    library_.check(status, "ERR_TRT_EXECUTION", "onnxruntime failed");
  } catch (const Error&) {
    if (!ended) throw;
  }
  throw Error("ABORTED", "Nobody waits for the inference any more");
}

bool Lane::abandoned() const noexcept {
  const std::lock_guard lock(mutex_);
  return terminated_;
}

void Lane::abandon(const Batch& batch) noexcept {
  const std::lock_guard lock(mutex_);
  if (batch_.get() == &batch && !terminated_) terminate();
}

void Lane::abandonAll() noexcept {
  const std::lock_guard lock(mutex_);
  if (batch_ && !terminated_) terminate();
}

// The lock is held.
void Lane::terminate() noexcept {
  terminated_ = true;
  library_.ReleaseStatus(library_.RunOptionsSetTerminate(runOptions_.get()));
}

}  // namespace nt::cpu
