// As much of protobuf's wire format as a check needs: the fields of a message, one after the other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "../base/error.h"
#include "model_bytes.h"

namespace nt::building {

// protobuf's own limit on messages within messages
inline constexpr int kDeepest = 100;
inline constexpr uint64_t kLongestText = 64 * 1024;

[[noreturn]] inline void damaged(const std::string& why) {
  throw Error("ERR_TRT_ONNX_PARSE", "The ONNX model is damaged or truncated: " + why);
}

// A cursor over the fields of one protobuf message.
struct Fields {
  ModelBytes* bytes;
  uint64_t at;
  uint64_t end;
  int depth = 0;
  // of the field that next() found: its number, how it is written, and what it holds: a value, or bytes
  uint32_t number = 0;
  uint32_t wire = 0;
  uint64_t value = 0;
  uint64_t body = 0;
  uint64_t bodySize = 0;

  uint64_t varint() {
    uint64_t read = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at == end) damaged("a number goes beyond the end");
      const uint8_t byte = bytes->at(at++);
      read |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return read;
    }
    damaged("a number of more than ten bytes");
  }

  void take(uint64_t size) {
    if (size > end - at) damaged("a field goes beyond the end");
    body = at;
    bodySize = size;
    at += size;
  }

  bool next() {
    if (at == end) return false;
    const uint64_t key = varint();
    if (key >> 3 == 0 || key >> 32 != 0) damaged("a field has an impossible number");
    number = static_cast<uint32_t>(key >> 3);
    wire = static_cast<uint32_t>(key & 7);
    value = 0;
    bodySize = 0;
    switch (wire) {
      case 0:
        value = varint();
        break;
      case 1:
        take(8);
        break;
      case 2:
        take(varint());
        break;
      case 5:
        take(4);
        break;
      default:
        damaged("a field of an unknown kind");  // groups too, which ONNX has none of
    }
    return true;
  }

  bool isMessage() const noexcept { return wire == 2; }

  // What the field holds as text, as far as anybody would read it.
  std::string text() const { return bytes->text(body, std::min(bodySize, kLongestText)); }

  // The message, or packed numbers, within the field.
  Fields inner() const {
    if (depth >= kDeepest) damaged("more than " + std::to_string(kDeepest) + " messages within each other");
    return {bytes, body, body + bodySize, depth + 1};
  }
};

}  // namespace nt::building
