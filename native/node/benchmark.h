// Benchmarks as JavaScript sees them.
#pragma once

#include <napi.h>

#include <vector>

#include "../execution/engine.h"

namespace nt::node {

// [{ shape, data: TypedArray }] of all inputs, whose data is copied. Throws ERR_TRT_INVALID_ARGUMENT, and ERR_TRT_SHAPE
// where the data is not as long as the shape says.
std::vector<execution::BenchmarkTensor> tensorsOf(const Napi::Value& value,
                                                  const std::vector<execution::IoTensor>& inputs);

// benchmark(options): { promise, cancel(), progress() }, a function of the engine's object.
Napi::Value benchmark(const Napi::CallbackInfo& info);

}  // namespace nt::node
