#include "lane.h"

#include <algorithm>
#include <thread>

#include "../base/text.h"

namespace nt::execution {
namespace {

// Below this, one stream does all: overlapping such copies gains less than waiting for another stream costs.
constexpr std::size_t kSmall = std::size_t{64} << 10;

// The first batches are all timed, later ones now and then: events with times cost a few microseconds.
bool timedNow(uint64_t count) { return count < 64 || count % 16 == 0; }

int64_t padded(int64_t rows, const std::vector<int64_t>& sizes) {
  const auto next = std::ranges::lower_bound(sizes, rows);
  return next == sizes.end() ? rows : *next;
}

std::size_t total(const std::vector<std::size_t>& bytes) {
  std::size_t sum = 0;
  for (const std::size_t each : bytes) sum += each;
  return sum;
}

}  // namespace

Lane::Lane(std::shared_ptr<Engine> engine, LaneOptions options)
    : engine_(std::move(engine)),
      options_(std::move(options)),
      copyInStream_(engine_->device(), options_.highPriority),
      computeStream_(engine_->device(), options_.highPriority),
      copyOutStream_(engine_->device(), options_.highPriority),
      context_(engine_->createContext()) {
  for (int i = 0; i < options_.slots; ++i) slots_.push_back(std::make_unique<Slot>(*engine_, i));
  for (const auto& slot : slots_) free_.insert(free_.begin(), slot.get());
  if (options_.profile > 0) {
    check(context_->setOptimizationProfile(options_.profile, computeStream_.get()), "setOptimizationProfileAsync");
    computeStream_.synchronize();
    setting_.profile = options_.profile;
  }
}

Lane::~Lane() {
  settle();
  // on a lost device TensorRT's own destructor would call CUDA: the object is left behind
  if (engine_->device().lost()) (void)context_.release();
}

void Lane::enqueue(std::shared_ptr<Batch> batch) {
  Slot& slot = *free_.back();
  slot.batch = std::move(batch);
  slot.started = Clock::now();
  slot.timed = timedNow(count_++);
  try {
    const Shapes shapes = shapesOf(*slot.batch);
    if (shapes != setting_.shapes || engine_->hasHostInputs()) setShapes(slot, *slot.batch, shapes);
    planOutputs(slot);
    std::vector<std::size_t> inputBytes;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      inputBytes.push_back(engine_->inputs()[i].onHost ? 0 : tensorrt::byteSize(engine_->inputs()[i].dtype, shapes[i]));
    }
    if (slot.reserve(inputBytes, slot.outputBytes)) graphs_.forgetSlot(slot.number);

    const bool small = total(inputBytes) + total(slot.outputBytes) <= kSmall;
    const cuda::OwnedStream& in = small ? computeStream_ : copyInStream_;
    const cuda::OwnedStream& out = small ? computeStream_ : copyOutStream_;
    if (slot.timed) slot.clocks().copyInStart.record(in);
    copyIn(slot, *slot.batch, in);
    if (slot.timed) slot.clocks().copyInEnd.record(in);
    if (!small) {
      slot.copiedIn.record(in);
      computeStream_.waitFor(slot.copiedIn.get());
    }
    bind(slot, *slot.batch);
    if (slot.timed) slot.clocks().computeStart.record(computeStream_);
    compute(slot);
    if (slot.timed) slot.clocks().computeEnd.record(computeStream_);
    if (!small) {
      slot.computed.record(computeStream_);
      out.waitFor(slot.computed.get());
    }
    copyOut(slot, out);
    if (slot.timed) slot.clocks().copyOutEnd.record(out);
    slot.done.record(out);
  } catch (...) {
    setting_.shapes.clear();  // whatever the context was set to is not to be relied on
    settle();
    slot.batch.reset();
    slot.outputMemory.reset();
    throw;
  }
  free_.pop_back();
  running_.push_back(&slot);
}

Shapes Lane::shapesOf(const Batch& batch) const {
  Shapes shapes = batch.shapes;
  if (options_.merging) {
    for (Shape& shape : shapes) shape[0] = std::min(padded(batch.rows, options_.pad), batch.capacity);
  }
  return shapes;
}

