// Models that several files use: x → y, of float32 where nothing else is said.
#pragma once

#include <string>

#include "onnx.h"

namespace models {

std::string identity(onnx::DType type = onnx::DType::float32, const onnx::Dims& dims = std::vector<onnx::Dim>{"N"});
std::string scale(int64_t columns = 3);  // [N, columns], y = relu(2 x + 1)
std::string twoOutputs();                // [N, 3] → y = 2 x, z = sums [N]
std::string nonzero();                   // [N] → int64 [1, as many as there are values other than zero]
std::string sum();                       // a [N, 2] + b [N, 2] → y [N, 2]
std::string expand();      // x [N] and s of one int64 → y, x repeated to the shape s; fails where that cannot be
std::string transposed();  // [N, M] → [M, N]: no batch, though every dimension 0 is dynamic
std::string totals();      // [N, 1] → y = x + the sum of all rows: what else is in the batch, padding too
std::string gather();      // int64 [N, 1] → rows of a table [5, 2] → y [N, 1, 2]
std::string loop();        // [N, 1] → y = x + n, n rounds of a loop, where n is the largest of x
std::string pools();       // [1, 1, 768, 768] → its largest values: one node that takes long

// More rounds than end.
inline constexpr float kForEver = 1e15F;

}  // namespace models
