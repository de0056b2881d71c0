// readFrames(): the frames of a video, from a pipe to JavaScript.
#include "frames.h"

#include <napi.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "../video/frame_reader.h"
#include "environment.h"
#include "exports.h"

namespace nt::node {
namespace {

using video::FrameReader;

// All that JavaScript has of frames, in the whole process, by their first byte. Leaked on purpose, as all that
// finalizers may touch at exit.
struct FrameMemory {
  struct Piece {
    std::shared_ptr<uint8_t> data;
    std::size_t bytes = 0;
    uint64_t number = 0;
  };
  std::mutex mutex;
  std::map<uintptr_t, Piece> byAddress;
  std::atomic<std::size_t> count{0};
  uint64_t numbers = 0;

  uint64_t add(const std::shared_ptr<uint8_t>& data, std::size_t bytes) {
    const std::lock_guard lock(mutex);
    byAddress[reinterpret_cast<uintptr_t>(data.get())] = {data, bytes, ++numbers};
    count.store(byAddress.size(), std::memory_order_relaxed);
    return numbers;
  }
  // Of whatever number, where that is 0. Another frame may lie where a closed one did.
  void remove(const void* data, uint64_t number = 0) {
    std::shared_ptr<uint8_t> owner;  // goes after the lock
    const std::lock_guard lock(mutex);
    const auto found = byAddress.find(reinterpret_cast<uintptr_t>(data));
    if (found == byAddress.end() || (number != 0 && found->second.number != number)) return;
    owner = std::move(found->second.data);
    byAddress.erase(found);
    count.store(byAddress.size(), std::memory_order_relaxed);
  }
};
FrameMemory& frameMemory() {
  static auto& all = *new FrameMemory;
  return all;
}

void forget(napi_env, void* data, void* hint) {
  const std::unique_ptr<uint64_t> number(static_cast<uint64_t*>(hint));
  frameMemory().remove(data, *number);
}

// What is known of a reader; on JavaScript's thread only.
struct Reading {
  std::shared_ptr<Environment> environment;
  std::shared_ptr<FrameReader> reader;
  int callback = -1;
  bool started = false;
  bool over = false;
  uint64_t dropped = 0;  // of a reader that is gone
  bool awaited = false;  // the process stays alive for what comes next
};

void await(Napi::Env env, Reading& reading) {
  if (!std::exchange(reading.awaited, true)) reading.environment->begin(env);
}

void arrived(Napi::Env env, Reading& reading) {
  if (std::exchange(reading.awaited, false)) reading.environment->end(env);
}

// A copy where the runtime refuses external memory.
napi_value bufferOver(Napi::Env env, const FrameReader::Frame& frame) {
  auto number = std::make_unique<uint64_t>(0);
  napi_value buffer = nullptr;
  if (napi_create_external_arraybuffer(env, frame.data.get(), frame.size, forget, number.get(), &buffer) == napi_ok) {
    *number = frameMemory().add(frame.data, frame.size);
    (void)number.release();
    return buffer;
  }
  return copyOf(env, frame.data.get(), frame.size);
}

void tellFrame(Napi::Env env, Reading& reading, FrameReader::Frame& frame) {
  napi_value buffer = bufferOver(env, frame);
  frame.data.reset();
  const std::chrono::duration<double, std::milli> since = frame.arrived.time_since_epoch();
  reading.environment->callHeld(env, reading.callback,
                                {toJs(env, "frame"), buffer, Napi::BigInt::New(env, frame.pts), toJs(env, frame.number),
                                 toJs(env, since.count())});
}

void tellStream(Napi::Env env, Reading& reading, const video::NutStream& stream) {
  reading.environment->callHeld(env, reading.callback,
                                {toJs(env, "stream"), toJs(env, stream.width), toJs(env, stream.height),
                                 toJs(env, stream.num), toJs(env, stream.den)});
}

void tellEnd(Napi::Env env, Reading& reading, bool whole, const std::exception_ptr& failure) {
  const int callback = reading.callback;
  const auto released =
      std::shared_ptr<void>(nullptr, [&](void*) { reading.environment->release(std::exchange(reading.callback, -1)); });
  napi_value error = failure ? static_cast<napi_value>(toJavaScript(env, failure)) : env.Undefined();
  reading.environment->callHeld(env, callback, {toJs(env, "end"), toJs(env, whole), error});
}

// Calls back on JavaScript's thread, in order.
template <class Tell>
void post(const std::shared_ptr<Reading>& reading, Tell tell) {
  reading->environment->post([reading, tell = std::move(tell)](Napi::Env env) mutable {
    arrived(env, *reading);
    tell(env, *reading);
  });
}

// What is newest when JavaScript's thread comes to it, however long that is busy with something else.
void postNewest(const std::shared_ptr<Reading>& reading) {
  reading->environment->post([reading](Napi::Env env) {
    std::optional<FrameReader::Frame> frame = reading->reader ? reading->reader->takeNewest() : std::nullopt;
    if (!frame) return;
    arrived(env, *reading);
    tellFrame(env, *reading, *frame);
  });
}

void readAll(const std::shared_ptr<Reading>& reading) {
  FrameReader::Listener listener;
  listener.onStream = [&](const video::NutStream& stream) {
    post(reading, [stream](Napi::Env env, Reading& r) { tellStream(env, r, stream); });
  };
  listener.onFrame = [&](FrameReader::Frame frame) {
    post(reading, [frame = std::move(frame)](Napi::Env env, Reading& r) mutable { tellFrame(env, r, frame); });
  };
  listener.onNewest = [&] { postNewest(reading); };
  bool whole = false;
  std::exception_ptr failure;
  try {
    whole = reading->reader->run(listener);
  } catch (...) {
    failure = std::current_exception();
  }
  post(reading, [whole, failure](Napi::Env env, Reading& r) {
    r.over = true;
    if (std::optional<FrameReader::Frame> last = r.reader->takeNewest()) tellFrame(env, r, *last);
    r.dropped = r.reader->dropped();
    r.reader.reset();  // with what the system counts, which is not to wait for a collection
    tellEnd(env, r, whole, failure);
  });
}

// start(): the writer has its end of the pipe, and this process lets go of its own.
void start(const Napi::CallbackInfo& info) {
  const auto reading = keptPointer<Reading>(info);
  if (reading->started || reading->over) return;
  reading->reader->closeWriteEnd();
  reading->environment->background([reading] { readAll(reading); }, [reader = reading->reader] { reader->stop(); });
  reading->started = true;
}

// want(begun?: boolean): somebody waits for the next frame, or the end; `begun`: for the stream, or the end.
void want(const Napi::CallbackInfo& info) {
  const auto reading = keptPointer<Reading>(info);
  if (!reading->started || reading->over) return;
  await(info.Env(), *reading);
  if (!info[0].ToBoolean() && reading->reader->want()) postNewest(reading);
}

// close(): 'end' is told soon, where it was not yet. One that was not started tells nothing.
void close(const Napi::CallbackInfo& info) {
  Reading& reading = kept<Reading>(info);
  if (reading.over) return;
  if (reading.started) {
    await(info.Env(), reading);
    reading.reader->stop();
  } else {
    reading.over = true;
    reading.environment->release(std::exchange(reading.callback, -1));
    reading.reader.reset();
  }
}

std::size_t used(const Napi::CallbackInfo& info) {
  const Reading& reading = kept<Reading>(info);
  return reading.reader ? reading.reader->used() : 0;
}

uint64_t dropped(const Napi::CallbackInfo& info) {
  const Reading& reading = kept<Reading>(info);
  return reading.reader ? reading.reader->dropped() : reading.dropped;
}

// readFrames(most: bytes, newest: boolean, callback): { descriptor, start(), want(), close(), used(), dropped() }. The
// callback gets ('stream', width, height, num, den), ('frame', buffer, pts, number, arrived) and, last,
// ('end', whole, error).
Napi::Value readFrames(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!info[0].IsNumber() || fromJs<double>(info[0], "most") < 0) throwExpected("a number of bytes", "most");
  if (!info[1].IsBoolean()) throwExpected("a boolean", "newest");
  if (!info[2].IsFunction()) throwExpected("a function", "callback");
  const auto whenFull = info[1].ToBoolean() ? FrameReader::WhenFull::drop : FrameReader::WhenFull::wait;
  const auto reading = std::make_shared<Reading>();
  reading->environment = Environment::of(env);
  reading->reader = std::make_shared<FrameReader>(fromJs<std::size_t>(info[0], "most"), whenFull);
  reading->callback = reading->environment->hold(info[2].As<Napi::Object>());
  const Napi::Object object = objectOf(env, Field("descriptor", reading->reader->writeEnd()));
  setFunctions(object, reading,
               {{"start", guarded<start>},
                {"want", guarded<want>},
                {"close", guarded<close>},
                {"used", guarded<used>},
                {"dropped", guarded<dropped>}});
  return object;
}

// frameMemory(most?: bytes): { used, most } of all readers of the process, once `most` is set.
Napi::Value memoryOfAll(const Napi::CallbackInfo& info) {
  video::FrameLimit& limit = video::FrameLimit::ofProcess();
  if (info[0].IsNumber()) limit.setMost(fromJs<std::size_t>(info[0], "most"));
  return objectOf(info.Env(), Field("used", limit.used()), Field("most", limit.most()));
}

// closeFrame(buffer): it is detached, and its memory is used again once no work on it is left.
void closeFrame(const Napi::CallbackInfo& info) {
  if (!info[0].IsArrayBuffer()) throwExpected("an ArrayBuffer", "buffer");
  void* data = nullptr;
  std::size_t bytes = 0;
  const bool there = napi_get_arraybuffer_info(info.Env(), info[0], &data, &bytes) == napi_ok && bytes > 0;
  // what was detached before belongs to another array, and goes with that
  if (there && napi_detach_arraybuffer(info.Env(), info[0]) == napi_ok) frameMemory().remove(data);
}

}  // namespace

std::shared_ptr<void> holdFrame(const void* data) {
  FrameMemory& all = frameMemory();
  if (data == nullptr || all.count.load(std::memory_order_relaxed) == 0) return nullptr;
  const auto address = reinterpret_cast<uintptr_t>(data);
  const std::lock_guard lock(all.mutex);
  auto above = all.byAddress.upper_bound(address);
  if (above == all.byAddress.begin()) return nullptr;
  const auto& [base, piece] = *--above;
  return address < base + piece.bytes ? piece.data : nullptr;
}

void exportFrames(Napi::Object exports) {
  setFunctions(exports, {{"readFrames", guarded<readFrames>},
                         {"frameMemory", guarded<memoryOfAll>},
                         {"closeFrame", guarded<closeFrame>}});
}

}  // namespace nt::node
