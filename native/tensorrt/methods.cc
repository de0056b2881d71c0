#include "methods.h"

#include <string_view>

#include "slots.h"

namespace nt::tensorrt {
namespace {

constexpr std::array<MethodRow, kMethods> kMethodRows{{
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

std::span<const MethodRow, kMethods> methodRows() noexcept { return kMethodRows; }

bool hasSlot(const Slot& slot, Family family, const Version& version) noexcept {
  const bool rtx = family != Family::trt10 && family != Family::trt11;
  return slot.index >= 0 && (rtx || version.minor >= slot.since);  // an RTX family is one minor version
}

int methodIndex(const MethodRow& row, Family family, const Version& version) noexcept {
  const Slot slot = row.slots[static_cast<std::size_t>(family)];
  if (!hasSlot(slot, family, version)) return -1;
  return slot.index + (family == Family::trt10 && slot.index >= kCumulativeIndex && shiftedIn108(row, version) ? 1 : 0);
}

std::string requirement(const std::array<Slot, kFamilies>& slots, Family family) {
  const auto release = [](const std::string& major, int minor) {
    return "TensorRT " + major + "." + std::to_string(minor);
  };
  const Slot own = slots[static_cast<std::size_t>(family)];
  if (own.index >= 0) return release(kFamilyNames[static_cast<std::size_t>(family)] + 3, own.since);
  std::string text;
  for (std::size_t i = 0; i < kFamilies; ++i) {
    if (slots[i].index < 0) continue;
    const std::string major = kFamilyNames[i] + 3;
    const bool rtx = i >= static_cast<std::size_t>(Family::rtx15);
    if (!text.empty()) text += " or ";
    if (rtx) return text + (i == static_cast<std::size_t>(Family::rtx15) ? "TensorRT-RTX" : "TensorRT-RTX " + major);
    text += slots[i].since == 0 ? "TensorRT " + major : release(major, slots[i].since);
  }
  return text.empty() ? "a TensorRT that is not known here" : text;
}

}  // namespace nt::tensorrt