void Lane::setShapes(Slot& slot, const Batch& batch, const Shapes& shapes) {
  setting_.shapes.clear();
  const int32_t profile = options_.profile >= 0 ? options_.profile : engine_->profileFor(shapes);
  if (profile != setting_.profile) {
    // TensorRT allows the switch only once what was enqueued under the other profile has ended
    computeStream_.synchronize();
    check(context_->setOptimizationProfile(profile, computeStream_.get()), "setOptimizationProfileAsync");
    setting_.profile = profile;
  }
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const IoTensor& tensor = engine_->inputs()[i];
    if (!context_->setInputShape(tensor.name.c_str(), tensorrt::Dims(shapes[i]))) {
      throw Error("ERR_TRT_SHAPE", "TensorRT refused the shape " + shapeText(shapes[i]) + " of input '" + tensor.name + "'");
    }
    if (tensor.onHost) check(context_->setTensorAddress(tensor.name.c_str(), batch.row(i, 0)), "setTensorAddress");
  }
  check(context_->inferShapes() == 0, "inferShapes");
  setting_.outputs.clear();
  setting_.dependent = false;
  for (const IoTensor& tensor : engine_->outputs()) {
    setting_.outputs.push_back(context_->shape(tensor.name.c_str()).vector());
    setting_.dependent = setting_.dependent || std::ranges::any_of(setting_.outputs.back(), [](int64_t dim) { return dim < 0; });
  }
  setting_.shapes = shapes;
  (void)slot;
}

bool Lane::isDependent(const Slot& slot, std::size_t output) const {
  return std::ranges::any_of(slot.outputShapes[output], [](int64_t dim) { return dim < 0; });
}

void Lane::planOutputs(Slot& slot) {
  slot.outputShapes = setting_.outputs;
  slot.outputBytes.clear();
  slot.outputOffsets.clear();
  std::size_t offset = 0;
  for (std::size_t i = 0; i < slot.outputShapes.size(); ++i) {
    const IoTensor& tensor = engine_->outputs()[i];
    const bool dependent = isDependent(slot, i);
    if (options_.merging && (dependent || slot.outputShapes[i][0] != setting_.shapes[0][0])) {
      throw Error("ERR_TRT_EXECUTION", "Output '" + tensor.name + "' " + shapeText(slot.outputShapes[i]) +
                                           " does not have one row for each of " + std::to_string(setting_.shapes[0][0]) +
                                           " rows of input: this model cannot be batched");
    }
    const std::size_t bytes = dependent ? 0 : tensorrt::byteSize(tensor.dtype, slot.outputShapes[i]);
    slot.outputBytes.push_back(bytes);
    slot.outputOffsets.push_back(offset);
    offset += (bytes + 255) / 256 * 256;
  }
  slot.outputMemory = cuda::PinnedPool::of(engine_->device()).acquire(offset);
}

void Lane::copyIn(Slot& slot, const Batch& batch, const cuda::OwnedStream& stream) {
  const cuda::DeviceContext& device = engine_->device();
  const auto copy = [&](cuda::DevicePtr to, const void* from, std::size_t bytes) {
    if (bytes > 0) device.check(device.driver().memcpyHtoDAsync(to, from, bytes, stream.get()), "cuMemcpyHtoDAsync");
  };
  for (std::size_t i = 0; i < slot.inputs.size(); ++i) {
    if (engine_->inputs()[i].onHost) continue;
    const cuda::DevicePtr base = slot.inputs[i]->get();
    const std::size_t row = batch.rowBytes[i];
    if (!options_.merging) {
      const Part& part = batch.parts.front();
      const bool leased = !part.leases.empty() && part.leases[i];
      copy(base, leased ? part.leases[i].data : batch.row(i, 0), row);
      continue;
    }
    // rows that lie together go together; a leased tensor comes from where it is
    int64_t begin = 0;
    const auto flush = [&](int64_t end) {
      copy(base + row * static_cast<std::size_t>(begin), batch.row(i, begin), row * static_cast<std::size_t>(end - begin));
    };
    for (const Part& part : batch.parts) {
      if (part.leases.empty() || !part.leases[i]) continue;
      flush(part.row);
      copy(base + row * static_cast<std::size_t>(part.row), part.leases[i].data, row * static_cast<std::size_t>(part.rows));
      begin = part.row + part.rows;
    }
    flush(batch.rows);
  }
}

