#include "rig.h"

namespace rig {

namespace plans {
const char* const identity =
    "name identity\n"
    "input x float32 4 device 0 -1 1\n"
    "output y float32 4 device 0 -1 1\n"
    "op identity y x\n";
const char* const scale =
    "name scale\n"
    "input x float32 -1,3 device 0 -1 1\n"
    "output y float32 -1,3 device 0 -1 1\n"
    "dims 0 x 1,3 4,3 16,3\n"
    "op scale a x scale=2 offset=1\n"
    "op relu y a\n";
const char* const large =
    "name large\n"
    "input x float32 -1,12288 device 0 -1 1\n"
    "output y float32 -1,12288 device 0 -1 1\n"
    "dims 0 x 1,12288 4,12288 8,12288\n"
    "op scale a x scale=2 offset=1\n"
    "op relu y a\n";
const char* const nonzero =
    "name nonzero\n"
    "input x float32 -1 device 0 -1 1\n"
    "output y int64 1,-1 device 0 -1 1\n"
    "dims 0 x 0 8 100000\n"
    "op nonzero y x\n";
const char* const reshape =
    "name reshape\n"
    "input x float32 12 device 0 -1 1\n"
    "input s int64 2 host 0 -1 1\n"
    "output y float32 -1,-1 device 0 -1 1\n"
    "values 0 s 1,1 3,4 12,12\n"
    "op reshape y x,s\n";
const char* const twoOutputs =
    "name two\n"
    "input x float32 -1,3 device 0 -1 1\n"
    "output y float32 -1,3 device 0 -1 1\n"
    "output z float32 -1 device 0 -1 1\n"
    "dims 0 x 1,3 4,3 16,3\n"
    "op scale y x scale=2 offset=0\n"
    "op sum z x axis=1 keep=0\n";
}  // namespace plans

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

const nt::tensorrt::Library& library() { return nt::tensorrt::Library::open(fakes::library()); }

std::shared_ptr<Engine> load(const std::string& lines, int device) {
  const std::string plan = fakes::plan(lines);
  return Engine::load(library(), DeviceContext::get(device), plan.data(), plan.size());
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

Rig::Rig(const std::string& lines, SessionOptions options, int device) : engine(load(lines, device)) {
  start(std::move(options));
}
Rig::Rig(std::shared_ptr<Engine> engine, SessionOptions options) : engine(std::move(engine)) {
  start(std::move(options));
}

void Rig::start(SessionOptions options) {
  session = std::make_unique<Session>(engine, std::move(options), [this](std::vector<Completion> completions) {
    const std::lock_guard lock(mutex_);
    for (Completion& completion : completions) {
      ++completed_;
      test::note(completions_.count(completion.request) == 0, __FILE__, __LINE__, "a request completes once");
      completions_[completion.request] = std::move(completion);
    }
    changed_.notify_all();
  });
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

uint64_t Rig::submit(const std::vector<Input>& inputs, Part part) {
  part.request = next_++;
  const uint64_t request = part.request;
  const std::vector<Given> all = given(inputs, part);
  Scratch scratch;
  session->submit(all, std::move(part), scratch);
  return request;
}

Completion Rig::run(const std::vector<Input>& inputs, Part part) {
  const std::vector<Given> all = given(inputs, part);
  return session->run(all, std::move(part));
}

Completion Rig::take(uint64_t request) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return completions_.count(request) > 0; });
  Completion completion = std::move(completions_[request]);
  completions_.erase(request);
  return completion;
}

std::size_t Rig::completed() {
  const std::lock_guard lock(mutex_);
  return completed_;
}

SessionOptions merging(int64_t maxBatch, std::chrono::microseconds delay) {
  SessionOptions options;
  options.batching.maxBatch = maxBatch;
  options.batching.maxDelay = delay;
  return options;
}

void checkNothingLive(const char* file, int line) {
  const auto none = [&](const std::string& what, long long count) {
    test::note(count == 0, file, line, "no " + what + " is left, but " + std::to_string(count));
  };
  const fakes::Counts driver = fakes::driverCounts();
  for (const char* what : {"deviceAllocations", "streams", "events", "graphs", "graphExecs"})
    none(what, driver.at(what));
  for (const auto& [what, count] : fakes::liveObjects()) none(what, count);
  for (const auto& [what, count] : fakes::misuse()) none("misuse " + what, count);
  none("pinned memory in use", static_cast<long long>(nt::cuda::pinnedPool(DeviceContext::get(0)).used()));
}

}  // namespace rig
