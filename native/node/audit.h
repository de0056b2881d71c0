// Audits as JavaScript sees them.
#pragma once

#include <napi.h>

namespace nt::node {

// audit(options): { promise, cancel() }, a function of the engine's object.
Napi::Value audit(const Napi::CallbackInfo& info);

}  // namespace nt::node
