// The functions that JavaScript calls: what they give, and what they throw, becomes a value of JavaScript's.
#pragma once

#include <napi.h>

#include <initializer_list>
#include <memory>

#include "errors.h"
#include "values.h"

namespace nt::node {

using Callback = Napi::Value (*)(const Napi::CallbackInfo&);

// A function of this folder as Node calls it: its result is toJs() of what `body` gives, undefined where that is void.
template <auto body>
Napi::Value guarded(const Napi::CallbackInfo& info) {
  try {
    if constexpr (std::is_void_v<decltype(body(info))>) {
      body(info);
      return info.Env().Undefined();
    } else {
      return toJs(info.Env(), body(info));
    }
  } catch (...) {
    throwInJavaScript(info.Env(), std::current_exception());
    return {};
  }
}

// A function that keeps `data` as long as it is there; its callback finds it by kept().
template <class T>
Napi::Function keeping(Napi::Env env, Callback callback, const char* name, const std::shared_ptr<T>& data) {
  auto* held = new std::shared_ptr<T>(data);
  const Napi::Function function = Napi::Function::New(env, callback, name, held);
  function.AddFinalizer([](Napi::Env, std::shared_ptr<T>* gone) { delete gone; }, held);
  return function;
}
template <class T>
std::shared_ptr<T>& keptPointer(const Napi::CallbackInfo& info) {
  return *static_cast<std::shared_ptr<T>*>(info.Data());
}
template <class T>
T& kept(const Napi::CallbackInfo& info) {
  return *keptPointer<T>(info);
}

struct Named {
  const char* name;
  Callback callback;
};
inline void setFunctions(Napi::Object object, std::initializer_list<Named> functions) {
  for (const auto& [name, callback] : functions) object.Set(name, Napi::Function::New(object.Env(), callback, name));
}
// The same, of functions that keep `data`.
template <class T>
void setFunctions(Napi::Object object, const std::shared_ptr<T>& data, std::initializer_list<Named> functions) {
  for (const auto& [name, callback] : functions) object.Set(name, keeping(object.Env(), callback, name, data));
}

}  // namespace nt::node
