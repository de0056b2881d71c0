#include "results.h"

#include <algorithm>
#include <cstring>

#include "../base/text.h"
#include "../execution/layout.h"

namespace nt::gpu {
namespace {

void copyToTarget(const Target& target, cuda::DevicePtr from, std::size_t bytes, const cuda::OwnedStream& stream) {
  if (!target.onGpu) return stream.copyToHost(target.data, from, bytes);
  stream.copyOnDevice(reinterpret_cast<cuda::DevicePtr>(target.data), from, bytes);
}

}  // namespace

Results::Results(const Engine& engine, const execution::LaneOptions& options)
    : engine_(engine), merging_(options.merging), ring_(options.ring), staging_(engine.pool(), options.staging) {}

void Results::begin(std::shared_ptr<const Batch> batch, const std::vector<Shape>& shapes, int64_t rows) {
  batch_ = std::move(batch);
  rows_ = rows;
  results_.resize(shapes.size());
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    Result& result = results_[i];
    result.shape = shapes[i];
    result.rowBytes = 0;
    result.dependent = isDynamic(result.shape);
    result.staged = nullptr;
    result.places.clear();
    if (merging_ && (result.dependent || result.shape.empty() || result.shape[0] != rows)) {
      throw Error("ERR_TRT_EXECUTION", "Output '" + engine_.outputs()[i].name + "' " + shapeText(result.shape) +
                                           " does not have one row for each of " + std::to_string(rows) +
                                           " rows of input: this model cannot be batched");
    }
    if (!result.dependent) measure(result, i);
  }
}

void Results::measure(Result& result, std::size_t output) const {
  result.rowBytes = byteSize(engine_.outputs()[output].dtype, result.shape);
  if (merging_) result.rowBytes /= static_cast<std::size_t>(result.shape[0]);
}

void Results::end() noexcept {
  batch_.reset();
  for (Result& result : results_) {
    result.block.reset();
    result.places.clear();
  }
  staging_.setIdle();
}

std::size_t Results::deviceBytes(std::size_t output) const {
  return results_[output].rowBytes * static_cast<std::size_t>(merging_ ? rows_ : 1);
}

// Rows that are only padding are not copied out.
std::size_t Results::wholeBytes(std::size_t output) const {
  return results_[output].rowBytes * static_cast<std::size_t>(merging_ ? batch_->rows : 1);
}

std::size_t Results::partBytes(std::size_t output, const Part& part) const {
  return results_[output].rowBytes * static_cast<std::size_t>(merging_ ? part.rows : 1);
}

// TensorRT writes host tensors itself, so they always need a place.
bool Results::isNeeded(std::size_t output) const {
  const auto untargeted = [&](const Part& part) { return part.wants(output) && part.target(output) == nullptr; };
  return engine_.outputs()[output].onHost || std::ranges::any_of(batch_->parts, untargeted);
}

// Whether requests get copies of their rows, which come in one piece.
bool Results::isTogether(std::size_t output) const {
  return engine_.outputs()[output].onHost || std::ranges::all_of(batch_->parts, [&](const Part& part) {
           return partBytes(output, part) < execution::kOwnMemory;
         });
}

void Results::reserve() {
  std::size_t bytes = 0;
  const auto eachKnown = [&](auto visit) {
    for (std::size_t i = 0; i < results_.size(); ++i) {
      if (!results_[i].dependent && isNeeded(i)) visit(i);
    }
  };
  eachKnown([&](std::size_t i) { bytes += isTogether(i) ? aligned(wholeBytes(i)) : takeOwn(i); });
  staging_.begin(bytes);
  eachKnown([&](std::size_t i) { takeStaged(i); });
}

void Results::learn(std::size_t output, const Shape& shape) {
  Result& result = results_[output];
  result.shape = shape;
  measure(result, output);
}

void Results::place(std::size_t output) {
  if (!isNeeded(output)) return;
  const std::size_t bytes = isTogether(output) ? aligned(wholeBytes(output)) : takeOwn(output);
  if (staging_.unused()) staging_.begin(bytes);
  takeStaged(output);
}

// Pinned memory for each request's part, while there is some; how many bytes were not to be had.
std::size_t Results::takeOwn(std::size_t output) {
  Result& result = results_[output];
  std::size_t lacking = 0;
  result.places.resize(batch_->parts.size());
  for (std::size_t i = 0; i < result.places.size(); ++i) {
    const Part& part = batch_->parts[i];
    if (!part.wants(output) || part.target(output) != nullptr) continue;
    Place& place = result.places[i];
    const std::size_t bytes = partBytes(output, part);
    if (ring_) place.block = ring_->takeOrGrow(bytes, HostRing::For::result);
    place.data = place.block ? place.block->data() : nullptr;
    lacking += place.block ? 0 : aligned(bytes);
  }
  return lacking;
}

