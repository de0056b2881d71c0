#include "completions.h"

#include <cstring>
#include <map>

#include "device_tensor.h"
#include "environment.h"
#include "exports.h"

namespace nt::node {
namespace {

constexpr std::size_t kHead = 7;        // numbers of a completion before its outputs
constexpr std::size_t kPerOutput = 12;  // at most: place, offset, bytes, rank, 8 dimensions
constexpr std::size_t kAlignment = 8;   // of a small output in `scratch`: the largest element's

// The bytes of pinned memory that JavaScript holds, in the whole process: beyond the limit results are copied.
std::atomic<std::size_t>& externalBytes() {
  static auto& bytes = *new std::atomic<std::size_t>(0);
  return bytes;
}
constexpr std::size_t kPinnedLimit = std::size_t{256} << 20;
constexpr std::size_t kExternal = std::size_t{256} << 10;
constexpr std::size_t kExternalOrdinary = std::size_t{32} << 10;

struct Held {
  std::shared_ptr<void> owner;
  std::size_t bytes;
};

void letGo(napi_env, void*, void* hint) {
  const std::unique_ptr<Held> held(static_cast<Held*>(hint));
  externalBytes() -= held->bytes;
}

// An ArrayBuffer over the pinned memory itself, or null where it has to be copied.
napi_value externalOver(Napi::Env env, std::shared_ptr<void> owner, uint8_t* data, std::size_t size) {
  if (externalBytes() + size > kPinnedLimit) return nullptr;
  auto held = std::make_unique<Held>(Held{std::move(owner), size});
  napi_value result = nullptr;
  if (napi_create_external_arraybuffer(env, data, size, letGo, held.get(), &result) != napi_ok) return nullptr;
  externalBytes() += size;  // V8 counts the memory of an external ArrayBuffer itself
  (void)held.release();
  return result;
}

}  // namespace

Napi::ArrayBuffer resultBuffer(Napi::Env env, std::shared_ptr<void> owner, uint8_t* data, std::size_t size,
                               bool ordinary) {
  if (size >= (ordinary ? kExternalOrdinary : kExternal)) {
    if (napi_value external = externalOver(env, std::move(owner), data, size)) return {env, external};
  }
  return copyOf(env, data, size);
}

CompletionPort::CompletionPort(Napi::Float64Array dims, Napi::Float64Array meta, Napi::ArrayBuffer scratch,
                               Napi::Function settle)
    : dims_(Napi::Persistent(dims)),
      meta_(Napi::Persistent(meta)),
      scratch_(Napi::Persistent(scratch)),
      settle_(Napi::Persistent(settle)),
      dimsData_(dims.Data()),
      values_(meta.Data()),
      capacity_(meta.ElementLength()),
      scratchData_(static_cast<uint8_t*>(scratch.Data())),
      scratchCapacity_(scratch.ByteLength()) {}

void CompletionPort::deliver(Napi::Env env, std::vector<execution::Completion>& completions) {
  std::size_t next = 0;
  while (next < completions.size()) {
    const Napi::HandleScope scope(env);
    restart();
    Napi::Array objects = Napi::Array::New(env);
    int count = 0;
    for (; next < completions.size() && append(env, completions[next], objects); ++next) ++count;
    settle_.Call({Napi::Number::New(env, count), objects});
  }
}

Napi::Array CompletionPort::write(Napi::Env env, execution::Completion& completion) {
  restart();
  Napi::Array objects = Napi::Array::New(env);
  append(env, completion, objects);
  return objects;
}

bool CompletionPort::fits(const execution::Completion& completion) const {
  std::size_t bytes = 0;
  for (const execution::Output& output : completion.outputs)
    bytes += output.size <= kSmall ? output.size + kAlignment : 0;
  return used_ + kHead + kPerOutput * completion.outputs.size() <= capacity_ &&
         scratchUsed_ + bytes <= scratchCapacity_;
}

bool CompletionPort::append(Napi::Env env, execution::Completion& completion, Napi::Array& objects) {
  if (used_ > 0 && !fits(completion)) return false;
  put(static_cast<double>(completion.request));
  put(completion.failure ? 1 : 0);
  put(static_cast<double>(completion.outputs.size()));
  put(completion.timing.queue);
  put(completion.timing.copyIn);
  put(completion.timing.compute);
  put(completion.timing.copyOut);
  if (completion.failure) objects.Set(objects.Length(), toJavaScript(env, completion.failure));
  for (const execution::Output& output : completion.outputs) appendOutput(env, output, objects);
  for (execution::Output& output : completion.outputs) output.release();
  if (completion.failure) completion.failure = nullptr;
  return true;
}

void CompletionPort::appendOutput(Napi::Env env, const execution::Output& output, Napi::Array& objects) {
  using Place = execution::Output::Place;
  if (output.place() == Place::none) return put(notWanted);
  if (output.place() == Place::target) {
    put(target);
    put(0);
  } else if (output.place() == Place::resident) {
    put(resident);
    put(objects.Length());
    objects.Set(objects.Length(), tensorHandle(env, std::static_pointer_cast<Resident>(output.owner())));
  } else if (output.size <= kSmall && scratchUsed_ + output.size <= scratchCapacity_) {
    put(small);
    put(static_cast<double>(scratchUsed_));
    std::memcpy(scratchData_ + scratchUsed_, output.data(), output.size);
    scratchUsed_ += (output.size + kAlignment - 1) / kAlignment * kAlignment;
  } else {
    put(buffer);
    put(objects.Length());
    auto* data = const_cast<uint8_t*>(output.data());
    objects.Set(objects.Length(), resultBuffer(env, output.owner(), data, output.size, output.isOrdinary()));
  }
  put(static_cast<double>(output.size));
  put(static_cast<double>(output.shape.size()));
  for (const int64_t dim : output.shape) put(static_cast<double>(dim));
}

namespace {

// connect(dims: Float64Array, meta: Float64Array, scratch: ArrayBuffer, settle): once per environment, before any
// engine is opened
Napi::Value connect(const Napi::CallbackInfo& info) {
  const auto isRoomy = [&](std::size_t index) {
    return info[index].IsTypedArray() && info[index].As<Napi::TypedArray>().TypedArrayType() == napi_float64_array &&
           info[index].As<Napi::TypedArray>().ElementLength() >= kHead + kPerOutput * CompletionPort::kMostTensors;
  };
  if (!isRoomy(0) || !isRoomy(1) || !info[2].IsArrayBuffer() || !info[3].IsFunction()) {
    throwExpected("two large Float64Arrays, an ArrayBuffer and a function");
  }
  Environment::of(info.Env())
      ->connect(std::make_unique<CompletionPort>(info[0].As<Napi::Float64Array>(), info[1].As<Napi::Float64Array>(),
                                                 info[2].As<Napi::ArrayBuffer>(), info[3].As<Napi::Function>()));
  return info.Env().Undefined();
}

}  // namespace

void exportCompletions(Napi::Object exports) { setFunctions(exports, {{"connect", guarded<connect>}}); }

}  // namespace nt::node
