// Tensors that stay on their device, as JavaScript has them.
#pragma once

#include <napi.h>

#include <memory>

#include "../base/tensor_memory.h"

namespace nt::node {

// An object that keeps the tensor's memory until disposeTensor() or the collector takes it. V8 is told of the bytes.
Napi::Object tensorHandle(Napi::Env env, std::shared_ptr<Resident> resident);

// The memory of such an object; null where the value is none. Throws ERR_TRT_DISPOSED.
std::shared_ptr<Resident> residentOf(napi_env env, napi_value value);

// What residentOf() gives, where `memory` is that of its device. Throws ERR_TRT_DEVICE; `name`: of the tensor.
std::shared_ptr<Resident> residentOf(napi_env env, napi_value value, const TensorMemory& memory, const char* kind,
                                     const std::string& name);

}  // namespace nt::node
