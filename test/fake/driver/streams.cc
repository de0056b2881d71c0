// Streams: a queue and a thread each. Device time is milliseconds on one of three clocks:
// real (delays are slept), virtual (delays only add up), manual (delays end when a test advances the clock).
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "driver.h"

namespace fake {

using SteadyClock = std::chrono::steady_clock;

static double realNow() {
  static const auto start = SteadyClock::now();
  return std::chrono::duration<double, std::milli>(SteadyClock::now() - start).count();
}

double deviceNow() {
  const State& s = state();
  return s.settings.clock == Clock::kReal ? realNow() : s.settings.clock == Clock::kManual ? s.manualNow : 0;
}

void finish(Mark& mark, double time) {
  mark.done = true;
  mark.time = time;
  mark.cv.notify_all();
}

std::shared_ptr<Stream> findStream(Handle handle) {
  if (handle <= 2) return current() ? current()->defaultStream : nullptr;  // 0, legacy, per-thread
  const auto found = state().streams.find(handle);
  return found == state().streams.end() ? nullptr : found->second;
}

static thread_local Device* runningDevice = nullptr;
Device* running() { return runningDevice; }

// What an operation does, unless it is the one that fails or the device is broken; the lock is released meanwhile.
static void work(Lock& lock, Stream& stream, Operation& operation) {
  State& s = state();
  if (!operation.run) return;
  ++s.counters.operations;
  if (s.failOperation > 0 && !--s.failOperation) stream.device->error = s.failOperationCode;
  if (stream.device->error) return;
  Device* const before = std::exchange(runningDevice, stream.device);
  lock.unlock();
  operation.run();
  operation.run = nullptr;
  lock.lock();
  runningDevice = before;
}

// Runs one operation whose turn has come; the lock is released meanwhile.
static void perform(Lock& lock, Stream& stream, Operation& operation) {
  State& s = state();
  double start = std::max(stream.availableAt, operation.submitted);
  if (operation.wait) {
    operation.wait->cv.wait(lock, [&] { return operation.wait->done || stream.device->error; });
    start = std::max(start, operation.wait->time);
  }
  // what a manual clock said is no time of the real one
  if (s.settings.clock == Clock::kReal) start = std::min(start, realNow());
  double end = start + operation.milliseconds;
  s.counters.peakConcurrent = std::max(s.counters.peakConcurrent, ++s.counters.concurrent);
  if (operation.milliseconds > 0 && s.settings.clock == Clock::kReal) {
    const auto until = SteadyClock::now() + std::chrono::duration<double, std::milli>(end - realNow());
    lock.unlock();
    std::this_thread::sleep_until(until);
    lock.lock();
  } else if (s.settings.clock == Clock::kManual && operation.milliseconds > 0) {
    s.manual.wait(lock, [&] { return s.manualNow >= end || s.settings.clock != Clock::kManual; });
  }
  work(lock, stream, operation);
  if (s.settings.clock == Clock::kReal && operation.milliseconds <= 0) end = std::max(start, realNow());
  --s.counters.concurrent;
  stream.availableAt = end;
  if (operation.record) finish(*operation.record, end);
  ++stream.completed;
  stream.idle.notify_all();  // who waits for what there was waits for no more
}

static void serve(std::shared_ptr<Stream> stream) {
  prctl(PR_SET_TIMERSLACK, 1000UL);  // nanoseconds: a device ends when it says
  Lock lock(state().mutex);
  for (;;) {
    stream->work.wait(lock, [&] { return !stream->busy && (!stream->queue.empty() || stream->stopping); });
    if (stream->queue.empty()) return;
    Operation operation = std::move(stream->queue.front());
    stream->queue.pop_front();
    stream->busy = true;
    perform(lock, *stream, operation);
    stream->busy = false;
    // What the operation holds may have destructors that call in here.
    lock.unlock();
    operation = {};
    lock.lock();
  }
}

// The same for a device that takes no time, in no time: what is measured is to be the caller, so not even a clock is
// read.
static void performInline(Lock& lock, Stream& stream, Operation& operation) {
  stream.busy = true;
  work(lock, stream, operation);
  stream.busy = false;
  if (operation.record) finish(*operation.record, stream.availableAt);
  ++stream.completed;
  stream.idle.notify_all();  // who waits for what there was waits for no more
  if (!stream.queue.empty()) stream.work.notify_one();
}

void submit(Lock& lock, const std::shared_ptr<Stream>& stream, Operation operation) {
  State& s = state();
  if (stream->capture) {
    stream->capture->operations.push_back(std::move(operation));
    return;
  }
  ++stream->submitted;
  const bool ready = stream->submitted == stream->completed + 1 && !stream->busy && operation.milliseconds <= 0 &&
                     (!operation.wait || operation.wait->done);
  if (ready && s.settings.inlineWhenIdle && s.settings.clock == Clock::kReal) {
    performInline(lock, *stream, operation);
    return;
  }
  operation.submitted = deviceNow();
  stream->queue.push_back(std::move(operation));
  if (!stream->threaded) {
    stream->threaded = true;
    std::thread(serve, stream).detach();
  }
  stream->work.notify_one();
}

void waitIdle(Lock& lock, Stream& stream) {
  const auto upTo = stream.submitted;
  stream.idle.wait(lock, [&] { return stream.completed >= upTo || stream.completed == stream.submitted; });
}

// Address of a thread's own variable: who began a capture.
// Not an address: the next thread may get that of one that has ended.
static unsigned long long thisThread() {
  static std::atomic<unsigned long long> threads{0};
  static thread_local const unsigned long long mine = ++threads;
  return mine;
}

bool captureForbids(Lock&) {
  bool forbidden = false;
  for (const auto& [handle, stream] : state().streams) {
    if (!stream->capture || stream->capture->origin != handle) continue;
    if (stream->device->error) continue;  // nobody can end that one
    // Global mode (0) forbids every thread, thread-local mode (1) its own, relaxed mode (2) none.
    if (stream->captureMode == 0 || (stream->captureMode == 1 && stream->captureThread == thisThread()))
      stream->capture->invalid = forbidden = true;
  }
  return forbidden;
}

}  // namespace fake

