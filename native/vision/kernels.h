// The hot loops over pixels, for each level of the processor; which is used is found out once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "picture.h"

namespace nt::vision {

// As many as leave room for the sign and for sums of up to 511 in 32 bits: PIL's choice.
inline constexpr int kWholeBits = 22;

// How far apart the weights of one output and of the next lie, since four are read at once.
constexpr std::size_t wholeStep(int taps) { return (static_cast<std::size_t>(taps) + 3) / 4 * 4; }

struct Kernels {
  const char* level;
  // out[i] = sum of weights[j] * rows[j][i]
  void (*combine)(const uint8_t* const* rows, const float* weights, int count, float* out, std::size_t length);
  // planes[c][i] = sum of weights[i * taps + k] * row[(first[i] + k) * 3 + c]. `row` has one float more than its last
  // pixel.
  void (*gather)(const float* row, const int32_t* first, const float* weights, int taps, std::size_t outputs,
                 float* const* planes);
  // The two in whole numbers, weights in units of 2^-kWholeBits, halves rounded up: bytes of 0 to 255.
  // out[i] = (starts[i] + sum of weights[j] * rows[j][i]) >> kWholeBits
  void (*combineBytes)(const uint8_t* const* rows, const int32_t* weights, int count, const int32_t* starts,
                       uint8_t* out, std::size_t length);
  // out[3 * i + c] = (starts[4 * i + c] + sum of weights[i * wholeStep(taps) + k] * row[(first[i] + k) * 3 + c]) >>
  // kWholeBits. `row` has `bytes`; weights beyond `taps` are 0; one byte beyond the last output may be written.
  void (*gatherBytes)(const uint8_t* row, std::size_t bytes, const int32_t* first, const int32_t* weights, int taps,
                      const int32_t* starts, uint8_t* out, std::size_t outputs);
  // out[i] = (values[i] - mean) * scale
  void (*toFloat)(const float* values, float scale, float mean, float* out, std::size_t length);
  // The same as float16, to the nearest, halves to even.
  void (*toHalf)(const float* values, float scale, float mean, uint16_t* out, std::size_t length);
  // To the nearest of 0 to 255, halves to even.
  void (*toByte)(const float* values, uint8_t* out, std::size_t length);
  // planes[c][i] = values[3 * i + c]
  void (*spread)(const uint8_t* values, float* const* planes, std::size_t length);
  // out[3 * i + c] = planes[c][i]
  void (*interleave)(const uint8_t* const* planes, uint8_t* out, std::size_t length);
  // Planes of 8 bits as RGB: `count` pixels from column `from` on. `u` and `v`: the chroma of the row's first pixels,
  // a sample every `step` bytes.
  void (*yuvToRgb)(const YuvToRgb& yuv, const uint8_t* y, const uint8_t* u, const uint8_t* v, std::size_t step,
                   std::size_t from, std::size_t count, uint8_t* out);
  // out[i] = the greatest of values[c * classStep + i], of numbers: what is NaN is none.
  void (*greatestDown)(const float* values, std::size_t classes, std::size_t classStep, float* out, std::size_t length);
  // out[i] = the greatest of values[i * step + c].
  void (*greatestAlong)(const float* values, std::size_t classes, std::size_t step, float* out, std::size_t length);
};

// NODE_TENSORRT_CPU=baseline in the environment leaves out what is above it: for tests.
const Kernels& kernels();

namespace baseline {
extern const Kernels kernels;
}
#if defined(__x86_64__)
namespace avx2 {
extern const Kernels kernels;
}
#endif

}  // namespace nt::vision