void Lane::bind(Slot& slot, const Batch& batch) {
  for (std::size_t i = 0; i < slot.inputs.size(); ++i) {
    const IoTensor& tensor = engine_->inputs()[i];
    void* address = tensor.onHost ? batch.row(i, 0) : slot.inputs[i]->address();
    check(context_->setTensorAddress(tensor.name.c_str(), address), "setTensorAddress");
  }
  for (std::size_t i = 0; i < slot.outputs.size(); ++i) {
    const IoTensor& tensor = engine_->outputs()[i];
    if (isDependent(slot, i)) {
      auto& allocator = slot.allocators[i];
      if (!allocator) {
        cuda::DeviceBuffer& buffer = *slot.outputs[i];
        allocator = std::make_unique<tensorrt::OutputAllocator>(engine_->library().family(), [&buffer](std::size_t bytes) {
          buffer.reserve(bytes);
          return buffer.address();
        });
      }
      check(context_->setOutputAllocator(tensor.name.c_str(), allocator->object()), "setOutputAllocator");
      check(context_->setTensorAddress(tensor.name.c_str(), slot.outputs[i]->address()), "setTensorAddress");
      continue;
    }
    void* address = tensor.onHost ? slot.outputMemory->data() + slot.outputOffsets[i] : slot.outputs[i]->address();
    check(context_->setTensorAddress(tensor.name.c_str(), address), "setTensorAddress");
  }
}

void Lane::compute(Slot& slot) {
  const bool capturable = options_.graphs != GraphMode::off && !setting_.dependent && !engine_->hasHostInputs();
  if (capturable) {
    GraphCache::Key key{slot.number, setting_.profile};
    for (const Shape& shape : setting_.shapes) key.insert(key.end(), shape.begin(), shape.end());
    const cuda::OwnedGraph* graph = graphs_.find(key);
    if (graph == nullptr && graphs_.shouldCapture(key) && capture(slot, key)) graph = graphs_.find(key);
    if (graph != nullptr) return graph->launch(computeStream_);
  }
  check(context_->enqueue(computeStream_.get()), "enqueueV3");
}

bool Lane::capture(Slot&, const GraphCache::Key& key) {
  try {
    auto graph = cuda::OwnedGraph::capture(engine_->device(), computeStream_, [&] { return context_->enqueue(computeStream_.get()); });
    if (graph) {
      graphs_.insert(key, std::move(graph));
      return true;
    }
  } catch (const Error& error) {
    if (engine_->device().lost()) throw;
  }
  graphs_.refuse(key);  // this shape runs without
  return false;
}

void Lane::copyOut(Slot& slot, const cuda::OwnedStream& stream) {
  const cuda::DeviceContext& device = engine_->device();
  const Batch& batch = *slot.batch;
  const auto copy = [&](void* to, cuda::DevicePtr from, std::size_t bytes) {
    if (bytes > 0) device.check(device.driver().memcpyDtoHAsync(to, from, bytes, stream.get()), "cuMemcpyDtoHAsync");
  };
  for (std::size_t i = 0; i < slot.outputs.size(); ++i) {
    if (engine_->outputs()[i].onHost || isDependent(slot, i)) continue;
    const auto wanted = [&](const Part& part) { return (part.outputs >> i & 1) != 0; };
    const auto aimed = [&](const Part& part) { return !part.targets.empty() && part.targets[i]; };
    uint8_t* memory = slot.outputMemory->data() + slot.outputOffsets[i];
    const cuda::DevicePtr base = slot.outputs[i]->get();
    if (std::ranges::none_of(batch.parts, wanted)) continue;
    if (std::ranges::none_of(batch.parts, aimed)) {
      copy(memory, base, slot.outputBytes[i]);
      continue;
    }
    const std::size_t row = options_.merging ? slot.outputBytes[i] / static_cast<std::size_t>(slot.outputShapes[i][0]) : 0;
    for (const Part& part : batch.parts) {
      if (!wanted(part)) continue;
      const std::size_t offset = row * static_cast<std::size_t>(part.row);
      const std::size_t bytes = options_.merging ? row * static_cast<std::size_t>(part.rows) : slot.outputBytes[i];
      if (aimed(part) && part.targets[i].size != bytes) {
        throw Error("ERR_TRT_SHAPE", "The tensor given for output '" + engine_->outputs()[i].name + "' has " +
                                         std::to_string(part.targets[i].size) + " bytes, and the output has " + std::to_string(bytes));
      }
      copy(aimed(part) ? part.targets[i].data : memory + offset, base + offset, bytes);
    }
  }
}

std::vector<Completion> Lane::finish(bool spin) {
  Slot& slot = *running_.front();
  const struct Release {
    Lane& lane;
    Slot& slot;
    ~Release() {
      slot.batch.reset();
      slot.outputMemory.reset();
      lane.running_.pop_front();
      lane.free_.push_back(&slot);
    }
  } release{*this, slot};
  try {
    const TimePoint patience = Clock::now() + std::chrono::milliseconds(2);
    while (spin && !slot.done.done() && Clock::now() < patience) {
    }
    slot.done.synchronize();
    return completionsOf(slot);
  } catch (...) {
    settle();
    throw;
  }
}

