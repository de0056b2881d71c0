#include "kernels.h"

// The compiler turns loops into vectors from this level of optimization on.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

namespace nt::vision::baseline {

#include "kernels.inc"

const Kernels kernels{"baseline", combine, gather, toFloat, toHalf, toByte, greatestDown, greatestAlong};

}  // namespace nt::vision::baseline
