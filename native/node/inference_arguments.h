// What a call of inference.cc was given, read by bare Node-API.
#pragma once

#include <node_api.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "errors.h"
#include "handle.h"
#include "pinned.h"
#include "values.h"

namespace nt::node {

constexpr std::size_t kMostArguments = 2048;
constexpr double kMostSafe = 9007199254740991;  // Number.MAX_SAFE_INTEGER

[[noreturn]] inline void failNoDestination(std::size_t output) {
  throwExpected("memory, or whether it stays, for output " + std::to_string(output));
}

// The arguments of a call: numbers first, then one typed array for each input. Shapes come in `dims`, which lib/ writes
// just before.
struct Arguments {
  napi_env env;
  EngineHandle* handle = nullptr;
  napi_value few[8] = {};
  std::vector<napi_value> many;  // where these are too few
  std::span<napi_value> values;
  mutable PinnedCall pinned;  // what of our memory the call leases

  Arguments(napi_env env, napi_callback_info info) : env(env), values(few) {
    std::size_t count = values.size();
    void* data = nullptr;
    napi_get_cb_info(env, info, &count, values.data(), nullptr, &data);
    if (count > values.size()) {
      many.resize(std::min(count, kMostArguments));
      values = many;
      count = values.size();  // what there is room for
      napi_get_cb_info(env, info, &count, values.data(), nullptr, &data);
    }
    values = values.first(std::min(count, values.size()));
    handle = static_cast<std::shared_ptr<EngineHandle>*>(data)->get();
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  std::optional<double> numberIfAny(std::size_t index) const {
    double value = 0;
    if (index >= values.size() || napi_get_value_double(env, values[index], &value) != napi_ok) return std::nullopt;
    return value;
  }

  double number(std::size_t index) const {
    if (const std::optional<double> value = numberIfAny(index)) return *value;
    throwExpected("a number for argument " + std::to_string(index));
  }

  uint64_t whole(std::size_t index) const {
    const double value = number(index);
    if (!(value >= 0 && value <= kMostSafe)) {
      throwExpected("a whole number for argument " + std::to_string(index));
    }
    return static_cast<uint64_t>(value);
  }

  // The memory of a typed array, which is empty when it is detached; nothing where the argument is none.
  std::optional<std::span<const uint8_t>> bytes(std::size_t index) const {
    return index < values.size() ? bytesOf(values[index]) : std::nullopt;
  }
  std::optional<std::span<const uint8_t>> bytesOf(napi_value value) const {
    napi_typedarray_type type = napi_uint8_array;
    std::size_t length = 0;
    void* data = nullptr;
    if (napi_get_typedarray_info(env, value, &type, &length, &data, nullptr, nullptr) != napi_ok) return std::nullopt;
    constexpr std::size_t sizes[] = {1, 1, 1, 2, 2, 4, 4, 4, 8, 8, 8, 2};  // by napi_typedarray_type
    const auto kind = static_cast<std::size_t>(type);
    const std::size_t size = kind < std::size(sizes) ? sizes[kind] : 1;
    return std::span{static_cast<const uint8_t*>(data), data == nullptr ? 0 : length * size};
  }

  // Of a typed array: whether its memory may be other threads', too.
  bool isShared(std::size_t index) const {
    napi_value buffer = nullptr;
    bool own = false;
    napi_get_typedarray_info(env, values[index], nullptr, nullptr, nullptr, &buffer, nullptr);
    return napi_is_arraybuffer(env, buffer, &own) != napi_ok || !own;
  }

  napi_valuetype typeOf(napi_value value) const {
    napi_valuetype type = napi_undefined;
    napi_typeof(env, value, &type);
    return type;
  }
  napi_valuetype typeOf(std::size_t index) const {
    return index < values.size() ? typeOf(values[index]) : napi_undefined;
  }

  // Of an array, which the argument has to be.
  std::size_t lengthOf(std::size_t index) const {
    uint32_t length = 0;
    if (napi_get_array_length(env, values[index], &length) != napi_ok) {
      throwExpected("an array for argument " + std::to_string(index));
    }
    return length;
  }
  napi_value element(std::size_t index, std::size_t at) const {
    napi_value value = nullptr;
    if (napi_get_element(env, values[index], static_cast<uint32_t>(at), &value) != napi_ok) failNoDestination(at);
    return value;
  }
};

// What the wrapped body throws becomes a JavaScript exception.
template <class Body>
napi_value call(napi_env env, napi_callback_info info, Body body) {
  try {
    Arguments arguments(env, info);
    return body(arguments);
  } catch (...) {
    throwInJavaScript(env, std::current_exception());
    return nullptr;
  }
}

[[noreturn]] inline void failNoTensor(std::size_t index) {
  throwExpected("a typed array for argument " + std::to_string(index));
}

}  // namespace nt::node
