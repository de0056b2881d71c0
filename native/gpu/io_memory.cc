#include "io_memory.h"

#include <algorithm>
#include <cstring>

namespace nt::gpu {

void* IoMemory::addressOf(const Place& place) {
  return place.device ? place.device->address() : static_cast<void*>(place.host->data());
}

// Sizes that depend on the data have no memory yet.
IoMemory::Place IoMemory::placeFor(const IoTensor& tensor, const Shape& shape) const {
  Place place;
  place.shape = shape;
  place.bytes = isDynamic(shape) ? 0 : byteSize(tensor.dtype, shape);
  const std::size_t needed = std::max<std::size_t>(place.bytes, 1);  // an empty tensor needs an address, too
  if (tensor.onHost) {
    place.host = cuda::pinnedPool(engine_.device()).acquire(needed);
  } else {
    place.device = std::make_unique<OutputBuffer>(engine_);
    if (!isDynamic(shape)) place.device->reserve(needed);
  }
  return place;
}

void IoMemory::addInput(const Shape& shape, std::span<const uint8_t> bytes) {
  Place place = placeFor(engine_.inputs()[inputs_.size()], shape);
  if (!place.host) place.host = cuda::pinnedPool(engine_.device()).acquire(std::max<std::size_t>(place.bytes, 1));
  if (bytes.empty()) {
    std::memset(place.host->data(), 0, place.bytes);
  } else {
    std::copy_n(bytes.data(), std::min(bytes.size(), place.bytes), place.host->data());
  }
  inputs_.push_back(std::move(place));
}

void IoMemory::addOutputs(const std::vector<Shape>& shapes) {
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    outputs_.push_back(placeFor(engine_.outputs()[i], shapes[i]));
    outputs_.back().dependent = isDynamic(shapes[i]) && outputs_.back().device;
  }
}

void IoMemory::bind(BoundContext& context) const {
  for (std::size_t i = 0; i < inputs_.size(); ++i) context.bindInput(i, addressOf(inputs_[i]));
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const Place& place = outputs_[i];
    context.bindOutput(i, addressOf(place), place.dependent ? &place.device->allocator() : nullptr);
  }
}

bool IoMemory::dependent() const noexcept { return std::ranges::any_of(outputs_, &Place::dependent); }

void IoMemory::copyIn(const cuda::OwnedStream& stream) const {
  for (const Place& place : inputs_) {
    if (place.device) stream.copyToDevice(place.device->get(), place.host->data(), place.bytes);
  }
}

void IoMemory::copyOut(const cuda::OwnedStream& stream) {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    Place& place = outputs_[i];
    if (!place.device) continue;
    if (place.dependent) {
      place.shape = place.device->shapeTold(engine_.outputs()[i]);
      place.bytes = byteSize(engine_.outputs()[i].dtype, place.shape);
    }
    if (!place.host || place.host->capacity() < place.bytes)
      place.host = cuda::pinnedPool(engine_.device()).acquire(std::max<std::size_t>(place.bytes, 1));
    stream.copyToHost(place.host->data(), place.device->get(), place.bytes);
  }
}

std::vector<execution::BenchmarkTensor> IoMemory::outputs() const {
  std::vector<execution::BenchmarkTensor> tensors;
  for (const Place& place : outputs_)
    tensors.push_back({place.shape, {place.host->data(), place.host->data() + place.bytes}});
  return tensors;
}

}  // namespace nt::gpu
