// The options of a build, and what TensorRT reports of them, as JavaScript's plain data.
#pragma once

#include <napi.h>

#include "../building/options.h"

namespace nt::node {

// { values: { name: value }, inputFormats: [{ name, dtype, formats }], layerPrecisions: [{ name, types }], … }, as
// lib/building/options.ts makes it. Throws ERR_TRT_INVALID_ARGUMENT.
building::Options optionsOf(const Napi::Value& value);

// The same form.
Napi::Object settingsValue(Napi::Env env, const building::Options& settings);

}  // namespace nt::node
