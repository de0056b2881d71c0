// Device and pinned memory, and the copies between them.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "driver.h"

namespace fake {

const Allocation* findAllocation(const void* pointer, std::uintptr_t* base) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  auto next = state().memory.upper_bound(address);
  if (next == state().memory.begin()) return nullptr;
  --next;
  if (address >= next->first + next->second.size && !(address == next->first && !next->second.size)) return nullptr;
  *base = next->first;
  return &next->second;
}

// Nothing: unknown pointer is an invalid argument, a known one overrun breaks the device as a kernel would.
CUresult checkRange(Lock&, const void* pointer, std::size_t bytes) {
  std::uintptr_t base = 0;
  const Allocation* found = findAllocation(pointer, &base);
  if (!found) return kInvalidValue;
  if (found->kind == Kind::kDevice) useDevice(found->device);
  if (reinterpret_cast<std::uintptr_t>(pointer) + bytes > base + found->size) {
    if (current()) current()->error = kIllegalAddress;
    return kIllegalAddress;
  }
  return kOk;
}

}  // namespace fake

using namespace fake;

static void* pointerOf(CUdeviceptr pointer) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(pointer)); }

static CUresult allocate(Lock&, void** out, std::size_t bytes, Kind kind) {
  State& s = state();
  if (!out || !bytes) return kInvalidValue;
  Device* device = current();
  if (kind == Kind::kDevice && device->used + bytes > s.settings.memory) return kOutOfMemory;
  void* memory = nullptr;
  const std::size_t alignment = kind == Kind::kDevice ? 256 : 4096;
  if (posix_memalign(&memory, alignment, bytes)) return kOutOfMemory;
  std::memset(memory, 0xcd, bytes < 4096 ? bytes : 4096);  // never zero by luck
  s.memory[reinterpret_cast<std::uintptr_t>(memory)] = {bytes, kind, device->index, ++s.allocations};
  if (kind == Kind::kDevice) {
    device->used += bytes;
    ++s.counters.deviceAllocations, s.counters.deviceBytes += bytes;
  } else {
    ++s.counters.pinnedAllocations, s.counters.pinnedBytes += bytes;
    s.counters.peakPinnedBytes = std::max(s.counters.peakPinnedBytes, s.counters.pinnedBytes);
  }
  *out = memory;
  return kOk;
}

static CUresult release(Lock&, void* pointer, Kind kind) {
  State& s = state();
  const auto found = s.memory.find(reinterpret_cast<std::uintptr_t>(pointer));
  if (found == s.memory.end() || found->second.kind != kind) return kInvalidValue;
  const std::size_t bytes = found->second.size;
  if (kind == Kind::kDevice) useDevice(found->second.device);
  if (kind == Kind::kDevice) {
    s.devices[found->second.device]->used -= bytes;
    --s.counters.deviceAllocations, s.counters.deviceBytes -= bytes;
  } else {
    --s.counters.pinnedAllocations, s.counters.pinnedBytes -= bytes;
  }
  s.memory.erase(found);
  std::free(pointer);
  return kOk;
}

// The real one waits for the memory's device, whichever is current, before it frees. A test that holds the clock would
// wait for itself.
static void drain(Lock& lock, const void* pointer) {
  if (state().settings.clock == Clock::kManual) return;
  std::uintptr_t base = 0;
  const Allocation* found = findAllocation(pointer, &base);
  const Device* const owner = found ? state().devices[found->device].get() : current();
  const auto streams = state().streams;
  for (const auto& [handle, stream] : streams)
    if (stream->device == owner && !stream->capture) waitIdle(lock, *stream);
  if (owner->defaultStream && !owner->defaultStream->capture) waitIdle(lock, *owner->defaultStream);
}

FAKE_API CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  ENTER(cuMemGetInfo_v2);
  NEED_CONTEXT();
  Lock lock(state().mutex);
  *total = state().settings.memory;
  *free = *total > current()->used ? *total - current()->used : 0;
  return kOk;
}

