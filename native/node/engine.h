// How the ways to an engine (a plan, a shared engine, ONNX on the CPU) make the object that JavaScript has.
#pragma once

#include <functional>
#include <memory>

#include "../execution/engine.h"
#include "values.h"

namespace nt::node {

template <>
inline constexpr auto fieldsOf<ShapeRange> =
    std::tuple(Field("min", &ShapeRange::min), Field("opt", &ShapeRange::opt), Field("max", &ShapeRange::max));
template <>
inline constexpr auto fieldsOf<execution::IoTensor> =
    std::tuple(Field("name", &execution::IoTensor::name), Field("dtype", &execution::IoTensor::dtype),
               Field("shape", &execution::IoTensor::shape), Field("format", &execution::IoTensor::format),
               Field("profiles", &execution::IoTensor::profiles),
               Field("values",
                     [](const execution::IoTensor& tensor) {
                       return tensor.onHost ? std::optional(tensor.values) : std::nullopt;
                     }),
               fieldIfAny("dimensionNames", [](const execution::IoTensor& tensor) {
                 std::vector<std::optional<std::string>> names;
                 for (const std::string& name : tensor.dimensionNames)
                   names.push_back(name.empty() ? std::nullopt : std::optional(name));
                 return names;
               }));
template <>
inline constexpr auto fieldsOf<execution::UnsupportedTensor> = std::tuple(
    Field("name", &execution::UnsupportedTensor::name),
    Field("use", [](const execution::UnsupportedTensor& tensor) { return tensor.input ? "input" : "output"; }),
    Field("type", &execution::UnsupportedTensor::type));

// A promise of the engine's object: `engineOf` runs off the JavaScript thread, and so does the making of the session.
// `options`: NativeSessionOptions.
Napi::Value openSession(Napi::Env env, const Napi::Object& options,
                        std::function<std::shared_ptr<execution::Engine>()> engineOf);

}  // namespace nt::node
