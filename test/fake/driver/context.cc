// Devices and their primary contexts.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <sstream>

#include "driver.h"

namespace fake {

static thread_local Device* currentDevice = nullptr;
static thread_local std::vector<Device*> below;  // the rest of the thread's stack of contexts

Device* current() { return currentDevice; }

void useDevice(int index) {
  if (currentDevice && currentDevice->index != index) ++state().counters.wrongDevice;
}

std::string itemOf(const std::string& list, int index) {
  std::istringstream in(list);
  std::string item;
  for (int i = 0; i <= index && std::getline(in, item, ',');) ++i;
  return item;
}

static bool usable(Device* context) { return state().contexts.count(context) && context->retained > 0; }

static void pop() {
  currentDevice = below.empty() ? nullptr : below.back();
  if (!below.empty()) below.pop_back();
}

CUresult contextError() {
  if (!currentDevice) return kInvalidContext;
  return currentDevice->error;
}

static Device* device(int index) {
  State& s = state();
  return index >= 0 && index < static_cast<int>(s.devices.size()) ? s.devices[index].get() : nullptr;
}

}  // namespace fake

using namespace fake;
using Context = Device*;  // the primary context of a device

#define NEED_INIT() \
  if (!state().initialized) return kNotInitialized

FAKE_API CUresult cuInit(unsigned flags) {
  ENTER(cuInit);
  static const Teardown teardown;
  if (flags) return kInvalidValue;
  State& s = state();
  Lock lock(s.mutex);
  if (s.settings.devices <= 0) return kNoDevice;
  while (static_cast<int>(s.devices.size()) < s.settings.devices) {
    auto made = std::make_unique<Device>();
    made->index = static_cast<int>(s.devices.size());
    made->defaultStream = std::make_shared<Stream>();
    made->defaultStream->device = made.get();
    s.contexts.insert(made.get());
    s.devices.push_back(std::move(made));
  }
  s.initialized = true;
  return kOk;
}

FAKE_API CUresult cuDriverGetVersion(int* version) {
  ENTER(cuDriverGetVersion);
  if (!version) return kInvalidValue;
  *version = state().settings.driverVersion;
  return kOk;
}

FAKE_API CUresult cuDeviceGetCount(int* count) {
  ENTER(cuDeviceGetCount);
  NEED_INIT();
  *count = static_cast<int>(state().devices.size());
  return kOk;
}

FAKE_API CUresult cuDeviceGet(CUdevice* out, int ordinal) {
  ENTER(cuDeviceGet);
  NEED_INIT();
  if (!device(ordinal)) return kInvalidDevice;
  *out = ordinal;
  return kOk;
}

FAKE_API CUresult cuDeviceGetName(char* name, int length, CUdevice index) {
  ENTER(cuDeviceGetName);
  NEED_INIT();
  if (!device(index)) return kInvalidDevice;
  Lock lock(state().mutex);
  const std::string whole = itemOf(state().settings.deviceNames, index);
  if (!whole.empty()) return std::snprintf(name, static_cast<std::size_t>(length), "%s", whole.c_str()), kOk;
  std::snprintf(name, static_cast<std::size_t>(length), "%s %d", state().settings.deviceName.c_str(), index);
  return kOk;
}

FAKE_API CUresult cuDeviceGetAttribute(int* value, int attribute, CUdevice index) {
  ENTER(cuDeviceGetAttribute);
  NEED_INIT();
  if (!device(index)) return kInvalidDevice;
  switch (attribute) {
    case 75:  // compute capability, major and minor
    case 76: {
      Lock lock(state().mutex);
      const std::string both = itemOf(state().settings.computeCapability, index);
      const auto dot = both.find('.');
      *value = attribute == 75 ? std::atoi(both.c_str()) : dot == std::string::npos ? 0 : std::atoi(&both[dot + 1]);
      return kOk;
    }
    case 16:  // multiprocessors
      *value = 132;
      return kOk;
    case 33:  // PCI bus
      *value = index + 1;
      return kOk;
    case 18:  // shares its memory with the host
      *value = 0;
      return kOk;
    default:  // everything else that is asked for is a "can do" flag
      *value = 1;
      return attribute > 0 && attribute < 200 ? kOk : kInvalidValue;
  }
}