FAKE_API CUresult cuMemAlloc_v2(CUdeviceptr* out, std::size_t bytes) {
  ENTER(cuMemAlloc_v2);
  NEED_CONTEXT();
  Lock lock(state().mutex);
  if (captureForbids(lock)) return kCaptureUnsupported;
  void* memory = nullptr;
  const CUresult result = allocate(lock, &memory, bytes, Kind::kDevice);
  if (!result) *out = reinterpret_cast<std::uintptr_t>(memory);
  return result;
}

FAKE_API CUresult cuMemFree_v2(CUdeviceptr pointer) {
  ENTER(cuMemFree_v2);
  NEED_CONTEXT();
  if (!pointer) return kOk;
  Lock lock(state().mutex);
  if (captureForbids(lock)) return kCaptureUnsupported;
  drain(lock, pointerOf(pointer));
  return release(lock, pointerOf(pointer), Kind::kDevice);
}

FAKE_API CUresult cuMemAllocAsync(CUdeviceptr* out, std::size_t bytes, Handle handle) {
  ENTER(cuMemAllocAsync);
  NEED_CONTEXT();
  Lock lock(state().mutex);
  const auto stream = findStream(handle);
  if (!stream) return kInvalidHandle;
  if (stream->capture) return stream->capture->invalid = true, kCaptureUnsupported;  // graphs do not own memory here
  void* memory = nullptr;
  const CUresult result = allocate(lock, &memory, bytes, Kind::kDevice);
  if (!result) *out = reinterpret_cast<std::uintptr_t>(memory);
  return result;
}

FAKE_API CUresult cuMemFreeAsync(CUdeviceptr pointer, Handle handle) {
  ENTER(cuMemFreeAsync);
  NEED_CONTEXT();
  Lock lock(state().mutex);
  const auto stream = findStream(handle);
  if (!stream) return kInvalidHandle;
  std::uintptr_t base = 0;
  const Allocation* found = findAllocation(pointerOf(pointer), &base);
  if (!found || base != pointer || found->kind != Kind::kDevice) return kInvalidValue;
  Operation operation;
  operation.run = [pointer] {
    Lock inner(state().mutex);
    release(inner, pointerOf(pointer), Kind::kDevice);
  };
  submit(lock, stream, std::move(operation));
  return kOk;
}

FAKE_API CUresult cuMemHostAlloc(void** out, std::size_t bytes, unsigned flags) {
  ENTER(cuMemHostAlloc);
  NEED_CONTEXT();
  if (flags > 7) return kInvalidValue;
  Lock lock(state().mutex);
  if (captureForbids(lock)) return kCaptureUnsupported;
  return allocate(lock, out, bytes, Kind::kPinned);
}

// Unpinning takes as long as a test says. One that waits for itself goes on after a while, and sees that.
static void holdFree(Lock& lock) {
  State& s = state();
  if (!s.settings.holdFrees) return;
  ++s.counters.heldFrees;
  s.manual.wait_for(lock, std::chrono::seconds(5), [&] { return !s.settings.holdFrees; });
  --s.counters.heldFrees;
}

FAKE_API CUresult cuMemFreeHost(void* pointer) {
  ENTER(cuMemFreeHost);
  NEED_CONTEXT();
  Lock lock(state().mutex);
  if (captureForbids(lock)) return kCaptureUnsupported;
  if (gettid() == getpid()) ++state().counters.pinnedFreesOnMain;
  holdFree(lock);
  drain(lock, pointer);
  return release(lock, pointer, Kind::kPinned);
}

