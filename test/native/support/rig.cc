#include "rig.h"

#include "../../../native/base/error.h"

namespace rig {

std::string codeOf(const std::exception_ptr& failure) {
  return codeOf([&] {
    if (failure) std::rethrow_exception(failure);
  });
}

std::string codeOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const nt::Error& error) {
    return error.code();
  } catch (...) {
    return "?";
  }
  return "";
}

Landing::Landing(nt::HostPool& pool, std::size_t bytes) : block(pool.acquire(bytes)) {
  std::memset(block->data(), 0xEE, bytes);
  target = {block, block->data(), bytes};
}

Part aim(std::vector<Target> targets) {
  Part part;
  part.targets = std::move(targets);
  return part;
}

Part want(uint64_t outputs) {
  Part part;
  part.outputs = outputs;
  return part;
}

std::vector<float> numbers(int64_t rows, int64_t columns, int seed) {
  std::vector<float> values;
  for (int64_t i = 0; i < rows * columns; ++i)
    values.push_back(static_cast<float>((i * 7 + seed * 13) % 1000) / 8 - 40);
  return values;
}

std::vector<float> scaled(std::vector<float> values) {
  for (float& value : values) value = std::max(0.0F, value * 2 + 1);
  return values;
}

bool scaledRight(const Completion& done, const std::vector<float>& x) {
  return !done.failure && values<float>(done.outputs[0]) == scaled(x);
}

void SessionRig::start(std::shared_ptr<nt::execution::Engine> engine, SessionOptions options) {
  const auto sink = [this](std::vector<Completion> completions) {
    const std::lock_guard lock(mutex_);
    for (Completion& completion : completions) {
      ++completed_;
      test::note(completions_.count(completion.request) == 0, __FILE__, __LINE__, "a request completes once");
      completions_[completion.request] = std::move(completion);
    }
    changed_.notify_all();
    return false;
  };
  session = std::make_unique<Session>(std::move(engine), std::move(options), sink);
}

static std::vector<Given> given(const std::vector<Input>& inputs, Part& part) {
  std::vector<Given> given;
  for (const Input& input : inputs) {
    given.push_back({input.shape, {input.bytes.data(), input.bytes.size()}, static_cast<bool>(input.lease)});
    if (!input.lease) continue;
    part.leases.resize(inputs.size());
    part.leases[given.size() - 1] = input.lease;
  }
  return given;
}

uint64_t SessionRig::submit(const std::vector<Input>& inputs, Part part) {
  part.request = next_++;
  const uint64_t request = part.request;
  const std::vector<Given> all = given(inputs, part);
  Scratch scratch;
  session->submit(all, std::move(part), scratch);
  return request;
}

Completion SessionRig::run(const std::vector<Input>& inputs, Part part) {
  const std::vector<Given> all = given(inputs, part);
  Scratch scratch;
  return session->run(all, std::move(part), scratch);
}

Completion SessionRig::take(uint64_t request) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return completions_.count(request) > 0; });
  Completion completion = std::move(completions_[request]);
  completions_.erase(request);
  return completion;
}

std::size_t SessionRig::completed() {
  const std::lock_guard lock(mutex_);
  return completed_;
}

nt::HostPool& SessionRig::pool() const {
  session->engine().enter();
  return session->engine().pool();
}

SessionOptions merging(int64_t maxBatch, std::chrono::microseconds delay) {
  SessionOptions options;
  options.batching.maxBatch = maxBatch;
  options.batching.maxDelay = delay;
  return options;
}

}  // namespace rig
