// What JavaScript says of an ONNX model that weights come from.
#pragma once

#include <napi.h>

#include <optional>

#include "../refitting/refit.h"

namespace nt::node {

// { model: Uint8Array } or { path: string }; nothing for undefined.
std::optional<refitting::OnnxSource> onnxSourceOf(const Napi::Value& value);

}  // namespace nt::node
