// A picture where it lies, in one of the layouts that cameras, decoders and drawing give; read as rows of RGB.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace nt::vision {

// 8 bits a sample. i420: planes of Y, U, V; nv12: a plane of Y, one of U and V in turns; both have one chroma sample
// for 2 x 2 pixels.
enum class Format : uint8_t { rgb, bgr, rgba, bgra, gray, i420, nv12, count_ };

// R = luma (Y - black) + red V', G = luma (Y - black) - greenU U' - greenV V', B = luma (Y - black) + blue U', where U'
// and V' are less 128.
struct YuvToRgb {
  float black = 0, luma = 0, red = 0, greenU = 0, greenV = 0, blue = 0;
};

struct Picture {
  const uint8_t* data = nullptr;
  int width = 0, height = 0;
  std::size_t stride = 0;  // bytes from one row to the next; of i420 and nv12, that of Y
  Format format = Format::rgb;
  YuvToRgb yuv;
};

// Bytes that a picture of such a layout has from its first to its last.
std::size_t pictureBytes(Format format, int width, int height, std::size_t stride);
// The least stride.
std::size_t rowBytes(Format format, int width);

// `count` pixels of row `y` from column `from` on, as RGB: where they lie, or in `scratch` (3 * count bytes).
const uint8_t* rgbRow(const Picture& picture, int y, int from, int count, uint8_t* scratch);

}  // namespace nt::vision
