// Native errors as JavaScript values. lib/backend/native.ts makes TensorRTErrors of them.
#pragma once

#include <napi.h>

#include <exception>

#include "../base/error.h"

namespace nt::node {

// An Error with `code`, `details` (an object of strings) and `log` (an array of strings).
Napi::Value toJavaScript(Napi::Env env, std::exception_ptr failure);

// Makes it the exception that JavaScript sees. A thread that is being terminated takes none, and nobody there waits for
// one: what Node-API throws of that would end the process, and ends here.
void throwInJavaScript(Napi::Env env, std::exception_ptr failure) noexcept;

}  // namespace nt::node
