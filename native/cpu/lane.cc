#include "lane.h"

#include <algorithm>
#include <cstring>

#include "../base/error.h"
#include "../base/text.h"
#include "../execution/layout.h"
#include "../onnxruntime/dtype.h"

namespace nt::cpu {
namespace {

using execution::Clock;
using execution::Lease;
using execution::Target;

constexpr std::size_t kMostSmall = HostPool::kLeast;  // bytes of a lane's own block
constexpr std::size_t kMostDimensions = execution::ResultShape::kMost;

}  // namespace

Lane::Lane(std::shared_ptr<const Engine> engine, execution::LaneOptions options)
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
  const Observer* observer = engine_->observer().get();
  if (observer != nullptr) scratch_ = std::make_unique<Histogram::Scratch>();
  const std::size_t outputs = (observer != nullptr ? observer->outputs() : engine_->outputs()).size();
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
  if (small_) small_->rest(true);
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
  engine_->observer() ? askObserved() : bindOutputs();
  execution::Batch::Times& times = batch_->times;
  times.placed = Clock::now();
  runOrFail();
  times.computed = Clock::now();
  execution::Timing timing;
  timing.compute = std::chrono::duration<float, std::milli>(times.computed - times.placed).count();
  if (engine_->observer()) {
    count();
  } else {
    for (const std::size_t output : asked_) learn(output);
  }
  return execution::completionsOf(*batch_, started_, timing,
                                  [this](Completion& completion, const Part& part) { complete(completion, part); });
}

// Whether the rows of the batch lie together as they are, padding and all.
bool Lane::isWhole() const {
  if (!options_.merging) return true;
  const Batch& batch = *batch_;
  if (batch.rows != shapes_.front().front()) return false;
  if (batch.parts.size() == 1) return true;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (batch.together(i) == nullptr) return false;
  }
  return true;
}

// Puts the rows of a batch together that do not lie so, or are to be padded: in its own memory where there is room,
// else in memory for this batch.
void Lane::gather() {
  gatheredAt_.clear();
  whole_ = isWhole();
  if (whole_) return;
  const Batch& batch = *batch_;
  const int64_t rows = shapes_.front().front();
  const bool hasRoom = !batch.parts.front().memory->sole && batch.spare >= rows - batch.rows;
  std::size_t bytes = 0;
  for (const std::size_t rowBytes : batch.rowBytes) {
    gatheredAt_.push_back(bytes);
    bytes += execution::bytesOf(rowBytes, rows, bytes);
  }
  if (!hasRoom) gathered_ = engine_->pool().acquire(bytes);
  for (std::size_t i = 0; i < inputs_.size(); ++i) gatherInput(i, gatheredInput(i));
}

uint8_t* Lane::gatheredInput(std::size_t input) const {
  if (gathered_) return gathered_->data() + gatheredAt_[input];
  const Part& first = batch_->parts.front();
  return first.memory->at(input, batch_->rowBytes[input], first.placed);
}

// Padding repeats a row, since a row of nothing might be an index into nowhere.
void Lane::gatherInput(std::size_t input, uint8_t* to) {
  Batch& batch = *batch_;
  const std::size_t rowBytes = batch.rowBytes[input];
  const auto at = [&](int64_t row) { return to + rowBytes * static_cast<std::size_t>(row); };
  for (const Part& part : batch.parts) {
    const std::size_t bytes = rowBytes * static_cast<std::size_t>(part.rows);
    const uint8_t* from = batch.dataOf(part, input);
    if (from == at(part.row)) continue;
    std::memcpy(at(part.row), from, bytes);
    batch.copied += bytes;
  }
  for (int64_t row = batch.rows; row < shapes_.front().front(); ++row)
    std::memcpy(at(row), at(batch.rows - 1), rowBytes);
}

void Lane::bindInputs() {
  const Batch& batch = *batch_;
  given_.clear();
  givenData_.clear();
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const IoTensor& tensor = engine_->inputs()[i];
    void* data = whole_ ? const_cast<uint8_t*>(batch.dataOf(batch.parts.front(), i)) : gatheredInput(i);
    make(inputs_[i], tensor, shapes_[i], data);
    given_.push_back(inputs_[i].value.get());
    givenData_.push_back(data);
  }
}

void Lane::bindOutputs() {
  asked_.clear();
  askedNames_.clear();
  got_.clear();
  smallUsed_ = 0;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    results_[i].bound = false;
    results_[i].data = nullptr;
    if (std::ranges::any_of(batch_->parts, [&](const Part& part) { return part.wants(i); })) ask(i);
  }
  if (asked_.empty() && !results_.empty()) ask(0);  // the library refuses to compute nothing
}

void Lane::ask(std::size_t output) {
  asked_.push_back(output);
  askedNames_.push_back(engine_->outputs()[output].name.c_str());
  if (auto shape = engine_->expectedShape(output, shapes_)) {
    setShape(output, std::move(*shape));
    const std::vector<Part>& parts = batch_->parts;
    if (parts.size() == 1 && parts.front().target(output) != nullptr) {
      bindTo(output, parts.front());
    } else {
      bindToOurs(output);
    }
  }
  got_.push_back(results_[output].bound ? results_[output].binding.value.get() : nullptr);
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
      bytes <= kMostSmall - std::min(smallUsed_, kMostSmall) && std::ranges::all_of(batch_->parts, [&](const Part& p) {
        return partBytes(output, p) <= Output::kSmall && !p.keeps(output);
      });
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
void Lane::bindTo(std::size_t output, const Part& part) {
  const Target& target = *part.target(output);
  const std::size_t bytes = byteSize(engine_->outputs()[output].dtype, results_[output].shape);
  // where rows are padded there are more than it has room for
  if (target.size == bytes && partBytes(output, part) == bytes) bind(output, target.data);
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
    read(output, tensor);
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

// Where onnxruntime put an output, and in which shape.
void Lane::read(std::size_t output, const IoTensor& tensor) {
  Result& result = results_[output];
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
  const std::size_t outputs = engine_->outputs().size();
  completion.outputs.reset(outputs);
  for (std::size_t i = 0; i < outputs; ++i) {
    if (!part.wants(i)) continue;
    const Result& result = results_[i];
    Output& output = completion.outputs[i];
    output.shape = execution::ResultShape(result.shape);
    if (options_.merging) output.shape[0] = part.rows;
    output.size = partBytes(i, part);
    const uint8_t* data = result.data + result.rowBytes * static_cast<std::size_t>(part.row);
    const Target* target = part.target(i);
    if (target == nullptr) {
      if (part.keeps(i)) {
        output.stay(
            std::make_shared<Resident>(engine_->tensors(), result.owner, const_cast<uint8_t*>(data), output.size));
      } else {
        hand(output, data, result);
      }
      continue;
    }
    if (target->size != output.size) throw execution::wrongTarget(engine_->outputs()[i], *target, output);
    if (target->data != data && output.size > 0) std::memcpy(target->data, data, output.size);
    output.placeIn(target->data);
  }
}

// Whoever keeps a result keeps nothing of other requests.
void Lane::hand(Output& output, const uint8_t* data, const Result& result) const {
  if (output.size <= Output::kSmall) return output.copy(data);
  if (batch_->parts.size() == 1) return output.hold(data, result.owner);
  const std::shared_ptr<HostBlock> own = engine_->pool().acquire(output.size);
  std::memcpy(own->data(), data, output.size);
  output.hold(own->data(), own);
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
