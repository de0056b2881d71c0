#include "lane.h"

#include <algorithm>

#include "../base/text.h"

namespace nt::gpu {
namespace {

// Below this, one stream does all: overlapping such copies gains less than waiting for another stream costs.
constexpr std::size_t kSmall = std::size_t{64} << 10;

// The first batches are all timed, later ones now and then: events with times cost a few microseconds.
bool timedNow(uint64_t count) { return count < 64 || count % 16 == 0; }

}  // namespace

Lane::Lane(std::shared_ptr<const Engine> engine, LaneOptions options)
    : engine_(std::move(engine)),
      options_(std::move(options)),
      copyInStream_(engine_->device(), options_.highPriority),
      computeStream_(engine_->device(), options_.highPriority),
      copyOutStream_(engine_->device(), options_.highPriority),
      context_(engine_->createContext()) {
  for (int i = 0; i < options_.slots; ++i) slots_.push_back(std::make_unique<Slot>(*engine_, i, options_.merging));
  // the first slot is used as long as one suffices: its graphs are captured sooner
  for (const auto& slot : slots_) free_.insert(free_.begin(), slot.get());
  if (options_.profile > 0) {
    setProfile(options_.profile);
    computeStream_.synchronize();
  }
}

void Lane::enqueue(std::shared_ptr<Batch> batch) {
  engine_->device().throwIfLost();
  const tensorrt::LogCapture log(engine_->library().log());
  Slot& slot = *free_.back();
  const auto abandon = [&] {
    setting_.known = false;  // whatever the context was set to is not to be relied on
    settle();
    slot.end();
  };
  try {
    start(slot, std::move(batch));
  } catch (Error& error) {
    abandon();
    error.attachLog(log.lines());
    throw;
  } catch (...) {
    abandon();
    throw;
  }
  free_.pop_back();
  running_.push_back(&slot);
}

void Lane::start(Slot& slot, std::shared_ptr<Batch> batch) {
  readShapes(*batch);
  setShapes(*batch);
  if (slot.begin(std::move(batch), shapes_, setting_.outputs)) graphs_.forgetSlot(slot.number);
  slot.timed = timedNow(count_++);
  const bool small = slot.bytes() <= kSmall;
  const cuda::OwnedStream& in = small ? computeStream_ : copyInStream_;
  const cuda::OwnedStream& out = small ? computeStream_ : copyOutStream_;

  if (slot.timed) slot.clocks().copyInStart.record(in);
  slot.copyIn(in);
  if (slot.timed) slot.clocks().copyInEnd.record(in);
  if (!small) {
    slot.copiedIn.record(in);
    computeStream_.waitFor(slot.copiedIn.get());
  }

  const GraphCache::Key* key = graphKey(slot);
  const cuda::OwnedGraph* graph = key != nullptr ? graphs_.find(*key) : nullptr;
  if (graph == nullptr) bind(slot);
  if (slot.timed) slot.clocks().computeStart.record(computeStream_);
  if (graph == nullptr) {
    enqueueContext(slot);
  } else {
    graph->launch(computeStream_);
  }
  if (slot.timed) slot.clocks().computeEnd.record(computeStream_);

  if (!small) {
    slot.computed.record(computeStream_);
    out.waitFor(slot.computed.get());
  }
  if (setting_.dependent) slot.learnDependentSizes();
  slot.copyOut(out);
  if (slot.timed) slot.clocks().copyOutEnd.record(out);
  slot.done.record(out);
  // The batch is on its way; the context has just run this shape, bound to this slot, without a graph, as TensorRT
  // wants it before a capture.
  if (key != nullptr && graph == nullptr && graphs_.shouldCapture(*key)) capture(*key);
}

void Lane::readShapes(const Batch& batch) {
  shapes_ = batch.shapes;
  if (!options_.merging) return;
  for (Shape& shape : shapes_) shape[0] = execution::paddedRows(batch.rows, options_);
}

void Lane::setShapes(const Batch& batch) {
  const Shapes& shapes = shapes_;
  // what a host tensor holds may decide over shapes too
  if (setting_.known && shapes == setting_.shapes && !engine_->hasHostInputs()) return;
  setting_.known = false;
  const int32_t profile = options_.profile >= 0 ? options_.profile : engine_->profileFor(shapes);
  if (profile != setting_.profile) setProfile(profile);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const IoTensor& tensor = engine_->inputs()[i];
    if (!context_->setInputShape(tensor.name.c_str(), tensorrt::Dims(shapes[i]))) {
      engine_->device().throwIfBroken("setInputShape");
      throw Error("ERR_TRT_SHAPE",
                  "TensorRT refused the shape " + shapeText(shapes[i]) + " of input '" + tensor.name + "'");
    }
    if (!tensor.onHost) continue;
    const Lease* lease = batch.parts.front().lease(i);
    void* address = lease != nullptr ? const_cast<uint8_t*>(lease->data) : batch.row(i, 0);
    check(context_->setTensorAddress(tensor.name.c_str(), address), "setTensorAddress");
  }
  check(context_->inferShapes() == 0, "inferShapes");
  setting_.outputs.clear();
  setting_.dependent = false;
  for (const IoTensor& tensor : engine_->outputs()) {
    const tensorrt::Dims dims = context_->shape(tensor.name.c_str());
    check(dims.valid(), "getTensorShape");
    setting_.outputs.push_back(dims.vector());
    setting_.dependent =
        setting_.dependent || std::ranges::any_of(setting_.outputs.back(), [](int64_t dim) { return dim < 0; });
  }
  setting_.shapes = shapes;
  setting_.known = true;
}

