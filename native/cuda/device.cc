#include "device.h"

#include <algorithm>
#include <bit>
#include <mutex>

#include "../base/error.h"
#include "../base/host_pool.h"
#include "../base/one_per.h"
#include "device_pool.h"

namespace nt::cuda {

const DeviceContext& DeviceContext::get(int device) {
  static auto& contexts = *new OnePer<int, const DeviceContext>;
  const Driver& driver = Driver::withDevice(device);
  return contexts.of(device, [&] { return new DeviceContext(driver, device); });
}

DeviceContext::DeviceContext(const Driver& driver, int index) : driver_(&driver), index_(index) {
  Device device = 0;
  driver.check(driver.deviceGet(&device, index), "cuDeviceGet");
  driver.check(driver.primaryCtxRetain(&context_, device), "cuDevicePrimaryCtxRetain");
}

void DeviceContext::makeCurrent() const {
  throwIfLost();
  check(driver_->ctxSetCurrent(context_), "cuCtxSetCurrent");
}

void DeviceContext::throwIfLost() const {
  if (lost()) {
    throw Error("ERR_TRT_DEVICE_LOST",
                "GPU " + std::to_string(index_) +
                    " reported an error after which nothing runs on it in this process: start a new one");
  }
}

void DeviceContext::throwIfBroken(const char* what) const {
  throwIfLost();
  // A query of the default stream changes nothing and reports what is wrong with the device.
  const Result state = driver_->streamQuery(nullptr);
  if (isSticky(state)) fail(state, what);
}

void DeviceContext::fail(Result result, const char* what) const {
  note(result);
  driver_->check(result, what);
  std::abort();  // check() throws: the result is no success
}

DeviceScope::DeviceScope(const DeviceContext& device) : device_(device) {
  device.throwIfLost();
  device.check(enter(), "cuCtxSetCurrent");
}

DeviceScope::DeviceScope(const DeviceContext& device, std::nothrow_t) noexcept : device_(device) {
  if (device.lost()) return;
  device.note(enter());
  if (entered_ || device.lost()) return;
  // Where the driver does not tell what is current, the device is made so and stays so: what is freed here must not be
  // left for want of an answer.
  const Result result = device.driver().ctxSetCurrent(device.context_);
  device.note(result);
  entered_ = result == kSuccess;
}

Result DeviceScope::enter() noexcept {
  const Driver& driver = device_.driver();
  Result result = driver.ctxGetCurrent(&before_);
  if (result == kSuccess && before_ != device_.context_) {
    result = driver.ctxSetCurrent(device_.context_);
    switched_ = result == kSuccess;
  }
  entered_ = result == kSuccess;
  return result;
}

DeviceScope::~DeviceScope() {
  // what this thread had before is not this device's matter: where it is gone, its own next call says so
  if (switched_) device_.driver().ctxSetCurrent(before_);
}

void leaveBehind(std::shared_ptr<void> object) {
  static auto& mutex = *new std::mutex;
  static auto& objects = *new std::vector<std::shared_ptr<void>>;
  const std::lock_guard lock(mutex);
  objects.push_back(std::move(object));
}

OwnedStream::OwnedStream(const DeviceContext& device, bool high) : device_(device) {
  constexpr unsigned kNonBlocking = 1;  // CU_STREAM_NON_BLOCKING
  int least = 0, greatest = 0;
  const Driver& driver = device.driver();
  if (high) device.check(driver.streamPriorityRange(&least, &greatest), "cuCtxGetStreamPriorityRange");
  device.check(driver.streamCreateWithPriority(&stream_, kNonBlocking, greatest), "cuStreamCreateWithPriority");
}

OwnedStream::~OwnedStream() {
  if (!device_.lost()) device_.driver().streamDestroy(stream_);
}

void OwnedStream::waitFor(Event event) const {
  device_.check(device_.driver().streamWaitEvent(stream_, event, 0), "cuStreamWaitEvent");
}

void OwnedStream::synchronize() const {
  device_.check(device_.driver().streamSynchronize(stream_), "cuStreamSynchronize");
}

void OwnedStream::settle() const noexcept {
  if (!device_.lost()) device_.note(device_.driver().streamSynchronize(stream_));
}

void OwnedStream::copyToDevice(DevicePtr to, const void* from, std::size_t bytes) const {
  if (bytes > 0) device_.check(device_.driver().memcpyHtoDAsync(to, from, bytes, stream_), "cuMemcpyHtoDAsync");
}

void OwnedStream::copyToHost(void* to, DevicePtr from, std::size_t bytes) const {
  if (bytes > 0) device_.check(device_.driver().memcpyDtoHAsync(to, from, bytes, stream_), "cuMemcpyDtoHAsync");
}

void OwnedStream::copyOnDevice(DevicePtr to, DevicePtr from, std::size_t bytes) const {
  if (bytes > 0) device_.check(device_.driver().memcpyDtoDAsync(to, from, bytes, stream_), "cuMemcpyDtoDAsync");
}

OwnedEvent::OwnedEvent(const DeviceContext& device, Use use) : device_(device) {
  constexpr unsigned kBlockingSync = 1, kDisableTiming = 2;  // CU_EVENT_…
  const unsigned flags = (use == Use::spinning ? 0 : kBlockingSync) | (use == Use::order ? kDisableTiming : 0);
  device.check(device.driver().eventCreate(&event_, flags), "cuEventCreate");
}

OwnedEvent::~OwnedEvent() {
  if (!device_.lost()) device_.driver().eventDestroy(event_);
}

void OwnedEvent::record(const OwnedStream& stream) const {
  device_.check(device_.driver().eventRecord(event_, stream.get()), "cuEventRecord");
}

void OwnedEvent::synchronize() const { device_.check(device_.driver().eventSynchronize(event_), "cuEventSynchronize"); }

bool OwnedEvent::done() const {
  const Result result = device_.driver().eventQuery(event_);
  if (result == kNotReady) return false;
  device_.check(result, "cuEventQuery");
  return true;
}

float OwnedEvent::millisecondsTo(const OwnedEvent& end) const {
  float milliseconds = 0;
  device_.check(device_.driver().eventElapsedTime(&milliseconds, event_, end.event_), "cuEventElapsedTime");
  return milliseconds;
}

void OwnedGraph::begin(const DeviceContext& device, const OwnedStream& stream) {
  constexpr int kThreadLocal = 1;  // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL: other threads' work does not end the capture
  device.check(device.driver().streamBeginCapture(stream.get(), kThreadLocal), "cuStreamBeginCapture");
}

std::unique_ptr<OwnedGraph> OwnedGraph::end(const DeviceContext& device, const OwnedStream& stream, bool keep) {
  const Driver& driver = device.driver();
  Graph graph = nullptr;
  const Result ended = driver.streamEndCapture(stream.get(), &graph);
  // What stays in capture records all later work instead of running it: a second call ends that, or changes nothing.
  if (ended != kSuccess && driver.streamEndCapture(stream.get(), &graph) == kSuccess) driver.graphDestroy(graph);
  if (!keep) {
    if (ended == kSuccess && graph != nullptr) driver.graphDestroy(graph);
    return nullptr;
  }
  device.check(ended, "cuStreamEndCapture");
  GraphExec exec = nullptr;
  const Result instantiated = driver.graphInstantiate(&exec, graph, 0);
  driver.graphDestroy(graph);
  device.check(instantiated, "cuGraphInstantiateWithFlags");
  return std::unique_ptr<OwnedGraph>(new OwnedGraph(device, exec));
}

OwnedGraph::~OwnedGraph() {
  if (!device_.lost()) device_.driver().graphExecDestroy(exec_);
}

void OwnedGraph::launch(const OwnedStream& stream) const {
  device_.check(device_.driver().graphLaunch(exec_, stream.get()), "cuGraphLaunch");
}

void DeviceBuffer::reserve(std::size_t bytes, Growth growth) {
  if (fits(bytes)) return;
  const std::size_t exact = aligned(std::max<std::size_t>(bytes, 1));  // an empty tensor needs an address too
  // the first size is often the only one
  const bool doubles = growth == Growth::doubling && capacity_ > 0;
  if (doubles && tryAllocate(std::bit_ceil(exact), false)) return;
  // what is there goes only where both do not fit
  if (capacity_ > 0 && tryAllocate(exact, false)) return;
  release();
  tryAllocate(exact, true);
}

// In place of what is there. False where there is not as much; the last try throws then.
bool DeviceBuffer::tryAllocate(std::size_t bytes, bool last) {
  if (last) {
    account_->charge(bytes);
  } else if (!account_->tryCharge(bytes)) {
    return false;
  }
  DevicePtr pointer = 0;
  // for a size that is only nicer than another one nobody gives anything up
  const Result result = last ? allocate(device_, bytes, pointer) : device_.driver().memAlloc(&pointer, bytes);
  if (result != kSuccess) account_->release(bytes);
  if (result == kOutOfMemory && !last) return false;
  if (result == kOutOfMemory) {
    const std::string size = std::to_string(bytes);
    throw Error("ERR_TRT_OUT_OF_MEMORY", "GPU " + std::to_string(device_.index()) + " has no " + size + " bytes left",
                {{"bytes", size}, {"call", "cuMemAlloc"}});
  }
  device_.check(result, "cuMemAlloc");
  release();
  pointer_ = pointer;
  capacity_ = bytes;
  return true;
}

void DeviceBuffer::release() noexcept {
  if (pointer_ != 0) {
    const DeviceScope scope(device_, std::nothrow);
    if (scope.entered()) device_.driver().memFree(pointer_);
  }
  account_->release(capacity_);
  pointer_ = 0;
  capacity_ = 0;
}

}  // namespace nt::cuda
