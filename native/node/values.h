// JavaScript values ↔ plain native data: toJs() one way, fromJs() the other. Both know numbers, texts, lists, bytes,
// and structs by their fieldsOf. lib/ checks what users give; here wrong types only must not crash.
#pragma once

#include <napi.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "../base/dtype.h"

namespace nt::node {

// ERR_TRT_INVALID_ARGUMENT: "Expected a number for width", "Expected a picture"
[[noreturn]] void throwExpected(const std::string& what, const std::string& name = "");

// A property: its name, and its value; of a struct a pointer to the member, or a function of the struct.
template <class Value>
struct Field {
  constexpr Field(const char* name, Value value) : name(name), value(std::move(value)) {}
  const char* name;
  Value value;
  bool ifAny = false;  // an empty text or list is left out
};
template <class Value>
constexpr Field<Value> fieldIfAny(const char* name, Value value) {
  Field<Value> field(name, std::move(value));
  field.ifAny = true;
  return field;
}

// The properties that a struct has in JavaScript: a specialization is a tuple of Field.
template <class T>
inline constexpr std::nullptr_t fieldsOf = nullptr;

template <class T, template <class...> class Template>
inline constexpr bool isA = false;
template <class... Parameters, template <class...> class Template>
inline constexpr bool isA<Template<Parameters...>, Template> = true;

template <class T>
inline constexpr bool isDuration = false;
template <class... Parameters>
inline constexpr bool isDuration<std::chrono::duration<Parameters...>> = true;

// Numbers of which JavaScript has typed arrays. Those of 64 bits are in ordinary arrays, as in shapes.
template <class T>
concept Packed = std::is_same_v<T, double> || std::is_same_v<T, float> || std::is_same_v<T, int32_t>;

// A list of names, each with a value: an object.
template <class T>
concept Entries = std::ranges::range<T> && requires(const std::ranges::range_value_t<T>& entry) {
                                             { entry.first } -> std::convertible_to<std::string>;
                                           };

// An ArrayBuffer.
Napi::ArrayBuffer copyOf(Napi::Env env, const void* data, std::size_t size);

// What is undefined is left out of objects.
template <class T>
void setField(Napi::Object object, const char* name, bool ifAny, const T& value);
template <class... Values>
Napi::Object objectOf(Napi::Env env, const Field<Values>&... fields) {
  const Napi::Object object = Napi::Object::New(env);
  (setField(object, fields.name, fields.ifAny, fields.value), ...);
  return object;
}

// Bytes are an ArrayBuffer.
template <class T>
Napi::Value toJs(Napi::Env env, const T& value) {
  if constexpr (std::is_convertible_v<const T&, napi_value>) {
    return {env, value};
  } else if constexpr (std::is_same_v<T, bool>) {
    return Napi::Boolean::New(env, value);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return Napi::Number::New(env, static_cast<double>(value));
  } else if constexpr (std::is_convertible_v<const T&, std::string>) {
    return Napi::String::New(env, value);
  } else if constexpr (std::is_same_v<T, DType>) {
    return Napi::String::New(env, dtypeName(value));
  } else if constexpr (isA<T, std::optional>) {
    return value ? toJs(env, *value) : env.Undefined();
  } else if constexpr (isA<T, std::variant>) {
    return std::visit([&](const auto& each) { return toJs(env, each); }, value);
  } else if constexpr (Entries<T>) {
    const Napi::Object object = Napi::Object::New(env);
    for (const auto& [key, each] : value) object.Set(key, toJs(env, each));
    return object;
  } else if constexpr (std::ranges::range<T>) {
    using Element = std::ranges::range_value_t<T>;
    if constexpr (std::is_same_v<Element, uint8_t>) {
      return copyOf(env, value.data(), value.size());
    } else if constexpr (Packed<Element>) {
      auto array = Napi::TypedArrayOf<Element>::New(env, value.size());
      std::ranges::copy(value, array.Data());
      return array;
    } else {
      const Napi::Array array = Napi::Array::New(env, value.size());
      uint32_t index = 0;
      for (const Element& each : value) array.Set(index++, toJs(env, each));
      return array;
    }
  } else {
    const Napi::Object object = Napi::Object::New(env);
    const auto set = [&](const auto& field) {
      setField(object, field.name, field.ifAny, std::invoke(field.value, value));
    };
    std::apply([&](const auto&... field) { (set(field), ...); }, fieldsOf<T>);
    return object;
  }
}

template <class T>
void setField(Napi::Object object, const char* name, bool ifAny, const T& value) {
  if constexpr (requires { value.empty(); }) {
    if (ifAny && value.empty()) return;
  }
  const Napi::Value made = toJs(object.Env(), value);
  if (!made.IsUndefined()) object.Set(name, made);
}

// The bytes of a Uint8Array (or any view), where they lie.
struct Bytes {
  const uint8_t* data;
  std::size_t size;
};
Bytes viewOf(const Napi::Value& value, const std::string& name);

// A copy of them.
std::vector<uint8_t> bytesOf(const Napi::Value& value, const std::string& name);

template <class T>
void readFields(const Napi::Object& object, T& into);

// `name`: for the message. A flag may be a number; durations are milliseconds. Throws ERR_TRT_INVALID_ARGUMENT on other
// types.
template <class T>
T fromJs(const Napi::Value& value, const std::string& name) {
  if constexpr (std::is_same_v<T, bool>) {
    return value.IsBoolean() ? value.As<Napi::Boolean>().Value() : fromJs<double>(value, name) != 0;
  } else if constexpr (std::is_arithmetic_v<T>) {
    if (!value.IsNumber()) throwExpected("a number", name);
    const auto number = value.As<Napi::Number>();
    if constexpr (std::is_integral_v<T>) {
      if (!std::in_range<T>(number.Int64Value())) throwExpected("a number within the range of its type", name);
      return static_cast<T>(number.Int64Value());
    } else {
      return static_cast<T>(number.DoubleValue());
    }
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!value.IsString()) throwExpected("a string", name);
    return value.As<Napi::String>().Utf8Value();
  } else if constexpr (std::is_same_v<T, DType>) {
    const auto type = dtypeByName(fromJs<std::string>(value, name));
    if (!type) throwExpected("a data type", name);
    return *type;
  } else if constexpr (isDuration<T>) {
    return std::chrono::duration_cast<T>(std::chrono::duration<double, std::milli>(fromJs<double>(value, name)));
  } else if constexpr (isA<T, std::optional>) {
    return fromJs<typename T::value_type>(value, name);
  } else if constexpr (std::is_same_v<T, std::vector<uint8_t>>) {
    return bytesOf(value, name);
  } else if constexpr (std::is_same_v<T, Napi::Object>) {
    if (!value.IsObject()) throwExpected("an object", name);
    return value.As<Napi::Object>();
  } else if constexpr (Entries<T>) {
    T entries;
    const auto object = fromJs<Napi::Object>(value, name);
    for (const auto& key : fromJs<std::vector<std::string>>(object.GetPropertyNames(), name))
      entries.emplace_back(key, fromJs<typename T::value_type::second_type>(object.Get(key), key));
    return entries;
  } else if constexpr (isA<T, std::vector>) {
    if (!value.IsArray()) throwExpected("an array", name);
    T list;
    const auto array = value.As<Napi::Array>();
    for (uint32_t i = 0; i < array.Length(); ++i) list.push_back(fromJs<typename T::value_type>(array.Get(i), name));
    return list;
  } else {
    T made{};
    readFields(fromJs<Napi::Object>(value, name), made);
    return made;
  }
}

// The members of a struct by its fieldsOf; of what is undefined they stay as they are.
template <class T>
void readFields(const Napi::Object& object, T& into) {
  const auto read = [&](const auto& field) {
    auto& member = std::invoke(field.value, into);
    const Napi::Value value = object.Get(field.name);
    if (!value.IsUndefined()) member = fromJs<std::remove_reference_t<decltype(member)>>(value, field.name);
  };
  std::apply([&](const auto&... field) { (read(field), ...); }, fieldsOf<T>);
}

// A property of an object, or the fallback where it is undefined.
template <class T>
T property(const Napi::Object& object, const char* key, T fallback = {}) {
  const Napi::Value value = object.Get(key);
  return value.IsUndefined() ? fallback : fromJs<T>(value, key);
}

// An ArrayBuffer over memory that `owner` keeps alive; a copy where the runtime refuses external memory (Electron).
Napi::ArrayBuffer externalBuffer(Napi::Env env, void* data, std::size_t size, std::shared_ptr<void> owner);

}  // namespace nt::node
