// What a batch of calibration data has to be: an element for each input of the network, of a type that calibration
// takes, in the shape of the first one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../tensorrt/interfaces.h"

namespace nt::building {

struct CalibrationTensor {
  std::string name;
  DType type = DType::float32;
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;
};
using CalibrationBatch = std::vector<CalibrationTensor>;

class CalibrationInputs {
 public:
  // Throws ERR_TRT_UNSUPPORTED where an input's values decide shapes.
  explicit CalibrationInputs(const tensorrt::NetworkDefinition& network);

  struct Input {
    std::string name;
    // As calibration takes it: float32, also where the network computes in another floating-point type.
    DType type = DType::float32;
    // Of all batches; -1 where the model leaves it open, and no batch was seen.
    std::vector<int64_t> shape;
    bool dynamic = false;
  };
  const std::vector<Input>& all() const noexcept { return inputs_; }

  // Holds one batch, the n-th from 1, against the inputs, and puts it into their order. After the first one the shapes
  // are known. Throws ERR_TRT_UNKNOWN_INPUT, ERR_TRT_MISSING_INPUT, ERR_TRT_DTYPE, ERR_TRT_SHAPE.
  void check(CalibrationBatch& batch, int64_t n);

  // The shape of the input in all batches. Throws ERR_TRT_SHAPE where the input's own does not allow it.
  void fix(const std::string& name, const std::vector<int64_t>& shape, const std::string& where);
  bool isDynamic() const noexcept;

 private:
  void accept(Input& input, const CalibrationTensor& tensor, const std::string& where);
  std::vector<Input> inputs_;
};

}  // namespace nt::building
