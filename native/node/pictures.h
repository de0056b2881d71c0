// A picture as JavaScript hands it over: NativePixels of lib/backend/native-vision.ts.
#pragma once

#include <napi.h>

#include "../vision/picture.h"
#include "pixels.h"

namespace nt::node {

// Where its bytes lie; they are kept until the work is done. Throws ERR_TRT_INVALID_ARGUMENT where they are fewer than
// its layout has.
vision::Picture pictureOf(PixelWork& work, const Napi::Object& object);

}  // namespace nt::node
