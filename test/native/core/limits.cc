// Device memory of one engine: how buffers grow, and what they may take.
#include "rig.h"

using namespace rig;
using nt::cuda::Account;
using nt::cuda::DeviceBuffer;

namespace {

long long deviceBytes() { return fakes::driverCounts().at("deviceBytes"); }
long long allocations() { return fakes::driverCalls()["cuMemAlloc_v2"]; }

}  // namespace

TEST("limits: a buffer takes its first size as it is, and grows in powers of two") {
  fakes::reset();
  const DeviceContext& device = DeviceContext::get(0);
  device.makeCurrent();
  const auto account = std::make_shared<Account>();
  const long long before = deviceBytes();
  {
    DeviceBuffer buffer(device, account);
    CHECK(!buffer.fits(0));  // an empty tensor needs an address too
    buffer.reserve(0);
    CHECK(buffer.get() != 0 && buffer.fits(0) && buffer.capacity() == 256);
    buffer.reserve(5000);
    CHECK_EQ(buffer.capacity(), 8192u);
    const long long calls = allocations();
    for (std::size_t bytes = 1; bytes <= 100000; bytes += 99) buffer.reserve(bytes);
    CHECK_EQ(allocations() - calls, 4);  // 16, 32, 64 and 128 KiB
    CHECK_EQ(buffer.capacity(), 131072u);
    CHECK_EQ(account->used(), 131072u);
    CHECK_EQ(deviceBytes() - before, 131072);
    buffer.reserve(131073, DeviceBuffer::Growth::exact);
    CHECK_EQ(buffer.capacity(), 131328u);
    DeviceBuffer first(device, account);
    first.reserve(5000);
    CHECK_EQ(first.capacity(), 5120u);
  }
  CHECK_EQ(account->used(), 0u);
  CHECK_EQ(deviceBytes(), before);
}

TEST("limits: a tensor with a dimension of 0 has no bytes, wherever that stands; what overflows has no size") {
  constexpr int64_t kLarge = int64_t{1} << 40, kMost = (int64_t{1} << 53) - 1;
  const auto bytes = [](const Shape& shape) { return nt::byteSize(nt::DType::float32, shape); };
  for (const Shape& shape : {Shape{0, kLarge, kLarge}, Shape{kLarge, 0, kLarge}, Shape{kLarge, kLarge, 0},
                             Shape{kMost, kMost, kMost, 0}, Shape{0}})
    CHECK_EQ(bytes(shape), 0u);
  for (const Shape& shape : {Shape{kLarge, kLarge}, Shape{-1, 0}, Shape{0, -1}})
    CHECK_CODE("ERR_TRT_SHAPE", bytes(shape));
  CHECK_EQ(bytes({}), 4u);
  CHECK_EQ(bytes({3, 5}), 60u);
}

TEST(
    "limits: where twice the size is not to be had, the exact one is; where both blocks do not fit, the old one goes "
    "first") {
  fakes::reset();
  const DeviceContext& device = DeviceContext::get(0);
  device.makeCurrent();
  for (const bool limited : {true, false}) {  // by the account, by the device
    const auto account = std::make_shared<Account>(limited ? 100000 : 0);
    const long long before = deviceBytes();
    if (!limited) fakes::driver("memory", std::to_string(before + 100000));
    DeviceBuffer buffer(device, account);
    buffer.reserve(20000);
    buffer.reserve(70000);  // 131072 does not fit, 70144 beside 20224 does
    CHECK_EQ(buffer.capacity(), 70144u);
    buffer.reserve(90000);  // alone
    CHECK_EQ(buffer.capacity(), 90112u);
    CHECK_CODE("ERR_TRT_OUT_OF_MEMORY", buffer.reserve(100001));
    CHECK_EQ(static_cast<long long>(account->used()), deviceBytes() - before);
    CHECK_EQ(account->used(), buffer.capacity());
    CHECK_EQ(buffer.capacity() == 0, buffer.get() == 0);
    buffer.reserve(90000);
    CHECK(buffer.fits(90000) && account->used() == 90112);
    fakes::reset();
  }
}

TEST("limits: an engine takes no more than memoryLimit, says what it would need, and works on") {
  fakes::reset();
  constexpr std::size_t kRow = 12288 * sizeof(float);
  constexpr std::size_t kLimit = 9 * kRow;  // four rows, in and out, and what TensorRT takes itself
  {
    const auto engine = load(plans::large, 0, kLimit);
    SessionOptions options;
    options.lane.slots = 1;  // each would have memory of its own
    Rig rig(engine, options);
    for (int round = 0; round < 3; ++round) {
      for (const int64_t rows : {1, 3, 4, 2, 1, 1, 1, 1}) {
        const auto x = numbers(rows, 12288, round);
        CHECK(scaledRight(rig.infer({input({rows, 12288}, x)}), x));
        CHECK(engine->account()->used() <= kLimit);
      }
      const Completion refused = rig.infer({input({8, 12288}, numbers(8, 12288, 1))});
      CHECK_EQ(codeOf(refused.failure), "ERR_TRT_OUT_OF_MEMORY");
      const std::string message = messageOf(refused.failure);
      CHECK(message.find(std::to_string(kLimit) + " bytes") != std::string::npos);
      CHECK(message.find("memoryLimit") != std::string::npos && message.find("would need") != std::string::npos);
      CHECK(engine->account()->used() <= kLimit);
      CHECK_EQ(rig.session->memory().device, engine->account()->used());
    }
  }
  CHECK_NOTHING_LIVE();
}

TEST("limits: engines do not share a limit, and lanes of one do") {
  fakes::reset();
  constexpr std::size_t kRow = 12288 * sizeof(float);
  {
    const auto limited = load(plans::large, 0, 5 * kRow), other = load(plans::large);
    SessionOptions options;
    options.lane.slots = 1;  // each would have memory of its own
    Rig first(limited, options), second(limited, options), third(other, options);
    const auto two = numbers(2, 12288, 1);
    CHECK(scaledRight(first.infer({input({2, 12288}, two)}), two));
    CHECK_EQ(codeOf(second.infer({input({2, 12288}, two)}).failure), "ERR_TRT_OUT_OF_MEMORY");
    CHECK(scaledRight(third.infer({input({2, 12288}, two)}), two));
    first.session->close();
    CHECK(scaledRight(second.infer({input({2, 12288}, two)}), two));
  }
  CHECK_NOTHING_LIVE();
}