void Lane::fetchDependent(Slot& slot) {
  const cuda::DeviceContext& device = engine_->device();
  for (std::size_t i = 0; i < slot.outputs.size(); ++i) {
    if (!isDependent(slot, i)) continue;
    slot.outputShapes[i] = slot.allocators[i]->shape();
    slot.outputBytes[i] = tensorrt::byteSize(engine_->outputs()[i].dtype, slot.outputShapes[i]);
  }
  (void)device;
}

Timing Lane::timingOf(Slot& slot) const {
  Timing timing;
  if (!slot.timed) return timing;
  Slot::Clocks& clocks = slot.clocks();
  clocks.copyOutEnd.synchronize();
  timing.copyIn = clocks.copyInStart.millisecondsTo(clocks.copyInEnd);
  timing.compute = clocks.computeStart.millisecondsTo(clocks.computeEnd);
  timing.copyOut = clocks.computeEnd.millisecondsTo(clocks.copyOutEnd);
  return timing;
}

std::vector<Completion> Lane::completionsOf(Slot& slot) {
  const Batch& batch = *slot.batch;
  const cuda::DeviceContext& device = engine_->device();
  std::vector<std::shared_ptr<cuda::PinnedBlock>> memory{slot.outputMemory};
  std::vector<const uint8_t*> from;
  std::vector<bool> dependent;
  for (std::size_t i = 0; i < slot.outputs.size(); ++i) {
    dependent.push_back(isDependent(slot, i));
    from.push_back(slot.outputMemory->data() + slot.outputOffsets[i]);
  }
  fetchDependent(slot);
  bool copied = false;
  for (std::size_t i = 0; i < slot.outputs.size(); ++i) {
    if (!dependent[i]) continue;
    memory.push_back(cuda::PinnedPool::of(device).acquire(slot.outputBytes[i]));
    from[i] = memory.back()->data();
    if (slot.outputBytes[i] == 0) continue;
    device.check(device.driver().memcpyDtoHAsync(memory.back()->data(), slot.outputs[i]->get(), slot.outputBytes[i], copyOutStream_.get()),
                 "cuMemcpyDtoHAsync");
    copied = true;
  }
  if (copied) copyOutStream_.synchronize();

  const Timing timing = timingOf(slot);
  std::vector<Completion> completions;
  completions.reserve(batch.parts.size());
  for (const Part& part : batch.parts) {
    Completion& completion = completions.emplace_back();
    completion.request = part.request;
    completion.memory = memory;
    completion.timing = timing;
    completion.timing.queue = std::chrono::duration<float, std::milli>(slot.started - part.asked).count();
    completion.outputs.resize(slot.outputs.size());
    for (std::size_t i = 0; i < slot.outputs.size(); ++i) {
      if ((part.outputs >> i & 1) == 0) continue;
      Output& output = completion.outputs[i];
      output.shape = slot.outputShapes[i];
      output.size = slot.outputBytes[i];
      output.data = from[i];
      if (options_.merging) {
        const std::size_t row = output.size / static_cast<std::size_t>(output.shape[0]);
        output.shape[0] = part.rows;
        output.size = row * static_cast<std::size_t>(part.rows);
        output.data += row * static_cast<std::size_t>(part.row);
      }
      output.inTarget = !part.targets.empty() && part.targets[i] && !dependent[i] && !engine_->outputs()[i].onHost;
      if (output.inTarget) output.data = part.targets[i].data;
    }
  }
  return completions;
}

void Lane::settle() noexcept {
  if (engine_->device().lost()) return;
  const cuda::Driver& driver = engine_->device().driver();
  for (const auto* stream : {&copyInStream_, &computeStream_, &copyOutStream_}) driver.streamSynchronize(stream->get());
}

std::size_t Lane::deviceBytes() const noexcept {
  std::size_t bytes = 0;
  for (const auto& slot : slots_) {
    for (const auto& buffer : slot->inputs) bytes += buffer->capacity();
    for (const auto& buffer : slot->outputs) bytes += buffer->capacity();
  }
  return bytes;
}

void Lane::check(bool ok, const char* what) {
  if (ok) return;
  // TensorRT says only "no": the device may say why
  const cuda::DeviceContext& device = engine_->device();
  const cuda::Result state = device.driver().streamQuery(computeStream_.get());
  if (cuda::isSticky(state)) device.check(state, what);
  throw Error("ERR_TRT_EXECUTION", engine_->library().name() + ": " + what + " failed");
}

}  // namespace nt::execution