// 2: CU_POINTER_ATTRIBUTE_MEMORY_TYPE, where 1 is the host's and 2 the device's; 9: whose device.
FAKE_API CUresult cuPointerGetAttribute(void* out, int attribute, CUdeviceptr pointer) {
  ENTER(cuPointerGetAttribute);
  NEED_CONTEXT();
  Lock lock(state().mutex);
  std::uintptr_t base = 0;
  const Allocation* found = findAllocation(pointerOf(pointer), &base);
  if (!out || !found || (attribute != 2 && attribute != 9)) return kInvalidValue;
  *static_cast<unsigned*>(out) = attribute == 9                 ? static_cast<unsigned>(found->device)
                                 : found->kind == Kind::kDevice ? 2
                                                                : 1;
  return kOk;
}

FAKE_API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* out, void* pointer, unsigned) {
  ENTER(cuMemHostGetDevicePointer_v2);
  NEED_CONTEXT();
  Lock lock(state().mutex);
  std::uintptr_t base = 0;
  const Allocation* found = findAllocation(pointer, &base);
  if (!found || found->kind == Kind::kDevice) return kInvalidValue;
  *out = reinterpret_cast<std::uintptr_t>(pointer);
  return kOk;
}

FAKE_API CUresult cuMemHostRegister_v2(void* pointer, std::size_t bytes, unsigned) {
  ENTER(cuMemHostRegister_v2);
  NEED_CONTEXT();
  if (!pointer || !bytes) return kInvalidValue;
  State& s = state();
  Lock lock(s.mutex);
  std::uintptr_t base = 0;
  if (findAllocation(pointer, &base)) return kAlreadyRegistered;
  s.memory[reinterpret_cast<std::uintptr_t>(pointer)] = {bytes, Kind::kRegistered, current()->index, ++s.allocations};
  ++s.counters.registrations;
  return kOk;
}

FAKE_API CUresult cuMemHostUnregister(void* pointer) {
  ENTER(cuMemHostUnregister);
  NEED_CONTEXT();
  State& s = state();
  Lock lock(s.mutex);
  const auto found = s.memory.find(reinterpret_cast<std::uintptr_t>(pointer));
  if (found == s.memory.end() || found->second.kind != Kind::kRegistered) return kNotRegistered;
  s.memory.erase(found);
  --s.counters.registrations;
  return kOk;
}

// Whether the range is device-accessible host memory; anything else on the host is pageable and staged.
static bool pinned(const void* pointer, std::size_t bytes) {
  std::uintptr_t base = 0;
  const Allocation* found = findAllocation(pointer, &base);
  return found && found->kind != Kind::kDevice &&
         reinterpret_cast<std::uintptr_t>(pointer) + bytes <= base + found->size;
}

// Checked again when it runs: memory may have been freed meanwhile.
// Counted then too, so that the copies of a replayed graph count.
using Count = std::uint64_t Counters::*;
static std::function<void()> copy(Device* device, void* to, const void* from, std::size_t bytes, bool checkTo,
                                  bool checkFrom, Count bytesCopied, Count copies) {
  return [=] {
    {
      Lock lock(state().mutex);
      state().counters.*bytesCopied += bytes;
      ++(state().counters.*copies);
      std::uintptr_t base = 0;
      if ((checkTo && !findAllocation(to, &base)) || (checkFrom && !findAllocation(from, &base))) {
        device->error = kIllegalAddress;
        return;
      }
    }
    std::memcpy(to, from, bytes);
  };
}

#define NEED_STATE_AND_STREAM(handle)     \
  NEED_CONTEXT();                         \
  State& s = state();                     \
  Lock lock(s.mutex);                     \
  const auto stream = findStream(handle); \
  if (!stream) return kInvalidHandle

FAKE_API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, std::size_t bytes, Handle handle) {
  ENTER(cuMemcpyHtoDAsync_v2);
  NEED_STATE_AND_STREAM(handle);
  if (!bytes) return kOk;
  if (!from) return kInvalidValue;
  if (const CUresult bad = checkRange(lock, pointerOf(to), bytes)) return bad;
  Operation operation;
  operation.milliseconds = s.settings.copyMs;
  if (pinned(from, bytes) || stream->capture) {
    operation.run = copy(stream->device, pointerOf(to), from, bytes, true, !stream->capture, &Counters::bytesHtoD,
                         &Counters::copiesHtoD);
  } else {
    ++s.counters.pageableCopies;
    auto staged =
        std::make_shared<std::vector<char>>(static_cast<const char*>(from), static_cast<const char*>(from) + bytes);
    operation.run = [staged, run = copy(stream->device, pointerOf(to), staged->data(), bytes, true, false,
                                        &Counters::bytesHtoD, &Counters::copiesHtoD)] { run(); };
  }
  submit(lock, stream, std::move(operation));
  return kOk;
}

