#include "lane.h"

#include "../execution/wait_policy.h"

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
      contexts_(*engine_, options_, computeStream_) {
  if (options_.ring) options_.ring->grow();
  for (int i = 0; i < options_.slots; ++i) slots_.push_back(std::make_unique<Slot>(*engine_, slots_.size(), options_));
}

void Lane::enqueue(int number, std::shared_ptr<Batch> batch) {
  engine_->device().throwIfLost();
  Slot& slot = *slots_[static_cast<std::size_t>(number)];
  tensorrt::withLog(engine_->library().log(), [&] {
    try {
      start(slot, batch);
    } catch (...) {
      settle();
      contexts_.abandon(slot.number);
      slot.end();
      throw;
    }
  });
}

void Lane::start(Slot& slot, const std::shared_ptr<Batch>& batch) {
  readShapes(*batch);
  Contexts::Shaped& shaped = contexts_.use(shapes_, *batch, slot.number);
  // what was captured has room
  if (shaped.graph(slot.number) == nullptr && slot.moves(shapes_, shaped.outputs)) contexts_.dropGraphs(slot.number);
  contexts_.makingRoom([&] { slot.begin(batch, shapes_, shaped.outputs); });
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

  compute(shaped, slot);
  if (!small) {
    slot.computed.record(computeStream_);
    out.waitFor(slot.computed.get());
  }
  if (shaped.dependent) slot.learnDependentSizes();
  slot.copyOut(out);
  if (slot.timed) slot.clocks().copyOutEnd.record(out);
  slot.done.record(out);
  slot.times().placed = execution::Clock::now();
  // The batch is on its way; what comes now delays nobody.
  if (!shaped.awaitsCapture(slot.number)) return;
  const std::lock_guard lock(capturing_);
  contexts_.capture(shaped, slot.number);
}

void Lane::compute(Contexts::Shaped& shaped, Slot& slot) {
  const auto clock = [&](bool end) {
    if (slot.timed) (end ? slot.clocks().computeEnd : slot.clocks().computeStart).record(computeStream_);
  };
  if (shaped.graph(slot.number) != nullptr) {
    clock(false);
    if (launch(shaped, slot)) return clock(true);
  }
  BoundContext& context = contexts_.bound(shaped, slot);
  const cuda::AccountScope scope(engine_->account());
  clock(false);
  context.enqueue(computeStream_);
  clock(true);
}

// False where the graph did not run.
bool Lane::launch(Contexts::Shaped& shaped, Slot& slot) {
  try {
    shaped.graph(slot.number)->launch(computeStream_);
    tensorrt::trace([&] { return "launched " + shapesText(*engine_, shaped.inputs); });
    return true;
  } catch (const Error& error) {
    engine_->device().throwIfBroken("cuGraphLaunch");
    contexts_.refuse(shaped, error.what());
    return false;
  }
}

void Lane::readShapes(const Batch& batch) {
  shapes_ = batch.shapes;
  if (!options_.merging) return;
  for (Shape& shape : shapes_) shape[0] = execution::paddedRows(batch.rows, options_);
}

std::vector<Completion> Lane::finish(int number, Wait wait) {
  Slot& slot = *slots_[static_cast<std::size_t>(number)];
  const struct Release {
    Slot& slot;
    ~Release() { slot.end(); }
  } release{slot};
  try {
    waitFor(slot, wait);
    slot.times().computed = execution::Clock::now();
    return slot.completions(timingOf(slot));
  } catch (...) {
    settle();
    throw;
  }
}

void Lane::waitFor(const Slot& slot, Wait wait) const {
  engine_->device().throwIfLost();
  if (wait.asking > execution::Clock::duration(0)) {
    if (slot.done.done()) return;
    const TimePoint begun = execution::Clock::now();
    do {
      execution::relax();
      if (slot.done.done()) return;
    } while (execution::Clock::now() - begun < wait.asking);
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
  const std::lock_guard lock(capturing_);
  for (const auto* stream : {&copyInStream_, &computeStream_, &copyOutStream_}) stream->settle();
}

}  // namespace nt::gpu