void Lane::setProfile(int32_t profile) {
  // TensorRT allows the switch only once what was enqueued under the other profile has ended
  computeStream_.synchronize();
  check(context_->setOptimizationProfile(profile, computeStream_.get()), "setOptimizationProfileAsync");
  setting_.profile = profile;
}

void Lane::bind(Slot& slot) {
  for (std::size_t i = 0; i < engine_->inputs().size(); ++i) {
    check(context_->setTensorAddress(engine_->inputs()[i].name.c_str(), slot.inputAddress(i)), "setTensorAddress");
  }
  for (std::size_t i = 0; i < engine_->outputs().size(); ++i) {
    const char* name = engine_->outputs()[i].name.c_str();
    if (tensorrt::OutputAllocator* allocator = slot.allocator(i)) {
      allocator->expect();
      check(context_->setOutputAllocator(name, allocator->object()), "setOutputAllocator");
    }
    check(context_->setTensorAddress(name, slot.outputAddress(i)), "setTensorAddress");
  }
}

void Lane::enqueueContext(Slot& slot) {
  const bool enqueued = context_->enqueue(computeStream_.get());
  for (std::size_t i = 0; !enqueued && i < engine_->outputs().size(); ++i) {
    const tensorrt::OutputAllocator* allocator = slot.allocator(i);
    if (allocator != nullptr && allocator->failure()) std::rethrow_exception(allocator->failure());
  }
  check(enqueued, "enqueueV3");
}

// Nothing where a graph would not do what an enqueue does.
// Null where no graph can be.
const GraphCache::Key* Lane::graphKey(const Slot& slot) {
  if (!options_.captureGraphs || setting_.dependent || engine_->hasHostTensors()) return nullptr;
  key_.assign({slot.number, setting_.profile});
  for (const Shape& shape : setting_.shapes) key_.insert(key_.end(), shape.begin(), shape.end());
  return &key_;
}

// The batch does not depend on it: a shape that cannot be captured runs without, and what broke the device shows when
// it finishes.
void Lane::capture(const GraphCache::Key& key) {
  try {
    auto graph = cuda::OwnedGraph::capture(engine_->device(), computeStream_,
                                           [&] { return context_->enqueue(computeStream_.get()); });
    if (graph) return graphs_.insert(key, std::move(graph));
  } catch (const Error&) {
  }
  graphs_.refuse(key);
}

std::vector<Completion> Lane::finish(bool spin) {
  Slot& slot = *running_.front();
  const struct Release {
    Lane& lane;
    Slot& slot;
    ~Release() {
      slot.end();
      lane.running_.pop_front();
      lane.free_.push_back(&slot);
    }
  } release{*this, slot};
  try {
    wait(slot, spin);
    return slot.completions(timingOf(slot));
  } catch (...) {
    settle();
    throw;
  }
}

void Lane::wait(const Slot& slot, bool spin) const {
  engine_->device().throwIfLost();
  if (spin) {
    const TimePoint patience = execution::Clock::now() + std::chrono::milliseconds(2);
    do {
      if (slot.done.done()) return;
    } while (execution::Clock::now() < patience);
  }
  slot.done.synchronize();
}

// Results do not fail because nobody knows how long they took.
Timing Lane::timingOf(Slot& slot) const noexcept {
  if (!slot.timed) return {};
  try {
    const Slot::Clocks& clocks = slot.clocks();
    Timing timing;
    timing.copyIn = clocks.copyInStart.millisecondsTo(clocks.copyInEnd);
    timing.compute = clocks.computeStart.millisecondsTo(clocks.computeEnd);
    timing.copyOut = clocks.computeEnd.millisecondsTo(clocks.copyOutEnd);
    return timing;
  } catch (const Error&) {
    return {};
  }
}

void Lane::settle() noexcept {
  const cuda::DeviceContext& device = engine_->device();
  for (const auto* stream : {&copyInStream_, &computeStream_, &copyOutStream_}) {
    if (!device.lost()) device.note(device.driver().streamSynchronize(stream->get()));
  }
}

std::size_t Lane::deviceBytes() const noexcept {
  std::size_t bytes = 0;
  for (const auto& slot : slots_) bytes += slot->deviceBytes();
  return bytes;
}

void Lane::check(bool ok, const char* what) const {
  if (ok) return;
  engine_->device().throwIfBroken(what);  // TensorRT says only "no": the device may say why
  throw Error("ERR_TRT_EXECUTION", engine_->library().name() + ": " + what + " failed");
}

}  // namespace nt::gpu
