// Tensors that stay on the device: from session to session, and the memory that they leave.
#include <thread>

#include "../../../native/cuda/device_pool.h"
#include "rig.h"

using namespace rig;

namespace {

using Floats = std::vector<float>;

nt::cuda::DevicePool& pool() { return nt::cuda::DevicePool::of(DeviceContext::get(0)); }

}  // namespace

TEST("tensors: a chain of three sessions moves nothing through the host") {
  fakes::reset();
  for (const auto& [plan, columns] : {std::pair{plans::scale, 3}, std::pair{plans::large, 12288}}) {
    const auto engine = load(plan);
    Rig first(engine, {}), second(engine, {}), third(engine, {});
    for (int round = 0; round < 5; ++round) {  // captured after the third
      const Floats x = numbers(4, columns, round);
      const auto bytes = static_cast<long long>(x.size() * sizeof(float));
      const fakes::Counts before = fakes::driverCounts();
      const Completion a = first.infer({input({4, columns}, x)}, keeping());
      CHECK_EQ(codeOf(a.failure), "");
      CHECK_EQ(a.outputs[0].shape.vector(), (Shape{4, columns}));
      const Completion b = second.run({stayed({4, columns}, residentOf(a.outputs[0]))}, keeping());
      const Completion c = third.infer({stayed({4, columns}, residentOf(b.outputs[0]))});
      CHECK(values<float>(c.outputs[0]) == scaled(scaled(scaled(x))));
      const fakes::Counts after = fakes::driverCounts();
      CHECK_EQ(after.at("bytesHtoD") - before.at("bytesHtoD"), bytes);
      CHECK_EQ(after.at("bytesDtoH") - before.at("bytesDtoH"), bytes);
      CHECK_EQ(after.at("bytesDtoD") - before.at("bytesDtoD"), 4 * bytes);
    }
  }
  CHECK_NOTHING_LIVE();
}

TEST("tensors: rows of a merged batch go to tensors of their own, and come from them") {
  fakes::reset();
  {
    Rig rig(plans::scale, merging(16, std::chrono::milliseconds(20)));
    std::vector<std::shared_ptr<Resident>> tensors;
    for (int round = 0; round < 2; ++round) {
      std::vector<uint64_t> requests;
      for (int i = 0; i < 4; ++i) {
        const Floats x = numbers(1 + i, 3, i);
        const Shape shape{1 + i, 3};
        requests.push_back(round == 0 ? rig.submit({input(shape, x)}, keeping())
                                      : rig.submit({stayed(shape, tensors[static_cast<std::size_t>(i)])}, keeping()));
      }
      std::vector<std::shared_ptr<Resident>> results;
      for (int i = 0; i < 4; ++i) {
        const Completion done = rig.take(requests[static_cast<std::size_t>(i)]);
        CHECK_EQ(codeOf(done.failure), "");
        results.push_back(residentOf(done.outputs[0]));
        const Floats wanted = scaled(numbers(1 + i, 3, i));
        CHECK_EQ(read(*results.back()), round == 0 ? wanted : scaled(wanted));
      }
      tensors = std::move(results);
    }
    CHECK(rig.session->stats()[nt::execution::Count::batches] < 8);
  }
  CHECK_NOTHING_LIVE();
}

TEST("tensors: what the CPU writes, and what has a size of its own, stays too") {
  fakes::reset();
  {
    Rig rig(plans::nonzero);
    const Completion done = rig.infer({input({5}, Floats{0, 1, 2, 0, 3})}, keeping());
    CHECK_EQ(done.outputs[0].shape.vector(), (Shape{1, 3}));
    CHECK_EQ(residentOf(done.outputs[0])->size(), 24u);
    const Completion none = rig.infer({input({2}, Floats{0, 0})}, keeping());
    CHECK_EQ(none.outputs[0].shape.vector(), (Shape{1, 0}));
    CHECK_EQ(residentOf(none.outputs[0])->size(), 0u);
  }
  CHECK_NOTHING_LIVE();
}

