#include "values.h"

#include <cstring>

#include "../base/error.h"

namespace nt::node {

void throwExpected(const std::string& what, const std::string& name) {
  throw Error("ERR_TRT_INVALID_ARGUMENT", "Expected " + what + " for " + name);
}

std::string stringOf(const Napi::Object& object, const char* key, const std::string& fallback) {
  const Napi::Value value = object.Get(key);
  if (value.IsUndefined()) return fallback;
  if (!value.IsString()) throwExpected("a string", key);
  return value.As<Napi::String>().Utf8Value();
}

int64_t integerOf(const Napi::Object& object, const char* key, int64_t fallback) {
  const Napi::Value value = object.Get(key);
  if (value.IsUndefined()) return fallback;
  if (!value.IsNumber()) throwExpected("a number", key);
  return value.As<Napi::Number>().Int64Value();
}

double numberOf(const Napi::Object& object, const char* key) {
  const Napi::Value value = object.Get(key);
  if (!value.IsNumber()) throwExpected("a number", key);
  return value.As<Napi::Number>().DoubleValue();
}

std::vector<int64_t> integersOf(const Napi::Value& value, const char* name) {
  if (!value.IsArray()) throwExpected("an array of integers", name);
  const Napi::Array array = value.As<Napi::Array>();
  std::vector<int64_t> integers(array.Length());
  for (std::size_t i = 0; i < integers.size(); ++i) {
    const Napi::Value element = array.Get(static_cast<uint32_t>(i));
    if (!element.IsNumber()) throwExpected("an array of integers", name);
    integers[i] = element.As<Napi::Number>().Int64Value();
  }
  return integers;
}

std::vector<std::string> textsOf(const Napi::Value& value, const std::string& name) {
  if (!value.IsArray()) throwExpected("an array of texts", name);
  const Napi::Array array = value.As<Napi::Array>();
  std::vector<std::string> texts;
  for (uint32_t i = 0; i < array.Length(); ++i) {
    const Napi::Value each = array.Get(i);
    if (!each.IsString()) throwExpected("an array of texts", name);
    texts.push_back(each.As<Napi::String>().Utf8Value());
  }
  return texts;
}

Bytes viewOf(const Napi::Value& value, const char* name) {
  if (!value.IsTypedArray()) throwExpected("a typed array", name);
  const Napi::TypedArray view = value.As<Napi::TypedArray>();
  // a detached array reports no length, so nothing is read from it
  const std::size_t size = view.ByteLength();
  if (size == 0) return {nullptr, 0};
  const auto* from = static_cast<const uint8_t*>(view.ArrayBuffer().Data());
  if (from == nullptr) throwExpected("an array that is not detached", name);
  return {from + view.ByteOffset(), size};
}

std::vector<uint8_t> bytesOf(const Napi::Value& value, const char* name) {
  const Bytes view = viewOf(value, name);
  return {view.data, view.data + view.size};
}

Napi::Array textsValue(Napi::Env env, const std::vector<std::string>& texts) {
  const Napi::Array array = Napi::Array::New(env, texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) array.Set(static_cast<uint32_t>(i), texts[i]);
  return array;
}

Napi::Array shapeValue(Napi::Env env, const std::vector<int64_t>& shape) {
  const Napi::Array array = Napi::Array::New(env, shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) array.Set(static_cast<uint32_t>(i), static_cast<double>(shape[i]));
  return array;
}

Napi::ArrayBuffer externalBuffer(Napi::Env env, void* data, std::size_t size, std::shared_ptr<void> owner) {
  auto* kept = new std::shared_ptr<void>(std::move(owner));
  napi_value result = nullptr;
  const auto release = [](napi_env, void*, void* hint) { delete static_cast<std::shared_ptr<void>*>(hint); };
  const napi_status status = size == 0 ? napi_no_external_buffers_allowed
                                       : napi_create_external_arraybuffer(env, data, size, release, kept, &result);
  if (status == napi_ok) return {env, result};
  Napi::ArrayBuffer copy = Napi::ArrayBuffer::New(env, size);
  if (size > 0) std::memcpy(copy.Data(), data, size);
  delete kept;
  return copy;
}

Napi::Object objectArgument(const Napi::CallbackInfo& info, std::size_t index, const char* name) {
  if (info.Length() <= index || !info[index].IsObject()) throwExpected("an object", name);
  return info[index].As<Napi::Object>();
}

std::string textArgument(const Napi::CallbackInfo& info, std::size_t index, const char* name) {
  if (info.Length() <= index || !info[index].IsString()) throwExpected("a string", name);
  return info[index].As<Napi::String>().Utf8Value();
}

}  // namespace nt::node
