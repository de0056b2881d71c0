// The CUDA driver, found at run time: the entry points that are used, and what can be known of it without a GPU.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace nt::cuda {

using Result = int;  // CUresult
using Device = int;  // CUdevice
using Context = void*;
using Stream = void*;
using Event = void*;
using Graph = void*;
using GraphExec = void*;
using DevicePtr = uint64_t;  // CUdeviceptr, 64 bits on every system that has TensorRT

inline constexpr Result kSuccess = 0;
inline constexpr Result kOutOfMemory = 2;
inline constexpr Result kNotReady = 600;

// After such an error every further call on the device fails: cuda.h calls the context "corrupted" or asks to relaunch
// the process.
bool isSticky(Result result) noexcept;

class Driver {
 public:
  // Opened once per process, from $NODE_TENSORRT_LIBCUDA or as libcuda.so.1: where there is none, there is none for
  // good. Where it cannot start, or sees no GPU, it is asked to start anew each time: it may be about to be set up.
  // Throws ERR_TRT_NO_DRIVER.
  static const Driver& get();
  // The same, and at least `device + 1` GPUs. Throws ERR_TRT_NO_DRIVER, ERR_TRT_NO_GPU.
  static const Driver& withDevice(int device);

#define CUDA_FUNCTION(name, symbol, parameters) Result(*name) parameters = nullptr;
#include "functions.def"
#undef CUDA_FUNCTION

  const std::string& path() const noexcept { return path_; }
  // The CUDA version that the driver supports, "13.0".
  std::string version() const;
  int devices() const noexcept { return devices_.load(std::memory_order_relaxed); }

  // Throws what `result` means unless it is success; `what` is the call, for the message.
  void check(Result result, const char* what) const {
    if (result != kSuccess) fail(result, what);
  }

 private:
  Driver();
  void start();
  [[noreturn]] void fail(Result result, const char* what) const;

  std::string path_;
  int version_ = 0;
  std::atomic<int> devices_{0};
};

struct DeviceFacts {
  int index = 0;
  std::string name;
  int computeMajor = 0;
  int computeMinor = 0;
  std::size_t memory = 0;
  int multiprocessors = 0;
  // shares the host's memory, as on Jetson
  bool integrated = false;

  // "8.6"
  std::string computeCapability() const { return std::to_string(computeMajor) + "." + std::to_string(computeMinor); }
};

std::vector<DeviceFacts> listDevices(const Driver& driver);

}  // namespace nt::cuda
