// For processors of x64 that have AVX2, FMA and F16C: all of the last ten years.
#if defined(__x86_64__)

#include <immintrin.h>

#include "kernels.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC optimize("O3", "no-trapping-math")
#pragma GCC target("avx2,fma,f16c")
#endif
#define NT_AVX2

namespace nt::vision::avx2 {

#include "kernels.inc"
#include "kernels_values.inc"
#include "kernels_yuv.inc"

const Kernels kernels{"avx2", combine, gather,     combineBytes, gatherBytes,  toFloat,      toHalf,
                      toByte, spread,  interleave, yuvToRgb,     greatestDown, greatestAlong};

}  // namespace nt::vision::avx2

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
