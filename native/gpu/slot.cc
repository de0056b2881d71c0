#include "slot.h"

#include <algorithm>

#include "../base/text.h"

namespace nt::gpu {
namespace {

using Use = cuda::OwnedEvent::Use;

// From where a request leased it: on the host, or on this device.
void copyLeased(cuda::DevicePtr to, const Lease& lease, std::size_t bytes, const cuda::OwnedStream& stream) {
  if (!lease.onGpu) return stream.copyToDevice(to, lease.data, bytes);
  stream.copyOnDevice(to, reinterpret_cast<cuda::DevicePtr>(lease.data), bytes);
}

}  // namespace

void* hostAddress(const Batch& batch, std::size_t input) {
  return const_cast<uint8_t*>(batch.dataOf(batch.parts.front(), input));
}

Slot::Slot(const Engine& engine, std::size_t number, const execution::LaneOptions& options)
    : number(number),
      copiedIn(engine.device(), Use::order),
      computed(engine.device(), Use::order),
      done(engine.device(), Use::order),
      engine_(engine),
      merging_(options.merging),
      ring_(options.ring),
      staging_(engine.pool(), options.staging),
      results_(engine, options) {
  for (std::size_t i = 0; i < engine.inputs().size(); ++i)
    inputs_.push_back(std::make_unique<cuda::DeviceBuffer>(engine.device(), engine.account()));
  for (std::size_t i = 0; i < engine.outputs().size(); ++i) outputs_.push_back(std::make_unique<OutputBuffer>(engine));
}

Slot::Clocks::Clocks(const cuda::DeviceContext& device)
    : copyInStart(device, Use::timing),
      copyInEnd(device, Use::timing),
      computeStart(device, Use::timing),
      computeEnd(device, Use::timing),
      copyOutEnd(device, Use::timing) {}

Slot::Clocks& Slot::clocks() {
  if (!clocks_) clocks_ = std::make_unique<Clocks>(engine_.device());
  return *clocks_;
}

bool Slot::moves(const Shapes& shapes, const std::vector<Shape>& outputShapes) const {
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const IoTensor& tensor = engine_.inputs()[i];
    if (!tensor.onHost && !inputs_[i]->fits(byteSize(tensor.dtype, shapes[i]))) return true;
  }
  for (std::size_t i = 0; i < outputShapes.size(); ++i) {
    const IoTensor& tensor = engine_.outputs()[i];
    if (tensor.onHost) continue;
    if (isDynamic(outputShapes[i]) || !outputs_[i]->fits(byteSize(tensor.dtype, outputShapes[i]))) return true;
  }
  return false;
}

void Slot::begin(std::shared_ptr<Batch> batch, const Shapes& shapes, const std::vector<Shape>& outputShapes) {
  batch_ = std::move(batch);
  started_ = batch_->times.begun = execution::Clock::now();
  rows_ = merging_ ? shapes[0][0] : 1;
  results_.begin(batch_, outputShapes, rows_);
  for (std::size_t i = 0; i < results_.count(); ++i) {
    if (!results_.dependent(i)) makeStaying(i);
  }
  try {
    reserveDevice(shapes, Growth::doubling);
  } catch (const Error& error) {
    if (error.code() != "ERR_TRT_OUT_OF_MEMORY") throw;
    // what others have beyond their sizes may be what is missing
    releaseDevice();
    reserveExactly(shapes);
  }
  if (ring_) ring_->grow();
  reserveStaging();
  results_.reserve();
}

// Room for what is not in pinned memory.
void Slot::reserveStaging() {
  std::size_t bytes = 0;
  for (const auto& rows : batch_->memory) bytes += rows->block->pinned() ? 0 : rows->block->capacity();
  staging_.begin(bytes);
}

void Slot::reserveDevice(const Shapes& shapes, Growth growth) {
  bytes_ = 0;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const IoTensor& tensor = engine_.inputs()[i];
    if (tensor.onHost) continue;
    const std::size_t bytes = byteSize(tensor.dtype, shapes[i]);
    inputs_[i]->reserve(bytes, growth);
    bytes_ += bytes;
  }
  for (std::size_t i = 0; i < results_.count(); ++i) {
    if (engine_.outputs()[i].onHost) continue;
    outputs_[i]->reserve(results_.deviceBytes(i), growth);
    bytes_ += results_.deviceBytes(i);
  }
}

// All or nothing: what a batch got that cannot run is what the next one may need, in another slot.
void Slot::reserveExactly(const Shapes& shapes) {
  try {
    reserveDevice(shapes, Growth::exact);
  } catch (...) {
    releaseDevice();
    throw;
  }
}

