#include "plan.h"

#include <cstring>

namespace nt::tensorrt {

std::string PlanHeader::name() const {
  std::string text = rtx ? "TensorRT-RTX" : "TensorRT";
  if (version) text.append(" ").append(version->text());
  return text;
}

std::optional<PlanHeader> readPlanHeader(const void* plan, std::size_t size) noexcept {
  constexpr std::size_t kLayout = 4, kVersion = 24, kHeader = 28;
  const auto* bytes = static_cast<const uint8_t*>(plan);
  if (size < 4) return std::nullopt;
  PlanHeader header;
  header.rtx = std::memcmp(bytes, "vtrt", 4) == 0;
  if (!header.rtx && std::memcmp(bytes, "ftrt", 4) != 0) return std::nullopt;
  uint32_t layout = 0;
  if (size >= kHeader) std::memcpy(&layout, bytes + kLayout, sizeof layout);
  if (size >= kHeader && layout == 0) {
    header.version = Version{bytes[kVersion], bytes[kVersion + 1], bytes[kVersion + 2]};
  }
  return header;
}

}  // namespace nt::tensorrt
