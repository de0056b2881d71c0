#include "values.h"

#include <cstring>

#include "../base/error.h"

namespace nt::node {

void throwExpected(const std::string& what, const std::string& name) {
  throw Error("ERR_TRT_INVALID_ARGUMENT", "Expected " + what + (name.empty() ? "" : " for " + name));
}

Bytes viewOf(const Napi::Value& value, const std::string& name) {
  if (!value.IsTypedArray()) throwExpected("a typed array", name);
  const Napi::TypedArray view = value.As<Napi::TypedArray>();
  // a detached array reports no length, so nothing is read from it
  const std::size_t size = view.ByteLength();
  if (size == 0) return {nullptr, 0};
  const auto* from = static_cast<const uint8_t*>(view.ArrayBuffer().Data());
  if (from == nullptr) throwExpected("an array that is not detached", name);
  return {from + view.ByteOffset(), size};
}

std::vector<uint8_t> bytesOf(const Napi::Value& value, const std::string& name) {
  const Bytes view = viewOf(value, name);
  return {view.data, view.data + view.size};
}

Napi::ArrayBuffer copyOf(Napi::Env env, const void* data, std::size_t size) {
  Napi::ArrayBuffer copy = Napi::ArrayBuffer::New(env, size);
  if (size > 0) std::memcpy(copy.Data(), data, size);
  return copy;
}

Napi::ArrayBuffer externalBuffer(Napi::Env env, void* data, std::size_t size, std::shared_ptr<void> owner) {
  auto* kept = new std::shared_ptr<void>(std::move(owner));
  napi_value result = nullptr;
  const auto release = [](napi_env, void*, void* hint) { delete static_cast<std::shared_ptr<void>*>(hint); };
  const napi_status status = size == 0 ? napi_no_external_buffers_allowed
                                       : napi_create_external_arraybuffer(env, data, size, release, kept, &result);
  if (status == napi_ok) return {env, result};
  Napi::ArrayBuffer copy = copyOf(env, data, size);
  delete kept;
  return copy;
}

}  // namespace nt::node
