// An engine of the fakes with a session, and what came out of it.
#pragma once

#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "../../../native/execution/session.h"
#include "../../../native/gpu/engine.h"
#include "fakes.h"
#include "test.h"

namespace rig {

using namespace nt::execution;
using nt::cuda::DeviceContext;
using nt::gpu::Engine;  // and not the runtime-independent one

// Plans that several files use: x → y.
namespace plans {
extern const char* const identity;    // [4] float32
extern const char* const scale;       // [-1, 3] float32, y = relu(2 x + 1), 1 to 16 rows
extern const char* const large;       // [-1, 12288] float32, the same: copies have streams of their own
extern const char* const nonzero;     // [-1] float32 → int64, as many as there are values other than zero
extern const char* const reshape;     // x [12] and a host tensor s of two int64 → y of the shape s
extern const char* const twoOutputs;  // [-1, 3] → y = 2 x, z = sums [-1]
}  // namespace plans

// The code of what `body` throws; "" when it throws nothing, "?" for something that is no nt::Error.
std::string codeOf(const std::function<void()>& body);
std::string codeOf(const std::exception_ptr& failure);

const nt::tensorrt::Library& library();
std::shared_ptr<Engine> load(const std::string& lines, int device = 0);

// One input with its data.
struct Input {
  Shape shape;
  std::vector<uint8_t> bytes;
  Lease lease;  // where it is set, `bytes` are only as long as the data is
};
template <class T>
Input input(Shape shape, const std::vector<T>& values) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
  return {std::move(shape), {bytes, bytes + values.size() * sizeof(T)}, {}};
}
// The same in pinned memory.
template <class T>
Input leased(const DeviceContext& device, Shape shape, const std::vector<T>& values) {
  device.makeCurrent();
  auto block = nt::cuda::pinnedPool(device).acquire(values.size() * sizeof(T));
  std::memcpy(block->data(), values.data(), values.size() * sizeof(T));
  return {std::move(shape), std::vector<uint8_t>(values.size() * sizeof(T)), {block, block->data()}};
}
// rows · columns values that differ from row to row and from `seed` to `seed`
std::vector<float> numbers(int64_t rows, int64_t columns, int seed);
// what plans::scale and plans::large make of them
std::vector<float> scaled(std::vector<float> values);

template <class T>
std::vector<T> values(const Output& output) {
  std::vector<T> values(output.size / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), output.data(), output.size);
  return values;
}

class Rig {
 public:
  explicit Rig(const std::string& lines, SessionOptions options = {}, int device = 0);
  Rig(std::shared_ptr<Engine> engine, SessionOptions options);
  ~Rig() { session.reset(); }

  uint64_t submit(const std::vector<Input>& inputs, Part part = {});
  Completion run(const std::vector<Input>& inputs, Part part = {});
  // The completion of a request, waited for.
  Completion take(uint64_t request);
  Completion infer(const std::vector<Input>& inputs, Part part = {}) { return take(submit(inputs, std::move(part))); }
  std::size_t completed();

  std::shared_ptr<Engine> engine;
  std::unique_ptr<Session> session;

 private:
  void start(SessionOptions options);
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<uint64_t, Completion> completions_;
  std::size_t completed_ = 0;
  std::atomic<uint64_t> next_{1};
};

SessionOptions merging(int64_t maxBatch, std::chrono::microseconds delay = std::chrono::microseconds(0));

// Nothing is alive in the fakes but pinned memory in the pool, and nothing was misused.
void checkNothingLive(const char* file, int line);
#define CHECK_NOTHING_LIVE() rig::checkNothingLive(__FILE__, __LINE__)

}  // namespace rig
