#include "lane.h"

#include <algorithm>
#include <cstring>

#include "../base/error.h"
#include "../base/text.h"
#include "../onnxruntime/dtype.h"

namespace nt::cpu {
namespace {

using execution::Clock;
using execution::Lease;
using execution::Output;
using execution::Target;

constexpr std::size_t kMostSmall = 4096;  // bytes of a lane's own block: the least that the pool gives
constexpr std::size_t kAlignment = 256;
constexpr std::size_t kMostDimensions = 8;  // of a Tensor
constexpr int kFatal = 4;

std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

Lane::Lane(std::shared_ptr<const Engine> engine, execution::LaneOptions options)
    : engine_(std::move(engine)), library_(engine_->library()), options_(std::move(options)), runOptions_(library_) {
  const auto check = [&](onnxruntime::OrtStatus* status) {
    library_.check(status, "ERR_TRT_EXECUTION", "onnxruntime's run options");
  };
  check(library_.CreateRunOptions(runOptions_.out()));
  check(library_.RunOptionsSetRunLogSeverityLevel(runOptions_.get(), kFatal));
  for (const IoTensor& tensor : engine_->inputs()) {
    inputNames_.push_back(tensor.name.c_str());
    inputs_.emplace_back(library_);
  }
  for (std::size_t i = 0; i < engine_->outputs().size(); ++i) results_.emplace_back(library_);
  ++live().lanes;
}

void Lane::enqueue(std::shared_ptr<Batch> batch) {
  shapes_ = batch->shapes;
  if (options_.merging) {
    for (Shape& shape : shapes_) shape[0] = execution::paddedRows(batch->rows, options_);
  }
  engine_->checkShapes(shapes_);
  started_ = Clock::now();
  begin(std::move(batch));
}

void Lane::begin(std::shared_ptr<Batch> batch) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(terminated_, false))
    library_.check(library_.RunOptionsUnsetTerminate(runOptions_.get()), "ERR_TRT_EXECUTION",
                   "RunOptionsUnsetTerminate");
  abandoned_.clear();
  abandoned_.reserve(batch->parts.size());  // abandon() must not fail
  batch_ = std::move(batch);
}

void Lane::release() noexcept {
  for (Result& result : results_) {
    result.owner.reset();
    result.made.reset();
  }
  if (small_) small_->rest(true);
  const std::lock_guard lock(mutex_);
  batch_.reset();
}

std::vector<Completion> Lane::finish(bool) {
  const struct Release {
    Lane& lane;
    ~Release() { lane.release(); }
  } release{*this};
  gather();
  bindInputs();
  bindOutputs();
  const auto begun = Clock::now();
  runOrFail();
  execution::Timing timing;
  timing.compute = std::chrono::duration<float, std::milli>(Clock::now() - begun).count();
  for (const std::size_t output : asked_) learn(output);
  return execution::completionsOf(*batch_, started_, timing,
                                  [this](Completion& completion, const Part& part) { complete(completion, part); });
}

// Rows that are not in the batch's memory yet: those that are leased, and padding, which repeats a row since a row of
// nothing might be an index into nowhere.
void Lane::gather() {
  if (!options_.merging) return;
  Batch& batch = *batch_;
  const int64_t rows = shapes_.front().front();
  if (batch.parts.size() == 1 && rows == batch.rows) return;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const std::size_t rowBytes = batch.rowBytes[i];
    for (const Part& part : batch.parts) {
      if (const Lease* lease = part.lease(i))
        std::memcpy(batch.row(i, part.row), lease->data, rowBytes * static_cast<std::size_t>(part.rows));
    }
    for (int64_t row = batch.rows; row < rows; ++row)
      std::memcpy(batch.row(i, row), batch.row(i, batch.rows - 1), rowBytes);
  }
}

void Lane::bindInputs() {
  const Batch& batch = *batch_;
  const bool alone = batch.parts.size() == 1 && (!options_.merging || shapes_.front().front() == batch.rows);
  given_.clear();
  givenData_.clear();
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const IoTensor& tensor = engine_->inputs()[i];
    const Lease* lease = alone ? batch.parts.front().lease(i) : nullptr;
    void* data = lease != nullptr ? const_cast<uint8_t*>(lease->data) : batch.row(i, 0);
    make(inputs_[i], tensor, shapes_[i], data);
    given_.push_back(inputs_[i].value.get());
    givenData_.push_back(data);
  }
}

