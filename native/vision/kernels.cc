#include "kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>

#include <cstdint>
#endif
#include <cstdlib>
#include <string_view>

namespace nt::vision {
namespace {

#if defined(__x86_64__)
// Asked of the processor itself: __builtin_cpu_supports needs tables of libgcc's, which not every compiler brings.
bool hasAvx2() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned kNeeded = bit_OSXSAVE | bit_AVX | bit_FMA | bit_F16C;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & kNeeded) != kNeeded) return false;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0 || (ebx & bit_AVX2) == 0) return false;
  std::uint32_t low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));  // whether the system keeps the vector registers
  return (low & 6U) == 6U;
}
#endif

const Kernels& chosen() {
#if defined(__x86_64__)
  const char* const wanted = std::getenv("NODE_TENSORRT_CPU");
  const bool lowest = wanted != nullptr && std::string_view(wanted) == "baseline";
  if (!lowest && hasAvx2()) return avx2::kernels;
#endif
  return baseline::kernels;
}

}  // namespace

const Kernels& kernels() {
  static const Kernels& found = chosen();
  return found;
}

}  // namespace nt::vision