TEST("tensors: what the CPU writes gets to the device as it was written, in whatever memory that is") {
  for (const int64_t count : {int64_t{2}, int64_t{1'100'000}}) {  // pinned; more than a slot has of that
    const std::string n = std::to_string(count);
    const std::string plan = "name s\ninput x float32 4 device 0 -1 1\ninput n int64 " + n +
                             " host 0 -1 1\noutput y float32 4 device 0 -1 1\noutput m int64 " + n +
                             " host 0 -1 1\nop identity y x\nop add m n,n\n";
    fakes::reset();
    fakes::driver("computeMs", "5");
    {
      Rig rig(plan);
      for (int64_t i = 1; i < 4; ++i) {
        const Shape given(static_cast<std::size_t>(count), i);
        const Completion done = rig.infer({input({4}, numbers(1, 4, 1)), input({count}, given)}, keeping(2));
        CHECK_EQ(messageOf(done.failure), "");
        if (done.failure) continue;
        const auto stays = residentOf(done.outputs[1]);
        Shape back(given.size());
        stays->memory().read(reinterpret_cast<uint8_t*>(back.data()), stays->data(), stays->size());
        CHECK(back == Shape(given.size(), 2 * i));
      }
    }
    CHECK_NOTHING_LIVE();
  }
}

TEST("tensors: any number reads, one alone writes") {
  fakes::reset();
  {
    Rig rig(plans::identity);
    auto tensor = Resident::make(rig.session->engine().tensors(), 16);
    {
      const auto one = Resident::leaseToRead(tensor), two = Resident::leaseToRead(tensor);
      CHECK_CODE("ERR_TRT_BUFFER_IN_USE", Resident::leaseToWrite(tensor));
    }
    {
      const auto writer = Resident::leaseToWrite(tensor);
      CHECK_CODE("ERR_TRT_BUFFER_IN_USE", Resident::leaseToRead(tensor));
      CHECK_CODE("ERR_TRT_BUFFER_IN_USE", Resident::leaseToWrite(tensor));
    }
    const Floats x = numbers(1, 4, 1);
    Part part = aim({{Resident::leaseToWrite(tensor), tensor->data(), tensor->size(), true, nullptr}});
    const Completion done = rig.infer({input({4}, x)}, std::move(part));
    CHECK_EQ(codeOf(done.failure), "");
    CHECK(done.outputs[0].place() == Output::Place::target);
    CHECK_EQ(read(*tensor), x);
  }
  CHECK_NOTHING_LIVE();
}

TEST("tensors: memory is kept for the next ones up to a bound, and goes with the last engine") {
  fakes::reset();
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  {
    const auto engine = load(plans::identity);
    auto& memory = engine->tensors();
    const long long before = fakes::driverCalls()["cuMemAlloc_v2"];
    for (int i = 0; i < 100; ++i) Resident::make(memory, 1000 + static_cast<std::size_t>(i % 3));
    CHECK_EQ(fakes::driverCalls()["cuMemAlloc_v2"] - before, 1);
    CHECK_EQ(memory.kept(), 1024u);
    {
      std::vector<std::shared_ptr<Resident>> many;
      for (int i = 0; i < 40; ++i) many.push_back(Resident::make(memory, 8 * kMiB));
      CHECK_EQ(memory.used(), 320 * kMiB);
      CHECK(!memory.mayTrim());
    }
    CHECK_EQ(memory.used(), 0u);
    CHECK(memory.mayTrim());
    CHECK(!memory.mayTrim());  // somebody is about to
    CHECK_EQ(fakes::driverCalls()["cuMemFree_v2"], 0);
    memory.trim();
    CHECK_EQ(memory.kept(), 256 * kMiB);
    CHECK_EQ(fakes::driverCalls()["cuMemFree_v2"], 9);  // the oldest: the small one, and eight
    fakes::driver("memory", std::to_string(260 * kMiB));
    { const auto large = Resident::make(memory, 258 * kMiB); }
    CHECK_CODE("ERR_TRT_OUT_OF_MEMORY", Resident::make(memory, 300 * kMiB));
    CHECK_EQ(memory.kept(), 0u);
  }
  CHECK_NOTHING_LIVE();
  {
    auto last = Resident::make(pool(), 16);  // no engine keeps it
    CHECK_EQ(fakes::driverCounts().at("deviceAllocations"), 1);
    last.reset();
    CHECK_EQ(fakes::driverCounts().at("deviceAllocations"), 0);
  }
}

