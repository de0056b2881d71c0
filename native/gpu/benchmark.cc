// An engine measured as trtexec measures it: execution contexts with streams, memory and events of their own, beside
// the lanes, whose state it leaves alone.
#include "../execution/benchmark.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "io_memory.h"

namespace nt::gpu {
namespace {

using execution::BenchmarkOptions;
using execution::BenchmarkResult;
using execution::BenchmarkWatch;
using execution::Clock;
using execution::QueryStream;
using execution::QueryTimes;
using execution::TimePoint;
using Use = cuda::OwnedEvent::Use;

// When time begins, by both clocks.
class Start {
 public:
  Start(const cuda::DeviceContext& device, const BenchmarkWatch& watch)
      : gpu(device, Use::timing), device_(device), watch_(watch), stream_(device) {}
  ~Start() { stream_.settle(); }
  Start(const Start&) = delete;
  Start& operator=(const Start&) = delete;

  // Once all is prepared; `sleep`: milliseconds.
  void now(double sleep) {
    sleep_ = sleep;
    if (sleep > 0) device_.check(device_.driver().launchHostFunc(stream_.get(), wait, this), "cuLaunchHostFunc");
    host = Clock::now();
    gpu.record(stream_);
  }
  // Nobody wants to sleep any more.
  void wake() noexcept { awake_.store(true, std::memory_order_relaxed); }

  cuda::OwnedEvent gpu;
  TimePoint host;

 private:
  // trtexec's --sleepTime: the GPU waits for the host, which enqueues meanwhile. On a thread of the driver's; in steps,
  // since whoever cancels, or closes, waits until the device is done.
  static void wait(void* self) {
    constexpr std::chrono::milliseconds kStep{20};
    const Start& start = *static_cast<const Start*>(self);
    const TimePoint end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                             std::chrono::duration<double, std::milli>(start.sleep_));
    for (TimePoint now = Clock::now(); now < end && !start.over(); now = Clock::now())
      std::this_thread::sleep_until(std::min(end, now + kStep));
  }
  bool over() const noexcept { return awake_.load(std::memory_order_relaxed) || watch_.over(); }

  const cuda::DeviceContext& device_;
  const BenchmarkWatch& watch_;
  cuda::OwnedStream stream_;
  double sleep_ = 0;
  std::atomic<bool> awake_{false};
};

// The six events of a query.
struct Events {
  Events(const cuda::DeviceContext& device, Use use)
      : inStart(device, use),
        inEnd(device, use),
        computeStart(device, use),
        computeEnd(device, use),
        outStart(device, use),
        outEnd(device, use) {}
  cuda::OwnedEvent inStart, inEnd, computeStart, computeEnd, outStart, outEnd;
};

struct QuerySlot;

struct Context {
  BoundContext bound;
  const QuerySlot* slot = nullptr;  // whose memory it has
};

// One query under way: memory of its own, so that the next one's inputs are copied in meanwhile.
struct QuerySlot {
  QuerySlot(const Engine& engine, Use use) : io(engine), events(engine.device(), use) {}
  IoMemory io;
  Events events;
  bool active = false;
  TimePoint enqueueStart, enqueueEnd;
  Context* context = nullptr;
  std::unique_ptr<cuda::OwnedGraph> graph;
};

// What trtexec has for each of its streams: an execution context and three CUDA streams. With CUDA graphs a context for
// each slot, since a graph is stale once the addresses in its context change.
class Stream final : public QueryStream {
 public:
  Stream(const Engine& engine, const BenchmarkOptions& options, const Start& start)
      : engine_(engine),
        options_(options),
        start_(start),
        in_(engine.device()),
        compute_(engine.device()),
        out_(engine.device()),
        scratch_(engine.device(), engine.account()),
        log_(options) {}
  // nothing of it is under way any more when its memory goes
  ~Stream() override {
    for (const auto* stream : {&in_, &compute_, &out_}) stream->settle();
    for (const auto& slot : slots_) slot->graph.reset();  // before the context that it was captured from
  }

  // Everything that costs once: contexts, memory, a query in each slot, and its capture. Why there are no graphs.
  std::string prepare();
  // What is put on its streams waits until time begins.
  void awaitStart() const;

