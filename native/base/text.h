// Small pieces of text for messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nt {

// "1, 3, 224, 224"
template <class Range>
std::string join(const Range& items, const char* separator = ", ") {
  std::string text;
  for (const auto& item : items) {
    if (!text.empty()) text += separator;
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(item)>>) {
      text += std::to_string(item);
    } else {
      text += item;
    }
  }
  return text;
}

// "[1, 3, 224, 224]", as JavaScript writes a shape
inline std::string shapeText(const std::vector<int64_t>& shape) {
  std::string text = "[";  // built by appending: GCC 12 warns of a prepended literal (its bug 105651)
  return text.append(join(shape)).append("]");
}

// 'name', for messages
inline std::string quoted(const std::string& name) {
  std::string text = "'";  // by appending, as above
  return text.append(name).append("'");
}

// Of ASCII, whatever the locale is.
inline std::string lowercase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

inline const char* orEmpty(const char* text) noexcept { return text == nullptr ? "" : text; }

}  // namespace nt