FAKE_API CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice index) {
  ENTER(cuDeviceTotalMem_v2);
  NEED_INIT();
  if (!device(index)) return kInvalidDevice;
  *bytes = state().settings.memory;
  return kOk;
}

FAKE_API CUresult cuDeviceGetUuid_v2(unsigned char* uuid, CUdevice index) {
  ENTER(cuDeviceGetUuid_v2);
  NEED_INIT();
  if (!device(index)) return kInvalidDevice;
  for (int i = 0; i < 16; ++i) uuid[i] = static_cast<unsigned char>(0xfa + i * 7 + index);
  return kOk;
}

FAKE_API CUresult cuDeviceGetPCIBusId(char* id, int length, CUdevice index) {
  ENTER(cuDeviceGetPCIBusId);
  NEED_INIT();
  if (!device(index)) return kInvalidDevice;
  std::snprintf(id, length, "0000:%02x:00.0", index + 1);
  return kOk;
}

FAKE_API CUresult cuDevicePrimaryCtxRetain(Context* context, CUdevice index) {
  ENTER(cuDevicePrimaryCtxRetain);
  NEED_INIT();
  Device* found = device(index);
  if (!found) return kInvalidDevice;
  Lock lock(state().mutex);
  ++found->retained;
  state().used.insert(found);
  *context = found;
  return kOk;
}

FAKE_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice index) {
  ENTER(cuDevicePrimaryCtxRelease_v2);
  NEED_INIT();
  Device* found = device(index);
  if (!found) return kInvalidDevice;
  Lock lock(state().mutex);
  if (!found->retained) return kInvalidContext;
  --found->retained;
  return kOk;
}

FAKE_API CUresult cuCtxSetCurrent(Context context) {
  ENTER(cuCtxSetCurrent);
  NEED_INIT();
  Lock lock(state().mutex);
  if (!context) return pop(), kOk;
  if (!usable(context)) return kInvalidContext;
  currentDevice = context;
  return kOk;
}

FAKE_API CUresult cuCtxPushCurrent_v2(Context context) {
  ENTER(cuCtxPushCurrent_v2);
  NEED_INIT();
  Lock lock(state().mutex);
  if (!usable(context)) return kInvalidContext;
  below.push_back(currentDevice);
  currentDevice = context;
  return kOk;
}

FAKE_API CUresult cuCtxPopCurrent_v2(Context* context) {
  ENTER(cuCtxPopCurrent_v2);
  NEED_INIT();
  if (!currentDevice) return kInvalidContext;
  if (context) *context = currentDevice;
  pop();
  return kOk;
}

FAKE_API CUresult cuCtxGetCurrent(Context* context) {
  ENTER(cuCtxGetCurrent);
  NEED_INIT();
  *context = currentDevice;
  return kOk;
}

FAKE_API CUresult cuCtxGetDevice(CUdevice* index) {
  ENTER(cuCtxGetDevice);
  NEED_CONTEXT();
  *index = currentDevice->index;
  return kOk;
}

FAKE_API CUresult cuCtxSynchronize() {
  ENTER(cuCtxSynchronize);
  const Inside inside;
  NEED_CONTEXT();
  State& s = state();
  Lock lock(s.mutex);
  if (captureForbids(lock)) return kCaptureUnsupported;
  const auto streams = s.streams;
  for (const auto& [handle, stream] : streams)
    if (stream->device == currentDevice) waitIdle(lock, *stream);
  waitIdle(lock, *currentDevice->defaultStream);
  return currentDevice->error;
}

FAKE_API CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  ENTER(cuCtxGetStreamPriorityRange);
  NEED_CONTEXT();
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return kOk;
}

FAKE_API CUresult cuGetProcAddress_v2(const char* symbol, void** pointer, int, std::uint64_t, int* status) {
  ENTER(cuGetProcAddress_v2);
  // The plain name means the newest version, as the real header's macros do.
  const std::string name = symbol;
  *pointer = nullptr;
  Dl_info self{};
  dladdr(reinterpret_cast<void*>(&cuGetProcAddress_v2), &self);
  void* library = dlopen(self.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
  if (library) {
    *pointer = dlsym(library, (name + "_v2").c_str());
    if (!*pointer) *pointer = dlsym(library, name.c_str());
    dlclose(library);
  }
  if (status) *status = *pointer ? 0 : 1;  // CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND
  return *pointer ? kOk : kNotFound;
}
