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

std::string messageOf(const std::exception_ptr& failure) {
  try {
    if (failure) std::rethrow_exception(failure);
  } catch (const nt::Error& error) {
    return error.what();
  } catch (...) {
  }
  return "";
}

Landing::Landing(nt::HostPool& pool, std::size_t bytes) : block(pool.acquire(bytes)) {
  std::memset(block->data(), 0xEE, bytes);
  target.owner = block;
  target.data = block->data();
  target.size = bytes;
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

Part keeping(std::size_t outputs) {
  Part part;
  part.stays.assign(outputs, 1);
  return part;
}

std::shared_ptr<Resident> residentOf(const Output& output) {
  test::note(output.place() == Output::Place::resident, __FILE__, __LINE__, "the output stayed on the device");
  return std::static_pointer_cast<Resident>(output.owner());
}

Input stayed(Shape shape, const std::shared_ptr<Resident>& resident) {
  Input input{std::move(shape), std::vector<uint8_t>(resident->size()), {}};
  input.lease = {Resident::leaseToRead(resident), resident->data(), resident->onGpu()};
  return input;
}

std::vector<float> read(Resident& resident) {
  std::vector<float> values(resident.size() / sizeof(float));
  const auto block = resident.memory().hostPool().acquire(resident.size());
  resident.memory().read(block->data(), resident.data(), resident.size());
  if (!values.empty()) std::memcpy(values.data(), block->data(), resident.size());
  return values;
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
  join(std::make_shared<Session>(std::move(engine), std::move(options)));
}

void SessionRig::join(std::shared_ptr<Session> joined) {
  const auto sink = [this](std::vector<Completion> completions) {
    const std::lock_guard lock(mutex_);
    for (Completion& completion : completions) {
      ++completed_;
      test::note(completions_.count(completion.request) == 0, __FILE__, __LINE__, "a request completes once");
      completions_[completion.request] = std::move(completion);
    }
    changed_.notify_all();
  };
  client = std::make_unique<Client>(joined, sink);
  session = std::move(joined);
}

static std::vector<InputView> given(const std::vector<Input>& inputs, Part& part) {
  std::vector<InputView> given;
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
  const std::vector<InputView> all = given(inputs, part);
  Scratch scratch;
  const nt::execution::Ticket ticket = client->submit(all, std::move(part), scratch);
  const std::lock_guard lock(mutex_);
  tickets_[request] = ticket;
  return request;
}

bool SessionRig::cancel(uint64_t request) {
  nt::execution::Ticket ticket = 0;
  {
    const std::lock_guard lock(mutex_);
    ticket = tickets_[request];
  }
  return client->cancel(ticket);
}

Completion SessionRig::run(const std::vector<Input>& inputs, Part part) {
  const std::vector<InputView> all = given(inputs, part);
  Scratch scratch;
  return client->run(all, std::move(part), scratch);
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

nt::HostPool& SessionRig::pool() const { return session->engine().pool(); }

SessionOptions merging(int64_t maxBatch, std::chrono::microseconds delay) {
  SessionOptions options;
  options.batching.maxBatch = maxBatch;
  options.batching.maxDelay = delay;
  return options;
}

}  // namespace rig
