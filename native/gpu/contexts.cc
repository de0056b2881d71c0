#include "contexts.h"

#include <algorithm>
#include <utility>

namespace nt::gpu {
namespace {

bool isRtx(const Engine& engine) { return engine.library().kind() == tensorrt::Kind::rtx; }

bool canCapture(const Engine& engine, const LaneOptions& options) {
  // TensorRT-RTX captures graphs itself
  return options.captureGraphs && !engine.hasHostTensors() && !isRtx(engine);
}

std::size_t plainContexts(const Engine& engine, const LaneOptions& options) {
  const bool ownGraphs = options.captureGraphs && isRtx(engine);
  return ownGraphs ? static_cast<std::size_t>(std::max(options.slots, 1)) : 1;
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
      plain_(plainContexts(engine, options)) {
  for (Plain& plain : plain_) {
    plain.context = std::make_unique<BoundContext>(engine_, options_.captureGraphs);
    setPlain(plain, std::max(options.profile, 0));
  }
}

Contexts::~Contexts() { engine_.contextThread().cancel(this); }

Contexts::Shaped& Contexts::use(const Shapes& shapes, const Batch& batch, std::size_t slot) {
  // what a host tensor holds may decide over shapes too
  if (engine_.hasHostInputs()) {
    forgetSet();
    shaped_.clear();
  }
  auto found = shaped_.begin();
  while (found != shaped_.end() && found->inputs != shapes) ++found;
  if (found == shaped_.end()) return learn(shapes, batch, slot);
  if (found != shaped_.begin()) shaped_.splice(shaped_.begin(), shaped_, found);
  if (found->uses <= kUsesBefore) ++found->uses;
  return *found;
}

Contexts::Shaped& Contexts::learn(const Shapes& shapes, const Batch& batch, std::size_t slot) {
  Shaped shaped;
  shaped.profile = engine_.profileFor(shapes, engine_.valuesOf(batch), options_.profile);
  shaped.inputs = shapes;
  shaped.uses = 1;
  Plain& plain = plainOf(slot);
  setPlain(plain, shaped, batch);
  shaped.outputs = plain.context->outputShapes();
  shaped.dependent = std::ranges::any_of(shaped.outputs, isDynamic);
  if (shaped_.size() >= kMostKnown) {
    drop(shaped_.back());
    forgetSet(&shaped_.back());
    shaped_.pop_back();
  }
  shaped_.push_front(std::move(shaped));
  plain.set = &shaped_.front();
  return shaped_.front();
}

// That plain contexts are set to these shapes, or to any.
void Contexts::forgetSet(const Shaped* shaped) noexcept {
  for (Plain& plain : plain_) {
    if (shaped == nullptr || plain.set == shaped) plain.set = nullptr;
  }
}

// Contexts want an address, whatever they need: one byte at least is there.
void Contexts::reserveScratch(int32_t profile) {
  const std::size_t bytes = engine_.scratchBytes(profile);
  if (scratch_.fits(bytes)) return;
  if (scratch_.capacity() > 0) stream_.synchronize();
  for (std::size_t slot = 0; slot < static_cast<std::size_t>(options_.slots); ++slot) dropGraphs(slot);
  forgetSet();
  for (Plain& plain : plain_) plain.scratchSet = false;
  // its sizes are few, and large
  makingRoom([&] { scratch_.reserve(bytes, cuda::DeviceBuffer::Growth::exact); });
}

void Contexts::setPlain(Plain& plain, int32_t profile) {
  plain.set = nullptr;
  reserveScratch(profile);
  // one that failed again and again may be why
  if (plain.context->failures() >= kMostFailures) {
    plain.context = std::make_unique<BoundContext>(engine_, options_.captureGraphs);
    plain.scratchSet = false;
  }
  if (profile != plain.context->profile()) {
    plain.context->setProfile(profile, stream_);
    plain.scratchSet = false;
  }
  if (plain.scratchSet) return;
  plain.context->setScratch(scratch_);
  plain.scratchSet = true;
}

void Contexts::setPlain(Plain& plain, const Shaped& shaped, const Batch& batch) {
  setPlain(plain, shaped.profile);
  plain.context->setShapes(shaped.inputs, hostAddresses(batch));
}

bool Contexts::hasEarned(const Shaped& shaped) const noexcept {
  return captures_ && !shaped.dependent && !shaped.refused && shaped.uses > kUsesBefore;
}

BoundContext& Contexts::bound(Shaped& shaped, Slot& slot) {
  reserveScratch(shaped.profile);
  if (hasEarned(shaped)) {
    try {
      if (BoundContext* own = ownContext(shaped, slot)) return *own;
    } catch (const Error& error) {
      engine_.device().throwIfLost();
      refuse(shaped, error.what());
    }
  }
  Plain& plain = plainOf(slot.number);
  if (plain.set != &shaped) {
    setPlain(plain, shaped, slot.batch());
    plain.set = &shaped;
  }
  bind(*plain.context, engine_, slot);
  return *plain.context;
}

// The shapes' own in that slot, to be captured once it has run; null while there is none, or no time for that.
BoundContext* Contexts::ownContext(Shaped& shaped, Slot& slot) {
  if (shaped.captured.empty()) shaped.captured.resize(static_cast<std::size_t>(options_.slots));
  Captured& captured = shaped.captured[slot.number];
  if (captured.order && captured.order->ready()) captured.context = std::exchange(captured.order, nullptr)->take();
  if (!captured.context && !captured.order && !order(shaped, captured)) return nullptr;
  if (!captured.context || !isGoodMoment(captured)) return nullptr;
  captured.context->setScratch(scratch_);
  bind(*captured.context, engine_, slot);
  captured.running = true;
  return captured.context.get();
}

// False where there is no room for one more, whichever others go.
bool Contexts::order(Shaped& shaped, Captured& captured) {
  if (captured.without) return false;
  captured.without = !makeRoom(shaped);
  if (!captured.without) captured.order = engine_.contextThread().order(this, shaped.profile, shaped.inputs);
  const auto isWithout = [](const Captured& each) { return each.without; };
  if (std::ranges::all_of(shaped.captured, isWithout)) {
    throw Error("ERR_TRT_OUT_OF_MEMORY", "its context would take " + std::to_string(estimate()) +
                                             " bytes, and those with graphs may take " +
                                             std::to_string(options_.graphMemory) + " in this lane");
  }
  return !captured.without;
}

// A capture takes some milliseconds, in which the lane begins nothing else.
bool Contexts::isGoodMoment(Captured& captured) const {
  if (!options_.isPressed || !options_.isPressed()) return true;
  return ++captured.postponed > kPatience;
}

void Contexts::capture(Shaped& shaped, std::size_t slot) {
  Captured& captured = shaped.captured[slot];
  captured.running = false;
  const tensorrt::LogCapture log(engine_.library().log());
  std::string why;
  try {
    captured.graph =
        cuda::OwnedGraph::capture(engine_.device(), stream_, [&] { return captured.context->tryEnqueue(stream_); });
    if (captured.graph) {
      tensorrt::trace([&] { return "captured " + shapesText(engine_, shaped.inputs); });
      return;
    }
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

// What one more context is taken to hold: a context of one engine needs what its others do.
std::size_t Contexts::estimate() const noexcept { return std::max(plain_.front().context->deviceBytes(), kLeastBytes); }

std::size_t Contexts::bytesOf(const Captured& captured) const noexcept {
  if (captured.context) return std::max(captured.context->deviceBytes(), kLeastBytes);
  return captured.order ? estimate() : 0;
}

// For one more context of these shapes: the least recently used of others go. They have to earn their next one, else a
// lane that sees more shapes than it has room for would make contexts at every call. Whether there is room.
bool Contexts::makeRoom(const Shaped& shaped) noexcept {
  std::size_t bytes = estimate();
  for (const Captured& captured : shaped.captured) bytes += bytesOf(captured);
  if (bytes > options_.graphMemory) return false;
  for (const Shaped& each : shaped_) {
    if (&each == &shaped) continue;
    for (const Captured& captured : each.captured) bytes += bytesOf(captured);
  }
  for (auto each = shaped_.rbegin(); each != shaped_.rend() && bytes > options_.graphMemory; ++each) {
    if (&*each == &shaped || each->captured.empty()) continue;
    for (const Captured& captured : each->captured) bytes -= bytesOf(captured);
    drop(*each);
    each->uses = 0;
  }
  return true;
}

void Contexts::dropGraphs(std::size_t slot) noexcept {
  for (Shaped& shaped : shaped_) {
    if (shaped.graph(slot) == nullptr) continue;
    stream_.settle();
    shaped.captured[slot].graph.reset();
    shaped.captured[slot].postponed = 0;
  }
}

// Whether it held any memory.
bool Contexts::giveUp() noexcept {
  bool held = false;
  for (Shaped& shaped : shaped_) {
    for (const Captured& captured : shaped.captured)
      held = held || (captured.context && captured.context->deviceBytes() > 0);
  }
  if (!held) return false;
  for (Shaped& shaped : shaped_) {
    drop(shaped);
    shaped.uses = 0;
  }
  return true;
}

void Contexts::abandon(std::size_t slot) noexcept {
  forgetSet();
  for (Shaped& shaped : shaped_) {
    if (!shaped.awaitsCapture(slot)) continue;
    shaped.captured[slot] = {};
    shaped.uses = 0;
  }
}

void Contexts::drop(Shaped& shaped) noexcept {
  if (shaped.captured.empty()) return;
  stream_.settle();  // what is enqueued may use what is about to be freed
  shaped.captured.clear();
}

}  // namespace nt::gpu
