// Threads and GPUs: whose a thread is does not change by what it lets go of.
#include <thread>

#include "rig.h"

using namespace rig;

namespace {

// Far from those that faults.cc breaks.
constexpr int kOther = 19998, kBroken = 19999;

nt::cuda::Context current() {
  nt::cuda::Context context = nullptr;
  CHECK_EQ(nt::cuda::Driver::get().ctxGetCurrent(&context), nt::cuda::kSuccess);
  return context;
}

// What lies on a GPU and is let go of at some time, on some thread.
struct Held {
  nt::cuda::DeviceBuffer buffer;
  std::shared_ptr<nt::HostBlock> pinned;
  std::shared_ptr<Engine> engine;
  explicit Held(int device) : buffer(DeviceContext::get(device), std::make_shared<nt::cuda::Account>()) {
    const nt::cuda::DeviceScope scope(DeviceContext::get(device));
    buffer.reserve(1 << 20);
    // more than the pool keeps: letting go of it frees it
    pinned = nt::cuda::pinnedPool(DeviceContext::get(device)).acquire(nt::HostPool::kKeepAtMost + 1);
    engine = load(plans::identity, device);
  }
};

// The other GPU is lost: a thread that is on it can do nothing any more.
void breakDevice(int device) {
  const nt::cuda::DeviceScope scope(DeviceContext::get(device));
  fakes::driver("fail", "cuMemAlloc_v2:1:700:lost");
  nt::cuda::DeviceBuffer buffer(DeviceContext::get(device), std::make_shared<nt::cuda::Account>());
  CHECK_CODE("ERR_TRT_DEVICE_LOST", buffer.reserve(1));
}

}  // namespace

TEST("devices: a scope ends where the thread was before, inside another one too") {
  fakes::reset();
  std::thread([] {
    CHECK(current() == nullptr);
    {
      const nt::cuda::DeviceScope zero(DeviceContext::get(0));
      const auto first = current();
      CHECK(first != nullptr && zero.entered());
      {
        const nt::cuda::DeviceScope same(DeviceContext::get(0));
        CHECK(current() == first);
        const nt::cuda::DeviceScope other(DeviceContext::get(kOther));
        CHECK(current() != first && other.entered());
      }
      CHECK(current() == first);
    }
    CHECK(current() == nullptr);
  }).join();
}

TEST("devices: where the device is current already, a scope changes nothing") {
  fakes::reset();
  std::thread([] {
    DeviceContext::get(0).makeCurrent();
    const auto before = fakes::driverCalls()["cuCtxSetCurrent"];
    for (int i = 0; i < 10; ++i) const nt::cuda::DeviceScope scope(DeviceContext::get(0));
    CHECK_EQ(fakes::driverCalls()["cuCtxSetCurrent"], before);
  }).join();
}

TEST("devices: loading, freeing and running on the caller's thread leave the thread where it was") {
  fakes::reset();
  std::thread([] {
    auto held = std::make_unique<Held>(kOther);
    CHECK(current() == nullptr);
    {
      Rig rig(load(plans::scale, kOther), {});
      CHECK(scaledRight(rig.run({input({2, 3}, numbers(2, 3, 1))}), numbers(2, 3, 1)));
      CHECK(current() == nullptr);
    }
    DeviceContext::get(0).makeCurrent();
    const auto own = current();
    held.reset();
    CHECK(current() == own);
  }).join();
  CHECK_NOTHING_LIVE();
}

TEST("devices: a lane that lets go of memory of another GPU, and of its last engine, stays on its own") {
  fakes::reset();
  {
    Rig rig(plans::large);
    const std::vector<float> x = numbers(2, 12288, 1);
    Input held = leased(rig.pool(), {2, 12288}, x);
    static std::thread::id freedBy;
    struct Both {
      std::shared_ptr<void> mine;
      Held other{kBroken};
      ~Both() { freedBy = std::this_thread::get_id(); }
    };
    auto both = std::make_shared<Both>();
    both->mine = held.lease.owner;
    held.lease.owner = std::move(both);
    // the lane's thread is the last to have it: the device ends when it was let go of here
    fakes::driver("clock", "manual");
    fakes::driver("computeMs", "20");
    const uint64_t asked = rig.submit({held});
    held = {};
    fakes::driver("clock", "real");
    CHECK(scaledRight(rig.take(asked), x));
    for (int i = 0; i < 1000 && fakes::liveObjects().at("engines") > 1; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    CHECK_EQ(fakes::liveObjects().at("engines"), 1);
    CHECK(freedBy != std::this_thread::get_id());
    fakes::driver("computeMs", "0");
    breakDevice(kBroken);
    // in the buffers that are there, and in a larger shape, for which they are allocated again
    CHECK(scaledRight(rig.infer({input({2, 12288}, numbers(2, 12288, 3))}), numbers(2, 12288, 3)));
    CHECK(scaledRight(rig.infer({input({8, 12288}, numbers(8, 12288, 2))}), numbers(8, 12288, 2)));
  }
  fakes::reset();
  CHECK_NOTHING_LIVE();
}

TEST("devices: the driver's words for a device that is gone, and those for a call that failed") {
  for (const int lost : {214, 226, 700, 719, 810, 911, 999}) CHECK(nt::cuda::isSticky(lost));
  for (const int failed : {0, 1, 2, 201, 304, 400, 600, 701, 720, 801, 806, 900, 909})
    CHECK(!nt::cuda::isSticky(failed));
}
