// A session with whatever runs it, and what came out of it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "../../../native/execution/client.h"
#include "../../../native/execution/queue.h"
#include "test.h"

namespace rig {

// all but its Engine, of which each runtime has its own
using nt::Resident;
using nt::execution::Batch;
using nt::execution::BatchingOptions;
using nt::execution::Client;
using nt::execution::Clock;
using nt::execution::Completion;
using nt::execution::InputView;
using nt::execution::layOut;
using nt::execution::Lease;
using nt::execution::Output;
using nt::execution::Part;
using nt::execution::Permit;
using nt::execution::Queue;
using nt::execution::Scratch;
using nt::execution::Session;
using nt::execution::SessionOptions;
using nt::execution::Shape;
using nt::execution::Target;
using nt::execution::TimePoint;

// The code of what `body` throws; "" when it throws nothing, "?" for something that is no nt::Error.
std::string codeOf(const std::function<void()>& body);
std::string codeOf(const std::exception_ptr& failure);
// The message of an nt::Error, else "".
std::string messageOf(const std::exception_ptr& failure);

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
// The same in memory of the engine's pool.
template <class T>
Input leased(nt::HostPool& pool, Shape shape, const std::vector<T>& values) {
  auto block = pool.acquire(values.size() * sizeof(T));
  std::copy_n(reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T), block->data());
  return {std::move(shape), std::vector<uint8_t>(values.size() * sizeof(T)), {block, block->data()}};
}

// Memory for an output, filled with 0xEE.
struct Landing {
  std::shared_ptr<nt::HostBlock> block;
  Target target;
  Landing(nt::HostPool& pool, std::size_t bytes);
};
// A request whose outputs go there, and one that wants some outputs only.
Part aim(std::vector<Target> targets);
Part want(uint64_t outputs);

// A request whose outputs stay on the device; one that stayed; an input that is such a tensor; its bytes.
Part keeping(std::size_t outputs = 1);
std::shared_ptr<Resident> residentOf(const Output& output);
Input stayed(Shape shape, const std::shared_ptr<Resident>& resident);
std::vector<float> read(Resident& resident);

// rows · columns values that differ from row to row and from `seed` to `seed`
std::vector<float> numbers(int64_t rows, int64_t columns, int seed);
// relu(2 x + 1)
std::vector<float> scaled(std::vector<float> values);

template <class T>
std::vector<T> values(const Output& output) {
  std::vector<T> values(output.size / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), output.data(), output.size);
  return values;
}
// Whether a request came to its end with relu(2 x + 1) as its first output.
bool scaledRight(const Completion& done, const std::vector<float>& x);

class SessionRig {
 public:
  // On the same queue and lanes as another one.
  explicit SessionRig(std::shared_ptr<Session> joined) { join(std::move(joined)); }
  ~SessionRig() { client.reset(); }

  uint64_t submit(const std::vector<Input>& inputs, Part part = {});
  Completion run(const std::vector<Input>& inputs, Part part = {});
  // The completion of a request, waited for.
  Completion take(uint64_t request);
  bool cancel(uint64_t request);
  Completion infer(const std::vector<Input>& inputs, Part part = {}) { return take(submit(inputs, std::move(part))); }
  std::size_t completed();
  // The engine's, for this thread.
  nt::HostPool& pool() const;

  std::shared_ptr<Session> session;
  std::unique_ptr<Client> client;

 protected:
  SessionRig() = default;
  void start(std::shared_ptr<nt::execution::Engine> engine, SessionOptions options);
  void join(std::shared_ptr<Session> joined);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<uint64_t, Completion> completions_;
  std::map<uint64_t, nt::execution::Ticket> tickets_;
  std::size_t completed_ = 0;
  std::atomic<uint64_t> next_{1};
};

SessionOptions merging(int64_t maxBatch, std::chrono::microseconds delay = std::chrono::microseconds(0));

}  // namespace rig
