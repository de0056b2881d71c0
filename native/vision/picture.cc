#include "picture.h"

#include <algorithm>
#include <cmath>

namespace nt::vision {
namespace {

int formatChannels(Format format) {
  switch (format) {
    case Format::rgb:
    case Format::bgr:
      return 3;
    case Format::rgba:
    case Format::bgra:
      return 4;
    default:
      return 1;
  }
}

// Channels in the order `red`, 1, 2 - `red`, every `step` bytes.
void packRow(const uint8_t* from, int step, int red, int count, uint8_t* to) {
  for (int i = 0; i < count; ++i, from += step, to += 3) {
    to[0] = from[red];
    to[1] = from[1];
    to[2] = from[2 - red];
  }
}

void grayRow(const uint8_t* from, int count, uint8_t* to) {
  for (int i = 0; i < count; ++i, to += 3) to[0] = to[1] = to[2] = from[i];
}

uint8_t channelOf(float value) { return static_cast<uint8_t>(std::clamp(value + 0.5f, 0.0f, 255.0f)); }

// `u` and `v`: the chroma of the row's first pixels, `step` bytes from one pair of pixels to the next.
void yuvRow(const YuvToRgb& yuv, const uint8_t* y, const uint8_t* u, const uint8_t* v, int step, int from, int count,
            uint8_t* to) {
  for (int i = from; i < from + count; ++i, to += 3) {
    const std::ptrdiff_t pair = static_cast<std::ptrdiff_t>(i / 2) * step;
    const float luma = yuv.luma * (static_cast<float>(y[i]) - yuv.black);
    const float blueness = static_cast<float>(u[pair]) - 128, redness = static_cast<float>(v[pair]) - 128;
    to[0] = channelOf(luma + yuv.red * redness);
    to[1] = channelOf(luma - yuv.greenU * blueness - yuv.greenV * redness);
    to[2] = channelOf(luma + yuv.blue * blueness);
  }
}

// The bytes of a row of U, or of V: i420 has them apart, nv12 in turns.
std::size_t chromaStride(std::size_t stride) { return (stride + 1) / 2; }

}  // namespace

std::size_t rowBytes(Format format, int width) { return static_cast<std::size_t>(width) * formatChannels(format); }

std::size_t pictureBytes(Format format, int width, int height, std::size_t stride) {
  const auto rows = static_cast<std::size_t>(height), half = (rows + 1) / 2;
  if (format == Format::i420 || format == Format::nv12) return rows * stride + 2 * half * chromaStride(stride);
  return (rows - 1) * stride + rowBytes(format, width);
}

const uint8_t* rgbRow(const Picture& picture, int y, int from, int count, uint8_t* scratch) {
  const uint8_t* const row = picture.data + static_cast<std::size_t>(y) * picture.stride;
  const std::size_t rows = static_cast<std::size_t>(picture.height), pairs = static_cast<std::size_t>(y) / 2;
  const uint8_t* const chroma = picture.data + rows * picture.stride;
  switch (picture.format) {
    case Format::rgb:
      return row + static_cast<std::size_t>(from) * 3;
    case Format::bgr:
      packRow(row + static_cast<std::size_t>(from) * 3, 3, 2, count, scratch);
      break;
    case Format::rgba:
      packRow(row + static_cast<std::size_t>(from) * 4, 4, 0, count, scratch);
      break;
    case Format::bgra:
      packRow(row + static_cast<std::size_t>(from) * 4, 4, 2, count, scratch);
      break;
    case Format::gray:
      grayRow(row + from, count, scratch);
      break;
    case Format::i420: {
      const std::size_t stride = chromaStride(picture.stride);
      const uint8_t* const u = chroma + pairs * stride;
      yuvRow(picture.yuv, row, u, u + (rows + 1) / 2 * stride, 1, from, count, scratch);
      break;
    }
    default: {
      const uint8_t* const uv = chroma + pairs * 2 * chromaStride(picture.stride);
      yuvRow(picture.yuv, row, uv, uv + 1, 2, from, count, scratch);
    }
  }
  return scratch;
}

}  // namespace nt::vision