  void query() override;
  double sync() override;
  void drain() override;
  void queryAlone() override { queryAlone(*slots_.front()); }
  const execution::QueryLog& log() const noexcept override { return log_; }
  std::vector<execution::BenchmarkTensor> outputs() const override { return slots_.front()->io.outputs(); }

 private:
  bool captures() const noexcept { return options_.cudaGraph && engine_.library().kind() != tensorrt::Kind::rtx; }
  void makeContext();
  void makeSlot();
  std::string capture();
  void capture(QuerySlot& slot);
  static void bind(QuerySlot& slot);
  void launch(QuerySlot& slot);
  void queryAlone(QuerySlot& slot);
  void note(const QuerySlot& slot);

  const Engine& engine_;
  const BenchmarkOptions& options_;
  const Start& start_;
  cuda::OwnedStream in_, compute_, out_;
  cuda::DeviceBuffer scratch_;  // of all contexts: they compute one after the other
  std::vector<std::unique_ptr<QuerySlot>> slots_;
  std::vector<std::unique_ptr<Context>> contexts_;  // go before the slots, whose allocators they may call
  std::size_t next_ = 0;
  execution::QueryLog log_;
};

std::string Stream::prepare() {
  scratch_.reserve(engine_.scratchBytes(options_.profile), cuda::DeviceBuffer::Growth::exact);
  for (int i = 0; i < options_.depth; ++i) makeSlot();
  for (const auto& slot : slots_) queryAlone(*slot);
  return captures() ? capture() : std::string();
}

void Stream::makeContext() {
  // TensorRT-RTX captures graphs itself
  contexts_.push_back(std::make_unique<Context>(BoundContext(engine_, options_.cudaGraph)));
  BoundContext& context = contexts_.back()->bound;
  if (options_.profile > 0) context.setProfile(options_.profile, compute_);
  context.setScratch(scratch_);
}

void Stream::makeSlot() {
  slots_.push_back(std::make_unique<QuerySlot>(engine_, options_.spinWait ? Use::spinning : Use::timing));
  QuerySlot& slot = *slots_.back();
  const bool fresh = contexts_.empty() || captures();
  if (fresh) makeContext();
  slot.context = contexts_.back().get();
  Shapes shapes;
  for (const execution::BenchmarkTensor& input : options_.inputs) {
    shapes.push_back(input.shape);
    slot.io.addInput(input.shape, input.bytes);
  }
  BoundContext& context = slot.context->bound;
  if (fresh) context.setShapes(shapes, [&slot](std::size_t input) { return slot.io.hostInput(input); });
  slot.io.addOutputs(context.outputShapes());
}

std::string Stream::capture() {
  if (engine_.hasHostTensors()) return "the CPU reads or writes some of the tensors whenever it is enqueued";
  if (slots_.front()->io.dependent()) return "the size of an output depends on the data";
  try {
    for (const auto& slot : slots_) capture(*slot);
    return {};
  } catch (const Error& error) {
    engine_.device().throwIfBroken("cuGraphLaunch");
    for (const auto& slot : slots_) slot->graph.reset();
    return error.what();
  }
}

// After a plain enqueue, as TensorRT wants it, and once launched: what cannot be is known before anything is timed.
void Stream::capture(QuerySlot& slot) {
  const tensorrt::LogCapture log(engine_.library().log());
  slot.graph =
      cuda::OwnedGraph::capture(engine_.device(), compute_, [&] { return slot.context->bound.tryEnqueue(compute_); });
  if (!slot.graph) {
    const std::string why = log.lastError();
    throw Error("ERR_TRT_EXECUTION", why.empty() ? "enqueueV3 failed" : why);
  }
  slot.graph->launch(compute_);
  compute_.synchronize();
}

void Stream::awaitStart() const {
  in_.waitFor(start_.gpu.get());
  compute_.waitFor(start_.gpu.get());
}

void Stream::bind(QuerySlot& slot) {
  if (slot.context->slot == &slot) return;
  slot.io.bind(slot.context->bound);
  slot.context->slot = &slot;
}

void Stream::launch(QuerySlot& slot) {
  if (slot.graph) {
    slot.graph->launch(compute_);
  } else {
    slot.context->bound.enqueue(compute_);
  }
}

void Stream::query() {
  QuerySlot& slot = *slots_[next_];
  if (slot.active) return;
  const Events& events = slot.events;
  if (options_.transfers) {
    events.inStart.record(in_);
    slot.io.copyIn(in_);
    events.inEnd.record(in_);
    compute_.waitFor(events.inEnd.get());
  }
  bind(slot);
  events.computeStart.record(compute_);
  slot.enqueueStart = Clock::now();
  launch(slot);
  slot.enqueueEnd = Clock::now();
  events.computeEnd.record(compute_);
  if (options_.transfers) {
    out_.waitFor(events.computeEnd.get());
    events.outStart.record(out_);
    slot.io.copyOut(out_);
    events.outEnd.record(out_);
  }
  slot.active = true;
  next_ = (next_ + 1) % slots_.size();
}

double Stream::sync() {
  QuerySlot& slot = *slots_[next_];
  if (!slot.active) return 0;
  slot.active = false;
  (options_.transfers ? slot.events.outEnd : slot.events.computeEnd).synchronize();
  note(slot);
  return log_.lastComputeStart();
}

void Stream::drain() {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    sync();
    next_ = (next_ + 1) % slots_.size();
  }
}

