// Benchmarks and audits as JavaScript sees them: functions of the engine's object.
#pragma once

#include <napi.h>

namespace nt::node {

// benchmark(options): { promise, cancel(), progress() }
Napi::Value benchmark(const Napi::CallbackInfo& info);

// audit(options): { promise, cancel() }
Napi::Value audit(const Napi::CallbackInfo& info);

}  // namespace nt::node
