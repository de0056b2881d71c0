#include "contexts.h"

#include <algorithm>

namespace nt::gpu {
namespace {

bool canCapture(const Engine& engine, const LaneOptions& options) {
  // TensorRT-RTX captures graphs itself
  return options.captureGraphs && !engine.hasHostTensors() && engine.library().kind() != tensorrt::Kind::rtx;
}

void bind(BoundContext& context, const Engine& engine, Slot& slot) {
  for (std::size_t i = 0; i < engine.inputs().size(); ++i) context.bindInput(i, slot.inputAddress(i));
  for (std::size_t i = 0; i < engine.outputs().size(); ++i)
    context.bindOutput(i, slot.outputAddress(i), slot.allocator(i));
}

BoundContext::HostAddress hostAddresses(const Batch& batch) {
  return [&batch](std::size_t input) { return hostAddress(batch, input); };
}

}  // namespace

Contexts::Contexts(const Engine& engine, const LaneOptions& options, const cuda::OwnedStream& stream)
    : engine_(engine),
      options_(options),
      stream_(stream),
      captures_(canCapture(engine, options)),
      scratch_(engine.device(), engine.account()),
      plain_(engine, options.captureGraphs) {
  setPlain(std::max(options.profile, 0));
}

Contexts::Shaped& Contexts::use(const Shapes& shapes, const Batch& batch) {
  // what a host tensor holds may decide over shapes too
  if (engine_.hasHostInputs()) {
    set_ = nullptr;
    shaped_.clear();
  }
  auto found = shaped_.begin();
  while (found != shaped_.end() && found->inputs != shapes) ++found;
  if (found == shaped_.end()) return learn(shapes, batch);
  if (found != shaped_.begin()) shaped_.splice(shaped_.begin(), shaped_, found);
  if (found->uses <= kUsesBefore) ++found->uses;
  return *found;
}

Contexts::Shaped& Contexts::learn(const Shapes& shapes, const Batch& batch) {
  Shaped shaped;
  shaped.profile = engine_.profileFor(shapes, engine_.valuesOf(batch), options_.profile);
  shaped.inputs = shapes;
  shaped.uses = 1;
  setPlain(shaped, batch);
  shaped.outputs = plain_.outputShapes();
  shaped.dependent = std::ranges::any_of(shaped.outputs, isDynamic);
  if (shaped_.size() >= kMostKnown) {
    drop(shaped_.back());
    shaped_.pop_back();
  }
  shaped_.push_front(std::move(shaped));
  set_ = &shaped_.front();
  return shaped_.front();
}

void Contexts::reserveScratch(int32_t profile) {
  const std::size_t bytes = engine_.scratchBytes(profile);
  if (bytes == 0 || scratch_.fits(bytes)) return;
  if (scratch_.capacity() > 0) stream_.synchronize();
  for (Shaped& shaped : shaped_) drop(shaped);
  set_ = nullptr;
  scratchSet_ = false;
  scratch_.reserve(bytes, cuda::DeviceBuffer::Growth::exact);  // its sizes are few, and large
}

void Contexts::setPlain(int32_t profile) {
  set_ = nullptr;
  reserveScratch(profile);
  if (profile != plain_.profile()) {
    plain_.setProfile(profile, stream_);
    scratchSet_ = false;
  }
  if (scratchSet_ || scratch_.capacity() == 0) return;
  plain_.setScratch(scratch_);
  scratchSet_ = true;
}

void Contexts::setPlain(const Shaped& shaped, const Batch& batch) {
  setPlain(shaped.profile);
  plain_.setShapes(shaped.inputs, hostAddresses(batch));
}

bool Contexts::hasEarned(const Shaped& shaped) const noexcept {
  return captures_ && !shaped.dependent && !shaped.refused && shaped.uses > kUsesBefore;
}

BoundContext& Contexts::bound(Shaped& shaped, Slot& slot) {
  const std::size_t number = slot.number;
  reserveScratch(shaped.profile);
  if (hasEarned(shaped)) {
    try {
      auto context = make(shaped, slot);
      if (shaped.captured.empty()) {
        makeRoom();
        shaped.captured.resize(static_cast<std::size_t>(options_.slots));
      }
      shaped.captured[number].context = std::move(context);
      return *shaped.captured[number].context;
    } catch (const Error& error) {
      engine_.device().throwIfLost();
      refuse(shaped, error.what());
    }
  }
  if (set_ != &shaped) {
    setPlain(shaped, slot.batch());
    set_ = &shaped;
  }
  bind(plain_, engine_, slot);
  return plain_;
}

std::unique_ptr<BoundContext> Contexts::make(const Shaped& shaped, Slot& slot) const {
  auto context = std::make_unique<BoundContext>(engine_);
  if (shaped.profile != context->profile()) context->setProfile(shaped.profile, stream_);
  if (scratch_.capacity() > 0) context->setScratch(scratch_);
  context->setShapes(shaped.inputs, hostAddresses(slot.batch()));
  bind(*context, engine_, slot);
  return context;
}

void Contexts::capture(Shaped& shaped, std::size_t slot) {
  Captured& captured = shaped.captured[slot];
  const tensorrt::LogCapture log(engine_.library().log());
  std::string why;
  try {
    captured.graph =
        cuda::OwnedGraph::capture(engine_.device(), stream_, [&] { return captured.context->tryEnqueue(stream_); });
    if (captured.graph) return;
  } catch (const Error& error) {
    why = error.what();
  }
  // the batch does not depend on it, and what broke the device shows when it finishes
  if (why.empty()) why = log.lastError();
  refuse(shaped, why.empty() ? "enqueueV3 failed" : why);
}

void Contexts::refuse(Shaped& shaped, const std::string& why) {
  constexpr int32_t kInfo = 3;
  shaped.refused = true;
  drop(shaped);
  tensorrt::tellLog(kInfo,
                    "node-tensorrt: " + shapesText(engine_, shaped.inputs) + " runs without a CUDA graph: " + why);
}

// The least recently used goes. It has to earn its next capture, else a lane that sees more shapes than it has places
// for would capture at every call.
void Contexts::makeRoom() noexcept {
  const auto has = [](const Shaped& shaped) { return !shaped.captured.empty(); };
  if (std::ranges::count_if(shaped_, has) < static_cast<std::ptrdiff_t>(kMost)) return;
  Shaped& last = *std::find_if(shaped_.rbegin(), shaped_.rend(), has);
  drop(last);
  last.uses = 0;
}

void Contexts::forget(std::size_t slot) noexcept {
  for (Shaped& shaped : shaped_) {
    if (shaped.captured.empty() || !shaped.captured[slot].context) continue;
    settle();
    shaped.captured[slot].graph.reset();
    shaped.captured[slot].context.reset();
  }
}

void Contexts::abandon(std::size_t slot) noexcept {
  set_ = nullptr;
  for (Shaped& shaped : shaped_) {
    if (shaped.awaitsCapture(slot)) shaped.captured[slot].context.reset();
  }
}

void Contexts::drop(Shaped& shaped) noexcept {
  if (shaped.captured.empty()) return;
  settle();
  shaped.captured.clear();
}

// What is enqueued may use what is about to be freed.
void Contexts::settle() const noexcept {
  const cuda::DeviceContext& device = engine_.device();
  if (!device.lost()) device.note(device.driver().streamSynchronize(stream_.get()));
}

}  // namespace nt::gpu