// What a stage took is the time between its own events: of two floats since the start, which may be long ago, the
// difference would be coarse.
void Stream::note(const QuerySlot& slot) {
  const Events& events = slot.events;
  const auto since = [this](const cuda::OwnedEvent& event) {
    return static_cast<double>(start_.gpu.millisecondsTo(event));
  };
  QueryTimes times;
  times.enqueueStart = execution::millisecondsBetween(start_.host, slot.enqueueStart);
  times.enqueueEnd = execution::millisecondsBetween(start_.host, slot.enqueueEnd);
  times.computeStart = since(events.computeStart);
  times.compute = events.computeStart.millisecondsTo(events.computeEnd);
  if (options_.transfers) {
    times.copyInStart = since(events.inStart);
    times.copyIn = events.inStart.millisecondsTo(events.inEnd);
    times.copyOutStart = since(events.outStart);
    times.copyOut = events.outStart.millisecondsTo(events.outEnd);
  } else {
    times.copyInStart = times.computeStart;
    times.copyOutStart = times.computeStart + times.compute;
  }
  log_.add(times);
}

// On one stream, which is the shortest way.
void Stream::queryAlone(QuerySlot& slot) {
  bind(slot);
  slot.io.copyIn(compute_);
  launch(slot);
  slot.io.copyOut(compute_);
  slot.events.computeEnd.record(compute_);
  slot.events.computeEnd.synchronize();
}

void run(const Engine& engine, const BenchmarkOptions& options, BenchmarkWatch& watch, BenchmarkResult& result) {
  const cuda::DeviceContext& device = engine.device();
  Start start(device, watch);
  std::vector<std::unique_ptr<QueryStream>> streams;
  // before the streams go, which wait for what is on them
  const struct Wake {
    Start& start;
    ~Wake() { start.wake(); }
  } wake{start};
  std::vector<const Stream*> prepared;
  for (int i = 0; i < options.streams; ++i) {
    watch.throwIfOver();
    auto stream = std::make_unique<Stream>(engine, options, start);
    if (std::string refused = stream->prepare(); !refused.empty()) result.graphRefused = std::move(refused);
    prepared.push_back(stream.get());
    streams.push_back(std::move(stream));
  }
  start.now(options.sleep);
  for (const Stream* stream : prepared) stream->awaitStart();
  const auto around = [&](const std::function<void()>& body) {
    const cuda::DeviceScope scope(device);
    tensorrt::withLog(engine.library().log(), body);
  };
  execution::measure(options, streams, watch, around, result);
}

}  // namespace

BenchmarkResult Engine::benchmark(const BenchmarkOptions& options, BenchmarkWatch& watch) const {
  checkProfileNumber(options.profile);
  const cuda::DeviceScope scope(device_);
  return tensorrt::withLog(library().log(), [&] {
    BenchmarkResult result;
    result.device = cuda::listDevices(device_.driver()).at(static_cast<std::size_t>(device_.index())).name;
    run(*this, options, watch, result);
    return result;
  });
}

}  // namespace nt::gpu
