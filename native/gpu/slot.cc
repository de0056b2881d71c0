#include "slot.h"

#include <algorithm>
#include <cstring>

#include "../base/text.h"

namespace nt::gpu {
namespace {

using Use = cuda::OwnedEvent::Use;

constexpr std::size_t kAlignment = 256;
constexpr std::size_t kMostSmall = 4096;  // bytes of a slot's own block: the least that the pool gives

std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

void toDevice(const cuda::DeviceContext& device, cuda::DevicePtr to, const void* from, std::size_t bytes,
              const cuda::OwnedStream& stream) {
  if (bytes > 0) device.check(device.driver().memcpyHtoDAsync(to, from, bytes, stream.get()), "cuMemcpyHtoDAsync");
}

void toHost(const cuda::DeviceContext& device, void* to, cuda::DevicePtr from, std::size_t bytes,
            const cuda::OwnedStream& stream) {
  if (bytes > 0) device.check(device.driver().memcpyDtoHAsync(to, from, bytes, stream.get()), "cuMemcpyDtoHAsync");
}

}  // namespace

Slot::Slot(const Engine& engine, int64_t number, bool merging)
    : number(number),
      copiedIn(engine.device(), Use::order),
      computed(engine.device(), Use::order),
      done(engine.device(), Use::order),
      engine_(engine),
      merging_(merging),
      allocators_(engine.outputs().size()) {
  for (std::size_t i = 0; i < engine.inputs().size(); ++i)
    inputs_.push_back(std::make_unique<cuda::DeviceBuffer>(engine.device()));
  for (std::size_t i = 0; i < engine.outputs().size(); ++i)
    outputs_.push_back(std::make_unique<cuda::DeviceBuffer>(engine.device()));
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

bool Slot::begin(std::shared_ptr<Batch> batch, const Shapes& shapes, const std::vector<Shape>& outputShapes) {
  batch_ = std::move(batch);
  started_ = execution::Clock::now();
  bytes_ = 0;
  bool moved = false;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const IoTensor& tensor = engine_.inputs()[i];
    if (tensor.onHost) continue;
    const std::size_t bytes = byteSize(tensor.dtype, shapes[i]);
    moved = inputs_[i]->reserve(bytes) || moved;
    bytes_ += bytes;
  }
  results_.resize(outputShapes.size());
  for (std::size_t i = 0; i < outputShapes.size(); ++i) {
    Result& result = results_[i];
    result.shape = outputShapes[i];
    result.rowBytes = 0;
    result.dependent = std::ranges::any_of(result.shape, [](int64_t dim) { return dim < 0; });
    result.host = nullptr;
    if (merging_ && (result.dependent || result.shape.empty() || result.shape[0] != shapes[0][0])) {
      throw Error("ERR_TRT_EXECUTION", "Output '" + engine_.outputs()[i].name + "' " + shapeText(result.shape) +
                                           " does not have one row for each of " + std::to_string(shapes[0][0]) +
                                           " rows of input: this model cannot be batched");
    }
    if (!result.dependent) measure(i);
    if (engine_.outputs()[i].onHost) continue;
    const std::size_t bytes = result.rowBytes * static_cast<std::size_t>(merging_ ? result.shape[0] : 1);
    moved = outputs_[i]->reserve(bytes) || moved;
    bytes_ += bytes;
  }
  reserveHost();
  return moved;
}

void Slot::end() noexcept {
  batch_.reset();
  for (Result& result : results_) result.block.reset();
  if (small_) small_->rest(true);
}

void Slot::measure(std::size_t output) {
  Result& result = results_[output];
  result.rowBytes = byteSize(engine_.outputs()[output].dtype, result.shape);
  if (merging_) result.rowBytes /= static_cast<std::size_t>(result.shape[0]);
}

// TensorRT writes host tensors itself, so they always need a place.
bool Slot::needsHost(std::size_t output) const {
  const auto untargeted = [&](const Part& part) { return part.wants(output) && part.target(output) == nullptr; };
  return engine_.outputs()[output].onHost || std::ranges::any_of(batch_->parts, untargeted);
}

// One block for all outputs whose size is known: rows that are only padding are not copied out.
void Slot::reserveHost() {
  std::size_t total = 0;
  bool needed = false, small = true;
  const auto each = [&](auto place) {
    for (std::size_t i = 0; i < results_.size(); ++i) {
      if (!results_[i].dependent && needsHost(i))
        place(i, results_[i].rowBytes * static_cast<std::size_t>(merging_ ? batch_->rows : 1));
    }
  };
  each([&](std::size_t i, std::size_t bytes) {
    total += aligned(bytes);
    needed = true;
    small = small &&
            std::ranges::all_of(batch_->parts, [&](const Part& part) { return partBytes(i, part) <= Output::kSmall; });
  });
  if (!needed) return;
  small = small && total <= kMostSmall;  // requests get copies: it is there for the next batch
  if (small && !small_) small_ = engine_.pool().acquire(kMostSmall);
  if (small) small_->rest(false);
  const std::shared_ptr<HostBlock> block = small ? small_ : engine_.pool().acquire(total);
  uint8_t* next = block->data();
  each([&](std::size_t i, std::size_t bytes) {
    results_[i].block = block;
    results_[i].host = next;
    next += aligned(bytes);
  });
}

void* Slot::inputAddress(std::size_t input) const {
  if (!engine_.inputs()[input].onHost) return inputs_[input]->address();
  // host tensors do not merge: the batch has one part
  const Lease* lease = batch_->parts.front().lease(input);
  return lease != nullptr ? const_cast<uint8_t*>(lease->data) : batch_->row(input, 0);
}

void* Slot::outputAddress(std::size_t output) const {
  return engine_.outputs()[output].onHost ? results_[output].host : outputs_[output]->address();
}

tensorrt::OutputAllocator* Slot::allocator(std::size_t output) {
  if (!results_[output].dependent) return nullptr;
  auto& allocator = allocators_[output];
  if (!allocator) {
    cuda::DeviceBuffer& buffer = *outputs_[output];
    allocator = std::make_unique<tensorrt::OutputAllocator>(engine_.library().family(), [&buffer](std::size_t bytes) {
      buffer.reserve(bytes);
      return buffer.address();
    });
  }
  return allocator.get();
}

void Slot::copyIn(const cuda::OwnedStream& stream) const {
  const cuda::DeviceContext& device = engine_.device();
  const Batch& batch = *batch_;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (engine_.inputs()[i].onHost) continue;
    const cuda::DevicePtr base = inputs_[i]->get();
    const std::size_t row = batch.rowBytes[i];
    // rows that lie together go together; a leased tensor comes from where it is
    int64_t begin = 0;
    const auto flush = [&](int64_t end) {
      const auto first = static_cast<std::size_t>(begin);
      if (end > begin)
        toDevice(device, base + row * first, batch.row(i, begin), row * static_cast<std::size_t>(end - begin), stream);
    };
    for (const Part& part : batch.parts) {
      const Lease* lease = part.lease(i);
      if (lease == nullptr) continue;
      flush(part.row);
      const int64_t rows = merging_ ? part.rows : 1;
      toDevice(device, base + row * static_cast<std::size_t>(part.row), lease->data,
               row * static_cast<std::size_t>(rows), stream);
      begin = part.row + rows;
    }
    flush(merging_ ? batch.rows : 1);
  }
}

