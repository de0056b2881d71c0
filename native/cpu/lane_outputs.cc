// Where a lane has onnxruntime put the outputs of a batch, and what requests get of them.
#include <algorithm>
#include <cstring>

#include "../base/error.h"
#include "../base/text.h"
#include "../onnxruntime/dtype.h"
#include "lane.h"
#include "texts.h"

namespace nt::cpu {
namespace {

using execution::Target;

constexpr std::size_t kMostSmall = HostPool::kLeast;  // bytes of a lane's own block
constexpr std::size_t kMostDimensions = execution::ResultShape::kMost;

}  // namespace

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
    small_->setIdle(false);
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

void Lane::readOutputs() {
  for (const std::size_t output : asked_) learn(output);
}

// What onnxruntime made, where it was not known before.
void Lane::learn(std::size_t output) {
  Result& result = results_[output];
  const IoTensor& tensor = engine_->outputs()[output];
  if (!result.bound) {
    read(output, tensor);
    if (tensor.dtype == DType::string) return takeTexts(output);
    take(output);
  }
  checkRank(output);
  if (options_.merging) checkRows(output);
  result.rowBytes = byteSize(tensor.dtype, result.shape);
  if (options_.merging) result.rowBytes /= static_cast<std::size_t>(result.shape[0]);
  clearPadding(result, tensor.dtype);
}

void Lane::checkRank(std::size_t output) const {
  const std::size_t rank = results_[output].shape.size();
  if (rank <= kMostDimensions) return;
  throw Error("ERR_TRT_SHAPE", "Expected at most " + std::to_string(kMostDimensions) + " dimensions for output '" +
                                   engine_->outputs()[output].name + "' but received " + std::to_string(rank));
}

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

// Packed as JavaScript takes them: what onnxruntime made goes at once. Requests with texts do not merge.
void Lane::takeTexts(std::size_t output) {
  Result& result = results_[output];
  checkRank(output);
  PackedTexts texts = packTexts(library_, engine_->outputs()[output], result.shape, result.made.get(), engine_->pool());
  result.made.reset();
  result.data = texts.block->data();
  result.owner = std::move(texts.block);
  result.rowBytes = texts.bytes;
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
  if (batch_->parts.size() == 1) return output.holdOrdinary(data, result.owner);
  const std::shared_ptr<HostBlock> own = engine_->pool().acquire(output.size);
  std::memcpy(own->data(), data, output.size);
  output.holdOrdinary(own->data(), own);
}

}  // namespace nt::cpu