FAKE_API CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, std::size_t bytes, Handle handle) {
  ENTER(cuMemcpyDtoHAsync_v2);
  NEED_STATE_AND_STREAM(handle);
  if (!bytes) return kOk;
  if (!to) return kInvalidValue;
  if (const CUresult bad = checkRange(lock, pointerOf(from), bytes)) return bad;
  Operation operation;
  operation.milliseconds = s.settings.copyMs;
  const bool asynchronous = pinned(to, bytes) || stream->capture;
  operation.run = copy(stream->device, to, pointerOf(from), bytes, asynchronous && !stream->capture, true,
                       &Counters::bytesDtoH, &Counters::copiesDtoH);
  submit(lock, stream, std::move(operation));
  if (asynchronous) return kOk;
  ++s.counters.pageableCopies;
  waitIdle(lock, *stream);
  return stream->device->error;
}

FAKE_API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, Handle handle) {
  ENTER(cuMemcpyDtoDAsync_v2);
  NEED_STATE_AND_STREAM(handle);
  if (!bytes) return kOk;
  if (const CUresult bad = checkRange(lock, pointerOf(to), bytes)) return bad;
  if (const CUresult bad = checkRange(lock, pointerOf(from), bytes)) return bad;
  Operation operation;
  operation.run = copy(stream->device, pointerOf(to), pointerOf(from), bytes, true, true, &Counters::bytesDtoD,
                       &Counters::copiesDtoD);
  submit(lock, stream, std::move(operation));
  return kOk;
}

FAKE_API CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t bytes, Handle handle) {
  ENTER(cuMemsetD8Async);
  NEED_STATE_AND_STREAM(handle);
  if (!bytes) return kOk;
  if (const CUresult bad = checkRange(lock, pointerOf(to), bytes)) return bad;
  Operation operation;
  operation.run = [to, value, bytes] { std::memset(pointerOf(to), value, bytes); };
  submit(lock, stream, std::move(operation));
  return kOk;
}

// For the fake TensorRT: whether a kernel may touch these bytes. A lie breaks the device.
FAKE_API CUresult fakeCheckRange(const void* pointer, std::size_t bytes) {
  State& s = state();
  Lock lock(s.mutex);
  std::uintptr_t base = 0;
  const Allocation* found = findAllocation(pointer, &base);
  Device* const mine = running();
  const bool elsewhere = found && found->kind == Kind::kDevice && mine && found->device != mine->index;
  if (found && !elsewhere && reinterpret_cast<std::uintptr_t>(pointer) + bytes <= base + found->size) return kOk;
  if (mine) return mine->error = kIllegalAddress;
  for (Device* device : s.used) device->error = kIllegalAddress;
  return kIllegalAddress;
}

// For the fake TensorRT, which looks whether an application wrote into device memory with the driver.
FAKE_API std::uint64_t fakeBytesToDevice() {
  Lock lock(state().mutex);
  return state().counters.bytesHtoD;
}

// For the fake TensorRT: bytes from there to the end of the allocation, and its number; 0 for none.
FAKE_API std::size_t fakeAllocationAt(const void* pointer, std::uint64_t* number) {
  Lock lock(state().mutex);
  std::uintptr_t base = 0;
  const Allocation* found = findAllocation(pointer, &base);
  *number = found ? found->number : 0;
  return found ? base + found->size - reinterpret_cast<std::uintptr_t>(pointer) : 0;
}