void Slot::learnDependentSizes() {
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (!results_[i].dependent) continue;
    const std::optional<std::vector<int64_t>> shape = allocators_[i]->shape();
    if (!shape)
      throw Error("ERR_TRT_EXECUTION", "TensorRT did not tell the shape of output '" + engine_.outputs()[i].name + "'");
    results_[i].shape = *shape;
    measure(i);
    if (!needsHost(i)) continue;
    results_[i].block = engine_.pool().acquire(results_[i].rowBytes);
    results_[i].host = results_[i].block->data();
  }
}

std::size_t Slot::partBytes(std::size_t output, const Part& part) const {
  return results_[output].rowBytes * static_cast<std::size_t>(merging_ ? part.rows : 1);
}

uint8_t* Slot::partHost(std::size_t output, const Part& part) const {
  return results_[output].host + results_[output].rowBytes * static_cast<std::size_t>(part.row);
}

void Slot::copyOut(const cuda::OwnedStream& stream) const {
  const cuda::DeviceContext& device = engine_.device();
  const std::vector<Part>& parts = batch_->parts;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const auto wanted = [&](const Part& part) { return part.wants(i); };
    if (engine_.outputs()[i].onHost || std::ranges::none_of(parts, wanted)) continue;
    const cuda::DevicePtr base = outputs_[i]->get();
    const Result& result = results_[i];
    if (std::ranges::none_of(parts, [&](const Part& part) { return part.target(i) != nullptr; })) {
      toHost(device, result.host, base, result.rowBytes * static_cast<std::size_t>(merging_ ? batch_->rows : 1),
             stream);
      continue;
    }
    for (const Part& part : parts) {
      if (!wanted(part)) continue;
      const Target* target = part.target(i);
      const std::size_t bytes = partBytes(i, part);
      if (target != nullptr && target->size != bytes) continue;  // complete() says so
      const cuda::DevicePtr from = base + result.rowBytes * static_cast<std::size_t>(part.row);
      toHost(device, target != nullptr ? target->data : partHost(i, part), from, bytes, stream);
    }
  }
}

std::vector<Completion> Slot::completions(Timing timing) const {
  return execution::completionsOf(*batch_, started_, timing,
                                  [this](Completion& completion, const Part& part) { complete(completion, part); });
}

void Slot::complete(Completion& completion, const Part& part) const {
  completion.outputs.reset(results_.size());
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (!part.wants(i)) continue;
    Output& output = completion.outputs[i];
    output.shape = execution::ResultShape(results_[i].shape);
    if (merging_) output.shape[0] = part.rows;
    output.size = partBytes(i, part);
    const Target* target = part.target(i);
    if (target == nullptr) {
      const uint8_t* data = partHost(i, part);
      if (output.size <= Output::kSmall) {
        output.copy(data);
      } else {
        output.hold(data, results_[i].block);
      }
      continue;
    }
    if (target->size != output.size) throw execution::wrongTarget(engine_.outputs()[i], *target, output);
    if (engine_.outputs()[i].onHost && output.size > 0) std::memcpy(target->data, results_[i].host, output.size);
    output.placeIn(target->data);
  }
}

std::size_t Slot::deviceBytes() const noexcept {
  std::size_t bytes = 0;
  for (const auto* buffers : {&inputs_, &outputs_}) {
    for (const auto& buffer : *buffers) bytes += buffer->capacity();
  }
  return bytes;
}

}  // namespace nt::gpu
