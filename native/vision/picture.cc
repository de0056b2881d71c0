#include "picture.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels.h"

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

std::size_t sampleBytes(Format format) { return format == Format::i42010 || format == Format::p010 ? 2 : 1; }

bool inTurns(Format format) { return format == Format::nv12 || format == Format::p010; }

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

// A word need not begin at an even address.
template <int kShift>
struct Word {
  static float at(const uint8_t* from) {
    uint16_t word = 0;
    std::memcpy(&word, from, 2);
    return static_cast<float>((word >> kShift) & 1023);
  }
};

// Of 10 bits. `u` and `v`: the chroma of the row's first pixels.
template <class Sample>
void wordsRow(const YuvToRgb& yuv, const uint8_t* y, const uint8_t* u, const uint8_t* v, std::size_t step, int from,
              int count, uint8_t* to) {
  for (int i = from; i < from + count; ++i, to += 3) {
    const std::size_t pair = static_cast<std::size_t>(i / 2) * step;
    const float luma = yuv.luma * (Sample::at(y + static_cast<std::size_t>(i) * 2) * yuv.sample - yuv.black);
    const float blueness = Sample::at(u + pair) * yuv.sample - yuv.centre;
    const float redness = Sample::at(v + pair) * yuv.sample - yuv.centre;
    to[0] = channelOf(luma + yuv.red * redness);
    to[1] = channelOf(luma - yuv.greenU * blueness - yuv.greenV * redness);
    to[2] = channelOf(luma + yuv.blue * blueness);
  }
}

}  // namespace

bool hasPlanes(Format format) {
  return format == Format::i420 || format == Format::nv12 || format == Format::i42010 || format == Format::p010;
}

std::size_t rowBytes(Format format, int width) {
  return static_cast<std::size_t>(width) * formatChannels(format) * sampleBytes(format);
}

bool isStride(Format format, int width, std::size_t stride) {
  return stride >= rowBytes(format, width) && stride % sampleBytes(format) == 0;
}

Chroma chromaOf(Format format, int height, std::size_t stride) {
  const auto rows = static_cast<std::size_t>(height), bytes = sampleBytes(format);
  const std::size_t half = (stride / bytes + 1) / 2 * bytes;  // a row of U, or of V
  const std::size_t u = rows * stride;
  if (inTurns(format)) return {u, u + bytes, 2 * half, 2 * bytes};
  return {u, u + (rows + 1) / 2 * half, half, bytes};
}

std::size_t pictureBytes(Format format, int width, int height, std::size_t stride) {
  const auto rows = static_cast<std::size_t>(height);
  if (!hasPlanes(format)) return (rows - 1) * stride + rowBytes(format, width);
  const std::size_t bytes = sampleBytes(format);
  return rows * stride + 2 * ((rows + 1) / 2) * ((stride / bytes + 1) / 2) * bytes;
}

const uint8_t* rgbRow(const Picture& picture, int y, int from, int count, uint8_t* scratch) {
  const uint8_t* const row = picture.data + static_cast<std::size_t>(y) * picture.stride;
  const auto planes = [&](auto convert) {
    const Chroma chroma = chromaOf(picture.format, picture.height, picture.stride);
    const uint8_t* const pairs = picture.data + static_cast<std::size_t>(y) / 2 * chroma.stride;
    convert(picture.yuv, row, pairs + chroma.u, pairs + chroma.v, chroma.step, from, count, scratch);
  };
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
    case Format::i42010:
      planes(wordsRow<Word<0>>);
      break;
    case Format::p010:
      planes(wordsRow<Word<6>>);
      break;
    default:
      planes([](const YuvToRgb& yuv, const uint8_t* luma, const uint8_t* u, const uint8_t* v, std::size_t step,
                int first, int pixels, uint8_t* to) {
        kernels().yuvToRgb(yuv, luma, u, v, step, static_cast<std::size_t>(first), static_cast<std::size_t>(pixels),
                           to);
      });
  }
  return scratch;
}

}  // namespace nt::vision