using namespace fake;

static CUresult create(Handle* out, unsigned flags, int priority) {
  NEED_CONTEXT();
  if (!out || flags > 1) return kInvalidValue;
  State& s = state();
  Lock lock(s.mutex);
  auto stream = std::make_shared<Stream>();
  stream->device = current();
  stream->priority = priority;
  stream->handle = newHandle();
  s.streams[stream->handle] = stream;
  *out = stream->handle;
  return kOk;
}

FAKE_API CUresult cuStreamCreate(Handle* out, unsigned flags) {
  ENTER(cuStreamCreate);
  return create(out, flags, 0);
}

FAKE_API CUresult cuStreamCreateWithPriority(Handle* out, unsigned flags, int priority) {
  ENTER(cuStreamCreateWithPriority);
  return create(out, flags, priority);
}

#define NEED_STREAM(handle)               \
  NEED_CONTEXT();                         \
  Lock lock(state().mutex);               \
  const auto stream = findStream(handle); \
  if (!stream) return kInvalidHandle

FAKE_API CUresult cuStreamDestroy_v2(Handle handle) {
  ENTER(cuStreamDestroy_v2);
  // A lost device's streams may still be destroyed, and say what the device says.
  if (!current()) return kInvalidContext;
  Lock lock(state().mutex);
  const auto stream = handle > 2 ? findStream(handle) : nullptr;
  if (!stream) return kInvalidHandle;
  stream->stopping = true;  // what is queued still runs
  stream->work.notify_all();
  state().streams.erase(handle);
  return stream->device->error;
}

FAKE_API CUresult cuStreamSynchronize(Handle handle) {
  ENTER(cuStreamSynchronize);
  const Inside inside;
  NEED_STREAM(handle);
  if (stream->capture) return stream->capture->invalid = true, kCaptureUnsupported;
  waitIdle(lock, *stream);
  return stream->device->error;
}

FAKE_API CUresult cuStreamQuery(Handle handle) {
  ENTER(cuStreamQuery);
  NEED_STREAM(handle);
  if (stream->capture) return stream->capture->invalid = true, kCaptureUnsupported;
  return stream->completed == stream->submitted ? kOk : kNotReady;
}

FAKE_API CUresult cuStreamWaitEvent(Handle handle, Handle eventHandle, unsigned) {
  ENTER(cuStreamWaitEvent);
  NEED_STREAM(handle);
  const auto event = state().events.find(eventHandle);
  if (event == state().events.end()) return kInvalidHandle;
  const auto mark = event->second->mark;
  if (!mark) return kOk;  // never recorded
  if (mark->captured) {
    if (stream->capture && stream->capture.get() != mark->captured) return kCaptureMerge;
    if (!stream->capture) {  // the stream joins the capture
      for (const auto& [other, each] : state().streams)
        if (each->capture && each->capture.get() == mark->captured) {
          stream->capture = each->capture;
          stream->captureMode = each->captureMode;
          stream->captureThread = each->captureThread;
          stream->capture->joined.push_back(stream.get());
          break;
        }
      return stream->capture ? kOk : kCapturedEvent;
    }
    // Waited for by a stream of the same capture: the recording stream's work is joined.
    auto& joined = stream->capture->joined;
    if (stream->capture->origin == handle) joined.clear();
    return kOk;
  }
  if (stream->capture) return stream->capture->invalid = true, kCaptureIsolation;
  Operation operation;
  operation.wait = mark;
  submit(lock, stream, std::move(operation));
  return kOk;
}

