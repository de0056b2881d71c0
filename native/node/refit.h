// What JavaScript says of an ONNX model that weights come from.
#pragma once

#include "../building/refit.h"
#include "values.h"

namespace nt::node {

// { model: Uint8Array } or { path: string }
template <>
inline constexpr auto fieldsOf<building::OnnxSource> =
    std::tuple(Field("model", &building::OnnxSource::model), Field("path", &building::OnnxSource::path));

}  // namespace nt::node