void Slot::releaseDevice() noexcept {
  for (const auto& buffer : inputs_) buffer->release();
  for (const auto& buffer : outputs_) buffer->release();
}

void Slot::end() noexcept {
  batch_.reset();
  results_.end();
  staging_.setIdle();
}

// Requests whose result is to stay get memory for it: from here on it is a target like those that they name.
void Slot::makeStaying(std::size_t output) {
  for (Part& part : batch_->parts) {
    if (!part.keeps(output) || !part.wants(output) || part.target(output) != nullptr) continue;
    std::shared_ptr<Resident> made = Resident::make(engine_.tensors(), results_.partBytes(output, part));
    part.targets.resize(results_.count());
    part.targets[output] = {nullptr, made->data(), made->size(), true, made};
  }
}

void* Slot::inputAddress(std::size_t input) const {
  return engine_.inputs()[input].onHost ? hostAddress(*batch_, input) : inputs_[input]->address();
}

void* Slot::outputAddress(std::size_t output) const {
  return engine_.outputs()[output].onHost ? results_.hostAddress(output) : outputs_[output]->address();
}

tensorrt::OutputAllocator* Slot::allocator(std::size_t output) {
  return results_.dependent(output) ? &outputs_[output]->allocator() : nullptr;
}

void Slot::copyIn(const cuda::OwnedStream& stream) {
  const Batch& batch = *batch_;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (engine_.inputs()[i].onHost) continue;
    const std::size_t row = batch.rowBytes[i];
    for (std::size_t at = 0; at < batch.parts.size();) {
      const Part& first = batch.parts[at];
      if (const Lease* lease = first.lease(i)) {
        copyLeased(inputs_[i]->get() + row * static_cast<std::size_t>(first.row), *lease,
                   row * static_cast<std::size_t>(merging_ ? first.rows : 1), stream);
        ++at;
        continue;
      }
      // rows that lie together go together
      int64_t count = 0;
      do {
        count += merging_ ? batch.parts[at].rows : 1;
        ++at;
      } while (at < batch.parts.size() && batch.parts[at].lease(i) == nullptr &&
               batch.parts[at].memory == first.memory && batch.parts[at].placed == first.placed + count);
      copyRows(i, first, count, stream);
    }
    padRows(i, stream);
  }
}

void Slot::padRows(std::size_t input, const cuda::OwnedStream& stream) const {
  const cuda::DevicePtr base = inputs_[input]->get();
  const std::size_t row = batch_->rowBytes[input];
  if (!merging_ || batch_->rows == 0 || row == 0) return;
  // each copy doubles what is there
  for (int64_t there = batch_->rows; there < rows_; there *= 2) {
    const std::size_t bytes = row * static_cast<std::size_t>(std::min(there, rows_ - there));
    stream.copyOnDevice(base + row * static_cast<std::size_t>(there), base, bytes);
  }
}

// By way of pinned memory, where that is not what they are in.
void Slot::copyRows(std::size_t input, const Part& first, int64_t count, const cuda::OwnedStream& stream) {
  const std::size_t row = batch_->rowBytes[input];
  const cuda::DevicePtr to = inputs_[input]->get() + row * static_cast<std::size_t>(first.row);
  const uint8_t* from = batch_->dataOf(first, input);
  const std::size_t bytes = row * static_cast<std::size_t>(count);
  if (first.memory->block->pinned()) return stream.copyToDevice(to, from, bytes);
  staging_.toDevice(to, from, bytes, stream);
  batch_->copied += bytes;
}

void Slot::learnDependentSizes() {
  for (std::size_t i = 0; i < results_.count(); ++i) {
    if (!results_.dependent(i)) continue;
    results_.learn(i, outputs_[i]->shapeTold(engine_.outputs()[i]));
    makeStaying(i);
    results_.place(i);
  }
}

void Slot::copyOut(const cuda::OwnedStream& stream) const {
  for (std::size_t i = 0; i < results_.count(); ++i) {
    if (engine_.outputs()[i].onHost) {
      results_.copyOutHostTensor(i, stream);
    } else {
      results_.copyOut(i, outputs_[i]->get(), stream);
    }
  }
}

std::vector<Completion> Slot::completions(Timing timing) const {
  return execution::completionsOf(*batch_, started_, timing, [this](Completion& completion, const Part& part) {
    results_.complete(completion, part);
  });
}

}  // namespace nt::gpu
