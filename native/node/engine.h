// How the ways to an engine (a plan, a shared engine, ONNX on the CPU) make the object that JavaScript has.
#pragma once

#include <napi.h>

#include <functional>
#include <memory>

#include "../execution/engine.h"

namespace nt::node {

// A promise of the engine's object: `engineOf` runs off the JavaScript thread, and so does the making of the session.
// `options`: NativeSessionOptions.
Napi::Value openSession(Napi::Env env, const Napi::Object& options,
                        std::function<std::shared_ptr<execution::Engine>()> engineOf);

// [{ name, dtype, shape, format, profiles, dimensionNames? }]
Napi::Array tensorsValue(Napi::Env env, const std::vector<execution::IoTensor>& tensors);
// [{ name, use, type }]
Napi::Array unsupportedValue(Napi::Env env, const std::vector<execution::UnsupportedTensor>& tensors);

}  // namespace nt::node
