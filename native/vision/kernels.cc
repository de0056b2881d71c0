#include "kernels.h"

#include <cstdlib>
#include <string_view>

namespace nt::vision {
namespace {

const Kernels& chosen() {
#if defined(__x86_64__)
  const char* const wanted = std::getenv("NODE_TENSORRT_CPU");
  const bool lowest = wanted != nullptr && std::string_view(wanted) == "baseline";
  if (!lowest && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c"))
    return avx2::kernels;
#endif
  return baseline::kernels;
}

}  // namespace

const Kernels& kernels() {
  static const Kernels& found = chosen();
  return found;
}

}  // namespace nt::vision
