// nvinfer1::IInt8EntropyCalibrator2 and IInt8MinMaxCalibrator: where TensorRT 10 has the batches from that it measures
// ranges for INT8 on.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "library.h"
#include "versioned.h"

namespace nt::tensorrt {

enum class CalibrationAlgorithm : uint8_t { entropy, minmax };

// One layout, which TensorRT 10 alone has. TensorRT calls it on a thread of the build; nothing may throw out of it.
class Calibrator : public Versioned {
 public:
  // What answers: called on that thread, and may wait.
  class Source {
   public:
    virtual ~Source() = default;
    // Points each binding at device memory that holds the input of the same place in `names`, until it is asked again.
    // False: there are no more.
    virtual bool nextBatch(std::span<void*> bindings, std::span<const char*> names) noexcept = 0;
    // What an earlier calibration gave, which stays where it is; empty: nothing.
    virtual std::string_view cache() noexcept = 0;
    virtual void keepCache(std::string_view text) noexcept = 0;
  };

  // `source` must outlive it. Throws ERR_TRT_UNSUPPORTED.
  Calibrator(const Library& library, CalibrationAlgorithm algorithm, Source& source);

  virtual int32_t getBatchSize() const noexcept { return 1; }  // the shapes have it
  virtual bool getBatch(void* bindings[], const char* names[], int32_t count) noexcept;
  virtual const void* readCalibrationCache(std::size_t& length) noexcept;
  virtual void writeCalibrationCache(const void* data, std::size_t length) noexcept;
  virtual int32_t getAlgorithm() noexcept { return number_; }

 private:
  Source& source_;
  int32_t number_;
};

}  // namespace nt::tensorrt
