#include "driver.h"

#include <dlfcn.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>

#include "../base/error.h"
#include "../base/shared_library.h"

namespace nt::cuda {
namespace {

constexpr Result kNoDevice = 100;

std::string driverFile() {
  const char* chosen = std::getenv("NODE_TENSORRT_LIBCUDA");
  return chosen == nullptr || *chosen == '\0' ? "libcuda.so.1" : chosen;
}

}  // namespace

bool isSticky(Result result) noexcept {
  // 226: peer memory or the hardware failed, and the driver contained it; 810: the MPS server ended this client; 911: a
  // device outside of CUDA failed. cuda.h says of each that the process has to be relaunched, as of those of kernels.
  constexpr Result sticky[] = {214, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911, 999};
  for (Result each : sticky) {
    if (result == each) return true;
  }
  return false;
}

Driver::Driver() {
  const std::string file = driverFile();
  std::string reason;
  void* handle = openLibrary(file, reason);
  if (handle == nullptr) throw Error("ERR_TRT_NO_DRIVER", "No CUDA driver: " + reason);
#define CUDA_FUNCTION(name, symbol, parameters)                                                         \
  name = reinterpret_cast<Result(*) parameters>(dlsym(handle, symbol));                                 \
  if (name == nullptr) throw Error("ERR_TRT_NO_DRIVER", "The CUDA driver " + file + " has no " symbol); \
  if (path_.empty()) path_ = fileOf(reinterpret_cast<void*>(name), file);
#include "functions.def"
#undef CUDA_FUNCTION
  driverGetVersion(&version_);  // works before cuInit, and says something even where cuInit fails
}

void Driver::start() {
  const Result result = init(0);
  if (result == kNoDevice) return;
  if (result != kSuccess) {
    const char* text = nullptr;
    getErrorString(result, &text);
    throw Error("ERR_TRT_NO_DRIVER", "The CUDA driver " + path_ + " cannot start: error " + std::to_string(result) +
                                         (text == nullptr ? "" : std::string(" (") + text + ")"));
  }
  int count = 0;
  if (deviceGetCount(&count) == kSuccess) devices_ = count;
}

const Driver& Driver::get() {
  // leaked on purpose, as everything that CUDA's threads may touch at exit
  static auto& mutex = *new std::mutex;
  static auto& driver = *new std::unique_ptr<Driver>;
  static auto& noLibrary = *new std::optional<Error>;
  const std::lock_guard lock(mutex);
  if (!driver && !noLibrary) {
    try {
      driver.reset(new Driver);
    } catch (const Error& error) {
      noLibrary = error;
    }
  }
  if (noLibrary) throw *noLibrary;
  if (driver->devices() == 0) driver->start();
  return *driver;
}

const Driver& Driver::withDevice(int device) {
  const Driver& driver = get();
  const int devices = driver.devices();
  if (devices == 0) throw Error("ERR_TRT_NO_GPU", "The CUDA driver " + driver.path_ + " sees no GPU");
  if (device < 0 || device >= devices) {
    const std::string seen = std::to_string(devices);
    throw Error("ERR_TRT_NO_GPU",
                "Expected the number of a GPU below " + seen + " for tensorrt.device but received " +
                    std::to_string(device) + ": the CUDA driver " + driver.path_ + " sees " + seen,
                {{"gpus", seen}});
  }
  return driver;
}

std::string Driver::version() const {
  return std::to_string(version_ / 1000) + "." + std::to_string(version_ % 1000 / 10);
}

void Driver::fail(Result result, const char* what) const {
  const char* name = nullptr;
  const char* text = nullptr;
  getErrorName(result, &name);
  getErrorString(result, &text);
  const std::string known = name == nullptr ? "error " + std::to_string(result) : name;
  const char* code = result == kOutOfMemory ? "ERR_TRT_OUT_OF_MEMORY"
                     : isSticky(result)     ? "ERR_TRT_DEVICE_LOST"
                                            : "ERR_TRT_CUDA";
  throw Error(code, std::string(what) + " failed: " + known + (text == nullptr ? "" : std::string(" (") + text + ")"),
              {{"cuda", known}, {"call", what}});
}

std::vector<DeviceFacts> listDevices(const Driver& driver) {
  constexpr int kMultiprocessors = 16, kIntegrated = 18, kComputeMajor = 75, kComputeMinor = 76;  // CUdevice_attribute
  std::vector<DeviceFacts> devices;
  for (int i = 0; i < driver.devices(); ++i) {
    Device device = 0;
    driver.check(driver.deviceGet(&device, i), "cuDeviceGet");
    DeviceFacts facts;
    facts.index = i;
    char name[256] = {};
    driver.check(driver.deviceGetName(name, sizeof name - 1, device), "cuDeviceGetName");
    facts.name = name;
    int integrated = 0;
    driver.check(driver.deviceGetAttribute(&facts.computeMajor, kComputeMajor, device), "cuDeviceGetAttribute");
    driver.check(driver.deviceGetAttribute(&facts.computeMinor, kComputeMinor, device), "cuDeviceGetAttribute");
    driver.check(driver.deviceGetAttribute(&facts.multiprocessors, kMultiprocessors, device), "cuDeviceGetAttribute");
    driver.check(driver.deviceGetAttribute(&integrated, kIntegrated, device), "cuDeviceGetAttribute");
    driver.check(driver.deviceTotalMem(&facts.memory, device), "cuDeviceTotalMem");
    facts.integrated = integrated != 0;
    devices.push_back(std::move(facts));
  }
  return devices;
}

}  // namespace nt::cuda
