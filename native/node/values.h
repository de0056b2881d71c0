// JavaScript values ↔ plain native data. lib/ checks what users give; here wrong types only must not crash.
#pragma once

#include <napi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace nt::node {

// ERR_TRT_INVALID_ARGUMENT: "Expected a number for width"
[[noreturn]] void throwExpected(const std::string& what, const std::string& name);

// The property's value, or the fallback where it is undefined. Throw ERR_TRT_INVALID_ARGUMENT on other types.
std::string stringOf(const Napi::Object& object, const char* key, const std::string& fallback = "");
int64_t integerOf(const Napi::Object& object, const char* key, int64_t fallback);
double numberOf(const Napi::Object& object, const char* key);  // without a fallback
std::vector<int64_t> integersOf(const Napi::Value& value, const char* name);
std::vector<std::string> textsOf(const Napi::Value& value, const std::string& name);

// The bytes of a Uint8Array (or any view), where they lie.
struct Bytes {
  const uint8_t* data;
  std::size_t size;
};
Bytes viewOf(const Napi::Value& value, const char* name);

// A copy of them.
std::vector<uint8_t> bytesOf(const Napi::Value& value, const char* name);

Napi::Array textsValue(Napi::Env env, const std::vector<std::string>& texts);
Napi::Array shapeValue(Napi::Env env, const std::vector<int64_t>& shape);

// An ArrayBuffer over memory that `owner` keeps alive; a copy where the runtime refuses external memory (Electron).
Napi::ArrayBuffer externalBuffer(Napi::Env env, void* data, std::size_t size, std::shared_ptr<void> owner);

// A function that keeps `data` as long as it is there; its callback finds it by kept().
template <class T>
Napi::Function keeping(Napi::Env env, Napi::Value (*callback)(const Napi::CallbackInfo&), const char* name,
                       const std::shared_ptr<T>& data) {
  auto* held = new std::shared_ptr<T>(data);
  const Napi::Function function = Napi::Function::New(env, callback, name, held);
  function.AddFinalizer([](Napi::Env, std::shared_ptr<T>* gone) { delete gone; }, held);
  return function;
}
template <class T>
T& kept(const Napi::CallbackInfo& info) {
  return **static_cast<std::shared_ptr<T>*>(info.Data());
}

Napi::Object objectArgument(const Napi::CallbackInfo& info, std::size_t index, const char* name);
std::string textArgument(const Napi::CallbackInfo& info, std::size_t index, const char* name);

}  // namespace nt::node