// The slot's memory for what has none yet; where that has no room, ordinary memory, for whose copy the driver makes
// this thread wait.
void Results::takeStaged(std::size_t output) {
  Result& result = results_[output];
  if (isTogether(output)) {
    const std::size_t whole = wholeBytes(output);
    result.staged = staging_.take(whole);
    if (result.staged != nullptr) return;
    if (engine_.outputs()[output].onHost) {
      result.block = HostPool::ordinary().acquire(whole);
      result.staged = result.block->data();
      return;
    }
    takeOwn(output);
  }
  for (std::size_t i = 0; i < result.places.size(); ++i) {
    const Part& part = batch_->parts[i];
    Place& place = result.places[i];
    if (place.data != nullptr || !part.wants(output) || part.target(output) != nullptr) continue;
    place.data = staging_.take(partBytes(output, part));
    if (place.data != nullptr) continue;
    place.block = HostPool::ordinary().acquire(partBytes(output, part));
    place.data = place.block->data();
  }
}

void Results::copyOut(std::size_t output, cuda::DevicePtr from, const cuda::OwnedStream& stream) const {
  const std::vector<Part>& parts = batch_->parts;
  const Result& result = results_[output];
  if (std::ranges::none_of(parts, [&](const Part& part) { return part.wants(output); })) return;
  const auto hasTarget = [&](const Part& part) { return part.target(output) != nullptr; };
  if (result.staged != nullptr && std::ranges::none_of(parts, hasTarget))
    return stream.copyToHost(result.staged, from, wholeBytes(output));
  for (const Part& part : parts) {
    if (!part.wants(output)) continue;
    const Target* target = part.target(output);
    const std::size_t bytes = partBytes(output, part);
    if (target != nullptr && target->size != bytes) continue;  // complete() says so
    const std::size_t at = result.rowBytes * static_cast<std::size_t>(part.row);
    if (target != nullptr) {
      copyToTarget(*target, from + at, bytes, stream);
      continue;
    }
    const std::shared_ptr<HostBlock>* block = nullptr;
    stream.copyToHost(const_cast<uint8_t*>(dataOf(output, part, block)), from + at, bytes);
  }
}

// Such outputs do not merge: there is one part.
void Results::copyOutHostTensor(std::size_t output, const cuda::OwnedStream& stream) const {
  const Part& part = batch_->parts.front();
  const Target* target = part.target(output);
  const std::size_t bytes = partBytes(output, part);
  if (target == nullptr || !target->onGpu || target->size != bytes) return;
  // from ordinary memory the driver copies when it is called, whatever the stream has yet to do
  if (results_[output].block) stream.synchronize();
  stream.copyToDevice(reinterpret_cast<cuda::DevicePtr>(target->data), results_[output].staged, bytes);
}

// Where a request's rows are, and what keeps them there: null where the next batch gets that memory.
const uint8_t* Results::dataOf(std::size_t output, const Part& part, const std::shared_ptr<HostBlock>*& block) const {
  const Result& result = results_[output];
  if (result.staged != nullptr) return result.staged + result.rowBytes * static_cast<std::size_t>(part.row);
  const Place& place = result.places[static_cast<std::size_t>(&part - batch_->parts.data())];
  block = place.block ? &place.block : nullptr;
  return place.data;
}

// For all results of a request that lie in the slot's memory, but for those that travel in the completion.
std::shared_ptr<HostBlock> Results::memoryForCopies(const Part& part) const {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (!part.wants(i) || part.target(i) != nullptr || partBytes(i, part) <= Output::kSmall) continue;
    const std::shared_ptr<HostBlock>* block = nullptr;
    dataOf(i, part, block);
    if (block == nullptr) bytes += aligned(partBytes(i, part));
  }
  return bytes == 0 ? nullptr : HostPool::ordinary().acquire(bytes);
}

void Results::complete(Completion& completion, const Part& part) const {
  completion.outputs.reset(results_.size());
  const std::shared_ptr<HostBlock> copies = memoryForCopies(part);
  uint8_t* next = copies ? copies->data() : nullptr;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (!part.wants(i)) continue;
    Output& output = completion.outputs[i];
    output.shape = execution::ResultShape(results_[i].shape);
    if (merging_) output.shape[0] = part.rows;
    output.size = partBytes(i, part);
    if (const Target* target = part.target(i)) {
      if (target->size != output.size) throw execution::wrongTarget(engine_.outputs()[i], *target, output);
      if (target->made) {
        output.stay(target->made);
        continue;
      }
      if (engine_.outputs()[i].onHost && !target->onGpu && output.size > 0)
        std::memcpy(target->data, results_[i].staged, output.size);
      output.placeIn(target->data);
      continue;
    }
    const std::shared_ptr<HostBlock>* block = nullptr;
    const uint8_t* data = dataOf(i, part, block);
    if (output.size <= Output::kSmall) {
      output.copy(data);
    } else if (block != nullptr) {
      output.hold(data, *block);
    } else {
      std::memcpy(next, data, output.size);
      output.hold(next, copies);
      next += aligned(output.size);
    }
  }
}

}  // namespace nt::gpu
