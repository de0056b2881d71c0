#include "calibrator.h"

namespace nt::tensorrt {
namespace {

const char* calibratorKind(CalibrationAlgorithm algorithm) {
  return algorithm == CalibrationAlgorithm::entropy ? "IInt8EntropyCalibrator2" : "IInt8MinMaxCalibrator";
}

int32_t numberOf(const Library& library, CalibrationAlgorithm algorithm) {
  return library.require(algorithm == CalibrationAlgorithm::entropy
                             ? Enumerator::CalibrationAlgoType_kENTROPY_CALIBRATION_2
                             : Enumerator::CalibrationAlgoType_kMINMAX_CALIBRATION);
}

}  // namespace

Calibrator::Calibrator(const Library& library, CalibrationAlgorithm algorithm, Source& source)
    : Versioned(calibratorKind(algorithm)), source_(source), number_(numberOf(library, algorithm)) {}

bool Calibrator::getBatch(void* bindings[], const char* names[], int32_t count) noexcept {
  const auto inputs = static_cast<std::size_t>(count);
  return source_.nextBatch({bindings, inputs}, {names, inputs});
}

const void* Calibrator::readCalibrationCache(std::size_t& length) noexcept {
  const std::string_view text = source_.cache();
  length = text.size();
  return text.empty() ? nullptr : text.data();
}

void Calibrator::writeCalibrationCache(const void* data, std::size_t length) noexcept {
  source_.keepCache({static_cast<const char*>(data), data == nullptr ? 0 : length});
}

}  // namespace nt::tensorrt
