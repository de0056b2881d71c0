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

const nt::tensorrt::Library& library() { return nt::tensorrt::Library::open(fakes::library()); }

std::shared_ptr<Engine> load(const std::string& lines, int device, std::size_t memoryLimit,
                             std::vector<uint8_t> runtimeCache) {
  const std::string plan = fakes::plan(lines);
  return Engine::load(library(), DeviceContext::get(device), {plan.data(), plan.size()},
                      {{}, {}, memoryLimit, std::move(runtimeCache)});
}

void checkNothingLive(const char* file, int line) {
  const auto none = [&](const std::string& what, long long count) {
    test::note(count == 0, file, line, "no " + what + " is left, but " + std::to_string(count));
  };
  const fakes::Counts driver = fakes::driverCounts();
  for (const char* what : {"deviceAllocations", "streams", "events", "graphs", "graphExecs"})
    none(what, driver.at(what));
  none("misuse of a device", driver.at("wrongDevice"));
  for (const auto& [what, count] : fakes::liveObjects()) none(what, count);
  for (const auto& [what, count] : fakes::misuse()) none("misuse " + what, count);
  none("pinned memory in use", static_cast<long long>(nt::cuda::pinnedPool(DeviceContext::get(0)).used()));
}

}  // namespace rig