FAKE_API CUresult cuLaunchHostFunc(Handle handle, void (*callback)(void*), void* data) {
  ENTER(cuLaunchHostFunc);
  NEED_STREAM(handle);
  if (!callback) return kInvalidValue;
  Operation operation;
  operation.run = [callback, data] {
    setInHostFunction(true);  // a host function that calls CUDA gets an error, as it may not
    callback(data);
    setInHostFunction(false);
  };
  submit(lock, stream, std::move(operation));
  return kOk;
}

FAKE_API CUresult cuStreamBeginCapture_v2(Handle handle, int mode) {
  ENTER(cuStreamBeginCapture_v2);
  NEED_STREAM(handle);
  if (handle <= 2) return kCaptureUnsupported;
  if (mode < 0 || mode > 2) return kInvalidValue;
  if (stream->capture) return kInvalidValue;
  stream->capture = std::make_shared<Graph>();
  stream->capture->origin = handle;
  stream->captureMode = mode;
  stream->captureThread = thisThread();
  return kOk;
}

FAKE_API CUresult cuStreamEndCapture(Handle handle, Handle* out) {
  ENTER(cuStreamEndCapture);
  NEED_STREAM(handle);
  *out = 0;
  if (!stream->capture) return kInvalidValue;
  if (stream->capture->origin != handle) return kCaptureUnmatched;
  if (stream->captureMode == 1 && stream->captureThread != thisThread()) return kCaptureWrongThread;
  const auto graph = stream->capture;
  const CUresult result = graph->invalid ? kCaptureInvalidated : graph->joined.empty() ? kOk : kCaptureUnjoined;
  for (const auto& [other, each] : state().streams)
    if (each->capture == graph) each->capture = nullptr;
  if (result) return result;
  *out = newHandle();
  state().graphs[*out] = graph;
  return kOk;
}

FAKE_API CUresult cuStreamIsCapturing(Handle handle, int* status) {
  ENTER(cuStreamIsCapturing);
  NEED_STREAM(handle);
  *status = !stream->capture ? 0 : stream->capture->invalid ? 2 : 1;
  return kOk;
}

static CUresult enqueue(Handle handle, void (*run)(void*), void (*launched)(void*), const std::shared_ptr<void>& holder,
                        double milliseconds) {
  NEED_STREAM(handle);
  useDevice(stream->device->index);
  if (stream->capture && stream->capture->invalid) return kCaptureInvalidated;
  const bool counted = milliseconds > -2;
  if (counted) ++state().counters.enqueues;
  Operation operation;
  operation.milliseconds = !counted ? 0 : milliseconds < 0 ? state().settings.computeMs : milliseconds;
  operation.run = [run, holder, counted] {
    if (counted) {
      Lock inner(state().mutex);
      ++state().counters.executions;  // a replayed graph's count too
    }
    run(holder.get());
  };
  if (launched && stream->capture) operation.launched = [launched, data = holder.get()] { launched(data); };
  submit(lock, stream, std::move(operation));
  return kOk;
}

// What the fake TensorRT runs on a stream: one operation. -1 milliseconds: the compute delay; -2: a part of
// an execution, not counted and without delay.
FAKE_API CUresult fakeEnqueue(Handle handle, void (*run)(void*), void* data, void (*release)(void*),
                              double milliseconds) {
  return enqueue(handle, run, nullptr, {data, release}, milliseconds);
}
FAKE_API CUresult fakeEnqueueCaptured(Handle handle, void (*run)(void*), void (*launched)(void*), void* data,
                                      void (*release)(void*), double milliseconds) {
  return enqueue(handle, run, launched, {data, release}, milliseconds);
}

// How long an enqueue shall hold up its caller.
FAKE_API double fakeBlockMilliseconds() {
  Lock lock(state().mutex);
  return state().settings.blockMs;
}

FAKE_API CUresult fakeDeviceError() { return contextError(); }
