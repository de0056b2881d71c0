// A picture where it lies, in one of the layouts that cameras, decoders and drawing give; read as rows of RGB.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace nt::vision {

// i420: planes of Y, U, V; nv12: a plane of Y, one of U and V in turns; both have one chroma sample for 2 x 2 pixels.
// i42010 and p010 are the same of 10 bits, in words of 16 bits, little-endian: the lower ten bits of i42010's, the
// upper ten of p010's. All others have 8 bits a sample.
enum class Format : uint8_t { rgb, bgr, rgba, bgra, gray, i420, nv12, i42010, p010, count_ };

// R = luma (Y - black) + red V', G = luma (Y - black) - greenU U' - greenV V', B = luma (Y - black) + blue U', where U'
// and V' are less `centre`. Y, U and V are of 8 bits, or samples of 10 bits times `sample`.
struct YuvToRgb {
  float black = 0, luma = 0, red = 0, greenU = 0, greenV = 0, blue = 0;
  float sample = 1, centre = 128;
};

struct Picture {
  const uint8_t* data = nullptr;
  int width = 0, height = 0;
  std::size_t stride = 0;  // bytes from one row to the next; of what has planes, that of Y
  Format format = Format::rgb;
  YuvToRgb yuv;
};

// Whether it is planes of Y, U and V.
bool hasPlanes(Format format);
// Bytes that a picture of such a layout has from its first to its last.
std::size_t pictureBytes(Format format, int width, int height, std::size_t stride);
// The least stride.
std::size_t rowBytes(Format format, int width);
// Whether rows can be so many bytes apart: words are not to be cut in two.
bool isStride(Format format, int width, std::size_t stride);

// Where the chroma of a picture of planes lies.
struct Chroma {
  std::size_t u = 0, v = 0;  // the first bytes, from the picture's own
  std::size_t stride = 0;    // bytes from one row to the next
  std::size_t step = 1;      // and from one sample to the next
};
Chroma chromaOf(Format format, int height, std::size_t stride);

// `count` pixels of row `y` from column `from` on, as RGB: where they lie, or in `scratch` (3 * count bytes).
const uint8_t* rgbRow(const Picture& picture, int y, int from, int count, uint8_t* scratch);

}  // namespace nt::vision
