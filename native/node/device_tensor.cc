#include "device_tensor.h"

#include <cstring>

#include "../base/error.h"
#include "completions.h"
#include "environment.h"
#include "exports.h"
#include "handle.h"
#include "pinned.h"

namespace nt::node {
namespace {

// Any other object is not taken for one, whatever it is.
constexpr napi_type_tag kTag{0x6b1d1e0f5a7c4f02, 0x9c35d2a8e4b71f6d};

struct TensorHandle {
  std::shared_ptr<Resident> resident;  // null once disposed

  // Lets go, and gives what V8 was told of. Whether there was anything.
  bool letGo(napi_env env) {
    if (!resident) return false;
    int64_t ignored = 0;
    napi_adjust_external_memory(env, -static_cast<int64_t>(resident->size()), &ignored);
    resident.reset();
    return true;
  }
};

void finalize(napi_env env, void* data, void*) {
  const std::unique_ptr<TensorHandle> handle(static_cast<TensorHandle*>(data));
  handle->letGo(env);
}

TensorHandle* handleIn(napi_env env, napi_value value) {
  napi_valuetype type = napi_undefined;
  bool isOurs = false;
  void* data = nullptr;
  if (napi_typeof(env, value, &type) != napi_ok || type != napi_object) return nullptr;
  if (napi_check_object_type_tag(env, value, &kTag, &isOurs) != napi_ok || !isOurs) return nullptr;
  return napi_unwrap(env, value, &data) == napi_ok ? static_cast<TensorHandle*>(data) : nullptr;
}

std::string placeText(int device) { return device < 0 ? "the CPU" : "GPU " + std::to_string(device); }

std::shared_ptr<Resident> argument(const Napi::CallbackInfo& info) {
  std::shared_ptr<Resident> resident = info.Length() > 0 ? residentOf(info.Env(), info[0]) : nullptr;
  if (!resident) throwExpected("the handle of a tensor");
  return resident;
}

// readTensor(handle): Promise<ArrayBuffer>; it is copied to the host on a thread
Napi::Value readTensor(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Resident> resident = argument(info);
  return Environment::of(info.Env())
      ->run(info.Env(), [resident, lease = Resident::leaseToRead(resident)]() mutable -> Environment::Finish {
        TensorMemory& memory = resident->memory();
        const std::size_t size = resident->size();
        const std::shared_ptr<HostBlock> block = memory.hostPool().acquireOrOrdinary(size);
        memory.read(block->data(), resident->data(), size);
        lease.reset();
        return [block, size](Napi::Env env) { return resultBuffer(env, block, block->data(), size); };
      });
}

// disposeTensor(handle): twice without harm
void disposeTensor(const Napi::CallbackInfo& info) {
  TensorHandle* handle = info.Length() > 0 ? handleIn(info.Env(), info[0]) : nullptr;
  if (handle == nullptr || !handle->resident) return;
  TensorMemory& memory = handle->resident->memory();
  handle->letGo(info.Env());
  if (memory.mayTrim()) Environment::of(info.Env())->background([&memory] { memory.trim(); });
}

// shareTensor(handle): another one for the same memory, which goes with the last of them
Napi::Value shareTensor(const Napi::CallbackInfo& info) { return tensorHandle(info.Env(), argument(info)); }

// The bytes of an upload: memory of allocate() where it is, other bytes in a copy.
struct Uploaded {
  std::shared_ptr<void> owner;
  const uint8_t* data = nullptr;
  std::size_t size = 0;
  bool isPinned = false;
};

Uploaded uploaded(const Napi::CallbackInfo& info) {
  const Bytes bytes = viewOf(info[0], "data");
  PinnedCall call;
  if (std::shared_ptr<void> owner = leasePinned(bytes.data, bytes.size, call, Access::read))
    return {std::move(owner), bytes.data, bytes.size, true};
  // ordinary memory: none is page-locked on this thread
  const std::shared_ptr<HostBlock> copy = HostPool::ordinary().acquire(bytes.size);
  if (bytes.size > 0) std::memcpy(copy->data(), bytes.data, bytes.size);
  return {copy, copy->data(), bytes.size, false};
}

std::shared_ptr<Resident> upload(TensorMemory& memory, const Uploaded& given) {
  std::shared_ptr<Resident> resident = Resident::make(memory, given.size);
  if (given.isPinned || &memory.hostPool() == &HostPool::ordinary()) {
    memory.write(resident->data(), given.data, given.size);
    return resident;
  }
  const std::shared_ptr<HostBlock> pinned = memory.hostPool().acquireOrOrdinary(given.size);
  if (given.size > 0) std::memcpy(pinned->data(), given.data, given.size);
  memory.write(resident->data(), pinned->data(), given.size);
  return resident;
}

// engine.upload(array): Promise<handle>; the data is read before this returns, unless it is memory of allocate()
Napi::Value uploadTensor(const Napi::CallbackInfo& info) {
  const std::shared_ptr<execution::Engine> engine = handleOf(info).open().sharedEngine();
  return handleOf(info).environment->run(info.Env(), [engine, given = uploaded(info)]() mutable -> Environment::Finish {
    std::shared_ptr<Resident> resident = upload(engine->tensors(), given);
    given.owner.reset();  // a lease ends before anybody hears of it
    return [resident](Napi::Env env) -> Napi::Value { return tensorHandle(env, resident); };
  });
}

}  // namespace

Napi::Object tensorHandle(Napi::Env env, std::shared_ptr<Resident> resident) {
  const Napi::Object object = Napi::Object::New(env);
  const auto size = static_cast<int64_t>(resident->size());
  const int device = resident->memory().device();
  auto handle = std::make_unique<TensorHandle>(TensorHandle{std::move(resident)});
  if (napi_type_tag_object(env, object, &kTag) != napi_ok ||
      napi_wrap(env, object, handle.get(), finalize, nullptr, nullptr) != napi_ok)
    throw Error("ERR_TRT_EXECUTION", "Node refused to wrap a tensor");
  (void)handle.release();
  int64_t ignored = 0;
  napi_adjust_external_memory(env, size, &ignored);
  object.Set("device", device);
  return object;
}

std::shared_ptr<Resident> residentOf(napi_env env, napi_value value) {
  const TensorHandle* handle = handleIn(env, value);
  if (handle == nullptr) return nullptr;
  if (!handle->resident) throw Error("ERR_TRT_DISPOSED", "The tensor was disposed");
  return handle->resident;
}

std::shared_ptr<Resident> residentOf(napi_env env, napi_value value, const TensorMemory& memory, const char* kind,
                                     const std::string& name) {
  std::shared_ptr<Resident> resident = residentOf(env, value);
  if (resident && &resident->memory() != &memory) {
    const std::string from = placeText(resident->memory().device()), here = placeText(memory.device());
    throw Error("ERR_TRT_DEVICE", "Expected a tensor on the host or on " + here + " for " + kind + " '" + name +
                                      "' but received one on " + from + ": await its toHost(), and give that");
  }
  return resident;
}

void exportDeviceTensors(Napi::Object exports) {
  setFunctions(exports, {{"readTensor", guarded<readTensor>},
                         {"disposeTensor", guarded<disposeTensor>},
                         {"shareTensor", guarded<shareTensor>}});
}

void exportUpload(Napi::Object engine, const std::shared_ptr<EngineHandle>& handle) {
  setFunctions(engine, handle, {{"upload", guarded<uploadTensor>}});
}

}  // namespace nt::node