TEST("tensors: what is kept for the next ones goes back before anybody hears that there is no memory") {
  fakes::reset();
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  const std::string hungry = std::string(plans::identity) + "memory 6000000\n";
  const std::string heavy = std::string(plans::identity) + "weights 6000000\n";
  {
    const auto engine = load(plans::large);
    Rig rig(engine, {});
    auto& memory = engine->tensors();
    const auto keepEight = [&] {
      fakes::driver("memory", std::to_string(64 * kMiB));
      std::vector<std::shared_ptr<Resident>> tensors;
      for (int i = 0; i < 8; ++i) tensors.push_back(Resident::make(memory, kMiB));
      tensors.clear();
      CHECK_EQ(memory.kept(), 8 * kMiB);
      fakes::driver("memory", std::to_string(fakes::driverCounts().at("deviceBytes") + 100'000));
    };
    // a batch's buffers, an engine's weights, a context's scratch memory
    keepEight();
    const Floats x = numbers(8, 12288, 1);
    CHECK(scaledRight(rig.infer({input({8, 12288}, x)}), x));
    CHECK_EQ(memory.kept(), 0u);
    keepEight();
    CHECK_EQ(codeOf([&] { load(heavy); }), "");
    CHECK_EQ(memory.kept(), 0u);
    keepEight();
    CHECK_EQ(codeOf([&] { Rig other(hungry); }), "");
    CHECK_EQ(memory.kept(), 0u);
    // where that does not suffice, it is said, and at once the next time
    CHECK_CODE("ERR_TRT_OUT_OF_MEMORY", load(std::string(plans::identity) + "weights 60000000\n"));
  }
  CHECK_NOTHING_LIVE();
}

TEST("tensors: who lacks memory waits for what another thread is about to free") {
  fakes::reset();
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  {
    const auto engine = load(plans::identity);
    auto& memory = engine->tensors();
    for (int round = 0; round < 20; ++round) {
      fakes::driver("memory", std::to_string(64 * kMiB));
      {
        std::vector<std::shared_ptr<Resident>> tensors;
        for (int i = 0; i < 16; ++i) tensors.push_back(Resident::make(memory, 2 * kMiB));
      }
      fakes::driver("memory", std::to_string(fakes::driverCounts().at("deviceBytes") + 100'000));
      std::vector<std::thread> threads;
      for (int k = 0; k < 3; ++k)
        threads.emplace_back([&] { CHECK_EQ(codeOf([&] { Resident::make(memory, 10 * kMiB); }), ""); });
      for (std::thread& thread : threads) thread.join();
    }
  }
  CHECK_NOTHING_LIVE();
}

TEST("tensors: of another GPU they are freed there, whatever the thread") {
  fakes::reset();
  fakes::driver("devices", "2");
  {
    const auto engine = load(plans::identity, 1);
    auto tensor = Resident::make(engine->tensors(), 16);
    DeviceContext::get(0).makeCurrent();
    std::thread([tensor = std::move(tensor)]() mutable { tensor.reset(); }).join();
    Rig rig(plans::identity);
    CHECK_EQ(codeOf(rig.infer({input({4}, numbers(1, 4, 1))}, keeping()).failure), "");
  }
  CHECK_NOTHING_LIVE();
}

TEST("tensors: threads take and give back") {
  fakes::reset();
  {
    const auto engine = load(plans::identity);
    std::vector<std::thread> threads;
    for (int k = 0; k < 4; ++k) {
      threads.emplace_back([&engine, k] {
        for (int i = 0; i < 200; ++i) {
          const auto tensor = Resident::make(engine->tensors(), static_cast<std::size_t>(1 + 700 * ((i + k) % 5)));
          const auto lease = Resident::leaseToRead(tensor);
          if (i % 50 == 0) engine->tensors().trim();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK_EQ(engine->tensors().used(), 0u);
  }
  CHECK_NOTHING_LIVE();
}