// By any request. Where they want none, the first is computed all the same: the library refuses to compute nothing.
bool Lane::isWanted(std::size_t output) const {
  const auto any = [&](std::size_t i) {
    return std::ranges::any_of(batch_->parts, [&](const Part& part) { return part.wants(i); });
  };
  if (any(output) || output > 0) return any(output);
  for (std::size_t i = 1; i < results_.size(); ++i) {
    if (any(i)) return false;
  }
  return true;
}

void Lane::bindOutputs() {
  asked_.clear();
  askedNames_.clear();
  got_.clear();
  smallUsed_ = 0;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    Result& result = results_[i];
    result.bound = false;
    result.data = nullptr;
    if (!isWanted(i)) continue;
    asked_.push_back(i);
    askedNames_.push_back(engine_->outputs()[i].name.c_str());
    if (auto shape = engine_->expectedShape(i, shapes_)) {
      setShape(i, std::move(*shape));
      const std::vector<Part>& parts = batch_->parts;
      if (parts.size() == 1 && parts.front().target(i) != nullptr) {
        bindTo(i, parts.front());
      } else {
        bindToOurs(i);
      }
    }
    got_.push_back(result.bound ? result.binding.value.get() : nullptr);
  }
}

void Lane::setShape(std::size_t output, Shape shape) {
  Result& result = results_[output];
  result.shape = std::move(shape);
  result.rowBytes = byteSize(engine_->outputs()[output].dtype, result.shape);
  if (options_.merging) result.rowBytes /= static_cast<std::size_t>(shapes_.front().front());
}

// Requests get copies of what is small, and hold the rest.
void Lane::bindToOurs(std::size_t output) {
  const std::size_t bytes = byteSize(engine_->outputs()[output].dtype, results_[output].shape);
  const bool small =
      bytes <= kMostSmall - std::min(smallUsed_, kMostSmall) &&
      std::ranges::all_of(batch_->parts, [&](const Part& p) { return partBytes(output, p) <= Output::kSmall; });
  if (small) {
    if (!small_) small_ = engine_->pool().acquire(kMostSmall);
    small_->rest(false);
    bind(output, small_->data() + smallUsed_);
    smallUsed_ += aligned(bytes);
  } else {
    const std::shared_ptr<HostBlock> block = engine_->pool().acquire(bytes);
    bind(output, block->data());
    results_[output].owner = block;
  }
}

// The memory that the request names, where the output fits there.
bool Lane::bindTo(std::size_t output, const Part& part) {
  const Target& target = *part.target(output);
  const std::size_t bytes = byteSize(engine_->outputs()[output].dtype, results_[output].shape);
  // where rows are padded there are more than it has room for
  if (target.size != bytes || partBytes(output, part) != bytes) return false;
  bind(output, target.data);
  return true;
}

