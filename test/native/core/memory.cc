// Device memory that TensorRT takes for itself: whose it is, and what is said where there is none.
#include "../../../native/tensorrt/failure.h"
#include "rig.h"

using namespace rig;

namespace {

constexpr std::size_t kWeights = 1'000'000, kScratch = 300'000;
const std::string heavy =
    std::string(plans::scale) + "weights " + std::to_string(kWeights) + "\nmemory " + std::to_string(kScratch) + "\n";

std::shared_ptr<Engine> loadWithin(std::size_t memoryLimit) {
  const std::string plan = fakes::plan(heavy);
  return Engine::load(library(), DeviceContext::get(0), {plan.data(), plan.size()}, {{}, {}, memoryLimit});
}

// What `body` throws.
nt::Error errorOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const nt::Error& error) {
    return error;
  }
  return {"", "nothing was thrown"};
}

std::string detail(const nt::Error& error, const std::string& key) {
  for (const auto& [name, value] : error.details()) {
    if (name == key) return value;
  }
  return "";
}

bool says(const nt::Error& error, const std::string& text) {
  return std::string(error.what()).find(text) != std::string::npos;
}

}  // namespace

TEST("memory: an engine's account has all that it holds on the device, and nothing when it is gone") {
  fakes::reset();
  std::shared_ptr<nt::cuda::Account> account;
  {
    const auto engine = load(heavy);
    account = engine->account();
    CHECK_EQ(account->used(), kWeights);
    Rig first(engine, {});
    CHECK(scaledRight(first.infer({input({2, 3}, numbers(2, 3, 1))}), numbers(2, 3, 1)));
    CHECK(account->used() >= kWeights + kScratch);
    CHECK_EQ(static_cast<long long>(account->used()), fakes::driverCounts().at("deviceBytes"));
    CHECK_EQ(first.session->memory().device, account->used());
    {
      Rig second(engine, {});
      CHECK(scaledRight(second.infer({input({16, 3}, numbers(16, 3, 2))}), numbers(16, 3, 2)));
      CHECK_EQ(static_cast<long long>(account->used()), fakes::driverCounts().at("deviceBytes"));
    }
    CHECK_EQ(static_cast<long long>(account->used()), fakes::driverCounts().at("deviceBytes"));
  }
  CHECK_EQ(account->used(), 0u);
  CHECK_NOTHING_LIVE();
}

TEST("memory: two engines of one runtime have an account each") {
  fakes::reset();
  {
    const auto heavyOne = load(heavy);
    const auto lightOne = load(plans::scale);
    CHECK_EQ(fakes::liveObjects().at("runtimes"), 1);
    CHECK_EQ(heavyOne->deviceBytes(), kWeights);
    CHECK(lightOne->deviceBytes() > 0 && lightOne->deviceBytes() < kWeights);
    const auto elsewhere = load(plans::scale, 1);
    CHECK_EQ(fakes::liveObjects().at("runtimes"), 2);
  }
  CHECK_NOTHING_LIVE();
}

TEST("memory: a limit holds for weights and for scratch, and says what would be needed") {
  fakes::reset();
  const nt::Error weights = errorOf([] { loadWithin(kWeights - 1); });
  CHECK_EQ(weights.code(), "ERR_TRT_OUT_OF_MEMORY");
  CHECK_EQ(detail(weights, "bytes"), std::to_string(kWeights));
  CHECK(says(weights, "(memoryLimit)") && says(weights, "would need " + std::to_string(kWeights)));
  {
    const auto engine = loadWithin(kWeights + kScratch - 1);
    const nt::Error scratch = errorOf([&] {
      Rig rig(engine, {});
      const Completion done = rig.infer({input({2, 3}, numbers(2, 3, 1))});
      if (done.failure) std::rethrow_exception(done.failure);
    });
    CHECK_EQ(scratch.code(), "ERR_TRT_OUT_OF_MEMORY");
    CHECK(says(scratch, "(memoryLimit)"));
    CHECK_EQ(engine->deviceBytes(), kWeights);
  }
  CHECK_NOTHING_LIVE();
}

TEST("memory: where the GPU has none, the error has the bytes that TensorRT asked for") {
  fakes::reset();
  fakes::driver("fail", "cuMemAlloc_v2:1:2");
  const nt::Error error = errorOf([] { load(heavy); });
  CHECK_EQ(error.code(), "ERR_TRT_OUT_OF_MEMORY");
  CHECK_EQ(detail(error, "bytes"), std::to_string(kWeights));
  CHECK(says(error, library().name() + " cannot load the plan of "));
  fakes::reset();
  CHECK(load(heavy) != nullptr);
  CHECK_NOTHING_LIVE();
}

TEST("memory: how TensorRT says that there is none") {
  using nt::tensorrt::bytesWanted;
  const auto wanted = [](const char* line) { return bytesWanted(line).value_or(77); };
  CHECK_EQ(wanted("[virtualMemoryBuffer.cpp::resizePhysical::154] Error Code 2: OutOfMemory (Requested size was "
                  "34359738368 bytes.)"),
           34359738368u);
  CHECK_EQ(wanted("Requested amount of GPU memory (1073741824 bytes) could not be allocated. There may not be enough "
                  "free memory for allocation to succeed."),
           1073741824u);
  CHECK_EQ(wanted("[defaultAllocator.cpp::allocate::31] Error Code 1: Cuda Runtime (out of memory)"), 0u);
  CHECK_EQ(wanted("Error Code 2: OutOfMemory (Requested size was a lot"), 0u);
  CHECK(!bytesWanted("Error Code 1: Serialization (Serialization assertion checksum failed.)"));
}
