// Tensors of texts: packed as requests and results have them (base/dtype.def), and as onnxruntime has them.
#pragma once

#include <memory>
#include <span>

#include "../base/host_pool.h"
#include "../execution/engine.h"
#include "../onnxruntime/owned.h"

namespace nt::cpu {

// Makes a tensor of onnxruntime's of packed texts, which it copies. Throws ERR_TRT_SHAPE where they are not as many as
// the shape says, or are cut short; ERR_TRT_EXECUTION, ERR_TRT_OUT_OF_MEMORY.
void fillTexts(const onnxruntime::Library& library, const execution::IoTensor& tensor, const execution::Shape& shape,
               std::span<const uint8_t> packed, onnxruntime::OwnedValue& value);

struct PackedTexts {
  std::shared_ptr<HostBlock> block;
  std::size_t bytes = 0;
};

// The texts of a tensor of onnxruntime's, packed. Throws ERR_TRT_EXECUTION, ERR_TRT_OUT_OF_MEMORY.
PackedTexts packTexts(const onnxruntime::Library& library, const execution::IoTensor& tensor,
                      const execution::Shape& shape, const onnxruntime::OrtValue* value, HostPool& pool);

}  // namespace nt::cpu
