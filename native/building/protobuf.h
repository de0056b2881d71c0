// As much of protobuf's wire format as a check needs: the fields of a message, one after the other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "../base/error.h"

namespace nt::building {

// protobuf's own limit on messages within messages
inline constexpr int kDeepest = 100;

[[noreturn]] inline void damaged(const std::string& why) {
  throw Error("ERR_TRT_ONNX_PARSE", "The ONNX model is damaged or truncated: " + why);
}

// A cursor over the fields of one protobuf message.
struct Fields {
  const uint8_t* at;
  const uint8_t* end;
  int depth = 0;
  // of the field that next() found: its number, how it is written, and what it holds
  uint32_t number = 0;
  uint32_t wire = 0;
  uint64_t value = 0;
  std::string_view body = {};

  uint64_t varint() {
    uint64_t read = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at == end) damaged("a number goes beyond the end");
      const uint8_t byte = *at++;
      read |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return read;
    }
    damaged("a number of more than ten bytes");
  }

  std::string_view take(uint64_t size) {
    if (size > static_cast<uint64_t>(end - at)) damaged("a field goes beyond the end");
    const std::string_view taken(reinterpret_cast<const char*>(at), size);
    at += size;
    return taken;
  }

  bool next() {
    if (at == end) return false;
    const uint64_t key = varint();
    if (key >> 3 == 0 || key >> 32 != 0) damaged("a field has an impossible number");
    number = static_cast<uint32_t>(key >> 3);
    wire = static_cast<uint32_t>(key & 7);
    value = 0;
    body = {};
    switch (wire) {
      case 0:
        value = varint();
        break;
      case 1:
        body = take(8);
        break;
      case 2:
        body = take(varint());
        break;
      case 5:
        body = take(4);
        break;
      default:
        damaged("a field of an unknown kind");  // groups too, which ONNX has none of
    }
    return true;
  }

  bool isMessage() const noexcept { return wire == 2; }

  // The message, or packed numbers, within the field.
  Fields inner() const {
    if (depth >= kDeepest) damaged("more than " + std::to_string(kDeepest) + " messages within each other");
    const auto* begin = reinterpret_cast<const uint8_t*>(body.data());
    return {begin, begin + body.size(), depth + 1};
  }
};

}  // namespace nt::building