void Lane::bind(std::size_t output, uint8_t* data) {
  Result& result = results_[output];
  make(result.binding, engine_->outputs()[output], result.shape, data);
  result.data = data;
  result.bound = true;
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

// What onnxruntime made, where it was not known before.
void Lane::learn(std::size_t output) {
  Result& result = results_[output];
  const IoTensor& tensor = engine_->outputs()[output];
  if (!result.bound) {
    const auto check = [&](onnxruntime::OrtStatus* status) {
      library_.check(status, "ERR_TRT_EXECUTION", "onnxruntime's output '" + tensor.name + "'");
    };
    onnxruntime::OwnedTensorInfo info(library_);
    check(library_.GetTensorTypeAndShape(result.made.get(), info.out()));
    std::size_t rank = 0;
    int element = 0;
    check(library_.GetDimensionsCount(info.get(), &rank));
    check(library_.GetTensorElementType(info.get(), &element));
    if (element != onnxruntime::elementType(tensor.dtype)) {
      throw Error("ERR_TRT_DTYPE", "Expected " + std::string(dtypeName(tensor.dtype)) + " for output '" + tensor.name +
                                       "' but onnxruntime made " + onnxruntime::elementName(element));
    }
    result.shape.resize(rank);
    check(library_.GetDimensions(info.get(), result.shape.data(), rank));
    void* data = nullptr;
    check(library_.GetTensorMutableData(result.made.get(), &data));
    result.data = static_cast<uint8_t*>(data);
    take(output);
  }
  if (result.shape.size() > kMostDimensions) {
    throw Error("ERR_TRT_SHAPE", "Expected at most " + std::to_string(kMostDimensions) + " dimensions for output '" +
                                     tensor.name + "' but received " + std::to_string(result.shape.size()));
  }
  if (options_.merging) checkRows(output);
  result.rowBytes = byteSize(tensor.dtype, result.shape);
  if (options_.merging) result.rowBytes /= static_cast<std::size_t>(result.shape[0]);
  clearPadding(result, tensor.dtype);
}

// Of an odd count of packed elements half a byte remains, which some operators leave as it was.
void Lane::clearPadding(const Result& result, DType dtype) {
  if (dtypeBits(dtype) != 4) return;
  int64_t count = 1;
  for (const int64_t size : result.shape) count *= size;
  if (count % 2 != 0) result.data[count / 2] &= 0x0f;
}

// Makes the memory that onnxruntime gave the request's to hold.
void Lane::take(std::size_t output) {
  Result& result = results_[output];
  if (std::ranges::find(givenData_, result.data) != givenData_.end()) return keep(output);
  ++live().values;
  result.owner = std::shared_ptr<void>(result.made.release(), [&library = library_](void* value) {
    library.ReleaseValue(static_cast<onnxruntime::OrtValue*>(value));
    --live().values;
  });
}

// An output that is an input lies where that does: in memory that the next request gets.
void Lane::keep(std::size_t output) {
  Result& result = results_[output];
  const std::size_t bytes = byteSize(engine_->outputs()[output].dtype, result.shape);
  const std::shared_ptr<HostBlock> block = engine_->pool().acquire(bytes);
  std::memcpy(block->data(), result.data, bytes);
  result.data = block->data();
  result.owner = block;
}

void Lane::checkRows(std::size_t output) const {
  const Shape& shape = results_[output].shape;
  const int64_t rows = shapes_.front().front();
  if (!shape.empty() && shape[0] == rows) return;
  throw Error("ERR_TRT_EXECUTION", "Output '" + engine_->outputs()[output].name + "' " + shapeText(shape) +
                                       " does not have one row for each of " + std::to_string(rows) +
                                       " rows of input: this model cannot be batched");
}

std::size_t Lane::partBytes(std::size_t output, const Part& part) const {
  return results_[output].rowBytes * static_cast<std::size_t>(options_.merging ? part.rows : 1);
}

void Lane::complete(Completion& completion, const Part& part) const {
  completion.outputs.reset(results_.size());
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (!part.wants(i)) continue;
    const Result& result = results_[i];
    Output& output = completion.outputs[i];
    output.shape = execution::ResultShape(result.shape);
    if (options_.merging) output.shape[0] = part.rows;
    output.size = partBytes(i, part);
    const uint8_t* data = result.data + result.rowBytes * static_cast<std::size_t>(part.row);
    const Target* target = part.target(i);
    if (target == nullptr) {
      if (output.size <= Output::kSmall) {
        output.copy(data);
      } else {
        output.hold(data, result.owner);
      }
      continue;
    }
    if (target->size != output.size) throw execution::wrongTarget(engine_->outputs()[i], *target, output);
    if (target->data != data && output.size > 0) std::memcpy(target->data, data, output.size);
    output.placeIn(target->data);
  }
}

bool Lane::abandoned() const noexcept {
  const std::lock_guard lock(mutex_);
  return terminated_;
}

bool Lane::abandon(uint64_t request) noexcept {
  const std::lock_guard lock(mutex_);
  if (!batch_ || std::ranges::find(batch_->parts, request, &Part::request) == batch_->parts.end()) return false;
  if (std::ranges::find(abandoned_, request) != abandoned_.end()) return true;
  abandoned_.push_back(request);
  if (abandoned_.size() == batch_->parts.size()) terminate();
  return true;
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
