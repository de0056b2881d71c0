// The calibration of a build on TensorRT 10: its batches come from elsewhere, one at a time, while TensorRT waits.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "build.h"

namespace nt::building {

// Throws ERR_TRT_UNSUPPORTED, with what to do instead, where the library does not calibrate.
void requireCalibrators(const tensorrt::Library& library);

class Calibration final : tensorrt::Calibrator::Source {
 public:
  Calibration(const tensorrt::NetworkDefinition& network, const CalibrationRequest& request,
              tensorrt::ProgressMonitor::Listener onProgress);

  // Asks for the cache and, where there is none, for the first batch, whose shapes become those of the calibration.
  // Throws what the data throws, ERR_TRT_INVALID_ARGUMENT where there is none, and as CalibrationInputs.
  void attach(tensorrt::Builder& builder, tensorrt::BuilderConfig& config, const std::vector<ProfileShapes>& profiles);

  // From any thread. That TensorRT gets no more batches it takes for the end of the data: it has to be cancelled, too.
  bool failed() const noexcept { return failed_.load(std::memory_order_relaxed); }
  // After the build: what went wrong with a batch.
  void throwIfFailed() const;
  CalibrationFacts facts() const;

 private:
  bool nextBatch(std::span<void*> bindings, std::span<const char*> names) noexcept override;
  std::string_view cache() noexcept override;
  void keepCache(std::string_view text) noexcept override;

  std::optional<CalibrationBatch> next();
  void nameBare(CalibrationBatch& batch) const;
  void addProfile(tensorrt::Builder& builder, tensorrt::BuilderConfig& config) const;
  void bind(const CalibrationBatch& batch, std::span<void*> bindings, std::span<const char*> names);
  void* upload(const CalibrationTensor& tensor, std::size_t input);
  void end() noexcept;

  const tensorrt::Library& library_;
  const CalibrationRequest request_;
  const tensorrt::ProgressMonitor::Listener onProgress_;
  CalibrationInputs inputs_;
  tensorrt::Calibrator calibrator_;

  std::optional<CalibrationBatch> first_;  // that the shapes were taken from, and TensorRT has not had yet
  int64_t pulled_ = 0;
  int64_t given_ = 0;
  bool ended_ = false;
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;

  std::string cache_;  // TensorRT reads it where it lies
  bool cacheRead_ = false;
  std::string written_;

  // While batches are asked for. By input.
  std::vector<std::unique_ptr<cuda::DeviceBuffer>> memory_;
  std::unique_ptr<cuda::OwnedStream> stream_;
};

}  // namespace nt::building
