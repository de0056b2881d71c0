#include "texts.h"

#include <algorithm>
#include <cstring>

#include "../base/error.h"
#include "../base/text.h"
#include "../onnxruntime/dtype.h"

namespace nt::cpu {
namespace {

constexpr std::size_t kLength = 4;  // bytes before each text

// Little-endian, whatever the machine.
std::size_t lengthAt(const uint8_t* at) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < kLength; ++i) length |= std::size_t{at[i]} << (8 * i);
  return length;
}

void putLength(uint8_t* at, std::size_t length) {
  for (std::size_t i = 0; i < kLength; ++i) at[i] = static_cast<uint8_t>(length >> (8 * i));
}

std::size_t countOf(const execution::Shape& shape) {
  std::size_t count = 1;
  for (const int64_t size : shape) count *= static_cast<std::size_t>(size);
  return count;
}

[[noreturn]] void failPacked(const execution::IoTensor& tensor, const execution::Shape& shape, std::size_t bytes) {
  throw Error("ERR_TRT_SHAPE", "Expected " + std::to_string(countOf(shape)) + " texts, each behind its length, for '" +
                                   tensor.name + "' of shape " + shapeText(shape) + " but received " +
                                   std::to_string(bytes) + " bytes that are not that");
}

// Before anything is allocated for them.
void checkPacked(const execution::IoTensor& tensor, const execution::Shape& shape, std::span<const uint8_t> packed) {
  std::size_t at = 0, count = 0;
  for (; packed.size() - at >= kLength; ++count) {
    const std::size_t length = lengthAt(packed.data() + at);
    at += kLength;
    if (length > packed.size() - at) failPacked(tensor, shape, packed.size());
    at += length;
  }
  if (at != packed.size() || count != countOf(shape)) failPacked(tensor, shape, packed.size());
}

}  // namespace

void fillTexts(const onnxruntime::Library& library, const execution::IoTensor& tensor, const execution::Shape& shape,
               std::span<const uint8_t> packed, onnxruntime::OwnedValue& value) {
  checkPacked(tensor, shape, packed);
  const auto check = [&](onnxruntime::OrtStatus* status) {
    if (status != nullptr) library.check(status, "ERR_TRT_EXECUTION", "onnxruntime refused '" + tensor.name + "'");
  };
  onnxruntime::OrtAllocator* allocator = nullptr;
  check(library.GetAllocatorWithDefaultOptions(&allocator));
  check(library.CreateTensorAsOrtValue(allocator, shape.data(), shape.size(), onnxruntime::elementType(tensor.dtype),
                                       value.out()));
  std::size_t at = 0;
  for (std::size_t i = 0; at < packed.size(); ++i) {
    const std::size_t length = lengthAt(packed.data() + at);
    at += kLength;
    char* text = nullptr;  // its length is known: a text may have a NUL
    check(library.GetResizedStringTensorElementBuffer(value.get(), i, length, &text));
    if (length > 0) std::memcpy(text, packed.data() + at, length);
    at += length;
  }
}

PackedTexts packTexts(const onnxruntime::Library& library, const execution::IoTensor& tensor,
                      const execution::Shape& shape, const onnxruntime::OrtValue* value, HostPool& pool) {
  const auto check = [&](onnxruntime::OrtStatus* status) {
    if (status != nullptr) library.check(status, "ERR_TRT_EXECUTION", "onnxruntime's output '" + tensor.name + "'");
  };
  const std::size_t count = countOf(shape);
  if (count == 0) return {pool.acquire(1), 0};
  std::size_t length = 0;
  check(library.GetStringTensorDataLength(value, &length));
  std::vector<std::size_t> begins(count + 1, length);
  PackedTexts texts{pool.acquire(length + kLength * count), length + kLength * count};
  // behind the room for all lengths, so that each text moves forward only
  uint8_t* const packed = texts.block->data();
  const uint8_t* const from = packed + kLength * count;
  check(library.GetStringTensorContent(value, packed + kLength * count, length, begins.data(), count));
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t size = begins[i + 1] - begins[i];
    if (size > UINT32_MAX) {
      throw Error("ERR_TRT_EXECUTION", "Expected texts below 4 GiB in output '" + tensor.name +
                                           "' but received one of " + std::to_string(size) + " bytes");
    }
    uint8_t* const to = packed + begins[i] + kLength * i;
    std::memmove(to + kLength, from + begins[i], size);
    putLength(to, size);
  }
  return texts;
}

}  // namespace nt::cpu
