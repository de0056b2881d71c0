#include "kernels.h"

// The compiler turns loops into vectors from this level of optimization on, and comparisons only where nobody asks
// whether they trapped.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "no-trapping-math")
#endif

namespace nt::vision::baseline {

#include "kernels.inc"
#include "kernels_values.inc"
#include "kernels_yuv.inc"

const Kernels kernels{"baseline", combine, gather,     combineBytes, gatherBytes,  toFloat,      toHalf,
                      toByte,     spread,  interleave, yuvToRgb,     greatestDown, greatestAlong};

}  // namespace nt::vision::baseline
