#include "methods.h"

#include <string_view>

#include "slots.h"

namespace nt::tensorrt {
namespace {

constexpr std::array<MethodRow, kMethods> kRows{{
#define TRT_METHOD(interface, method, parameters, signature, ...) \
  {#interface, #method, parameters, #interface[0] == 'V', {{__VA_ARGS__}}},
#include "methods.def"
#undef TRT_METHOD
}};

// 10.8, and only 10.8, has addCumulative in the middle of this class: each later entry is one further on.
constexpr int kCumulativeIndex = 63;
bool shiftedIn108(const MethodRow& row, const Version& version) noexcept {
  return version.major == 10 && version.minor == 8 && std::string_view(row.interface) == "VNetworkDefinition";
}

}  // namespace

std::span<const MethodRow, kMethods> methodRows() noexcept { return kRows; }

int methodIndex(const MethodRow& row, Family family, const Version& version) noexcept {
  const Slot slot = row.slots[static_cast<std::size_t>(family)];
  if (slot.index < 0) return -1;
  const bool rtx = family != Family::trt10 && family != Family::trt11;
  if (!rtx && version.minor < slot.since) return -1;  // an RTX family is one minor version
  return slot.index + (family == Family::trt10 && slot.index >= kCumulativeIndex && shiftedIn108(row, version) ? 1 : 0);
}

std::string methodRequirement(const MethodRow& row, Family family) {
  std::string text;
  for (std::size_t i = 0; i < kFamilies; ++i) {
    if (row.slots[i].index < 0) continue;
    if (!text.empty()) text += " or ";
    const bool rtx = i >= static_cast<std::size_t>(Family::rtx15);
    text += rtx ? std::string("TensorRT-RTX ") + (kFamilyNames[i] + 3)
                : "TensorRT " + std::string(kFamilyNames[i] + 3) + "." + std::to_string(row.slots[i].since);
    if (i == static_cast<std::size_t>(family)) return text;  // the family at hand has it, only later
  }
  return text.empty() ? "a TensorRT that is not known here" : text;
}

}  // namespace nt::tensorrt
