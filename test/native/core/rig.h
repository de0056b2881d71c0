// An engine of the fakes with a session.
#pragma once

#include "../../../native/gpu/engine.h"
#include "../support/rig.h"
#include "fakes.h"

namespace rig {

using nt::cuda::DeviceContext;
using nt::gpu::Engine;

// Plans that several files use: x → y.
namespace plans {
extern const char* const identity;    // [4] float32
extern const char* const scale;       // [-1, 3] float32, y = relu(2 x + 1), 1 to 16 rows
extern const char* const large;       // [-1, 12288] float32, the same: copies have streams of their own
extern const char* const nonzero;     // [-1] float32 → int64, as many as there are values other than zero
extern const char* const reshape;     // x [12] and a host tensor s of two int64 → y of the shape s
extern const char* const twoOutputs;  // [-1, 3] → y = 2 x, z = sums [-1]
}  // namespace plans

const nt::tensorrt::Library& library();
// `memoryLimit`: bytes of device memory; 0: as much as there is.
std::shared_ptr<Engine> load(const std::string& lines, int device = 0, std::size_t memoryLimit = 0,
                             std::vector<uint8_t> runtimeCache = {});

class Rig : public SessionRig {
 public:
  explicit Rig(const std::string& lines, SessionOptions options = {}, int device = 0)
      : Rig(load(lines, device), std::move(options)) {}
  Rig(std::shared_ptr<Engine> engine, SessionOptions options) { start(std::move(engine), std::move(options)); }
};

// Nothing is alive in the fakes but pinned memory in the pool, and nothing was misused.
void checkNothingLive(const char* file, int line);
#define CHECK_NOTHING_LIVE() rig::checkNothingLive(__FILE__, __LINE__)

}  // namespace rig
