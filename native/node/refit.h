// What JavaScript says of an ONNX model that weights come from.
#pragma once

#include "../refitting/refit.h"
#include "values.h"

namespace nt::node {

// { model: Uint8Array } or { path: string }
template <>
inline constexpr auto fieldsOf<refitting::OnnxSource> =
    std::tuple(Field("model", &refitting::OnnxSource::model), Field("path", &refitting::OnnxSource::path));

}  // namespace nt::node
